//! Devices behind the runtime's trait: OpenCL and CUDA.
//!
//! Drivers are looked for when they are needed, so evener builds and starts without any.

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
