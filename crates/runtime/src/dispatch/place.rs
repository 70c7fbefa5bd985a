//! Pinning threads to processors.

use std::io;
use std::sync::OnceLock;

/// What the operating system calls a thread. The thread tells, others wait to know.
#[derive(Debug)]
pub(crate) struct Identity(OnceLock<os::Thread>);

impl Identity {
    pub(crate) fn new() -> Identity {
        Identity(OnceLock::new())
    }

    /// Called by the thread itself.
    pub(crate) fn tell(&self) {
        self.0.get_or_init(os::this_thread);
    }

    /// Returns when the thread has started.
    pub(crate) fn wait(&self) -> &os::Thread {
        self.0.wait()
    }
}

/// Whom to place.
pub(crate) enum Who<'a> {
    Caller,
    Thread(&'a os::Thread),
}

/// Where threads may run that are not pinned.
#[derive(Debug)]
pub(crate) struct Home(os::Set);

impl Home {
    /// Where the calling thread may run now.
    pub(crate) fn find() -> Home {
        Home(os::allowed())
    }

    /// Whether the system said so: otherwise nobody finds back.
    pub(crate) fn is_known(&self) -> bool {
        os::is_known(&self.0)
    }

    /// Whether it is the same.
    pub(crate) fn is(&self, other: &Home) -> bool {
        self.0 == other.0
    }

    /// Lets a thread run on `cpus` only, or at home if that is empty.
    pub(crate) fn put(&self, who: Who<'_>, cpus: &[usize]) -> io::Result<()> {
        let thread = match who {
            Who::Caller => None,
            Who::Thread(thread) => Some(thread),
        };
        match cpus {
            [] => os::put(thread, &self.0),
            _ => os::put(thread, &os::set(cpus)?),
        }
    }
}

/// The processor that the calling thread runs on, where the system says so.
pub(crate) fn this_cpu() -> Option<usize> {
    os::this_cpu()
}

/// From now on everybody else's work goes before that of the calling thread.
///
/// # Errors
/// The system refuses it, or the thread is one of those that no other goes before (`SCHED_FIFO` and such).
pub(crate) fn lowest_priority() -> io::Result<()> {
    os::lowest_priority()
}

#[cfg(target_os = "linux")]
mod os {
    use std::io;

    use rustix::process::setpriority_process;
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

    pub(crate) fn lowest_priority() -> io::Result<()> {
        if !takes_turns() {
            return Err(io::ErrorKind::Unsupported.into());
        }
        const NICE: i32 = 19;
        // Of the thread alone: Linux has priorities for threads where POSIX has them for processes.
        Ok(setpriority_process(None, NICE)?)
    }

    /// Whether priority is by niceness: as proc(5) has it, the policy is the 41st word, and the second may have any
    /// bytes before its bracket.
    fn takes_turns() -> bool {
        let stat = std::fs::read_to_string("/proc/thread-self/stat").unwrap_or_default();
        let policy = stat.rsplit(')').next().map(|rest| rest.split(' ').nth(39));
        // SCHED_OTHER, SCHED_BATCH, SCHED_IDLE; not told without /proc.
        matches!(policy.flatten(), Some("0" | "3" | "5") | None)
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
                let what = format!("processor numbers go up to {}", CpuSet::MAX_CPU - 1);
                return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
            }
            set.set(cpu);
        }
        Ok(Some(set))
    }

    pub(crate) fn put(thread: Option<&Thread>, set: &Set) -> io::Result<()> {
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

    pub(crate) fn lowest_priority() -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(crate) fn allowed() -> Set {}

    pub(crate) fn is_known(_: &Set) -> bool {
        false
    }

    pub(crate) fn set(_: &[usize]) -> io::Result<Set> {
        Ok(())
    }

    pub(crate) fn put(_: Option<&Thread>, _: &Set) -> io::Result<()> {
        Ok(())
    }
}
