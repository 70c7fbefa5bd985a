//! The units of an encode: frames as they are read, and pictures as they are coded.

use std::sync::{Mutex, MutexGuard};

use evener_files::unpoisoned;
use evener_image::{Format, Frame};

/// A frame to encode, 8 bits and 4:2:0, and its number in the stream.
pub struct InputFrame {
    /// The frame.
    pub frame: Frame,
    /// Frames before it.
    pub number: u64,
}

impl InputFrame {
    /// Room for a frame.
    pub fn new(format: &Format) -> InputFrame {
        InputFrame {
            frame: Frame::new(format),
            number: 0,
        }
    }
}

/// The bytes of a picture and what is known about them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CodedPicture {
    /// NAL units with start codes (annex B) of one access unit. Those of a key picture begin with the parameter sets.
    pub bytes: Vec<u8>,
    /// Whether decoding can begin here: an IDR picture.
    pub key: bool,
    /// Sums of squared differences between the reconstruction and the frame, of Y, Cb and Cr; if PSNR was asked for.
    pub ssd: [u64; 3],
    /// Structural similarity of Y, Cb and Cr, 1 for the same; if SSIM was asked for.
    pub ssim: [f64; 3],
}

/// A coded picture as the unit that workers write.
#[derive(Debug, Default)]
pub struct Coded(Mutex<CodedPicture>);

impl Coded {
    /// Room for a picture of about so many bytes.
    pub fn with_capacity(bytes: usize) -> Coded {
        Coded(Mutex::new(CodedPicture {
            bytes: Vec::with_capacity(bytes),
            ..CodedPicture::default()
        }))
    }

    /// The picture, for one worker or the sink alone. What it held before is that of an earlier unit.
    pub fn picture(&self) -> MutexGuard<'_, CodedPicture> {
        unpoisoned(self.0.lock())
    }
}
