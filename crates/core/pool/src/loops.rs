//! For loops that know how long they take, as those of the library `evener` do.

use crate::pool;
use crate::worker::Worker;

pub use crate::join::join_offered;

/// Runs `work` on a worker: on this thread, if it is a worker or can become one for the call. No thread is woken.
pub fn enter<R: Send>(work: impl FnOnce() -> R + Send) -> R {
    match Worker::current() {
        Some(_) => work(),
        None => pool::global().in_worker(false, |_, _| work()),
    }
}

/// Runs `work` on this thread. The thread is a worker meanwhile, if it is one or can become one.
pub fn here<R>(work: impl FnOnce() -> R) -> R {
    let _guest = match Worker::current() {
        Some(_) => None,
        None => pool::global().guest(),
    };
    work()
}

/// Runs the oldest of the jobs that this thread has added and no other has taken. Whether there was one.
pub fn run_oldest() -> bool {
    let worker = Worker::current();
    let oldest = worker.and_then(|worker| worker.deque.pop_oldest());
    // SAFETY: it was taken out of a queue, so this is its only run.
    oldest.map(|job| unsafe { job.run() }).is_some()
}

/// Wakes an idle thread to look for jobs, unless one already does. For work that takes longer than the wake-up.
pub fn call() {
    if let Some(worker) = Worker::current() {
        worker.shared().idle.call_watcher(worker.shared());
    }
}
