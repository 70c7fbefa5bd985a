//! Packing: an image is written to a container, on all workers.
//!
//! | file | what it is for |
//! | --- | --- |
//! | `unit.rs` | a unit, of several blocks, as it is read and as it is written |
//! | `source.rs` | units from an image or a sequential input |
//! | `sequential.rs` | what can only be read in order, compressed or not |
//! | `service.rs` | packing a block, and how a unit is divided |
//! | `sink.rs` | writing units to a file or a pipe |
//! | `container/` | how packed blocks are stored in a file |

mod container;
mod sequential;
mod service;
mod sink;
mod source;
mod unit;

pub use container::Packed;
pub use sequential::Sequential;
pub use service::Pack;
pub use sink::PackSink;
pub use source::PackSource;
pub use unit::{BlockResult, Span, UnitIn, UnitOut};
