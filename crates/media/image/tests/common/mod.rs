//! Random filters, formats and samples.

use evener_image::{Chroma, ColourRange, Depth, Format, Frame};
use proptest::prelude::*;

/// Filters that cores and devices compute.
pub const FILTERS: &[&str] = &[
    "blur",
    "gaussian=0.8",
    "gaussian=2",
    "sobel_x",
    "sobel_y",
    "sobel",
    "threshold=0.3",
    "threshold=0.6:keep=below",
    "undistort",
    "undistort=k1=0.3:k2=-0.2",
    "crop=0.7",
    "crop=0.97",
    "rotate=6",
    "rotate=30",
    "rotate=90",
    "rotate=201",
    "rotate=-60",
    "resize=37:23",
    "resize=90:64",
    "resize=5:3",
    "scale=40:50",
    "scale=61:31:flags=lanczos",
    "scale=30:21:flags=area",
    "scale=33:44:flags=neighbor",
    "posterize=5",
    "binary",
    "flip=h",
    "flip=v",
    "crop=trunc(iw/2):ih/2",
    "transpose",
    "transpose=clock",
    "lenscorrection=0.3:0.8:-0.2:0.1",
    "null",
    "rotate=30:grow=1",
    "rotate=-100:red:1",
    "rotate=90:grow=1",
    "avgblur=3:15:1",
];

/// Filters that only cores compute: a graph with one of them uses no device.
#[allow(dead_code)] // Not all tests need them.
pub const CORES_ONLY: &[&str] = &[
    "pad=iw+9:ih+5:4:-1:gray",
    "eq=1.5:0.1:0.5:1.8",
    "unsharp",
    "unsharp=3:7:-1:5:3:2",
    "overlay=tests/fixtures/mark.pam:(W-w)/2:3",
    "median",
    "denoise=0.3",
    "deinterlace=keep=top",
    "deinterlace=keep=bottom",
    "boxblur=1",
    "boxblur='min(cw,ch)/2':2",
    "negate",
    "lut='val/2':u=negval",
    "hue=s=2:b=-1",
    "eq=gamma_r=1.4:gamma_weight=0.6",
    "drawbox=3:1:iw/2:ih/2:red@0.5:2",
    "vignette",
];

/// All filters.
#[allow(dead_code)] // Not all tests need it.
pub fn all() -> Vec<&'static str> {
    [FILTERS, CORES_ONLY].concat()
}

/// Formats of frames below a width and a height.
#[allow(dead_code)] // Not all tests need it.
pub fn formats(width: u32, height: u32) -> impl Strategy<Value = Format> {
    let chroma = prop_oneof![
        Just(Chroma::Mono),
        Just(Chroma::C420),
        Just(Chroma::C422),
        Just(Chroma::C444)
    ];
    let depth = prop_oneof![
        Just(Depth::U8),
        Just(Depth::U10),
        Just(Depth::U12),
        Just(Depth::U16),
        Just(Depth::F32)
    ];
    let range = prop_oneof![Just(ColourRange::Full), Just(ColourRange::Limited)];
    (4..width, 4..height, chroma, depth, range).prop_map(|(width, height, chroma, depth, range)| {
        Format {
            width,
            height,
            chroma,
            depth,
            range,
        }
    })
}

pub fn fill(frame: &mut Frame, seed: u32) {
    let (planes, depth) = (frame.format().planes(), frame.format().depth);
    let mut state = seed | 1;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state >> 8
    };
    for p in 0..planes {
        let bytes = frame.plane_bytes_mut(p);
        match depth {
            Depth::U8 => bytes.iter_mut().for_each(|b| *b = next() as u8),
            Depth::U10 | Depth::U12 | Depth::U16 => {
                let codes = depth.maximum().unwrap() + 1;
                bytes
                    .chunks_exact_mut(2)
                    .for_each(|c| c.copy_from_slice(&((next() % codes) as u16).to_ne_bytes()));
            }
            Depth::F32 => bytes
                .chunks_exact_mut(4)
                .for_each(|c| c.copy_from_slice(&((next() % 1000) as f32 / 999.0).to_ne_bytes())),
        }
    }
}
