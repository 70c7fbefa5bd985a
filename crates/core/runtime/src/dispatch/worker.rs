//! The state that the threads of a pool share, and what a worker's thread does.

use std::cell::Cell;

use super::batch::WorkerId;
use super::flavors::{Fifo, Steal, mailbox};
use super::participants::BatchLock;
use super::sleep::{Events, LastSequence};
use super::slot::WorkerSlot;
use super::sync::Padded;

/// Everything the threads of a pool share.
pub(crate) struct Shared {
    pub(crate) slots: Box<[WorkerSlot]>,
    pub(crate) fifo: Fifo,
    pub(crate) steal: Steal,
    pub(crate) lock: Padded<BatchLock>,
}

impl Shared {
    pub(crate) fn new(workers: usize) -> Shared {
        Shared {
            slots: (0..workers).map(|_| WorkerSlot::new()).collect(),
            fifo: Fifo::new(),
            steal: Steal::new(workers),
            lock: BatchLock::new(workers),
        }
    }
}

/// What a worker's thread does.
pub(crate) fn work(shared: &Shared, worker: WorkerId) {
    let slot = &shared.slots[worker.0];
    slot.thread_id.set();
    let _current = CurrentWorker::set(shared, worker);
    let mut last = LastSequence::default();
    loop {
        let events = slot.events.wait(&mut last);
        if events.contains(Events::MAILBOX) {
            // SAFETY: this is the slot's worker, and its sequence number has advanced.
            unsafe { mailbox::run_worker(&slot.mailbox, worker) };
        }
        if events.contains(Events::FIFO) || events.contains(Events::STEAL) {
            slot.admission.enter(|| {
                if events.contains(Events::FIFO) {
                    shared.fifo.run_worker(worker);
                }
                if events.contains(Events::STEAL) {
                    shared.steal.run_worker(worker);
                }
            });
        }
        if events.contains(Events::CLOSE) {
            return;
        }
    }
}

#[cfg(not(loom))]
thread_local! {
    static CURRENT: Cell<Option<CurrentWorker>> = const { Cell::new(None) };
}
#[cfg(loom)]
loom::thread_local! {
    static CURRENT: Cell<Option<CurrentWorker>> = Cell::new(None);
}

/// Which worker of which pool this thread is now. The pool's address is compared and never used.
#[derive(Clone, Copy)]
pub(crate) struct CurrentWorker {
    pool: usize,
    worker: WorkerId,
}

impl CurrentWorker {
    /// `None` outside jobs.
    pub(crate) fn get() -> Option<CurrentWorker> {
        CURRENT.with(Cell::get)
    }

    /// Makes this thread a worker until the result is dropped.
    pub(crate) fn set(shared: &Shared, worker: WorkerId) -> CurrentWorkerGuard {
        let current = CurrentWorker {
            pool: std::ptr::from_ref(shared).addr(),
            worker,
        };
        CURRENT.with(|c| c.set(Some(current)));
        CurrentWorkerGuard
    }

    /// The worker that this thread is in a batch of `shared`: its own number in its own pool, else 0.
    pub(crate) fn in_pool(self, shared: &Shared) -> WorkerId {
        match self.pool == std::ptr::from_ref(shared).addr() {
            true => self.worker,
            false => WorkerId(0),
        }
    }
}

/// Makes the thread no worker on drop.
pub(crate) struct CurrentWorkerGuard;

impl Drop for CurrentWorkerGuard {
    fn drop(&mut self) {
        CURRENT.with(|c| c.set(None));
    }
}
