//! What a gateway does, a line at a time, and what it did.

use std::fmt;
use std::time::Instant;

use evener_runtime::quantity::{Seconds, Size, counted};
use serde::Serialize;

use crate::engine::{Counts, Shared};

/// How a gateway is doing. `Display` gives one line.
#[derive(Clone, Copy, Debug, Default)]
pub struct Line {
    at: Option<Instant>,
    engines: usize,
    counts: Counts,
    /// Bits of a second that came and went.
    bits_in: f64,
    bits_out: f64,
}

/// What a gateway did. `Display` gives one line.
#[derive(Clone, Debug, Serialize)]
pub struct Served {
    /// Seconds that it ran.
    pub seconds: f64,
    /// How many engines there were at the end.
    pub engines: usize,
    /// What they did.
    #[serde(flatten)]
    pub counts: Counts,
    /// Why there were so many engines, a line a decision.
    pub decisions: Vec<String>,
}

impl Line {
    /// How it is doing now, with rates since `before`.
    pub(super) fn after(before: &Line, shared: &Shared) -> Line {
        let (engines, counts) = total(shared);
        let now = Instant::now();
        let since = before.at.unwrap_or(shared.began);
        let seconds = now.duration_since(since).as_secs_f64().max(1e-3);
        let rate = |now: u64, then: u64| 8.0 * now.saturating_sub(then) as f64 / seconds;
        Line {
            at: Some(now),
            engines,
            bits_in: rate(counts.bytes_in, before.counts.bytes_in),
            bits_out: rate(counts.bytes_out, before.counts.bytes_out),
            counts,
        }
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mbps = |bits: f64| format!("{:.1} Mbit/s", bits / 1e6);
        write!(
            f,
            "{} from {}, {} in, {} out, {}",
            counted(self.counts.watching, "clients"),
            counted(self.counts.sources, "sources"),
            mbps(self.bits_in),
            mbps(self.bits_out),
            counted(self.engines as u64, "engines"),
        )
    }
}

impl Served {
    pub(super) fn of(shared: &Shared, decisions: Vec<String>) -> Served {
        let (engines, counts) = total(shared);
        Served {
            seconds: shared.began.elapsed().as_secs_f64(),
            engines,
            counts,
            decisions,
        }
    }
}

impl fmt::Display for Served {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} to clients in {}, {} in {}",
            counted(self.counts.streams, "streams"),
            counted(self.counts.requests, "requests"),
            Size(self.counts.bytes_out),
            Seconds(self.seconds),
        )
    }
}

/// How many engines there are, and what they did together.
fn total(shared: &Shared) -> (usize, Counts) {
    let engines = shared.directory.engines();
    let counts = engines.iter().map(|engine| engine.counts());
    (engines.len(), counts.fold(Counts::default(), Counts::and))
}
