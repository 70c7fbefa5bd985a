//! What decides the size of a stream.

use super::error::ConfigError;

/// The highest quantisation parameter of 8-bit video.
pub const MAX_QP: u8 = 51;

/// Bit rates that can be asked for, in bits per second.
const BITRATES: std::ops::RangeInclusive<u64> = 1_000..=2_000_000_000;

/// What decides the size of a stream.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rate {
    /// The same quantisation parameter in all macroblocks of P pictures, 0 to 51.
    Qp(u8),
    /// The same quality for the eye, on the scale of quantisation parameters, 0 to 51.
    Crf(f32),
    /// So many bits per second on average.
    Bitrate(u64),
}

impl Default for Rate {
    fn default() -> Rate {
        Rate::Crf(23.0)
    }
}

impl Rate {
    pub(super) fn check(self) -> Result<(), ConfigError> {
        match self {
            Rate::Qp(qp) if qp > MAX_QP => Err(ConfigError::Qp { qp }),
            Rate::Crf(crf) if !(0.0..=f32::from(MAX_QP)).contains(&crf) => {
                Err(ConfigError::Crf { crf })
            }
            Rate::Bitrate(bits) => in_range("--bitrate", bits).map(drop),
            Rate::Qp(_) | Rate::Crf(_) => Ok(()),
        }
    }
}

/// The buffer of a decoder, which the stream neither overruns nor starves: a leaky bucket as in annex C.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Vbv {
    /// The rate at which it fills, in bits per second.
    pub maxrate: u64,
    /// Bits that it holds.
    pub bufsize: u64,
}

impl Vbv {
    pub(super) fn of(
        rate: Rate,
        maxrate: Option<u64>,
        bufsize: Option<u64>,
    ) -> Result<Option<Vbv>, ConfigError> {
        let (maxrate, bufsize) = match (maxrate, bufsize) {
            (None, None) => return Ok(None),
            (Some(_), None) => return Err(ConfigError::NoBufsize),
            (None, Some(_)) => return Err(ConfigError::NoMaxrate),
            (Some(maxrate), Some(bufsize)) => (maxrate, bufsize),
        };
        let maxrate = in_range("--maxrate", maxrate)?;
        let bufsize = in_range("--bufsize", bufsize)?;
        match rate {
            Rate::Qp(_) => Err(ConfigError::QpWithVbv),
            Rate::Bitrate(bitrate) if bitrate > maxrate => {
                Err(ConfigError::AboveMaxrate { bitrate, maxrate })
            }
            Rate::Bitrate(_) | Rate::Crf(_) => Ok(Some(Vbv { maxrate, bufsize })),
        }
    }
}

fn in_range(option: &'static str, bits: u64) -> Result<u64, ConfigError> {
    match BITRATES.contains(&bits) {
        true => Ok(bits),
        false => Err(ConfigError::Bits { option, bits }),
    }
}

/// Bits, or bits per second, as people write them: `800k`, `2.5M`, `1G`, with k for 1000. Capitals or not.
///
/// # Errors
/// It is no number, or has no unit: FFmpeg takes a bare number for bits, x264 for kilobits.
pub fn parse_bits(text: &str) -> Result<u64, ConfigError> {
    if !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()) {
        let given = text.to_owned();
        return Err(ConfigError::NoUnit { given });
    }
    let unclear = || ConfigError::NoBits {
        given: text.to_owned(),
    };
    let unit = text.chars().last().ok_or_else(unclear)?;
    let scale = match unit.to_ascii_lowercase() {
        'k' => 1e3,
        'm' => 1e6,
        'g' => 1e9,
        _ => return Err(unclear()),
    };
    let number = &text[..text.len() - 1];
    let plain = number.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    let number: f64 = number.parse().map_err(|_| unclear())?;
    match plain {
        true => Ok((number * scale).round() as u64),
        false => Err(unclear()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Config, Settings};
    use super::*;

    #[test]
    fn rates_are_read_as_people_write_them() {
        for (text, bits) in [
            ("800k", 800_000),
            ("2500K", 2_500_000),
            ("2M", 2_000_000),
            ("1.5m", 1_500_000),
            ("1G", 1_000_000_000),
            (".5M", 500_000),
            ("0.0005k", 1),
        ] {
            assert_eq!(parse_bits(text), Ok(bits), "{text}");
        }
        for text in [
            "", "k", "-2M", "+2M", "2MB", "1e3k", "2 M", "infk", "nanM", "1.2.3k", "2µ",
        ] {
            let error = parse_bits(text).unwrap_err();
            assert!(error.to_string().contains("2500k"), "{error}");
        }
        for (text, bits) in [
            ("500", "0.5"),
            ("2000", "2"),
            ("2500000", "2500"),
            ("1234", "1.234"),
            ("40", "0.04"),
            ("0", "0"),
        ] {
            let error = parse_bits(text).unwrap_err().to_string();
            let both = format!(
                "write {text}k for kilobits, as x264 does, or {bits}k for bits, as ffmpeg does"
            );
            assert!(error.ends_with(&both), "{error}");
        }
    }

    #[test]
    fn a_maxrate_and_a_bufsize_come_together() {
        let of = |rate, maxrate, bufsize| {
            Config::new(&Settings {
                rate,
                maxrate,
                bufsize,
                ..Settings::default()
            })
            .map(|config| config.vbv)
        };
        let crf = Rate::default();
        assert_eq!(of(crf, None, None), Ok(None));
        assert_eq!(of(crf, Some(1 << 20), None), Err(ConfigError::NoBufsize));
        assert_eq!(of(crf, None, Some(1 << 20)), Err(ConfigError::NoMaxrate));
        let vbv = Vbv {
            maxrate: 2_000_000,
            bufsize: 4_000_000,
        };
        let [maxrate, bufsize] = [vbv.maxrate, vbv.bufsize].map(Some);
        assert_eq!(of(crf, maxrate, bufsize), Ok(Some(vbv)));
        assert_eq!(
            of(Rate::Bitrate(2_000_000), maxrate, bufsize),
            Ok(Some(vbv))
        );
        assert_eq!(
            of(Rate::Bitrate(2_000_001), maxrate, bufsize),
            Err(ConfigError::AboveMaxrate {
                bitrate: 2_000_001,
                maxrate: 2_000_000
            })
        );
        assert_eq!(
            of(Rate::Qp(23), maxrate, bufsize),
            Err(ConfigError::QpWithVbv)
        );
        assert!(matches!(
            of(crf, Some(10), bufsize),
            Err(ConfigError::Bits { .. })
        ));
    }

    #[test]
    fn qualities_have_a_range() {
        let of = |rate| {
            Config::new(&Settings {
                rate,
                ..Settings::default()
            })
        };
        for rate in [Rate::Qp(0), Rate::Qp(51), Rate::Crf(0.0), Rate::Crf(51.0)] {
            assert!(of(rate).is_ok(), "{rate:?}");
        }
        assert_eq!(of(Rate::Qp(52)), Err(ConfigError::Qp { qp: 52 }));
        for crf in [-0.1, 51.1, f32::NAN, f32::INFINITY] {
            assert!(matches!(of(Rate::Crf(crf)), Err(ConfigError::Crf { .. })));
        }
        assert!(matches!(
            of(Rate::Bitrate(0)),
            Err(ConfigError::Bits { .. })
        ));
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_a_number_of_bits_or_refused(text in "[-+0-9.eEkKmMgGµ ∞]{0,12}|.{0,8}") {
            if let Ok(bits) = parse_bits(&text) {
                let number: f64 = text[..text.len() - 1].parse().unwrap();
                let scale = bits as f64 / number.max(1e-300);
                let near = |unit: f64| (scale / unit - 1.0).abs() < 0.01;
                proptest::prop_assert!(bits < 1000 || near(1e3) || near(1e6) || near(1e9));
            }
        }
    }
}
