//! The CPUs on which the threads of a stream run.
#![forbid(unsafe_code)]

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tracing::warn;

use crate::dispatch::Pool;
use crate::dispatch::affinity::{Affinity, ThreadRef, this_cpu};
use crate::error::Error;
use crate::named::Placement;
use crate::topology::Topology;

/// Where the threads of one stream run. On drop the calling thread may run again where it could before.
pub(crate) struct StreamAffinity<'a> {
    pool: &'a Pool,
    topology: &'a Topology,
    placement: Placement,
    /// Whether any stream of the runtime has pinned the workers.
    taken: &'a AtomicBool,
    before: Arc<Affinity>,
    io_cpus: Vec<usize>,
    note: Option<String>,
    /// There are as many workers as processors, and the user left open where they and the calling thread run.
    may_pin: Cell<bool>,
    /// This stream has pinned the workers.
    pinned: Cell<bool>,
}

impl<'a> StreamAffinity<'a> {
    /// Pins workers and the calling thread as `placement` says, the latter for as long as the result lives. `taken` is
    /// shared by all streams on `pool`.
    pub(crate) fn new(
        pool: &'a Pool,
        topology: &'a Topology,
        placement: Placement,
        taken: &'a AtomicBool,
    ) -> Result<StreamAffinity<'a>, Error> {
        let before = Affinity::current();
        let cpus = topology.cpus.len();
        // A pinned thread can be unpinned only where the system says where it could run before.
        let restorable = before.is_known() && before == *pool.unpinned();
        let may_pin =
            placement == Placement::None && restorable && cpus > 1 && cpus == pool.workers();
        let mut affinity = StreamAffinity {
            pool,
            topology,
            placement,
            taken,
            before: Arc::new(before),
            io_cpus: Vec::new(),
            note: None,
            may_pin: Cell::new(may_pin),
            pinned: Cell::new(false),
        };
        // Input and output go to the first processor, where interrupts are most often handled.
        if let (Some(first), true) = (topology.cpus.first(), placement != Placement::None) {
            let placed = topology.placement(placement, pool.workers(), first.id);
            pool.place(&placed.cpus)?;
            affinity.note = placed.note;
            if placed.cpus.iter().any(|cpus| !cpus.is_empty()) {
                affinity.io_cpus.push(first.id);
            }
        }
        Ok(affinity)
    }

    /// Pins each worker to a processor of its own, or unpins all. One stream at a time pins: each stream has a worker
    /// 0, and two of them would have the same processor.
    pub(crate) fn pin_workers(&self, pin: bool) {
        if pin == self.pinned.get() || !self.may_pin.get() {
            return;
        }
        if pin {
            if self.taken.swap(true, Ordering::Acquire) {
                return;
            }
            match self.pool.place(&self.topology.one_each(this_cpu())) {
                Ok(()) => return self.pinned.set(true),
                Err(error) => {
                    warn!(%error, "workers run where the operating system puts them");
                    self.may_pin.set(false);
                }
            }
        }
        if let Err(error) = self.pool.place(&[]) {
            warn!(%error, "cannot let workers run where they could before");
        }
        pin_current(&self.before, &[]);
        self.pinned.set(false);
        self.taken.store(false, Ordering::Release);
    }

    /// What was done instead where the machine cannot do what was asked.
    pub(crate) fn note(&self) -> Option<&str> {
        self.note.as_deref()
    }

    /// For a thread that does input or output.
    pub(crate) fn io(&self) -> IoAffinity {
        IoAffinity {
            before: Arc::clone(&self.before),
            cpus: self.io_cpus.clone(),
        }
    }
}

impl Drop for StreamAffinity<'_> {
    fn drop(&mut self) {
        self.pin_workers(false);
        if self.placement != Placement::None {
            pin_current(&self.before, &[]);
        }
    }
}

/// Where a thread for input or output runs.
pub(crate) struct IoAffinity {
    before: Arc<Affinity>,
    cpus: Vec<usize>,
}

impl IoAffinity {
    /// Pins the calling thread, or lets it run where the stream's caller could before.
    pub(crate) fn apply(&self) {
        // A thread inherits the affinity of the one that starts it, here worker 0, so it is always set.
        pin_current(&self.before, &self.cpus);
    }
}

fn pin_current(before: &Affinity, cpus: &[usize]) {
    if let Err(error) = before.pin(ThreadRef::Current, cpus) {
        warn!(?cpus, %error, "cannot place a thread for input or output");
    }
}
