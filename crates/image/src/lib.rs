//! Filter graphs over video frames, on the evener runtime.

pub mod exec;
pub mod filters;
pub mod format;
pub mod frame;
pub mod geometry;
pub mod graph;
pub mod io;
#[allow(unsafe_code)]
pub mod kernels;
pub mod lines;
pub mod ops;
pub mod pipelines;
pub mod reference;
pub mod session;
pub mod stage;
pub mod structures;
pub mod through;

pub use format::{Chroma, Codes, ColourRange, Depth, Format, Ratio, Siting, Size, Timing};
pub use frame::Frame;
