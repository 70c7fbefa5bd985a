//! What is chosen by name: profiles, levels, and what a stream is tuned for.

use std::fmt;
use std::str::FromStr;

use super::error::ConfigError;

/// Which coding tools a decoder needs (annex A.2). In order: each has the tools of those before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Profile {
    /// Constrained Baseline.
    Baseline,
    /// With CABAC.
    Main,
    /// With CABAC and the 8x8 transform.
    High,
}

impl Profile {
    /// All of them, in the order they are listed to users.
    pub const ALL: [Profile; 3] = [Profile::Baseline, Profile::Main, Profile::High];

    /// The name on command lines and in reports.
    pub fn name(self) -> &'static str {
        match self {
            Profile::Baseline => "baseline",
            Profile::Main => "main",
            Profile::High => "high",
        }
    }
}

/// What a stream is optimised for instead of the eye.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tune {
    /// PSNR.
    Psnr,
    /// SSIM.
    Ssim,
    /// Each frame is coded before the next is there.
    ZeroLatency,
}

impl Tune {
    /// All of them, in the order they are listed to users.
    pub const ALL: [Tune; 3] = [Tune::Psnr, Tune::Ssim, Tune::ZeroLatency];

    /// The name on command lines.
    pub fn name(self) -> &'static str {
        match self {
            Tune::Psnr => "psnr",
            Tune::Ssim => "ssim",
            Tune::ZeroLatency => "zerolatency",
        }
    }
}

/// A level (annex A.3): sizes, rates and buffers that a decoder has to manage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Level(u8);

/// `level_idc` of all levels; 9 stands for 1b, between 1 and 1.1.
const LEVELS: [u8; 20] = [
    10, 9, 11, 12, 13, 20, 21, 22, 30, 31, 32, 40, 41, 42, 50, 51, 52, 60, 61, 62,
];

impl Level {
    /// All of them, lowest first.
    pub fn all() -> impl Iterator<Item = Level> {
        LEVELS.into_iter().map(Level)
    }

    /// Ten times its number; 9 for 1b.
    pub fn idc(self) -> u8 {
        self.0
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.0, self.0 / 10, self.0 % 10) {
            (9, ..) => f.write_str("1b"),
            (_, whole, 0) => write!(f, "{whole}"),
            (_, whole, tenth) => write!(f, "{whole}.{tenth}"),
        }
    }
}

impl FromStr for Level {
    type Err = ConfigError;

    /// `4.1`, `41`, `4`, `4.0`, `1b`.
    fn from_str(text: &str) -> Result<Level, ConfigError> {
        let is = |level: &Level| {
            let (name, idc) = (level.to_string(), level.0);
            let whole = idc.is_multiple_of(10) && text == format!("{name}.0");
            text == name || whole || (idc >= 10 && text == idc.to_string())
        };
        Level::all().find(is).ok_or_else(|| ConfigError::NoLevel {
            given: text.to_owned(),
            known: Level::all()
                .map(|l| l.to_string())
                .collect::<Vec<_>>()
                .join(", "),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_written_with_and_without_a_point() {
        for (text, idc) in [
            ("4.1", 41),
            ("41", 41),
            ("4", 40),
            ("4.0", 40),
            ("1b", 9),
            ("1", 10),
        ] {
            assert_eq!(text.parse::<Level>().map(Level::idc), Ok(idc), "{text}");
        }
        for text in ["", "4.3", "4.1.0", "7", "b", "1.b", "9", "1b.0"] {
            let error = text.parse::<Level>().unwrap_err().to_string();
            assert!(error.contains("1, 1b, 1.1,"), "{error}");
        }
    }
}
