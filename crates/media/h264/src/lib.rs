//! An H.264 encoder (ITU-T H.264, ISO/IEC 14496-10) for all CPU cores.
//!
//! Pictures are progressive, 8 bits, 4:2:0. Clauses and tables in the documentation are those of the ITU-T text.
//!
//! [`session::Session`] encodes files. [`encoder::Encoder`] codes pictures in memory. Both take a [`config::Config`].
//!
//! ```no_run
//! use evener_h264::config::{Config, Rate, Settings};
//! use evener_h264::session::{Options, Session};
//! use evener_image::session::Audio;
//! use evener_runtime::Runtime;
//!
//! let config = Config::new(&Settings { rate: Rate::Crf(20.0), ..Settings::default() })?;
//! let session = Session::open(&config, None, "in.y4m", "out.mp4", Audio::Copied)?;
//! session.run(&Runtime::new()?, Options::default())?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

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

/// The examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
