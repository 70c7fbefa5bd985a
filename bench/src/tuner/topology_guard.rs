//! Reruns streams during which the host moved the virtual processors of this guest.
//!
//! A guest's processors are threads of the host, which moves them at any time. On different parts of a chip, a cache line
//! takes several times as long from one to the other, and plans whose workers share much are slower by nearly as much. On
//! the two threads of one core it takes half as long, and each computes at little more than half of its speed. Streams can
//! be compared only if they ran on the same topology. So the guard measures the round trip of a cache line before and after
//! each stream, waits until it is what it was at first, and reruns streams during which it changed.

use std::cell::Cell;
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde::Serialize;

/// Round trips of a sample, and samples of a measurement. The fastest sample counts, since other load only slows them down.
const TRIPS: u32 = 200;
const SAMPLES: u32 = 40;
/// Measurements that have to agree before one is a baseline.
const AGREEING: usize = 5;
/// The topology changed if a round trip takes this many times as long, or as short.
const CHANGED: f64 = 1.8;
/// A longer round trip (seconds) says nothing of the topology: something else ran on one of the processors.
const MAX_TRIP_S: f64 = 0.8e-6;
/// Polls of the line before a thread yields, and the most time of one measurement.
const SPINS: u32 = 2000;
const MAX_MEASURING: Duration = Duration::from_millis(20);
/// The number that ends the round trips.
const STOP: u32 = u32::MAX;
/// Round trips (seconds) between two cores that share a cache. Shorter ones are within a core, longer ones across caches.
/// Most guests are in this range most of the time, so the guard waits for it at first.
const SHARED_CACHE_S: RangeInclusive<f64> = 45e-9..=150e-9;
const MAX_SETTLING: Duration = Duration::from_secs(25);
/// The same while no measurements agree. Mostly something else runs, which need not end.
const MAX_DISAGREEING: Duration = Duration::from_secs(3);
/// Time between two measurements while waiting. All waiting together takes at most `MAX_WAITING` plus `WAITING_SHARE` times
/// the time of the streams.
const MEASURE_EVERY: Duration = Duration::from_millis(100);
const MAX_WAITING: Duration = Duration::from_secs(2);
const WAITING_SHARE: u32 = 2;
/// Most runs of one stream.
const MAX_RUNS: u32 = 5;

/// The topology at the beginning, as the round trip of a cache line.
pub(super) struct TopologyGuard {
    baseline_s: Option<f64>,
    reruns: Cell<u32>,
    measured: Cell<Duration>,
    waited: Cell<Duration>,
}

/// What the guard did to keep streams comparable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct GuardReport {
    /// Round trip of a cache line from one processor to another in seconds; `None` if it did not settle.
    pub round_trip_s: Option<f64>,
    /// Streams that ran again because the topology had changed.
    pub again: u32,
    /// Seconds waited until it was as before.
    pub waited_s: f64,
}

impl TopologyGuard {
    /// Measures the topology. Waits for a while if the processors do not share a cache, or do not stay where they are.
    pub(super) fn new() -> TopologyGuard {
        match processors::first_and_last() {
            Some([first, last]) if first != last => {
                TopologyGuard::of(settled(agreed_round_trip_s, MAX_SETTLING))
            }
            _ => TopologyGuard::of(None),
        }
    }

    fn of(baseline_s: Option<f64>) -> TopologyGuard {
        TopologyGuard {
            baseline_s,
            reruns: Cell::new(0),
            measured: Cell::new(Duration::ZERO),
            waited: Cell::new(Duration::ZERO),
        }
    }

    /// Whether there is time left to wait.
    fn may_wait(&self) -> bool {
        self.waited.get() < MAX_WAITING + WAITING_SHARE * self.measured.get()
    }

    /// The result of a `run` before and after which the topology was that of the beginning; the last one if there is none.
    ///
    /// # Errors
    /// Those of `run`.
    pub(super) fn run_guarded<T, E>(&self, run: impl FnMut() -> Result<T, E>) -> Result<T, E> {
        self.run_guarded_by(round_trip_s, run)
    }

    fn run_guarded_by<T, E>(
        &self,
        mut measure: impl FnMut() -> Option<f64>,
        mut run: impl FnMut() -> Result<T, E>,
    ) -> Result<T, E> {
        let Some(baseline) = self.baseline_s else {
            return run();
        };
        let mut is_unchanged = || measure().is_none_or(|trip| similar(trip, baseline));
        let mut timed = || {
            let begin = Instant::now();
            let value = run();
            self.measured.set(self.measured.get() + begin.elapsed());
            value
        };
        for _ in 1..MAX_RUNS {
            while !is_unchanged() && self.may_wait() {
                let begin = Instant::now();
                thread::sleep(MEASURE_EVERY);
                self.waited.set(self.waited.get() + begin.elapsed());
            }
            let value = timed()?;
            if is_unchanged() || !self.may_wait() {
                return Ok(value);
            }
            self.reruns.set(self.reruns.get() + 1);
        }
        timed()
    }

    /// What was done so far.
    pub(super) fn report(&self) -> GuardReport {
        GuardReport {
            round_trip_s: self.baseline_s,
            again: self.reruns.get(),
            waited_s: self.waited.get().as_secs_f64(),
        }
    }
}

/// The first round trip between cores that share a cache; without one the last that was measured.
fn settled(mut measure: impl FnMut() -> Option<f64>, most: Duration) -> Option<f64> {
    let begin = Instant::now();
    let mut found = None;
    loop {
        found = measure().or(found);
        let most = match found {
            Some(trip_s) if SHARED_CACHE_S.contains(&trip_s) => return found,
            Some(_) => most,
            None => most.min(MAX_DISAGREEING),
        };
        if begin.elapsed() >= most {
            return found;
        }
        thread::sleep(MEASURE_EVERY);
    }
}

/// A round trip on which some measurements agree.
fn agreed_round_trip_s() -> Option<f64> {
    let trips: Vec<f64> = (0..AGREEING).filter_map(|_| round_trip_s()).collect();
    let least = trips.iter().copied().fold(f64::INFINITY, f64::min);
    let agree = trips.len() == AGREEING && trips.iter().all(|&trip| similar(trip, least));
    agree.then_some(least)
}

fn similar(trip_s: f64, other_s: f64) -> bool {
    (CHANGED.recip()..CHANGED).contains(&(trip_s / other_s))
}

/// Waits until the number in a shared line is odd, or even, or [`STOP`].
fn wait_for(line: &AtomicU32, odd: bool) -> u32 {
    let mut spins = 0;
    loop {
        let number = line.load(Ordering::Acquire);
        if number == STOP || (number % 2 == 1) == odd {
            return number;
        }
        spins += 1;
        if spins % SPINS == 0 {
            thread::yield_now();
        }
        std::hint::spin_loop();
    }
}

/// Round trip of a cache line from the first processor to the last, in seconds. `None` if there is only one, or a thread
/// could not be pinned.
fn round_trip_s() -> Option<f64> {
    let [first, last] = processors::first_and_last()?;
    // The pinger writes odd numbers, the ponger the even ones that follow them.
    let line = AtomicU32::new(0);
    let pong = || {
        processors::pin_to(last);
        loop {
            match wait_for(&line, true) {
                STOP => return,
                number => line.store(number + 1, Ordering::Release),
            }
        }
    };
    let sample = |_| {
        let begin = Instant::now();
        for _ in 0..TRIPS {
            let number = wait_for(&line, false);
            line.store(number + 1, Ordering::Release);
        }
        wait_for(&line, false);
        begin.elapsed()
    };
    let ping = || {
        processors::pin_to(first);
        let begin = Instant::now();
        let samples = (0..SAMPLES).map(sample);
        let fastest = samples
            .take_while(|_| begin.elapsed() < MAX_MEASURING)
            .min();
        line.store(STOP, Ordering::Release);
        fastest
    };
    let fastest = thread::scope(|scope| {
        scope.spawn(pong);
        scope.spawn(ping).join()
    });
    let trip_s = fastest.ok()??.as_secs_f64() / f64::from(TRIPS);
    (trip_s < MAX_TRIP_S).then_some(trip_s)
}

#[cfg(target_os = "linux")]
mod processors {
    use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

    /// The first and the last processor that this thread may use.
    pub(super) fn first_and_last() -> Option<[usize; 2]> {
        let set = sched_getaffinity(None).ok()?;
        let mut may = (0..CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu));
        Some([may.next()?, may.next_back()?])
    }

    /// Pins the calling thread to a processor. Where that is refused, the thread runs where it is.
    pub(super) fn pin_to(cpu: usize) {
        let mut set = CpuSet::new();
        set.set(cpu);
        let _ = sched_setaffinity(None, &set);
    }
}

#[cfg(not(target_os = "linux"))]
mod processors {
    pub(super) fn first_and_last() -> Option<[usize; 2]> {
        None
    }

    pub(super) fn pin_to(_: usize) {}
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;

    /// How often a stream runs if the guard measures these round trips, and its report.
    fn runs(baseline: Option<f64>, trips: &[f64]) -> (u32, GuardReport) {
        let guard = TopologyGuard::of(baseline);
        let mut trips: VecDeque<f64> = trips.iter().copied().collect();
        let mut runs = 0;
        let run = || {
            runs += 1;
            Ok::<_, ()>(runs)
        };
        let last = guard.run_guarded_by(|| trips.pop_front().or(baseline), run);
        assert_eq!(last, Ok(runs), "the last run counts");
        (runs, guard.report())
    }

    #[test]
    fn a_stream_runs_again_if_the_topology_changed_meanwhile() {
        let near = 66e-9;
        let (count, report) = runs(Some(near), &[near, near]);
        assert_eq!((count, report.again, report.waited_s), (1, 0, 0.0));
        let (count, report) = runs(Some(near), &[70e-9, 320e-9, 320e-9, near, near]);
        assert_eq!((count, report.again), (2, 1));
        assert!(report.waited_s > 0.09);
        // To one core, and from the other side.
        let (count, _) = runs(Some(near), &[near, 35e-9, near, near]);
        assert_eq!(count, 2);
        let (count, _) = runs(Some(320e-9), &[320e-9, near, 330e-9, 310e-9]);
        assert_eq!(count, 2);
    }

    #[test]
    fn the_topology_may_settle_late() {
        let trips = |found: &[Option<f64>]| {
            let mut found: VecDeque<Option<f64>> = found.iter().copied().collect();
            move || found.pop_front().flatten()
        };
        let (near, far) = (Some(66e-9), Some(420e-9));
        let [long, short] = [9000, 250].map(Duration::from_millis);
        assert_eq!(settled(trips(&[None, far, None, near]), long), near);
        let one_core = Some(30e-9);
        assert_eq!(settled(trips(&[one_core, near]), long), near);
        assert_eq!(settled(trips(&[one_core, None]), short), one_core);
        assert_eq!(settled(trips(&[None, far]), short), far);
        assert_eq!(settled(trips(&[]), Duration::ZERO), None);
    }

    #[test]
    fn nothing_runs_again_without_a_baseline() {
        let (count, report) = runs(None, &[66e-9, 320e-9]);
        assert_eq!((count, report), (1, GuardReport::default()));
    }

    #[test]
    fn the_last_run_counts_if_the_topology_never_settles() {
        let moving: Vec<f64> = [66e-9, 320e-9].repeat(MAX_RUNS as usize);
        let (count, report) = runs(Some(66e-9), &moving);
        assert_eq!((count, report.again), (MAX_RUNS, MAX_RUNS - 1));
    }

    #[test]
    fn a_failure_is_passed_on() {
        let guard = TopologyGuard::of(Some(66e-9));
        assert_eq!(guard.run_guarded(|| Err::<(), _>("broken")), Err("broken"));
    }

    #[test]
    fn a_round_trip_takes_some_time() {
        if thread::available_parallelism().is_ok_and(|n| n.get() > 1) {
            let trips: Vec<f64> = (0..20).filter_map(|_| round_trip_s()).collect();
            assert!(trips.iter().all(|&trip| trip > 5e-9), "{trips:?}");
        }
    }
}
