//! On which CPU a woken thread begins.
//!
//! Linux looks for an idle one. On a virtual machine it may find none, since a CPU that the host has put to sleep counts as
//! busy, and then takes the CPU of the thread that wakes it. That thread goes on, so the woken one waits for the rest of a
//! time slice, up to 4 ms, beside an idle CPU. So the waker takes its own CPU out of the sleeper's affinity, and the woken
//! thread restores that as soon as it runs.

#[cfg(all(target_os = "linux", not(loom), not(miri)))]
mod imp {
    use std::sync::Mutex;

    use rustix::thread::{CpuSet, Pid, gettid, sched_getaffinity, sched_getcpu, sched_setaffinity};

    use crate::sync::lock;

    /// Where a thread sleeps.
    #[derive(Default)]
    pub(crate) struct Place(Mutex<Option<Bed>>);

    struct Bed {
        thread: Pid,
        /// Where the thread may run, if it was told to begin elsewhere.
        allowed: Option<CpuSet>,
    }

    impl Place {
        /// The calling thread is about to sleep.
        pub(crate) fn sleeps(&self) {
            *lock(&self.0) = Some(Bed {
                thread: gettid(),
                allowed: None,
            });
        }

        /// The sleeper is about to be woken by the calling thread.
        pub(crate) fn begin_elsewhere(&self) {
            let mut bed = lock(&self.0);
            let Some(bed) = bed.as_mut().filter(|bed| bed.allowed.is_none()) else {
                return;
            };
            let Ok(allowed) = sched_getaffinity(Some(bed.thread)) else {
                return;
            };
            let mut others = allowed;
            others.unset(sched_getcpu());
            if others.count() > 0
                && others != allowed
                && sched_setaffinity(Some(bed.thread), &others).is_ok()
            {
                bed.allowed = Some(allowed);
            }
        }

        /// The calling thread, which has slept, runs, and may do so anywhere again.
        pub(crate) fn runs(&self) {
            if let Some(allowed) = lock(&self.0).take().and_then(|bed| bed.allowed) {
                // Where it fails, the thread stays where it is, on which nothing depends.
                let _ = sched_setaffinity(None, &allowed);
            }
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
