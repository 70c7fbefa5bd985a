//! Filter graphs on video frames, on all CPU cores and on GPUs.
//!
//! Parse a [`Graph`](graph::Graph). Then run it in one of three ways:
//!
//! | call | for |
//! | --- | --- |
//! | [`session::Session`] | files, pipes and whatever FFmpeg reads and writes |
//! | [`Runtime::stream`](evener_runtime::Runtime::stream) | y4m files, or your own source and sink |
//! | [`open::OpenGraph`] | single frames in your own memory |
//!
//! ```no_run
//! # use evener_image::{graph::Graph, io::y4m};
//! # use evener_runtime::{Choice, Runtime};
//! let rt = Runtime::new()?;
//! let graph = Graph::parse("undistort,rotate=6,crop=0.8")?;
//! let (input, output) = (y4m::Reader::open("in.y4m")?, y4m::Writer::create("out.y4m")?);
//! let report = rt.stream(input).through(graph).plan(Choice::Auto).into(output)?;
//! println!("{report}");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod chosen;
pub mod costs;
pub mod device;
pub mod exec;
pub mod filters;
pub mod format;
pub mod frame;
pub mod geometry;
pub mod graph;
pub mod integer;
pub mod io;
#[allow(unsafe_code)]
pub mod kernels;
pub mod moves;
pub mod open;
pub mod ops;
pub mod pipelines;
pub mod reference;
pub mod row_view;
pub mod sequence;
pub mod session;
pub mod stage;
pub mod structures;
pub mod through;
pub mod times;
pub mod weights;

pub use format::{Chroma, Codes, ColourRange, Depth, Format, Ratio, Siting, Size, Timing, Video};
pub use frame::Frame;

/// The examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
