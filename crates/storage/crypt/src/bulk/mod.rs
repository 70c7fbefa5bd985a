//! Bulk encryption as a service of the runtime: long files in units of a MiB. Any worker can compute any row of a unit.
//!
//! | file | what it is for |
//! | --- | --- |
//! | `operation.rs` | the operations on rows: sealing, opening, counter mode |
//! | `unit.rs` | a unit as it is read and as it is written |
//! | `service.rs` | how a unit is divided |
//! | `source.rs`, `sink.rs` | reading units from files and pipes, and writing them |
//! | `memory.rs` | the same from and to memory |
#![forbid(unsafe_code)]

mod memory;
mod operation;
mod service;
mod sink;
mod source;
mod unit;

pub use memory::{ReadSource, WriteSink};
pub use operation::{Counter, Failure, Open, Operation, Seal};
pub use service::{Bulk, STRUCTURES};
pub use sink::BulkSink;
pub use source::{BulkSource, Input};
pub use unit::{UNIT_ROWS, UnitIn, UnitOut};
