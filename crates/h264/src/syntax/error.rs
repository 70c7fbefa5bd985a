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
    /// No level allows what is asked for, or the level that is asked for does not.
    #[error("{what} of {asked} exceeds {allowed}, the limit of level {level}")]
    Level {
        /// What exceeds.
        what: &'static str,
        /// How much is asked for.
        asked: u64,
        /// How much is allowed.
        allowed: u64,
        /// The name of the level.
        level: &'static str,
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
