//! Timelines of workers and counters, written to a file for Perfetto and `chrome://tracing`.
//!
//! Format: the JSON object format of Google's "Trace Event Format" (events `X`, `i`, `C` and `M`).
#![forbid(unsafe_code)]

mod json;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use crate::device::MOST_LANES;
use crate::dispatch::sync::Padded;
use crate::sync::lock;

/// The default limit of events per track, about 12 MiB; see [`Trace::with_limit`].
pub const DEFAULT_LIMIT: usize = 1 << 18;

/// Records which thread does what, and when. Cheap to clone; may be off.
///
/// Every track has its own storage, so threads that record on different tracks never wait for each other. A full
/// track drops further events and counts them.
#[derive(Clone, Debug, Default)]
pub struct Trace(Option<Arc<Recorder>>);

/// The timeline that an event belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Track {
    /// The thread that reads units.
    Input,
    /// A worker, by its number; worker 0 is the thread that runs the stream.
    Worker(usize),
    /// A lane of a device, by its number.
    Lane(usize),
    /// The thread that writes units.
    Output,
    /// Decisions of the tuner.
    Tuner,
}

#[derive(Debug)]
struct Recorder {
    begin: Instant,
    workers: usize,
    limit: usize,
    /// Input, output, tuner, the workers, then lanes of devices.
    tracks: Vec<Padded<Mutex<Log>>>,
    counters: Mutex<Counters>,
}

#[derive(Debug, Default)]
struct Log {
    events: Vec<Event>,
    dropped: u64,
}

/// Times are nanoseconds since the trace began.
#[derive(Debug)]
enum Event {
    Span {
        name: &'static str,
        unit: u64,
        start: u64,
        end: u64,
    },
    Instant {
        name: &'static str,
        detail: Box<str>,
        at: u64,
    },
}

#[derive(Debug, Default)]
struct Counters {
    last: BTreeMap<&'static str, f64>,
    samples: Vec<(&'static str, u64, f64)>,
    dropped: u64,
}

impl Track {
    const FIXED: [Track; 3] = [Track::Input, Track::Output, Track::Tuner];

    fn index(self, workers: usize) -> usize {
        match self {
            Track::Input => 0,
            Track::Output => 1,
            Track::Tuner => 2,
            Track::Worker(worker) if worker < workers => Track::FIXED.len() + worker,
            Track::Worker(_) => usize::MAX,
            Track::Lane(lane) => (Track::FIXED.len() + workers).saturating_add(lane),
        }
    }

    /// All tracks of a recorder with that many workers, in the order of their indices.
    fn all(workers: usize) -> impl Iterator<Item = Track> {
        Track::FIXED
            .into_iter()
            .chain((0..workers).map(Track::Worker))
            .chain((0..MOST_LANES).map(Track::Lane))
    }
}

impl Trace {
    /// A trace that records nothing; every call costs one branch.
    pub fn off() -> Trace {
        Trace(None)
    }

    /// Starts to record, with tracks for workers `0..workers` and for input, output and tuner.
    pub fn on(workers: usize) -> Trace {
        Trace::with_limit(workers, DEFAULT_LIMIT)
    }

    /// As [`Trace::on`], but keeps at most `limit` events per track, and `limit` samples of counters.
    pub fn with_limit(workers: usize, limit: usize) -> Trace {
        let tracks = Track::all(workers).map(|_| Padded::default()).collect();
        let counters = Mutex::default();
        Trace(Some(Arc::new(Recorder {
            begin: Instant::now(),
            workers,
            limit,
            tracks,
            counters,
        })))
    }

    /// Whether the trace records. If not, a caller need not take times.
    #[inline]
    pub fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// The current time if the trace records: `let t = trace.start(); …; trace.end(track, name, unit, t)`.
    #[inline]
    pub fn start(&self) -> Option<Instant> {
        self.is_on().then(Instant::now)
    }

    /// Records a span from [`Trace::start`] to now.
    #[inline]
    pub fn end(&self, track: Track, name: &'static str, unit: u64, start: Option<Instant>) {
        if let (Some(recorder), Some(start)) = (&self.0, start) {
            recorder.span(track, name, unit, start, Instant::now());
        }
    }

    /// Records that `track` did `name` for unit `unit` from `start` to `end`. Spans of one track must nest or follow
    /// each other. A span of a worker without a track counts as dropped.
    #[inline]
    pub fn span(&self, track: Track, name: &'static str, unit: u64, start: Instant, end: Instant) {
        if let Some(recorder) = &self.0 {
            recorder.span(track, name, unit, start, end);
        }
    }

    /// Records an event at the current time, with a text.
    #[inline]
    pub fn instant(&self, track: Track, name: &'static str, detail: &str) {
        if let Some(recorder) = &self.0 {
            let at = recorder.since(Instant::now());
            recorder.push(track, || Event::Instant {
                name,
                detail: detail.into(),
                at,
            });
        }
    }

    /// Records the current value of a counter. Values that are not finite are left out.
    #[inline]
    pub fn counter(&self, name: &'static str, value: f64) {
        if let Some(recorder) = &self.0 {
            recorder.counter(name, value);
        }
    }

    /// The last value of every counter, by name; serialises to a JSON object.
    pub fn counters(&self) -> BTreeMap<&'static str, f64> {
        self.0
            .as_ref()
            .map(|r| lock(&r.counters).last.clone())
            .unwrap_or_default()
    }

    /// The last value of every counter, one line `name value` each, sorted by name.
    pub fn counters_text(&self) -> String {
        self.counters()
            .iter()
            .fold(String::new(), |mut text, (name, value)| {
                // Writing to a string does not fail.
                let _ = writeln!(text, "{name} {value}");
                text
            })
    }

    /// The number of dropped events and samples.
    pub fn dropped(&self) -> u64 {
        let Some(recorder) = &self.0 else { return 0 };
        let events: u64 = recorder
            .tracks
            .iter()
            .map(|track| lock(&track.0).dropped)
            .sum();
        events + lock(&recorder.counters).dropped
    }
}

impl Recorder {
    /// Nanoseconds since the trace began; 0 for what was earlier.
    fn since(&self, at: Instant) -> u64 {
        u64::try_from(at.saturating_duration_since(self.begin).as_nanos()).unwrap_or(u64::MAX)
    }

    fn span(&self, track: Track, name: &'static str, unit: u64, start: Instant, end: Instant) {
        let (start, end) = (self.since(start), self.since(end));
        self.push(track, || Event::Span {
            name,
            unit,
            start,
            end: end.max(start),
        });
    }

    fn push(&self, track: Track, event: impl FnOnce() -> Event) {
        match self.tracks.get(track.index(self.workers)) {
            Some(track) => {
                let mut log = lock(&track.0);
                if log.events.len() < self.limit {
                    log.events.push(event());
                } else {
                    log.dropped += 1;
                }
            }
            None => lock(&self.counters).dropped += 1,
        }
    }

    fn counter(&self, name: &'static str, value: f64) {
        if !value.is_finite() {
            return;
        }
        let at = self.since(Instant::now());
        let mut counters = lock(&self.counters);
        counters.last.insert(name, value);
        if counters.samples.len() < self.limit {
            counters.samples.push((name, at, value));
        } else {
            counters.dropped += 1;
        }
    }
}

#[cfg(test)]
mod tests;
