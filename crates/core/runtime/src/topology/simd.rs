//! The instruction set for kernels, detected at run time and lowered by `EVENER_CPU`.

use std::fmt;
use std::str::FromStr;
use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

/// The environment variable that lowers the level.
pub const SIMD_VARIABLE: &str = "EVENER_CPU";

/// A level of vector instructions; it includes all lower levels of its architecture.
///
/// The order is meaningful within an architecture: `Scalar < Sse2 < Avx2 < Avx512` and `Scalar < Neon`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Simd {
    /// No vector kernels: the references.
    Scalar,
    /// x86 with SSE2, 16-byte vectors.
    Sse2,
    /// x86 with AVX2 and FMA, 32-byte vectors.
    Avx2,
    /// x86 with AVX-512 F, BW, DQ and VL, 64-byte vectors.
    Avx512,
    /// AArch64 with Advanced SIMD, 16-byte vectors.
    Neon,
}

impl Simd {
    /// Every level, in the order of listings.
    pub const ALL: [Simd; 5] = [
        Simd::Scalar,
        Simd::Sse2,
        Simd::Avx2,
        Simd::Avx512,
        Simd::Neon,
    ];

    /// The name used in `EVENER_CPU` and in results.
    pub fn name(self) -> &'static str {
        match self {
            Simd::Scalar => "scalar",
            Simd::Sse2 => "sse2",
            Simd::Avx2 => "avx2",
            Simd::Avx512 => "avx512",
            Simd::Neon => "neon",
        }
    }

    /// The level for kernels: that of the CPU, lowered by `EVENER_CPU`.
    ///
    /// It is detected once per process. A value of `EVENER_CPU` that [`Simd::from_env`] rejects lowers nothing.
    pub fn detect() -> Simd {
        static LEVEL: OnceLock<Simd> = OnceLock::new();
        *LEVEL.get_or_init(|| Simd::from_env().unwrap_or_else(|_| Simd::hardware()))
    }

    /// As [`Simd::detect`], but evaluated again, and with an error if `EVENER_CPU` cannot be obeyed.
    ///
    /// # Errors
    /// The variable contains an unknown level, or one of another architecture.
    pub fn from_env() -> Result<Simd, SimdError> {
        match std::env::var_os(SIMD_VARIABLE) {
            None => Ok(Simd::hardware()),
            Some(value) => Simd::hardware().lowered(&value.to_string_lossy()),
        }
    }

    /// Whether `EVENER_CPU` names a level. Kernels of that level are then used even if others are faster.
    pub fn pinned() -> bool {
        let named = std::env::var_os(SIMD_VARIABLE).is_some_and(|value| !value.is_empty());
        named && Simd::from_env().is_ok()
    }

    /// The highest level that the CPU and the operating system support.
    pub fn hardware() -> Simd {
        #[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
        {
            use std::arch::is_x86_feature_detected as has;
            let avx2 = has!("avx2") && has!("fma");
            let avx512 =
                has!("avx512f") && has!("avx512bw") && has!("avx512dq") && has!("avx512vl");
            match (has!("sse2"), avx2, avx512) {
                (_, true, true) => Simd::Avx512,
                (_, true, false) => Simd::Avx2,
                (true, false, _) => Simd::Sse2,
                (false, false, _) => Simd::Scalar,
            }
        }
        #[cfg(target_arch = "aarch64")]
        {
            if std::arch::is_aarch64_feature_detected!("neon") {
                Simd::Neon
            } else {
                Simd::Scalar
            }
        }
        #[cfg(not(any(target_arch = "x86_64", target_arch = "x86", target_arch = "aarch64")))]
        {
            Simd::Scalar
        }
    }

    /// The levels this process can run, lowest first, up to [`Simd::detect`]. Never empty.
    pub fn levels() -> Vec<Simd> {
        let top = Simd::detect();
        Simd::native()
            .into_iter()
            .filter(|&level| level <= top)
            .collect()
    }

    /// The levels that exist on the architecture this was built for, lowest first.
    fn native() -> Vec<Simd> {
        let foreign = |level: Simd| match level {
            Simd::Scalar => false,
            Simd::Sse2 | Simd::Avx2 | Simd::Avx512 => {
                !cfg!(any(target_arch = "x86_64", target_arch = "x86"))
            }
            Simd::Neon => !cfg!(target_arch = "aarch64"),
        };
        Simd::ALL
            .into_iter()
            .filter(|&level| !foreign(level))
            .collect()
    }

    /// This level, or the one `value` names if that is lower. An empty value names none.
    fn lowered(self, value: &str) -> Result<Simd, SimdError> {
        if value.is_empty() {
            return Ok(self);
        }
        let native = Simd::native();
        let found = native.iter().copied().find(|level| level.name() == value);
        found.map(|level| level.min(self)).ok_or_else(|| SimdError {
            given: value.to_owned(),
            known: native
                .iter()
                .map(|level| level.name())
                .collect::<Vec<_>>()
                .join(", "),
        })
    }
}

impl fmt::Display for Simd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Simd {
    type Err = SimdError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Simd::ALL
            .into_iter()
            .find(|level| level.name() == text)
            .ok_or_else(|| SimdError {
                given: text.to_owned(),
                known: Simd::ALL.map(Simd::name).join(", "),
            })
    }
}

/// A SIMD level that does not exist on this architecture.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "unknown SIMD level '{given}' (environment variable {SIMD_VARIABLE}); on this architecture one of: {known}"
)]
pub struct SimdError {
    given: String,
    known: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_read_back() {
        for level in Simd::ALL {
            assert_eq!(level.name().parse(), Ok(level));
        }
        assert!("AVX2".parse::<Simd>().is_err());
    }

    #[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
    #[test]
    fn a_value_lowers_and_never_raises() {
        assert_eq!(Simd::Avx2.lowered("sse2"), Ok(Simd::Sse2));
        assert_eq!(Simd::Avx2.lowered("scalar"), Ok(Simd::Scalar));
        assert_eq!(Simd::Avx2.lowered("avx2"), Ok(Simd::Avx2));
        assert_eq!(Simd::Avx2.lowered("avx512"), Ok(Simd::Avx2));
        assert_eq!(Simd::Avx2.lowered(""), Ok(Simd::Avx2));
    }

    #[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
    #[test]
    fn an_unknown_or_foreign_value_is_refused_with_the_known_names() {
        for value in ["avx3", "neon", "AVX2", " avx2"] {
            let text = Simd::Avx512.lowered(value).unwrap_err().to_string();
            assert!(text.contains(&format!("'{value}'")), "{text}");
            assert!(text.ends_with("scalar, sse2, avx2, avx512"), "{text}");
        }
    }

    #[test]
    fn levels_rise_from_scalar_to_the_detected_one() {
        let levels = Simd::levels();
        assert_eq!(levels.first(), Some(&Simd::Scalar));
        assert_eq!(levels.last(), Some(&Simd::detect()));
        assert!(
            levels.windows(2).all(|pair| pair[0] < pair[1]),
            "{levels:?}"
        );
        assert!(Simd::detect() <= Simd::hardware());
    }
}
