//! OpenCL and CUDA devices for streams of [`evener_runtime`].
//!
//! Drivers are loaded when they are needed, so a program builds and starts without any. [`list`] describes the
//! devices, and [`open`] opens one by name. Pass it to
//! [`Builder::devices`](evener_runtime::runtime::Builder::devices).
//!
//! ```no_run
//! use evener_runtime::Runtime;
//!
//! let device = evener_devices::open(Some("auto"))?; // the best GPU, or `None`
//! let runtime = Runtime::builder().devices(device.into_iter().collect()).build()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#[cfg(feature = "c")]
#[allow(unsafe_code)]
pub mod c;
mod choose;
#[allow(unsafe_code)]
pub mod cuda;
#[allow(unsafe_code)]
mod handlers;
#[allow(unsafe_code)]
mod library;
pub mod measure;
#[allow(unsafe_code)]
pub mod opencl;
mod pace;
pub mod probe;
mod queue;
mod record;
pub mod survey;

pub use choose::{ENVIRONMENT, List, list, open};
pub use record::Record;

/// The examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
