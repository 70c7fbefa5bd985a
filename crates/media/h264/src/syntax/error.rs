//! What a stream cannot say.

use super::Profile;

/// A stream cannot be as it is asked for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SyntaxError {
    /// Cropping counts in units of two samples, because chroma has half the size.
    #[error("the size {width}x{height} is odd; pictures in 4:2:0 have even sizes")]
    OddSize {
        /// In samples.
        width: u32,
        /// In samples.
        height: u32,
    },
    /// Larger than any level allows, or nothing.
    #[error("the size {width}x{height} is not one that a level allows")]
    Size {
        /// In samples.
        width: u32,
        /// In samples.
        height: u32,
    },
    /// The level that is asked for, or the highest, does not allow what is asked for.
    #[error("level {level} allows {}", limit.says(*allowed, *asked))]
    Level {
        /// What exceeds.
        limit: Limit,
        /// How much is asked for.
        asked: u64,
        /// How much is allowed.
        allowed: u64,
        /// The name of the level.
        level: &'static str,
        /// The name of the lowest level that allows it, if there is one.
        enough: Option<&'static str>,
    },
    /// A tool that the profile does not have.
    #[error("the {profile} profile does not have {tool}")]
    Profile {
        /// The profile.
        profile: Profile,
        /// The tool.
        tool: &'static str,
    },
    /// A value outside its range.
    #[error("{what} is {value}, and not from {least} to {most}")]
    Range {
        /// Of what.
        what: &'static str,
        /// What it is.
        value: i64,
        /// The least it may be.
        least: i64,
        /// The most it may be.
        most: i64,
    },
}

/// What a level limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// Macroblocks of a picture.
    Picture,
    /// Macroblocks in a row.
    Width,
    /// Rows of macroblocks.
    Height,
    /// Pictures kept as references.
    References,
    /// Macroblocks a second.
    Macroblocks,
    /// Pictures a second.
    Pictures,
    /// Bits a second.
    BitRate,
    /// Bits of the decoder's buffer.
    Buffer,
}

impl Limit {
    fn says(self, allowed: u64, asked: u64) -> String {
        match self {
            Limit::Picture => {
                format!("pictures of {allowed} macroblocks (16x16 samples), and these have {asked}")
            }
            Limit::Width => {
                format!("pictures {allowed} macroblocks (16 samples) wide, and these have {asked}")
            }
            Limit::Height => {
                format!("pictures {allowed} macroblocks (16 samples) high, and these have {asked}")
            }
            Limit::References => format!("{allowed} references of this size, not {asked}"),
            Limit::Macroblocks => {
                format!("{allowed} macroblocks (16x16 samples) a second, and these are {asked}")
            }
            Limit::Pictures => format!("{allowed} pictures a second, and these are {asked}"),
            Limit::BitRate => format!("{allowed} bits per second in this profile, not {asked}"),
            Limit::Buffer => format!("a buffer of {allowed} bits in this profile, not {asked}"),
        }
    }
}

/// Checks that `value` is in its range.
pub(super) fn in_range(
    what: &'static str,
    value: impl Into<i64>,
    least: i64,
    most: i64,
) -> Result<(), SyntaxError> {
    let value = value.into();
    match (least..=most).contains(&value) {
        true => Ok(()),
        false => Err(SyntaxError::Range {
            what,
            value,
            least,
            most,
        }),
    }
}
