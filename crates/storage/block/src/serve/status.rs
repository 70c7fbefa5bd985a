//! The status of a server in one line.

use std::fmt;
use std::time::Instant;

use super::metrics::Metrics;

/// The status of a server. `Display` prints one line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Status {
    /// Clients connected.
    pub clients: u64,
    /// Bytes read per second, since the last sample.
    pub bytes: f64,
    /// Bytes written per second, since the last sample.
    pub written: f64,
    /// Requests per second, since the last sample.
    pub requests: f64,
    /// The share of requested blocks that were already decoded, since the last sample; `None` without requests.
    pub hits: Option<f64>,
}

/// Turns counters into rates since the last sample.
#[derive(Debug)]
pub struct RateMeter {
    at: Instant,
    totals: Totals,
}

#[derive(Clone, Copy, Debug, Default)]
struct Totals {
    bytes: u64,
    written: u64,
    requests: u64,
    hits: u64,
    blocks: u64,
}

impl Totals {
    fn of(images: &[&Metrics]) -> Totals {
        let mut totals = Totals::default();
        for metrics in images {
            let hits = metrics.hits.get();
            totals.bytes += metrics.bytes.get();
            totals.written += metrics.written.get();
            totals.requests += metrics.requests_total();
            totals.hits += hits;
            totals.blocks += hits + metrics.misses.get() + metrics.waits.get();
        }
        totals
    }
}

impl RateMeter {
    /// Creates a meter and takes the first sample.
    pub fn new(metrics: &[&Metrics]) -> RateMeter {
        RateMeter {
            at: Instant::now(),
            totals: Totals::of(metrics),
        }
    }

    /// Takes a sample of the served images. `clients` is the number of connected clients.
    pub fn sample(&mut self, metrics: &[&Metrics], clients: u64) -> Status {
        let seconds = self.at.elapsed().as_secs_f64().max(1e-9);
        let (before, now) = (self.totals, Totals::of(metrics));
        *self = RateMeter {
            at: Instant::now(),
            totals: now,
        };
        let blocks = now.blocks - before.blocks;
        Status {
            clients,
            bytes: (now.bytes - before.bytes) as f64 / seconds,
            written: (now.written - before.written) as f64 / seconds,
            requests: (now.requests - before.requests) as f64 / seconds,
            hits: (blocks > 0).then(|| (now.hits - before.hits) as f64 / blocks as f64),
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (clients, mib) = (self.clients, self.bytes / f64::from(1 << 20));
        let plural = if clients == 1 { "" } else { "s" };
        write!(f, "{clients} client{plural}, {mib:.1} MiB/s, ")?;
        if self.written > 0.0 {
            let mib = self.written / f64::from(1 << 20);
            write!(f, "{mib:.1} MiB/s written, ")?;
        }
        write!(f, "{:.0} requests/s", self.requests)?;
        match self.hits {
            Some(hits) => write!(f, ", {:.0} % of blocks in the cache", 100.0 * hits),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_came_since_the_last_sample_counts() {
        let metrics = Metrics::default();
        metrics.hits.add(50);
        let mut meter = RateMeter::new(&[&metrics]);
        metrics.hits.add(1);
        metrics.misses.add(3);
        metrics.bytes.add(7);
        let status = meter.sample(&[&metrics], 1);
        assert_eq!(status.hits, Some(0.25));
        assert!(status.bytes > 0.0 && status.requests == 0.0);
        let line = status.to_string();
        assert!(line.starts_with("1 client, "), "{line}");
        assert!(line.ends_with(", 25 % of blocks in the cache"), "{line}");
        assert_eq!(meter.sample(&[&metrics], 1).hits, None);
        assert!(!line.contains("written"), "{line}");
        metrics.written.add(1);
        let line = meter.sample(&[&metrics], 1).to_string();
        assert!(line.contains(" MiB/s written, "), "{line}");
    }
}
