//! Many who want everything to be durable at once, and one who does it.

use std::io;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Turns of some work of which one serves all who asked before it began.
#[derive(Debug, Default)]
pub struct Syncs {
    turns: Mutex<Turns>,
    ended: Condvar,
}

#[derive(Debug, Default)]
struct Turns {
    begun: u64,
    done: u64,
    running: bool,
    /// How the last one ended: with an error of that number.
    failed: Option<i32>,
}

/// Ends a turn, also if it panics.
struct Turn<'a> {
    syncs: &'a Syncs,
    failed: Option<i32>,
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut turns = self.syncs.lock();
        turns.running = false;
        turns.done = turns.begun;
        turns.failed = self.failed;
        drop(turns);
        self.syncs.ended.notify_all();
    }
}

impl Syncs {
    /// Returns when `work` was done from beginning to end after this was called, here or by somebody else.
    ///
    /// # Errors
    /// That work failed.
    pub fn join(&self, work: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
        let mut turns = self.lock();
        let mine = turns.begun + 1;
        while turns.running && turns.done < mine {
            turns = self
                .ended
                .wait(turns)
                .unwrap_or_else(PoisonError::into_inner);
        }
        if turns.done >= mine {
            return turns.failed.map_or(Ok(()), |number| Err(error(number)));
        }
        turns.running = true;
        turns.begun += 1;
        drop(turns);
        let mut turn = Turn {
            syncs: self,
            failed: Some(EIO),
        };
        let done = work();
        turn.failed = done.as_ref().err().map(|e| e.raw_os_error().unwrap_or(EIO));
        done
    }

    fn lock(&self) -> MutexGuard<'_, Turns> {
        self.turns.lock().unwrap_or_else(PoisonError::into_inner)
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
    fn one_serves_all_who_came_before_it_began() {
        let syncs = Syncs::default();
        let (runs, asked, seen) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..20 {
                        let mine = asked.fetch_add(1, Ordering::SeqCst) + 1;
                        let done = syncs.join(|| {
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
    fn a_failure_is_that_of_all_and_a_panic_leaves_nobody_waiting() {
        let syncs = Syncs::default();
        let full = || Err(error(28));
        assert_eq!(syncs.join(full).unwrap_err().raw_os_error(), Some(28));
        let falls = thread::scope(|scope| scope.spawn(|| syncs.join(|| panic!("falls"))).join());
        assert!(falls.is_err());
        syncs.join(|| Ok(())).unwrap();
    }
}
