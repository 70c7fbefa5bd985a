//! How threads wait: spinning, the event word of a worker, the latch of a batch, notifying a thread that is not known
//! beforehand, and an event count for any number of threads. The folder's `README.md` has the proof that no wake-up is
//! lost.

pub(crate) mod event;
mod event_count;
mod latch;
mod notify;
mod spin;

pub(crate) use event::{EventWord, Events, LastSequence};
pub(crate) use event_count::{EventCount, Seen};
pub(crate) use latch::CountdownLatch;
pub(crate) use notify::Notify;
pub(crate) use spin::spin_until;
