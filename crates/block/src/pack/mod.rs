//! Packing: an image into a container, on all workers.
//!
//! | file | what it is for |
//! | --- | --- |
//! | `unit.rs` | a unit, of several blocks, as it is read and as it is written |
//! | `source.rs` | units from an image, its holes left out, or from a pipe |
//! | `service.rs` | what is done to a block, and how a unit is divided |
//! | `sink.rs` | units to a file or a pipe |
//! | `container/` | how blocks are written down |

mod container;
mod service;
mod sink;
mod source;
mod unit;

pub use container::Packed;
pub use service::Pack;
pub use sink::PackSink;
pub use source::PackSource;
pub use unit::{Head, Span, UnitIn, UnitOut};
