//! For loops that know how long they take, as those of the library `evener` do.

use crate::pool;
use crate::worker::Worker;

pub use crate::join::join_offered;

/// Runs `work` on a worker: this thread, if it is one or can be one for the time of the call. Nobody is woken.
pub fn enter<R: Send>(work: impl FnOnce() -> R + Send) -> R {
    match Worker::current() {
        Some(_) => work(),
        None => pool::global().in_worker(false, |_, _| work()),
    }
}

/// Wakes somebody who looks for jobs, unless somebody does: there is work for longer than waking takes.
pub fn call() {
    if let Some(worker) = Worker::current() {
        worker.shared().idle.call_watcher(worker.shared());
    }
}
