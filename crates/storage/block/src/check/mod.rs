//! Verifying and unpacking: every block of an image is decoded, on all workers.
//!
//! | file | what it is for |
//! | --- | --- |
//! | `unit.rs` | a unit, of several blocks |
//! | `source.rs` | units of an image, whose bytes the workers read |
//! | `service.rs` | decoding and comparing |
//! | `findings.rs` | what was found |
//! | `sink.rs` | writing unpacked units to a file or a pipe, and counting those that are only checked |

mod findings;
mod service;
mod sink;
mod source;
mod unit;

pub use findings::{BadBlock, Findings, Kind};
pub use service::{Decode, Purpose};
pub use sink::{CountSink, UnpackSink};
pub use source::BlockSource;
pub use unit::{UnitIn, UnitOut};
