//! Workers, and the three ways jobs reach them.
//!
//! A *batch* is a range of items. A grain cuts it into *jobs*. [`Pool::run`] hands the jobs of one batch to workers in
//! one of three flavours ([`Dispatch`](crate::plan::Dispatch)), takes part itself, and returns when all jobs have
//! ended. Nothing is allocated and no closure is boxed per job: a job is a descriptor of a fixed size that points to a
//! header in the frame of `run`. `README.md` in this folder has the wake-up protocol and the proof that it loses
//! nothing.

pub(crate) mod affinity;
mod batch;
mod flavors;
mod job;
mod participants;
mod pool;
mod sleep;
mod slot;
pub(crate) mod spsc;
pub(crate) mod sync;
mod worker;

#[cfg(all(test, loom))]
mod loom_tests;
#[cfg(all(test, not(loom)))]
mod tests;

pub use batch::{Batch, Caller, JobPanic, Outcome, WorkerId};
pub use pool::{Error, MAX_WORKERS, Pool};
pub(crate) use sleep::{EventCount, Notify, Seen};
