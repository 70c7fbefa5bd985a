//! Memory that units, stages and workers share.

pub mod aligned;
pub mod growing;
pub mod lent;
mod locked;
mod pages;
pub mod per_worker;
pub mod rows;
mod slab;

pub(crate) use aligned::lean;
pub use aligned::{Aligned, Sample};
pub use growing::{Appended, GrowingRows};
pub use lent::Lent;
pub use locked::PageLock;
pub(crate) use locked::lock_for;
pub use per_worker::PerWorker;
pub use rows::{Rows, RowsMut, RowsRef};
