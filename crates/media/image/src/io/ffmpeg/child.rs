//! Child processes, all of which can be killed when this process ends without dropping their owners.

use std::io;
use std::process::{Child, Command, ExitStatus};
use std::sync::{Mutex, MutexGuard};

use evener_files::lock;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};

/// Children that were started and not reaped. While this is locked, their process ids are not reused.
fn children() -> MutexGuard<'static, Vec<Pid>> {
    static ALL: Mutex<Vec<Pid>> = Mutex::new(Vec::new());
    lock(&ALL)
}

/// Kills the programs of all inputs and outputs, for a process that ends without dropping them. Threads that start or reap
/// one afterwards block until the process ends.
pub fn kill_programs() {
    let all = children();
    for &pid in all.iter() {
        let _ = kill_process(pid, Signal::KILL);
    }
    std::mem::forget(all);
}

/// A running program. Killed and reaped when dropped.
pub(super) struct ManagedChild {
    pub(super) child: Child,
    reaped: bool,
}

impl ManagedChild {
    pub(super) fn start(command: &mut Command) -> io::Result<ManagedChild> {
        // The lock makes starting and registering one step for `kill_programs`.
        let mut all = children();
        let child = command.spawn()?;
        all.push(Pid::from_child(&child));
        Ok(ManagedChild {
            child,
            reaped: false,
        })
    }

    /// Waits for its end; its pipes must be closed or drained.
    pub(super) fn wait(&mut self) -> io::Result<ExitStatus> {
        let pid = Pid::from_child(&self.child);
        if !self.reaped {
            // Its process id is not reused until it is removed from the list.
            let ended = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
            while let Err(rustix::io::Errno::INTR) = waitid(WaitId::Pid(pid), ended) {}
            let mut all = children();
            self.reaped = true;
            all.retain(|&one| one != pid);
            return self.child.wait();
        }
        self.child.wait()
    }
}

impl Drop for ManagedChild {
    fn drop(&mut self) {
        // Both fail without harm for a child that was reaped.
        let _ = self.child.kill();
        let _ = self.wait();
    }
}
