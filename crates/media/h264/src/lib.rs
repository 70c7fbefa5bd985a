//! H.264 encoding (ITU-T H.264, ISO/IEC 14496-10) on the evener runtime.
//!
//! Pictures are progressive, 8 bits, 4:2:0. Clauses and tables in the documentation are those of the ITU-T text.

pub mod analysis;
pub mod annex_b;
pub mod bits;
pub mod chosen;
pub mod config;
mod decide;
mod device;
pub mod encoder;
mod energy;
pub mod entropy;
mod estimate;
mod filter;
mod geometry;
#[allow(unsafe_code)]
pub mod kernels;
pub mod macroblock;
pub mod mp4;
mod neighbours;
mod padded;
mod picture;
pub mod preprocess;
pub mod quality;
pub mod rate;
mod reference;
mod search;
pub mod service;
pub mod session;
mod source;
mod spare;
mod strengths;
pub mod syntax;
pub mod unit;
