//! Boxes of ISO base media files (ISO/IEC 14496-12, -14 and -15). The crate's README has the map.
#![forbid(unsafe_code)]

mod boxes;
mod headers;
mod sample_entry;

pub use boxes::Boxes;
pub use sample_entry::SampleFormat;
