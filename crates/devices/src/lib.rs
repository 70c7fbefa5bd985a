//! Devices behind the runtime's trait.

#[cfg(feature = "c")]
#[allow(unsafe_code)]
pub mod c;
#[allow(unsafe_code)]
mod library;
#[allow(unsafe_code)]
pub mod opencl;
mod pace;
pub mod probe;
