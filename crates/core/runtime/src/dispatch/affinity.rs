//! Pinning threads to processors.

use std::io;
use std::sync::OnceLock;

/// What the operating system calls a thread. The thread sets it; others wait for it.
#[derive(Debug)]
pub(crate) struct ThreadIdCell(OnceLock<os::Thread>);

impl ThreadIdCell {
    pub(crate) fn new() -> ThreadIdCell {
        ThreadIdCell(OnceLock::new())
    }

    /// Called by the thread itself.
    pub(crate) fn set(&self) {
        self.0.get_or_init(os::this_thread);
    }

    /// Returns when the thread has started.
    pub(crate) fn wait(&self) -> &os::Thread {
        self.0.wait()
    }
}

/// A thread to pin.
pub(crate) enum ThreadRef<'a> {
    Current,
    Other(&'a os::Thread),
}

/// The processors that a thread may run on while it is not pinned.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Affinity(os::Set);

impl Affinity {
    /// That of the calling thread.
    pub(crate) fn current() -> Affinity {
        Affinity(os::allowed())
    }

    /// Whether the system tells. Where it does not, a pinned thread cannot be unpinned.
    pub(crate) fn is_known(&self) -> bool {
        os::is_known(&self.0)
    }

    /// Pins a thread to `cpus`, or lets it run on all of `self` if they are empty.
    pub(crate) fn pin(&self, thread: ThreadRef<'_>, cpus: &[usize]) -> io::Result<()> {
        let thread = match thread {
            ThreadRef::Current => None,
            ThreadRef::Other(thread) => Some(thread),
        };
        match cpus {
            [] => os::pin(thread, &self.0),
            _ => os::pin(thread, &os::set(cpus)?),
        }
    }
}

/// The processor that the calling thread runs on, where the system says so.
pub(crate) fn this_cpu() -> Option<usize> {
    os::this_cpu()
}

#[cfg(target_os = "linux")]
mod os {
    use std::io;

    use rustix::thread::{CpuSet, Pid, gettid, sched_getaffinity, sched_getcpu, sched_setaffinity};

    pub(crate) type Thread = Pid;
    /// `None` where the system does not say.
    pub(crate) type Set = Option<CpuSet>;

    pub(crate) fn this_thread() -> Thread {
        gettid()
    }

    pub(crate) fn this_cpu() -> Option<usize> {
        Some(sched_getcpu())
    }

    pub(crate) fn allowed() -> Set {
        sched_getaffinity(None).ok()
    }

    pub(crate) fn is_known(set: &Set) -> bool {
        set.is_some()
    }

    pub(crate) fn set(cpus: &[usize]) -> io::Result<Set> {
        let mut set = CpuSet::new();
        for &cpu in cpus {
            if cpu >= CpuSet::MAX_CPU {
                let what = format!("CPU numbers go up to {}", CpuSet::MAX_CPU - 1);
                return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
            }
            set.set(cpu);
        }
        Ok(Some(set))
    }

    pub(crate) fn pin(thread: Option<&Thread>, set: &Set) -> io::Result<()> {
        match set {
            Some(set) => Ok(sched_setaffinity(thread.copied(), set)?),
            None => Ok(()),
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod os {
    use std::io;

    pub(crate) type Thread = ();
    pub(crate) type Set = ();

    pub(crate) fn this_thread() -> Thread {}

    pub(crate) fn this_cpu() -> Option<usize> {
        None
    }

    pub(crate) fn allowed() -> Set {}

    pub(crate) fn is_known(_: &Set) -> bool {
        false
    }

    pub(crate) fn set(_: &[usize]) -> io::Result<Set> {
        Ok(())
    }

    pub(crate) fn pin(_: Option<&Thread>, _: &Set) -> io::Result<()> {
        Ok(())
    }
}
