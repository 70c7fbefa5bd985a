//! YUV4MPEG2 (`.y4m`): uncompressed video with a one-line header. mjpegtools' `yuv4mpeg(5)` describes it; FFmpeg, x264 and
//! others read and write it.
//!
//! A stream is `YUV4MPEG2`, tags and a newline, then for each frame `FRAME`, optional parameters and a newline, then
//! the planes Y, Cb, Cr, each row after row without padding. Samples of 10 bits take two bytes, the lower first.

mod header;
mod reader;
mod writer;

pub use header::{Header, HeaderError, MAX_FRAME_BYTES, MAX_LINE, MAX_SIDE};
pub use reader::Reader;
pub use writer::Writer;

pub(crate) use header::layout;
