//! What a stream is tuned for, and the names of profiles and levels.

use crate::syntax::{LEVELS, Level, Profile};

use super::error::ConfigError;

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

impl Profile {
    /// All of them, in the order they are listed to users: each has the tools of those before.
    pub const ALL: [Profile; 3] = [Profile::ConstrainedBaseline, Profile::Main, Profile::High];

    /// The name on command lines.
    pub fn name(self) -> &'static str {
        match self {
            Profile::ConstrainedBaseline => "baseline",
            Profile::Main => "main",
            Profile::High => "high",
        }
    }
}

/// The level of a name, with or without its point: `4.1`, `41`, `4.0`, `1b`.
///
/// # Errors
/// There is no level of that name.
pub fn parse_level(text: &str) -> Result<&'static Level, ConfigError> {
    let pointless = |level: &&Level| {
        let (whole, tenth) = level.name.split_once('.').unwrap_or((level.name, "0"));
        level.name != "1b" && text == format!("{whole}{tenth}")
    };
    Level::named(text)
        .or_else(|| LEVELS.iter().find(pointless))
        .ok_or_else(|| ConfigError::NoLevel {
            given: text.to_owned(),
            known: LEVELS.each_ref().map(|level| level.name).join(", "),
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_written_with_and_without_a_point() {
        for (text, name) in [
            ("4.1", "4.1"),
            ("41", "4.1"),
            ("4", "4"),
            ("40", "4"),
            ("4.0", "4"),
            ("1b", "1b"),
            ("1", "1"),
        ] {
            let level = parse_level(text).map(|level| level.name);
            assert_eq!(level, Ok(name), "{text}");
        }
        for text in ["", "4.3", "4.1.0", "7", "b", "1.b", "9", "1b0"] {
            let error = parse_level(text).unwrap_err().to_string();
            assert!(error.contains("1, 1b, 1.1,"), "{error}");
        }
    }
}
