//! Where the ends of round trips run, so that those of all contestants cross between the same two processors.

use std::io;
use std::thread;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Who has a processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The stack, on the first that this process may use.
    Stack,
    /// What it talks with, on the second.
    Peer,
}

impl End {
    /// The number of its processor.
    ///
    /// # Errors
    /// What the operating system says.
    pub fn cpu(self) -> io::Result<usize> {
        let all = sched_getaffinity(None)?;
        let mut known = (0..CpuSet::MAX_CPU).filter(|&cpu| all.is_set(cpu));
        let first = known.next();
        let cpu = match self {
            End::Stack => first,
            // There may be only one.
            End::Peer => known.next().or(first),
        };
        cpu.ok_or_else(|| io::Error::other("this process may use no CPU"))
    }

    /// Runs `what` in a thread that is there. Processes that it starts are there, too.
    ///
    /// # Errors
    /// What the operating system says, and those of `what`.
    pub fn run<T: Send>(self, what: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
        let mut own = CpuSet::new();
        own.set(self.cpu()?);
        thread::scope(|scope| {
            let there = scope.spawn(move || {
                sched_setaffinity(None, &own)?;
                what()
            });
            there.join().expect("the thread does not panic")
        })
    }
}
