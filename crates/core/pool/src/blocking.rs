//! Jobs that wait for something other than jobs.

use crate::sync::Ordering;
use crate::worker::Worker;

/// Runs `work`, which waits for a file, a socket or a lock, on this thread. If the thread is a worker of the global pool,
/// a spare thread computes in its place meanwhile. The pool has as many spare threads as others. In other pools, and on other
/// threads, this only calls `work`.
///
/// The index of a spare thread is [`current_num_threads`](crate::current_num_threads) or more.
///
/// ```
/// use std::{thread::sleep, time::Duration};
///
/// evener_pool::scope(|s| {
///     for _ in 0..10 {
///         s.spawn(|_| evener_pool::blocking(|| sleep(Duration::from_millis(1))));
///     }
/// });
/// ```
pub fn blocking<R>(work: impl FnOnce() -> R) -> R {
    let _away = Worker::current().map(Away::new);
    work()
}

/// A worker that waits.
struct Away<'a> {
    worker: &'a Worker,
    was_active: bool,
}

impl Away<'_> {
    fn new(worker: &Worker) -> Away<'_> {
        let was_active = worker.active.swap(false, Ordering::AcqRel);
        worker.shared().idle.substitute(worker.shared());
        Away { worker, was_active }
    }
}

impl Drop for Away<'_> {
    fn drop(&mut self) {
        let shared = self.worker.shared();
        self.worker.active.store(self.was_active, Ordering::SeqCst);
        shared.idle.call_watcher(shared);
        shared.idle.dismiss(shared);
    }
}
