//! Jobs that nobody waits for.

use std::sync::Arc;

use crate::job::{JobRef, heap_job};
use crate::pool::{self, Shared};

/// Runs `work` some time, on a thread of the current pool. A panic goes to the pool's panic handler, or aborts the process.
///
/// ```
/// let (send, receive) = std::sync::mpsc::channel();
/// evener_pool::spawn(move || send.send(6 * 7).unwrap());
/// assert_eq!(receive.recv(), Ok(42));
/// ```
pub fn spawn<F: FnOnce() + Send + 'static>(work: F) {
    spawn_in(work, &pool::current_pool());
}

/// As [`spawn`]; of the jobs that one thread of the pool spawns, the oldest runs first.
pub fn spawn_fifo<F: FnOnce() + Send + 'static>(work: F) {
    spawn_fifo_in(work, &pool::current_pool());
}

pub(crate) fn spawn_in(work: impl FnOnce() + Send + 'static, shared: &Arc<Shared>) {
    shared.add(detached(work, shared), true);
}

pub(crate) fn spawn_fifo_in(work: impl FnOnce() + Send + 'static, shared: &Arc<Shared>) {
    let job = detached(work, shared);
    match shared.current().filter(|worker| !worker.is_guest()) {
        Some(worker) => worker.push_spawned(worker.fifo.push(job)),
        None => shared.inject(job),
    }
}

/// A job that keeps the pool from ending until it has run.
fn detached(work: impl FnOnce() + Send + 'static, shared: &Arc<Shared>) -> JobRef {
    shared.hold();
    let shared = Arc::clone(shared);
    heap_job(move || {
        shared.catch(work);
        shared.release();
    })
}
