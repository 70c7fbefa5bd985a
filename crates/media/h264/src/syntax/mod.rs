//! What a stream says beside its macroblocks: parameter sets, slice headers, levels.

mod error;
mod level;
mod picture;
mod sei;
mod sequence;
mod slice;
mod vui;

pub use error::{Limit, SyntaxError};
pub use level::{Demand, LEVELS, Level};
pub use picture::{Entropy, Picture};
pub use sei::{BufferingPeriod, PictureTiming, write_delimiter, write_timing};
pub use sequence::{Profile, Sequence};
pub use slice::{Deblocking, SliceHeader, SliceKind};
pub use vui::{Colour, Hrd, Timing, Vui};

/// The parameter sets of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// Of the sequence.
    pub sequence: Sequence,
    /// Of all its pictures.
    pub picture: Picture,
}

impl Parameters {
    /// Checks that a stream can say it, and that the profile has it.
    pub fn check(&self) -> Result<(), SyntaxError> {
        self.sequence.check()?;
        self.picture.check(self.sequence.profile)
    }

    /// The largest level, and the largest of the other sign, that macroblocks may have. With CAVLC, longer codes are for
    /// High alone (`level_prefix`, clause 7.4.5.3.2).
    pub fn largest_level(&self) -> i16 {
        match (self.picture.entropy, self.sequence.profile) {
            (Entropy::Cavlc, Profile::ConstrainedBaseline | Profile::Main) => 2063,
            _ => i16::MAX,
        }
    }

    /// Appends both sets as NAL units of a byte stream.
    pub fn write(&self, out: &mut Vec<u8>) {
        self.sequence.write(out);
        self.picture.write(out);
    }
}
