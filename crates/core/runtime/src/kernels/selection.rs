//! The selected variant, and the reason.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::topology::Simd;

/// Times that differ by less are equal: the lower level is taken, whose registers leave the clock alone.
const TIE: f64 = 1.03;

/// A variant of a kernel.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Variant {
    /// The name in results.
    pub name: &'static str,
    /// The lowest level at which it runs.
    pub level: Simd,
    /// The shortest time of a run, if it was measured.
    pub seconds: Option<f64>,
}

/// Why a variant was selected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Reason {
    /// There is no other variant.
    Only,
    /// `EVENER_CPU` names its level.
    Pinned,
    /// It was the fastest just now.
    Measured,
    /// It was the fastest when it was measured.
    Remembered,
}

/// The variants of a kernel, and the selected one.
#[derive(Clone, Debug, Serialize)]
pub struct Selection {
    /// The kernel.
    pub kernel: &'static str,
    /// The work of a run.
    pub work: &'static str,
    /// The variants, by rising level.
    pub variants: Vec<Variant>,
    /// The name of the selected variant.
    pub taken: &'static str,
    /// Its level.
    pub level: Simd,
    /// The reason.
    pub reason: Reason,
}

impl Selection {
    /// # Panics
    /// There are no variants.
    pub(super) fn new(
        kernel: &'static str,
        work: &'static str,
        variants: Vec<Variant>,
        reason: Reason,
    ) -> Selection {
        let times = variants.iter().filter_map(|v| v.seconds);
        let limit = times.fold(f64::INFINITY, f64::min) * TIE;
        let fast = |v: &&Variant| v.seconds.is_some_and(|seconds| seconds <= limit);
        // Without times it is the highest level.
        let taken = variants.iter().find(fast).or(variants.last());
        let (taken, level) = taken.map(|v| (v.name, v.level)).expect("a level");
        Selection {
            kernel,
            work,
            variants,
            taken,
            level,
            reason,
        }
    }
}

/// What is kept of a selection.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Times {
    /// By name of the variant.
    pub(super) seconds: BTreeMap<String, f64>,
}

impl Times {
    pub(super) fn of(variants: &[Variant]) -> Times {
        let timed = |v: &Variant| Some((v.name.to_owned(), v.seconds?));
        Times {
            seconds: variants.iter().filter_map(timed).collect(),
        }
    }
}

/// Selections as a readable table.
pub struct Table<'a>(pub &'a [Selection]);

impl fmt::Display for Table<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:<13} {:<15} {:<8} {:>11}  taken",
            "kernel", "variant", "level", "time"
        )?;
        for selection in self.0 {
            for (i, variant) in selection.variants.iter().enumerate() {
                let kernel = if i == 0 { selection.kernel } else { "" };
                let time = variant.seconds;
                let time = time.map_or("-".into(), |s| format!("{:.1} µs", s * 1e6));
                let taken = match selection.reason {
                    _ if variant.name != selection.taken => "",
                    Reason::Only => "no other",
                    Reason::Pinned => "EVENER_CPU",
                    Reason::Measured => "measured",
                    Reason::Remembered => "remembered",
                };
                let (name, level) = (variant.name, variant.level);
                let line = format!("{kernel:<13} {name:<15} {level:<8} {time:>11}  {taken}");
                write!(f, "\n{}", line.trim_end())?;
            }
        }
        Ok(())
    }
}
