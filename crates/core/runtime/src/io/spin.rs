//! Waits that spin before they park, with a budget of CPUs.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::topology::Topology;

/// The longest time that a wait spins. To wake a parked thread on a virtual machine costs from tens of microseconds to
/// more than a hundred, so a wait costs at most about twice what the better of spinning and parking would have cost.
const MAX_SPIN: Duration = Duration::from_micros(150);
/// A longer wait counts as this much in the mean.
const MAX_COUNTED: Duration = Duration::from_millis(1);
/// The mean is over about this many of the latest waits.
const WAITS: u32 = 4;

/// Limits how many threads spin at a time, so that processors are left for threads that compute.
#[derive(Debug)]
pub(crate) struct SpinBudget {
    max: usize,
    spinning: AtomicUsize,
}

impl SpinBudget {
    pub(crate) fn new(topology: &Topology) -> SpinBudget {
        SpinBudget::of(topology.parallelism())
    }

    /// For both ends of a stream that stays open: each waits for the other.
    pub(crate) fn both_ends(topology: &Topology) -> SpinBudget {
        let max = if topology.parallelism() < 2.0 { 0 } else { 2 };
        SpinBudget {
            max,
            spinning: AtomicUsize::new(0),
        }
    }

    /// Half of the processors: none if there is only one.
    fn of(cpus: f64) -> SpinBudget {
        SpinBudget {
            max: (cpus / 2.0) as usize,
            spinning: AtomicUsize::new(0),
        }
    }

    fn acquire(&self) -> Option<Permit<'_>> {
        let before = self.spinning.fetch_add(1, Ordering::Relaxed);
        let permit = Permit(self);
        (before < self.max).then_some(permit)
    }
}

/// The right to spin. Dropping it gives it back.
struct Permit<'a>(&'a SpinBudget);

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        self.0.spinning.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The waits of one thread, or of several that take turns, for an event that may come soon, such as the next request
/// of a client.
///
/// A wait spins while recent waits were short on average and the budget allows it. Otherwise the thread parks at
/// once, in a system call of its own.
#[derive(Debug)]
pub struct SpinWait {
    budget: Arc<SpinBudget>,
    began: Instant,
    /// Mean time of the latest waits.
    mean: Duration,
}

impl SpinWait {
    pub(crate) fn new(budget: &Arc<SpinBudget>) -> SpinWait {
        SpinWait {
            budget: Arc::clone(budget),
            began: Instant::now(),
            mean: MAX_COUNTED,
        }
    }

    /// Starts a wait. Returns when `ready`, or when the thread should park instead: at once if it should not spin,
    /// and as soon as its CPU is `needed` for other work.
    pub fn begin(&mut self, mut ready: impl FnMut() -> bool, needed: impl Fn() -> bool) {
        self.began = Instant::now();
        if self.mean > MAX_SPIN {
            return;
        }
        let Some(_permit) = self.budget.acquire() else {
            return;
        };
        while !ready() && !needed() && self.began.elapsed() < MAX_SPIN {
            // The thread that is waited for may need this very processor.
            thread::yield_now();
        }
    }

    /// Ends the wait.
    pub fn end(&mut self) {
        let took = self.began.elapsed().min(MAX_COUNTED);
        self.mean = (self.mean * (WAITS - 1) + took) / WAITS;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How often a wait looks whether it is over, if it is at the third time.
    fn spins(wait: &mut SpinWait) -> u32 {
        let mut spins = 0;
        wait.begin(
            || {
                spins += 1;
                spins == 3
            },
            || false,
        );
        spins
    }

    #[test]
    fn only_short_waits_spin() {
        let budget = Arc::new(SpinBudget::of(2.0));
        let mut wait = SpinWait::new(&budget);
        assert_eq!(spins(&mut wait), 0);
        // The system may interrupt the thread in any of them.
        let short = (0..1000).any(|_| {
            wait.begin(|| true, || false);
            wait.end();
            wait.mean <= MAX_SPIN
        });
        assert!(short);
        assert_eq!(spins(&mut wait), 3);
        thread::sleep(2 * MAX_COUNTED);
        wait.end();
        assert_eq!(spins(&mut wait), 0);
    }

    #[test]
    fn processors_are_left_for_other_work() {
        let budget = Arc::new(SpinBudget::of(2.0));
        let mut wait = SpinWait::new(&budget);
        wait.mean = Duration::ZERO;
        wait.begin(|| false, || true);
        assert!(wait.began.elapsed() < Duration::from_secs(1));
        let other = budget.acquire();
        assert!(other.is_some());
        assert_eq!(spins(&mut wait), 0);
        drop(other);
        assert_eq!(spins(&mut wait), 3);
        assert!(SpinBudget::of(1.0).acquire().is_none());
    }
}
