//! How far apart a host has the processors of a guest, which it may change in the middle of a benchmark.
//!
//! A guest's processors are threads of the host, and it moves them. While they are on different parts of a chip a cache
//! line takes several times as long from one to the other, for a tenth of a second or for a minute, and plans whose
//! workers share much are slower by nearly as much; while they are the two threads of one core it takes half as long,
//! and each computes at little more than half of its speed. Streams that are compared with one another are run while the
//! processors are as they were at first: for those that were not, the benchmark waits, and runs them again.

use std::cell::Cell;
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde::Serialize;

/// Round trips of a sample, and samples, of which the fastest counts: what runs beside them only makes them slower.
const TRIPS: u32 = 200;
const SAMPLES: u32 = 40;
/// Looks that have to agree at the beginning.
const LOOKS: usize = 5;
/// The processors were moved if a round trip takes so many times as long, or that part of the time.
const MOVED: f64 = 1.8;
/// A round trip of more (seconds) is none from processor to processor: something else runs there.
const TRIP_MOST_S: f64 = 0.8e-6;
/// Times a thread looks for the line before it lets others run, and the most that all samples take.
const SPINS: u32 = 2000;
const LOOK_MOST: Duration = Duration::from_millis(20);
/// No more trips.
const OVER: u32 = u32::MAX;
/// Processors with a round trip of less (seconds) share a core, and those with one of more do not share a cache. They
/// may be moved, or come to rest, for which it is waited at first: most guests have them between most of the time.
const NEAR_S: RangeInclusive<f64> = 45e-9..=150e-9;
const NEARER_MOST: Duration = Duration::from_secs(25);
/// The same where no looks have agreed: mostly because something else runs, which need not end.
const REST_MOST: Duration = Duration::from_secs(3);
/// Time between two looks while waiting, and the most that is waited in all: some seconds, and so many times what was
/// measured.
const LOOK_EVERY: Duration = Duration::from_millis(100);
const WAIT_MOST: Duration = Duration::from_secs(2);
const WAIT_SHARE: u32 = 2;
/// Most runs of one stream.
const RUNS: u32 = 5;

/// Where the processors were when it was made, or soon after it.
pub(super) struct Apart {
    trip_s: Option<f64>,
    again: Cell<u32>,
    measured: Cell<Duration>,
    waited: Cell<Duration>,
}

/// What a benchmark did to keep its streams comparable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Kept {
    /// Seconds that a cache line took from one processor to another and back; `None` if that was not the same at all
    /// times.
    pub round_trip_s: Option<f64>,
    /// Streams that were run again, since the processors were moved meanwhile.
    pub again: u32,
    /// Seconds waited until they were back.
    pub waited_s: f64,
}

impl Apart {
    /// Looks where the processors are, and waits for a while if they are far apart or do not stay where they are.
    pub(super) fn now() -> Apart {
        match processors::ends() {
            Some([first, last]) if first != last => Apart::of(settled(looks, NEARER_MOST)),
            _ => Apart::of(None),
        }
    }

    fn of(trip_s: Option<f64>) -> Apart {
        Apart {
            trip_s,
            again: Cell::new(0),
            measured: Cell::new(Duration::ZERO),
            waited: Cell::new(Duration::ZERO),
        }
    }

    /// Whether there is time left to wait.
    fn may_wait(&self) -> bool {
        self.waited.get() < WAIT_MOST + WAIT_SHARE * self.measured.get()
    }

    /// What `run` gives when the processors are where they were, before it and after it.
    ///
    /// # Errors
    /// Those of `run`.
    pub(super) fn kept<T, E>(&self, run: impl FnMut() -> Result<T, E>) -> Result<T, E> {
        self.kept_by(round_trip_s, run)
    }

    fn kept_by<T, E>(
        &self,
        mut look: impl FnMut() -> Option<f64>,
        mut run: impl FnMut() -> Result<T, E>,
    ) -> Result<T, E> {
        let Some(home) = self.trip_s else {
            return run();
        };
        let mut is_home = || look().is_none_or(|trip| alike(trip, home));
        let mut timed = || {
            let begin = Instant::now();
            let value = run();
            self.measured.set(self.measured.get() + begin.elapsed());
            value
        };
        for _ in 1..RUNS {
            while !is_home() && self.may_wait() {
                let begin = Instant::now();
                thread::sleep(LOOK_EVERY);
                self.waited.set(self.waited.get() + begin.elapsed());
            }
            let value = timed()?;
            if is_home() || !self.may_wait() {
                return Ok(value);
            }
            self.again.set(self.again.get() + 1);
        }
        timed()
    }

    /// What was done so far.
    pub(super) fn told(&self) -> Kept {
        Kept {
            round_trip_s: self.trip_s,
            again: self.again.get(),
            waited_s: self.waited.get().as_secs_f64(),
        }
    }
}

/// The first round trip between near processors, or the last of those farther apart or on one core.
fn settled(mut looks: impl FnMut() -> Option<f64>, most: Duration) -> Option<f64> {
    let begin = Instant::now();
    let mut found = None;
    loop {
        found = looks().or(found);
        let most = match found {
            Some(trip_s) if NEAR_S.contains(&trip_s) => return found,
            Some(_) => most,
            None => most.min(REST_MOST),
        };
        if begin.elapsed() >= most {
            return found;
        }
        thread::sleep(LOOK_EVERY);
    }
}

/// A round trip, if some looks agree about it.
fn looks() -> Option<f64> {
    let looks: Vec<f64> = (0..LOOKS).filter_map(|_| round_trip_s()).collect();
    let least = looks.iter().copied().fold(f64::INFINITY, f64::min);
    let agree = looks.len() == LOOKS && looks.iter().all(|&trip| alike(trip, least));
    agree.then_some(least)
}

fn alike(trip_s: f64, other_s: f64) -> bool {
    (MOVED.recip()..MOVED).contains(&(trip_s / other_s))
}

/// Seconds that a cache line takes from the first processor to the last and back. `None` if there is one only, or the
/// threads were not let to both.
fn round_trip_s() -> Option<f64> {
    let [here, there] = processors::ends()?;
    let ball = AtomicU32::new(0);
    // Odd numbers go there, the next ones come back.
    let comes = |odd: bool| {
        let mut spins = 0;
        loop {
            let number = ball.load(Ordering::Acquire);
            if number == OVER || (number % 2 == 1) == odd {
                return number;
            }
            spins += 1;
            if spins % SPINS == 0 {
                thread::yield_now();
            }
            std::hint::spin_loop();
        }
    };
    let back = || {
        processors::go_to(there);
        loop {
            match comes(true) {
                OVER => return,
                number => ball.store(number + 1, Ordering::Release),
            }
        }
    };
    let sample = |_| {
        let begin = Instant::now();
        for _ in 0..TRIPS {
            let number = comes(false);
            ball.store(number + 1, Ordering::Release);
        }
        comes(false);
        begin.elapsed()
    };
    let forth = || {
        processors::go_to(here);
        let begin = Instant::now();
        let samples = (0..SAMPLES).map(sample);
        let fastest = samples.take_while(|_| begin.elapsed() < LOOK_MOST).min();
        ball.store(OVER, Ordering::Release);
        fastest
    };
    let fastest = thread::scope(|scope| {
        scope.spawn(back);
        scope.spawn(forth).join()
    });
    let trip_s = fastest.ok()??.as_secs_f64() / f64::from(TRIPS);
    (trip_s < TRIP_MOST_S).then_some(trip_s)
}

#[cfg(target_os = "linux")]
mod processors {
    use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

    /// The first processor that this thread may use, and the last.
    pub(super) fn ends() -> Option<[usize; 2]> {
        let set = sched_getaffinity(None).ok()?;
        let mut may = (0..CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu));
        Some([may.next()?, may.next_back()?])
    }

    /// Has the calling thread run there. Where that is refused it runs where it is.
    pub(super) fn go_to(cpu: usize) {
        let mut set = CpuSet::new();
        set.set(cpu);
        let _ = sched_setaffinity(None, &set);
    }
}

#[cfg(not(target_os = "linux"))]
mod processors {
    pub(super) fn ends() -> Option<[usize; 2]> {
        None
    }

    pub(super) fn go_to(_: usize) {}
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;

    /// Runs of a stream whose looks find these, and what is told afterwards.
    fn runs(home: Option<f64>, looks: &[f64]) -> (u32, Kept) {
        let apart = Apart::of(home);
        let mut looks: VecDeque<f64> = looks.iter().copied().collect();
        let mut runs = 0;
        let run = || {
            runs += 1;
            Ok::<_, ()>(runs)
        };
        let last = apart.kept_by(|| looks.pop_front().or(home), run);
        assert_eq!(last, Ok(runs), "the last run counts");
        (runs, apart.told())
    }

    #[test]
    fn a_stream_is_run_again_if_the_processors_were_moved_meanwhile() {
        let near = 66e-9;
        let (count, kept) = runs(Some(near), &[near, near]);
        assert_eq!((count, kept.again, kept.waited_s), (1, 0, 0.0));
        let (count, kept) = runs(Some(near), &[70e-9, 320e-9, 320e-9, near, near]);
        assert_eq!((count, kept.again), (2, 1));
        assert!(kept.waited_s > 0.09);
        // To one core, and from the other side.
        let (count, _) = runs(Some(near), &[near, 35e-9, near, near]);
        assert_eq!(count, 2);
        let (count, _) = runs(Some(320e-9), &[320e-9, near, 330e-9, 310e-9]);
        assert_eq!(count, 2);
    }

    #[test]
    fn processors_may_come_to_rest_late() {
        let looks = |found: &[Option<f64>]| {
            let mut found: VecDeque<Option<f64>> = found.iter().copied().collect();
            move || found.pop_front().flatten()
        };
        let (near, far) = (Some(66e-9), Some(420e-9));
        let [long, short] = [9000, 250].map(Duration::from_millis);
        assert_eq!(settled(looks(&[None, far, None, near]), long), near);
        let one_core = Some(30e-9);
        assert_eq!(settled(looks(&[one_core, near]), long), near);
        assert_eq!(settled(looks(&[one_core, None]), short), one_core);
        assert_eq!(settled(looks(&[None, far]), short), far);
        assert_eq!(settled(looks(&[]), Duration::ZERO), None);
    }

    #[test]
    fn where_nothing_is_known_nothing_is_run_again() {
        let (count, kept) = runs(None, &[66e-9, 320e-9]);
        assert_eq!((count, kept), (1, Kept::default()));
    }

    #[test]
    fn what_never_comes_to_rest_is_taken_as_it_is() {
        let moving: Vec<f64> = [66e-9, 320e-9].repeat(RUNS as usize);
        let (count, kept) = runs(Some(66e-9), &moving);
        assert_eq!((count, kept.again), (RUNS, RUNS - 1));
    }

    #[test]
    fn a_failure_is_passed_on() {
        let apart = Apart::of(Some(66e-9));
        assert_eq!(apart.kept(|| Err::<(), _>("broken")), Err("broken"));
    }

    #[test]
    fn a_round_trip_takes_some_time() {
        if thread::available_parallelism().is_ok_and(|n| n.get() > 1) {
            let trips: Vec<f64> = (0..20).filter_map(|_| round_trip_s()).collect();
            assert!(trips.iter().all(|&trip| trip > 5e-9), "{trips:?}");
        }
    }
}
