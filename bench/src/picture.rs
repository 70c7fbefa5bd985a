//! The frame that a benchmark computes again and again.

use std::ffi::OsStr;
use std::fmt;
use std::sync::Arc;

use evener_image::io::open_input;
use evener_image::kernels::convert::Scale;
use evener_image::{Chroma, Depth, Frame, Size};

use crate::error::Error;

/// Samples of a frame of f32 planes.
#[derive(Clone, Default)]
pub enum Picture {
    /// A generated picture with smooth shapes, edges and noise, the same for every frame of a size.
    #[default]
    Generated,
    /// The first frame of an input.
    Of(Arc<Frame>),
}

impl fmt::Debug for Picture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Picture::Generated => f.write_str("Generated"),
            Picture::Of(frame) => write!(f, "Of({})", frame.format()),
        }
    }
}

/// The first sample of a frame that has been filled; no other frame begins with it.
const MARK: f32 = 0.734_375;

impl Picture {
    /// The first frame of an input as `evener filter` takes it; all planes if `each`, else luma.
    ///
    /// # Errors
    /// It cannot be read, or is not 4:2:0 where all planes are wanted.
    pub fn read(input: &OsStr, each: bool) -> Result<Picture, Error> {
        let unusable = |reason| Error::Picture(format!("{}: {reason}", input.to_string_lossy()));
        let failed = |e: evener_image::io::Error| Error::Picture(e.to_string());
        let mut source = open_input(input).map_err(failed)?;
        let format = *source.format();
        if each && format.chroma != Chroma::C420 {
            return Err(unusable("not 4:2:0, which --planes each takes"));
        }
        let mut frame = Frame::new(&format);
        match source.read(&mut frame) {
            Ok(true) => Ok(Picture::Of(Arc::new(frame))),
            Ok(false) => Err(unusable("has no frame")),
            Err(e) => Err(failed(e)),
        }
    }

    /// Width and height; `None` for the generated picture, which has every size.
    pub fn size(&self) -> Option<Size> {
        match self {
            Picture::Generated => None,
            Picture::Of(frame) => Some(frame.format().plane_size(0)),
        }
    }

    /// Fills a frame and marks it as filled.
    ///
    /// # Panics
    /// If the frame is not of f32 planes, or not of the size of the picture.
    pub fn fill(&self, frame: &mut Frame) {
        assert_eq!(frame.format().depth, Depth::F32);
        for p in 0..frame.format().planes() {
            let width = frame.format().plane_size(p).w as usize;
            let samples = frame.plane_bytes_mut(p).chunks_exact_mut(4);
            match self {
                Picture::Generated => {
                    let values = generated(width);
                    let pairs = samples.zip(values);
                    pairs.for_each(|(sample, v)| sample.copy_from_slice(&v.to_ne_bytes()));
                }
                Picture::Of(picture) => {
                    let values = values(picture, p);
                    assert_eq!(values.len(), samples.len());
                    let pairs = samples.zip(values);
                    pairs.for_each(|(sample, v)| sample.copy_from_slice(&v.to_ne_bytes()));
                }
            }
        }
        frame.plane_bytes_mut(0)[..4].copy_from_slice(&MARK.to_ne_bytes());
    }

    /// Whether a frame has been filled.
    pub fn is_in(frame: &Frame) -> bool {
        frame.plane_bytes(0).first_chunk::<4>().copied() == Some(MARK.to_ne_bytes())
    }
}

/// The samples of a plane as values.
fn values(frame: &Frame, plane: usize) -> Vec<f32> {
    let bytes = frame.plane_bytes(plane);
    let scale = Scale::new(frame.format().codes(plane));
    match frame.format().depth {
        Depth::U8 => bytes.iter().map(|&c| scale.value(f32::from(c))).collect(),
        Depth::U10 | Depth::U12 | Depth::U16 => {
            let codes = bytes
                .chunks_exact(2)
                .map(|b| u16::from_ne_bytes([b[0], b[1]]));
            codes.map(|c| scale.value(f32::from(c))).collect()
        }
        Depth::F32 => {
            let bytes = bytes.chunks_exact(4);
            bytes
                .map(|b| f32::from_ne_bytes([b[0], b[1], b[2], b[3]]))
                .collect()
        }
    }
}

fn generated(width: usize) -> impl Iterator<Item = f32> {
    let mut noise = 0x2545_f491u32;
    (0..).map(move |i: usize| {
        let (x, y) = ((i % width) as f32, (i / width) as f32);
        noise = noise.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let wave = 0.25 * (x * 0.021).sin() + 0.2 * (y * 0.033 + x * 0.004).cos();
        let check = if (i % width / 64 + i / width / 48).is_multiple_of(3) {
            0.2
        } else {
            0.0
        };
        let grain = (noise >> 8) as f32 / (1 << 24) as f32 * 0.1;
        (0.45 + wave + check + grain).clamp(0.0, 1.0)
    })
}
