//! On which CPU a woken thread begins.
//!
//! Linux looks for an idle one. On a virtual machine it may find none, since a CPU that the host has put to sleep counts as
//! busy, and then takes the CPU of the thread that wakes it. That thread goes on, so the woken one waits for the rest of a
//! time slice, up to 4 ms, beside an idle CPU. So the waker takes its own CPU out of the sleeper's affinity, and the woken
//! thread restores that as soon as it runs.
//!
//! Where other programs keep the other CPUs busy, it waits there instead. A thread that began late for that is left to Linux
//! the next times.

#[cfg(all(target_os = "linux", not(loom), not(miri)))]
mod imp {
    use std::sync::Mutex;
    use std::time::{Duration, Instant};

    use rustix::thread::{CpuSet, Pid, gettid, sched_getaffinity, sched_getcpu, sched_setaffinity};

    use crate::sync::lock;

    /// Who was told to begin elsewhere and runs later than this has waited for another program. Otherwise it takes 5 to 50 µs.
    const LATE: Duration = Duration::from_micros(300);
    /// How often Linux chooses the CPU after that: first, and at most. It doubles while threads are late.
    const LEFT: (u32, u32) = (8, 1024);

    /// Where a thread sleeps.
    #[derive(Default)]
    pub(crate) struct Place(Mutex<State>);

    #[derive(Default)]
    struct State {
        bed: Option<Bed>,
        /// How many times Linux chooses, of how many.
        left: u32,
        times: u32,
    }

    struct Bed {
        thread: Pid,
        /// Where the thread may run, and when it was told to begin elsewhere, if it was.
        told: Option<(CpuSet, Instant)>,
    }

    impl Place {
        /// The calling thread is about to sleep.
        pub(crate) fn sleeps(&self) {
            lock(&self.0).bed = Some(Bed {
                thread: gettid(),
                told: None,
            });
        }

        /// The sleeper is about to be woken by the calling thread.
        pub(crate) fn begin_elsewhere(&self) {
            let mut state = lock(&self.0);
            let State { bed, left, .. } = &mut *state;
            let Some(bed) = bed.as_mut().filter(|bed| bed.told.is_none()) else {
                return;
            };
            if *left > 0 {
                *left -= 1;
                return;
            }
            let Ok(allowed) = sched_getaffinity(Some(bed.thread)) else {
                return;
            };
            let mut others = allowed;
            others.unset(sched_getcpu());
            if others.count() > 0
                && others != allowed
                && sched_setaffinity(Some(bed.thread), &others).is_ok()
            {
                bed.told = Some((allowed, Instant::now()));
            }
        }

        /// The calling thread, which has slept, runs, and may do so anywhere again.
        pub(crate) fn runs(&self) {
            let mut state = lock(&self.0);
            if let Some((allowed, told)) = state.bed.take().and_then(|bed| bed.told) {
                state.began(told.elapsed());
                // Where it fails, the thread stays where it is, on which nothing depends.
                let _ = sched_setaffinity(None, &allowed);
            }
        }
    }

    impl State {
        /// A thread that was told to begin elsewhere did so after this time.
        fn began(&mut self, after: Duration) {
            self.times = match after > LATE {
                true => (2 * self.times).clamp(LEFT.0, LEFT.1),
                false => 0,
            };
            self.left = self.times;
        }
    }

    #[cfg(test)]
    mod tests {
        use super::{Duration, LATE, LEFT, State};

        #[test]
        fn late_threads_are_left_to_linux_for_longer_and_longer() {
            let mut state = State::default();
            let mut left = |after: Duration| {
                state.began(after);
                state.left
            };
            assert_eq!(left(LATE / 2), 0);
            assert_eq!([left(LATE * 2), left(LATE * 2)], [LEFT.0, 2 * LEFT.0]);
            assert_eq!((0..10).map(|_| left(LATE * 2)).last(), Some(LEFT.1));
            assert_eq!(left(LATE / 2), 0);
            assert_eq!(left(LATE * 2), LEFT.0);
        }
    }
}

#[cfg(not(all(target_os = "linux", not(loom), not(miri))))]
mod imp {
    #[derive(Default)]
    pub(crate) struct Place;

    impl Place {
        pub(crate) fn sleeps(&self) {}

        pub(crate) fn begin_elsewhere(&self) {}

        pub(crate) fn runs(&self) {}
    }
}

pub(crate) use imp::Place;

#[cfg(all(test, target_os = "linux", not(loom), not(miri)))]
mod tests {
    use std::sync::Barrier;
    use std::thread;

    use rustix::thread::{gettid, sched_getaffinity};

    use super::Place;

    #[test]
    fn a_sleeper_begins_on_another_cpu_and_may_return() {
        let allowed = sched_getaffinity(None).unwrap();
        let (place, barrier) = (Place::default(), Barrier::new(2));
        thread::scope(|s| {
            let sleeper = s.spawn(|| {
                place.sleeps();
                barrier.wait();
                barrier.wait();
                let told = sched_getaffinity(Some(gettid())).unwrap();
                place.runs();
                (told, sched_getaffinity(None).unwrap())
            });
            barrier.wait();
            place.begin_elsewhere();
            // Once is enough, from whichever CPU.
            place.begin_elsewhere();
            barrier.wait();
            let (told, after) = sleeper.join().unwrap();
            assert_eq!(told.count(), (allowed.count() - 1).max(1));
            assert_eq!(after, allowed);
        });
    }
}
