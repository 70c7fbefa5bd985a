//! Waits that begin with looking.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Longer looking is not worth it: waking a thread on a virtual machine costs from tens of microseconds to more than a
/// hundred, so a wait costs at most about twice what the better of looking and sleeping would have cost.
const MOST: Duration = Duration::from_micros(150);
/// What one long wait counts at most among those before it.
const LONG: Duration = Duration::from_millis(1);
/// Waits that the average is over, about.
const WAITS: u32 = 4;

/// How many threads may look at a time, so that processors are left for those who compute.
#[derive(Debug)]
pub(crate) struct Spare {
    most: usize,
    taken: AtomicUsize,
}

impl Spare {
    /// On so many processors: on half of them, which on one alone is none.
    pub(crate) fn new(cpus: f64) -> Spare {
        Spare {
            most: (cpus / 2.0) as usize,
            taken: AtomicUsize::new(0),
        }
    }

    fn take(&self) -> Option<Look<'_>> {
        let before = self.taken.fetch_add(1, Ordering::Relaxed);
        let look = Look(self);
        (before < self.most).then_some(look)
    }
}

struct Look<'a>(&'a Spare);

impl Drop for Look<'_> {
    fn drop(&mut self) {
        self.0.taken.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Waits of one thread for something that may come soon, such as the next request of a client.
///
/// Who sleeps has to be woken, and where that takes longer than what is waited for, it pays to look again and again instead.
/// Whether it does is measured: a wait begins with looking as long as the latest ones were short.
#[derive(Debug)]
pub struct Eager<'a> {
    spare: &'a Spare,
    began: Instant,
    /// How long waits took, on average.
    usual: Duration,
}

impl<'a> Eager<'a> {
    pub(crate) fn new(spare: &'a Spare) -> Eager<'a> {
        Eager {
            spare,
            began: Instant::now(),
            usual: LONG,
        }
    }

    /// A wait begins: returns when `ready` says that it is over, or when the thread should sleep until it is. It should as soon
    /// as there is `other` work for its processor.
    pub fn look(&mut self, mut ready: impl FnMut() -> bool, other: impl Fn() -> bool) {
        self.began = Instant::now();
        if self.usual > MOST {
            return;
        }
        let Some(_look) = self.spare.take() else {
            return;
        };
        while !ready() && !other() && self.began.elapsed() < MOST {
            // Whoever is waited for may need this very processor.
            thread::yield_now();
        }
    }

    /// The wait is over.
    pub fn came(&mut self) {
        let took = self.began.elapsed().min(LONG);
        self.usual = (self.usual * (WAITS - 1) + took) / WAITS;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn looks(eager: &mut Eager<'_>) -> u32 {
        let mut looks = 0;
        eager.look(
            || {
                looks += 1;
                looks == 3
            },
            || false,
        );
        looks
    }

    #[test]
    fn only_who_waits_briefly_looks() {
        let spare = Spare::new(2.0);
        let mut eager = Eager::new(&spare);
        assert_eq!(looks(&mut eager), 0);
        // A thread may be interrupted at any of them.
        let came = (0..1000).any(|_| {
            eager.look(|| true, || false);
            eager.came();
            eager.usual <= MOST
        });
        assert!(came);
        assert_eq!(looks(&mut eager), 3);
        thread::sleep(2 * LONG);
        eager.came();
        assert_eq!(looks(&mut eager), 0);
    }

    #[test]
    fn processors_are_left_for_others() {
        let spare = Spare::new(2.0);
        let mut eager = Eager::new(&spare);
        eager.usual = Duration::ZERO;
        eager.look(|| false, || true);
        assert!(eager.began.elapsed() < Duration::from_secs(1));
        let other = spare.take();
        assert!(other.is_some());
        assert_eq!(looks(&mut eager), 0);
        drop(other);
        assert_eq!(looks(&mut eager), 3);
        assert!(Spare::new(1.0).take().is_none());
    }
}
