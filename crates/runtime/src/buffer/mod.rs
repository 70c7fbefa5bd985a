//! Memory that units, stages and workers share.

pub mod aligned;
pub mod per_worker;
pub mod rows;

pub use aligned::{Aligned, Sample};
pub use per_worker::PerWorker;
pub use rows::{Rows, RowsMut, RowsRef};
