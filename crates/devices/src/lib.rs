//! Devices behind the runtime's trait.

#[cfg(feature = "c")]
#[allow(unsafe_code)]
pub mod c;
