//! Transport streams (ISO/IEC 13818-1 = Rec. ITU-T H.222.0).

mod classify;
pub mod marker;
mod mux;
pub mod packet;
mod resume;
mod splice;
pub mod tables;
#[cfg(test)]
mod tests;

pub use classify::Classify;
pub use mux::Mux;
pub use resume::{Instead, Resume};
pub use splice::Splice;
