//! What is in RTP packets, by format: access units of pictures and sound.

mod aac;
mod clock;
mod format;
mod h264;
mod h265;
mod latm;
pub mod mp2t;
mod pictures;
mod plain;
#[cfg(test)]
mod tests;
mod track;

pub use aac::AudioConfig;
pub use format::{Format, Unsupported};
pub use track::{Track, synchronise};

use bytes::Bytes;

use crate::media::Class;
use crate::rtp::Packet;

/// A picture or a frame of sound, as it goes on to clients.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessUnit {
    /// Of which track.
    pub track: usize,
    /// When it is shown or heard, in units of 90 kHz; it does not wrap around.
    pub pts: i64,
    /// When it is decoded; not after `pts` unless the stream reorders pictures more than it has said.
    pub dts: i64,
    /// What clients can do without. A damaged picture is no [`Class::Key`].
    pub class: Class,
    /// A part of it was lost; what is left is whole units. Of sound: frames before it were lost.
    pub damaged: bool,
    /// Of a picture: its NAL units without start codes, without delimiters and filler, with the parameter sets first if
    /// it is a key picture. Of sound: one frame.
    pub units: Vec<Bytes>,
}

/// How the units of a track are coded, with what a decoder needs before the first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Codec {
    /// H.264, with its parameter sets as far as they are known.
    H264(Vec<Bytes>),
    /// H.265, likewise.
    H265(Vec<Bytes>),
    /// AAC, raw frames.
    Aac(AudioConfig),
    /// Opus, of so many channels.
    Opus(u8),
    /// G.711, A-law, of so many channels at so many samples a second.
    ALaw(u8, u32),
    /// G.711, µ-law, likewise.
    MuLaw(u8, u32),
}

impl Codec {
    /// Pictures and not sound.
    pub fn is_video(&self) -> bool {
        matches!(self, Codec::H264(_) | Codec::H265(_))
    }
}

/// What a format's reader gives: an access unit with the time that the packets have.
#[derive(Debug)]
struct TimestampedUnit {
    timestamp: u32,
    class: Class,
    damaged: bool,
    units: Vec<Bytes>,
}

/// A format. To add one: a file here, and a line in the table of `format.rs`.
trait Depacketise: Send + std::fmt::Debug {
    /// Takes the next packet; `missing` says that others should have come before it.
    fn push(&mut self, packet: Packet, missing: bool, out: &mut Vec<TimestampedUnit>);

    /// How the units are coded.
    fn codec(&self) -> Codec;

    /// How many pictures may come before one that is shown earlier; `None` if that is not known.
    fn reorder(&self) -> Option<u32> {
        Some(0)
    }
}
