//! Video input and output from outside: bytes, files, pipes and the `ffmpeg` program.

mod ffmpeg;
mod files;
mod pipes;
mod programs;
mod y4m;

use std::path::Path;

use evener_files::SourceFile;
use evener_image::io::Error;
use evener_image::io::ffmpeg::{Encoder, Tools};
use evener_image::{Chroma, Depth, Format, Frame, Timing};

/// Every format that files can have, by y4m's name and FFmpeg's.
const FORMATS: [(&str, &str); 16] = [
    ("mono", "gray"),
    ("mono10", "gray10le"),
    ("420jpeg", "yuv420p"),
    ("420p10", "yuv420p10le"),
    ("422", "yuv422p"),
    ("422p10", "yuv422p10le"),
    ("444", "yuv444p"),
    ("444p10", "yuv444p10le"),
    ("mono12", "gray12le"),
    ("420p12", "yuv420p12le"),
    ("422p12", "yuv422p12le"),
    ("444p12", "yuv444p12le"),
    ("mono16", "gray16le"),
    ("420p16", "yuv420p16le"),
    ("422p16", "yuv422p16le"),
    ("444p16", "yuv444p16le"),
];

/// The layout that one of [`FORMATS`]' names means, worked out from its letters, in the range that readers assume.
fn format(name: &str, width: u32, height: u32) -> Format {
    let chroma = match &name[..3] {
        "mon" => Chroma::Mono,
        "420" => Chroma::C420,
        "422" => Chroma::C422,
        _ => Chroma::C444,
    };
    let depth = match name {
        _ if name.ends_with("10") => Depth::U10,
        _ if name.ends_with("12") => Depth::U12,
        _ if name.ends_with("16") => Depth::U16,
        _ => Depth::U8,
    };
    Format {
        width,
        height,
        chroma,
        depth,
        range: chroma.usual_range(),
    }
}

/// An encoder of frames that come from no file.
fn encode_to(tools: &Tools, path: impl AsRef<Path>, format: &Format) -> Result<Encoder, Error> {
    let (timing, source) = (Timing::default(), SourceFile::default());
    Encoder::create(tools, path, format, &timing, &source, None)
}

/// Bytes of a frame of a y4m file, by the definition of the layouts.
fn frame_bytes(name: &str, width: usize, height: usize) -> usize {
    let chroma = match &name[..3] {
        "mon" => 0,
        "420" => 2 * width.div_ceil(2) * height.div_ceil(2),
        "422" => 2 * width.div_ceil(2) * height,
        _ => 2 * width * height,
    };
    (width * height + chroma) * if name.contains('1') { 2 } else { 1 }
}

/// All bytes of a frame as a y4m file has them.
fn bytes_of(frame: &Frame) -> Vec<u8> {
    let mut bytes: Vec<u8> = (0..frame.format().planes())
        .flat_map(|p| frame.plane_bytes(p).to_vec())
        .collect();
    if cfg!(target_endian = "big") && frame.format().depth.bytes() == 2 {
        bytes.chunks_exact_mut(2).for_each(|pair| pair.swap(0, 1));
    }
    bytes
}

/// A frame from bytes as a y4m file has them.
fn frame_of(format: &Format, bytes: &[u8]) -> Frame {
    let mut frame = Frame::new(format);
    let mut rest = bytes;
    for p in 0..format.planes() {
        let plane = frame.plane_bytes_mut(p);
        let (own, others) = rest.split_at(plane.len());
        plane.copy_from_slice(own);
        if cfg!(target_endian = "big") && format.depth.bytes() == 2 {
            plane.chunks_exact_mut(2).for_each(|pair| pair.swap(0, 1));
        }
        rest = others;
    }
    assert!(rest.is_empty());
    frame
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}
