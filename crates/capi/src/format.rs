//! Formats of frames.

use evener_image::{Chroma as OwnChroma, ColourRange, Depth as OwnDepth, Format as OwnFormat};

use crate::status::Failure;

/// How a frame's colour is laid out in planes.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chroma {
    /// One plane.
    Mono = 0,
    /// Three planes; those of chroma have half the width and half the height, rounded up.
    C420 = 1,
    /// Three planes; those of chroma have half the width, rounded up.
    C422 = 2,
    /// Three planes of equal size.
    C444 = 3,
    /// Three planes of equal size: red, green and blue.
    Rgb = 4,
}

/// How a sample is stored.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// One byte.
    U8 = 0,
    /// 10 bits in two bytes, in the machine's order.
    U10 = 1,
    /// A float, 0 for black and 1 for white.
    F32 = 2,
    /// 12 bits in two bytes, in the machine's order.
    U12 = 3,
    /// 16 bits in two bytes, in the machine's order.
    U16 = 4,
}

/// The format of a frame. `chroma` is one of `evener_chroma`, `depth` one of `evener_depth`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    /// Samples in a row of the first plane.
    pub width: u32,
    /// Rows of the first plane.
    pub height: u32,
    /// One of `evener_chroma`.
    pub chroma: u32,
    /// One of `evener_depth`.
    pub depth: u32,
    /// 1 if all codes are used, as in pictures; 0 if there is room below black and above white, as in most video.
    pub full_range: u32,
}

/// Samples in a row, and rows, at most: what FFmpeg and image formats allow as well.
const MOST: u32 = 1 << 16;

impl Format {
    /// As the library has it.
    pub fn read(&self) -> Result<OwnFormat, Failure> {
        let &Format {
            width,
            height,
            chroma,
            depth,
            full_range,
        } = self;
        if !(1..=MOST).contains(&width) || !(1..=MOST).contains(&height) {
            let text = format!("a frame of {width} x {height}: each is 1 to {MOST}");
            return Err(Failure::invalid(text));
        }
        Ok(OwnFormat {
            width,
            height,
            chroma: match chroma {
                0 => OwnChroma::Mono,
                1 => OwnChroma::C420,
                2 => OwnChroma::C422,
                3 => OwnChroma::C444,
                4 => OwnChroma::Rgb,
                _ => return Err(Failure::invalid(format!("chroma {chroma}: it is 0 to 4"))),
            },
            depth: match depth {
                0 => OwnDepth::U8,
                1 => OwnDepth::U10,
                2 => OwnDepth::F32,
                3 => OwnDepth::U12,
                4 => OwnDepth::U16,
                _ => return Err(Failure::invalid(format!("depth {depth}: it is 0 to 4"))),
            },
            range: match full_range {
                0 => ColourRange::Limited,
                _ => ColourRange::Full,
            },
        })
    }
}

impl From<&OwnFormat> for Format {
    fn from(format: &OwnFormat) -> Format {
        Format {
            width: format.width,
            height: format.height,
            chroma: match format.chroma {
                OwnChroma::Mono => Chroma::Mono,
                OwnChroma::C420 => Chroma::C420,
                OwnChroma::C422 => Chroma::C422,
                OwnChroma::C444 => Chroma::C444,
                OwnChroma::Rgb => Chroma::Rgb,
            } as u32,
            depth: match format.depth {
                OwnDepth::U8 => Depth::U8,
                OwnDepth::U10 => Depth::U10,
                OwnDepth::U12 => Depth::U12,
                OwnDepth::U16 => Depth::U16,
                OwnDepth::F32 => Depth::F32,
            } as u32,
            full_range: u32::from(format.range == ColourRange::Full),
        }
    }
}
