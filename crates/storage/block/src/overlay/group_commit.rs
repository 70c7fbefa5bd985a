//! Group commit: one sync serves all threads that asked for one before it began.

use std::io;
use std::sync::{Condvar, Mutex};

use evener_files::{lock, unpoisoned};

/// Runs of some work, of which one serves all callers before it began.
#[derive(Debug, Default)]
pub struct GroupCommit {
    state: Mutex<State>,
    ended: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// Runs that were begun, and that have ended.
    begun: u64,
    done: u64,
    running: bool,
    /// The error number of the last run, if it failed.
    failed: Option<i32>,
}

/// Ends a run when it is dropped, so that a run which panics ends too.
struct RunGuard<'a> {
    commits: &'a GroupCommit,
    failed: Option<i32>,
}

impl Drop for RunGuard<'_> {
    fn drop(&mut self) {
        let mut state = lock(&self.commits.state);
        state.running = false;
        state.done = state.begun;
        state.failed = self.failed;
        drop(state);
        self.commits.ended.notify_all();
    }
}

impl GroupCommit {
    /// Returns when a run of `work` that began after this call has ended, here or in another thread.
    ///
    /// # Errors
    /// That run failed.
    pub fn run(&self, work: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
        let mut state = lock(&self.state);
        let mine = state.begun + 1;
        while state.running && state.done < mine {
            state = unpoisoned(self.ended.wait(state));
        }
        if state.done >= mine {
            return state.failed.map_or(Ok(()), |number| Err(error(number)));
        }
        state.running = true;
        state.begun += 1;
        drop(state);
        let mut guard = RunGuard {
            commits: self,
            failed: Some(EIO),
        };
        let done = work();
        guard.failed = done.as_ref().err().map(|e| e.raw_os_error().unwrap_or(EIO));
        done
    }
}

const EIO: i32 = rustix::io::Errno::IO.raw_os_error();

fn error(number: i32) -> io::Error {
    io::Error::from_raw_os_error(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    use std::sync::atomic::{AtomicU64, Ordering};
    use std::thread;
    use std::time::Duration;

    #[test]
    fn one_run_serves_all_callers_before_it() {
        let commits = GroupCommit::default();
        let (runs, asked, seen) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..20 {
                        let mine = asked.fetch_add(1, Ordering::SeqCst) + 1;
                        let done = commits.run(|| {
                            let before = asked.load(Ordering::SeqCst);
                            thread::sleep(Duration::from_millis(1));
                            seen.store(before, Ordering::SeqCst);
                            runs.fetch_add(1, Ordering::SeqCst);
                            Ok(())
                        });
                        done.unwrap();
                        assert!(seen.load(Ordering::SeqCst) >= mine);
                    }
                });
            }
        });
        let runs = runs.into_inner();
        assert!(runs < 120, "{runs} for 160");
    }

    #[test]
    fn a_panic_leaves_no_caller_waiting() {
        let commits = GroupCommit::default();
        let full = || Err(error(28));
        assert_eq!(commits.run(full).unwrap_err().raw_os_error(), Some(28));
        let panics = thread::scope(|scope| scope.spawn(|| commits.run(|| panic!("panics"))).join());
        assert!(panics.is_err());
        commits.run(|| Ok(())).unwrap();
    }
}
