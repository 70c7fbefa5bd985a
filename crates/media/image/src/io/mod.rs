//! Video input and output: y4m files and pipes, everything else through FFmpeg, synthetic scenes.
//!
//! [`open_input`] and [`create_output`] choose by name, as command lines do. Each kind can also be used directly. Inputs
//! fill one [`Frame`](crate::Frame) at a time, and outputs write one. Neither starts a thread.

#![forbid(unsafe_code)]

mod error;
pub mod ffmpeg;
mod null;
mod numbered;
mod open;
mod ports;
mod testsrc;
pub mod y4m;

pub use error::Error;
pub use null::Null;
pub use open::{
    Input, Output, Planned, create_output, open_input, open_pictures, plan_output,
    plan_output_with, without_prefix,
};
pub use testsrc::TestSource;
