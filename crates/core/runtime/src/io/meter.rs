//! The load of a thread, and whether another thread beside it would find a free CPU.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::time::Instant;

/// What the kernel says of the thread that opens it: nanoseconds on a processor, nanoseconds of waiting for one, and how
/// often it ran (Linux, `Documentation/scheduler/sched-stats.rst`).
const FILE: &str = "/proc/thread-self/schedstat";
/// A thread that has a processor for this share of the time has no room for much more.
const FULL: f64 = 0.7;
/// Threads that wait for a processor for this share of the time have none to spare for another.
const CROWDED: f64 = 0.1;

/// How a thread spent its time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ThreadLoad {
    /// The share of time in which it ran on a CPU.
    pub busy: f64,
    /// The share of time in which it was ready but had no CPU.
    pub waited: f64,
}

/// Measures the load of one thread from time to time.
#[derive(Debug)]
pub struct ThreadMeter {
    file: Option<File>,
    since: Instant,
    before: [u64; 2],
}

impl ThreadMeter {
    /// Creates a meter for the calling thread. If the system provides no figures, the load is zero.
    pub fn of_this_thread() -> ThreadMeter {
        let file = File::open(FILE).ok();
        ThreadMeter {
            before: file.as_ref().and_then(nanos).unwrap_or_default(),
            file,
            since: Instant::now(),
        }
    }

    /// The load since the last call.
    pub fn look(&mut self) -> ThreadLoad {
        let now = Instant::now();
        let wall = now.duration_since(self.since).as_nanos().max(1) as f64;
        self.since = now;
        let Some(nanos) = self.file.as_ref().and_then(nanos) else {
            return ThreadLoad::default();
        };
        let share = |at: usize| {
            let spent = nanos[at].saturating_sub(self.before[at]) as f64;
            (spent / wall).min(1.0)
        };
        let load = ThreadLoad {
            busy: share(0),
            waited: share(1),
        };
        self.before = nanos;
        load
    }
}

fn nanos(file: &File) -> Option<[u64; 2]> {
    let mut text = [0; 80];
    let len = file.read_at(&mut text, 0).ok()?;
    let text = std::str::from_utf8(&text[..len]).ok()?;
    let mut numbers = text.split_ascii_whitespace().map(str::parse);
    Some([numbers.next()?.ok()?, numbers.next()?.ok()?])
}

/// Whether threads that share work should get one more: none has room for more work, and none waits for a CPU, so
/// there is a free CPU.
pub fn wants_another(loads: &[ThreadLoad]) -> bool {
    (loads.iter()).all(|load| load.busy >= FULL && load.waited < CROWDED)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn a_thread_that_computes_is_busy_and_one_that_sleeps_is_not() {
        let mut meter = ThreadMeter::of_this_thread();
        std::thread::sleep(Duration::from_millis(100));
        assert!(meter.look().busy < 0.5);
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_millis(100) {}
        let load = meter.look();
        // On a machine with other work it has a processor or waits for one.
        assert!(load.busy + load.waited > 0.5, "{load:?}");
    }

    #[test]
    fn another_thread_is_of_use_where_all_are_full_and_none_waits() {
        let load = |busy, waited| ThreadLoad { busy, waited };
        assert!(wants_another(&[load(0.9, 0.0)]));
        assert!(wants_another(&[load(0.9, 0.0), load(0.8, 0.05)]));
        assert!(!wants_another(&[load(0.9, 0.0), load(0.1, 0.0)]));
        assert!(!wants_another(&[load(0.8, 0.2)]));
        assert!(!wants_another(&[load(0.9, 0.0), load(0.75, 0.25)]));
    }
}
