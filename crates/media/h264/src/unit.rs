//! The units of an encode: frames as they are read, and pictures as they are coded.

use std::sync::{Mutex, MutexGuard};

use evener_files::lock;
use evener_image::Frame;

/// A frame to encode, with what becomes of it before it is coded, and its number in the stream.
/// [`Preprocess::frame`](crate::preprocess::Preprocess::frame) makes room for one.
pub struct InputFrame {
    /// The frame as it was read.
    pub frame: Frame,
    /// After the filters, if there are any.
    pub(crate) filtered: Option<Frame>,
    /// As 8 bits and 4:2:0, if it is not.
    pub(crate) converted: Option<Frame>,
    /// Frames before it.
    pub number: u64,
}

impl InputFrame {
    /// The frame that is coded, of 8 bits, 4:2:0 and even size, after all passes of
    /// [`Preprocess`](crate::preprocess::Preprocess).
    pub fn ready(&self) -> &Frame {
        let made = self.converted.as_ref().or(self.filtered.as_ref());
        made.unwrap_or(&self.frame)
    }
}

/// The bytes of a picture and what is known about them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CodedPicture {
    /// NAL units with start codes (annex B) of one access unit. Those of a key picture begin with the parameter sets.
    pub bytes: Vec<u8>,
    /// Whether decoding can begin here: an IDR picture.
    pub key: bool,
    /// The quantisation parameter that its macroblocks deviate from.
    pub qp: u8,
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
        lock(&self.0)
    }
}
