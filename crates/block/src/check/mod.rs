//! Checking and unpacking: every block of an image decoded, on all workers.
//!
//! | file | what it is for |
//! | --- | --- |
//! | `unit.rs` | a unit, of several blocks |
//! | `source.rs` | units of an image; workers read their bytes |
//! | `service.rs` | decoding and comparing |
//! | `findings.rs` | what was found |
//! | `sink.rs` | unpacked units to a file or a pipe, and those that are only looked at |

mod findings;
mod service;
mod sink;
mod source;
mod unit;

pub use findings::{BadBlock, Findings, Kind};
pub use service::{Decode, Purpose};
pub use sink::{CheckSink, UnpackSink};
pub use source::BlockSource;
pub use unit::{UnitIn, UnitOut};
