//! What a server counts, in the text format of Prometheus.

use std::fmt;
use std::time::Duration;

use evener_runtime::Rounds;
use evener_runtime::rounds::LoadReport;

use super::cache::Cache;
use super::counter::Counter;

/// Kinds of requests, as metrics name them.
pub const COMMANDS: [&str; 8] = [
    "read",
    "block_status",
    "cache",
    "flush",
    "write",
    "trim",
    "write_zeroes",
    "other",
];

/// Upper bounds of latencies in microseconds; beyond the last there is one more.
const BOUNDS: [u64; 12] = [
    16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 16_384, 65_536, 1_048_576,
];

/// How many took how long.
#[derive(Debug, Default)]
pub struct Latency {
    counts: [Counter; BOUNDS.len() + 1],
    micros: Counter,
}

impl Latency {
    /// Counts one that took `time`.
    pub fn record(&self, time: Duration) {
        let micros = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        let at = BOUNDS.partition_point(|&bound| bound < micros);
        self.counts[at].add(1);
        self.micros.add(micros);
    }
}

/// What a server counts.
#[derive(Debug, Default)]
pub struct Metrics {
    /// Clients there are.
    pub connections: Counter,
    /// Clients there have been.
    pub accepted: Counter,
    /// Requests under way.
    pub in_flight: Counter,
    /// Requests, by [`COMMANDS`].
    pub requests: [Counter; COMMANDS.len()],
    /// Requests that were answered with an error.
    pub errors: Counter,
    /// Bytes of the image that were asked for and given.
    pub bytes: Counter,
    /// Bytes that were written, zeros too.
    pub written: Counter,
    /// Bytes given back by trims.
    pub trimmed: Counter,
    /// Blocks that were in the cache.
    pub hits: Counter,
    /// Blocks that were not.
    pub misses: Counter,
    /// Blocks that somebody else was decoding.
    pub waits: Counter,
    /// Blocks decoded before they were asked for.
    pub ahead: Counter,
    /// Blocks that could not be decoded.
    pub bad: Counter,
    /// How long requests took, from request to reply.
    pub latency: Latency,
}

impl Metrics {
    /// All of it, as Prometheus reads it, with what the cache and the rounds of blocks have to say, and the bytes that
    /// are in the overlay.
    pub fn text(&self, cache: &Cache, rounds: &Rounds, over: u64) -> String {
        let (metrics, loads) = (self, rounds.report());
        let text = Text {
            metrics,
            cache,
            over,
            decoding: rounds.busy() as u64,
            loads: &loads,
        };
        text.to_string()
    }
}

struct Text<'a> {
    metrics: &'a Metrics,
    cache: &'a Cache,
    /// Bytes that are in the overlay.
    over: u64,
    /// Threads that decode.
    decoding: u64,
    loads: &'a [LoadReport],
}

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let m = self.metrics;
        head(f, "requests_total", "counter", "Requests by command.")?;
        for (command, counter) in COMMANDS.iter().zip(&m.requests) {
            let count = counter.get();
            writeln!(
                f,
                "evener_nbd_requests_total{{command=\"{command}\"}} {count}"
            )?;
        }
        let rest = [
            (
                "errors_total",
                "counter",
                "Requests answered with an error.",
                m.errors.get(),
            ),
            (
                "read_bytes_total",
                "counter",
                "Bytes of the image given.",
                m.bytes.get(),
            ),
            (
                "written_bytes_total",
                "counter",
                "Bytes written, zeros too.",
                m.written.get(),
            ),
            (
                "trimmed_bytes_total",
                "counter",
                "Bytes that trims named.",
                m.trimmed.get(),
            ),
            (
                "overlay_bytes",
                "gauge",
                "Bytes of the image that are in the overlay.",
                self.over,
            ),
            (
                "cache_hits_total",
                "counter",
                "Blocks found decoded.",
                m.hits.get(),
            ),
            (
                "cache_misses_total",
                "counter",
                "Blocks decoded for a request.",
                m.misses.get(),
            ),
            (
                "cache_waits_total",
                "counter",
                "Blocks another request was decoding.",
                m.waits.get(),
            ),
            (
                "cache_bytes",
                "gauge",
                "Bytes of memory that decoded blocks take.",
                self.cache.bytes(),
            ),
            (
                "readahead_blocks_total",
                "counter",
                "Blocks decoded ahead.",
                m.ahead.get(),
            ),
            (
                "readahead_used_total",
                "counter",
                "Blocks decoded ahead that were asked for then.",
                self.cache.ahead_used(),
            ),
            (
                "front_blocks_total",
                "counter",
                "Blocks of which only the front was decoded.",
                self.cache.fronts().made_total(),
            ),
            (
                "front_again_total",
                "counter",
                "Blocks that were needed farther than the front in the cache.",
                self.cache.fronts().again_total(),
            ),
            (
                "decoding_threads",
                "gauge",
                "Threads that decode, workers that help not counted.",
                self.decoding,
            ),
            (
                "bad_blocks_total",
                "counter",
                "Blocks that could not be decoded.",
                m.bad.get(),
            ),
            (
                "connections",
                "gauge",
                "Clients connected.",
                m.connections.get(),
            ),
            (
                "connections_total",
                "counter",
                "Clients accepted.",
                m.accepted.get(),
            ),
            (
                "requests_in_flight",
                "gauge",
                "Requests under way.",
                m.in_flight.get(),
            ),
        ];
        for (name, kind, help, value) in rest {
            head(f, name, kind, help)?;
            writeln!(f, "evener_nbd_{name} {value}")?;
        }
        self.plans(f)?;
        let name = "request_seconds";
        head(f, name, "histogram", "From request to reply.")?;
        let mut sum = 0;
        for (at, counter) in m.latency.counts.iter().enumerate() {
            sum += counter.get();
            match BOUNDS.get(at) {
                Some(&bound) => {
                    let seconds = bound as f64 / 1e6;
                    writeln!(f, "evener_nbd_{name}_bucket{{le=\"{seconds}\"}} {sum}")?;
                }
                None => writeln!(f, "evener_nbd_{name}_bucket{{le=\"+Inf\"}} {sum}")?,
            }
        }
        let seconds = m.latency.micros.get() as f64 / 1e6;
        writeln!(f, "evener_nbd_{name}_sum {seconds}")?;
        writeln!(f, "evener_nbd_{name}_count {sum}")
    }
}

impl Text<'_> {
    /// What is needed at once, by how many blocks that is, and the plan it is decoded by.
    fn plans(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        head(
            f,
            "rounds_total",
            "counter",
            "Times that blocks were decoded together.",
        )?;
        for load in self.loads {
            let (blocks, rounds) = (load.items(), load.rounds);
            writeln!(f, "evener_nbd_rounds_total{{blocks=\"{blocks}\"}} {rounds}")?;
        }
        head(
            f,
            "block_seconds",
            "gauge",
            "Time of a block of those decoded together.",
        )?;
        for load in self.loads {
            let (blocks, seconds) = (load.items(), load.item.as_secs_f64());
            writeln!(
                f,
                "evener_nbd_block_seconds{{blocks=\"{blocks}\"}} {seconds}"
            )?;
        }
        head(
            f,
            "plan_info",
            "gauge",
            "The plan in force, by blocks decoded together.",
        )?;
        for load in self.loads {
            let (blocks, plan) = (load.items(), load.plan);
            let (dispatch, grain, workers) = (plan.dispatch, plan.grain, plan.workers);
            writeln!(
                f,
                "evener_nbd_plan_info{{blocks=\"{blocks}\",dispatch=\"{dispatch}\",grain=\"{grain}\",workers=\"{workers}\"}} 1"
            )?;
        }
        Ok(())
    }
}

fn head(f: &mut fmt::Formatter<'_>, name: &str, kind: &str, help: &str) -> fmt::Result {
    writeln!(f, "# HELP evener_nbd_{name} {help}")?;
    writeln!(f, "# TYPE evener_nbd_{name} {kind}")
}

#[cfg(test)]
mod tests {
    use evener_runtime::Pool;

    use super::*;

    #[test]
    fn buckets_add_up() {
        let metrics = Metrics::default();
        for micros in [0, 16, 17, 2_000_000] {
            metrics.latency.record(Duration::from_micros(micros));
        }
        metrics.requests[0].add(4);
        let rounds = Rounds::plain(2);
        let pool = Pool::new(2).unwrap();
        rounds.run(&pool, 3, &|_, _| ()).unwrap();
        let text = metrics.text(&Cache::new(100, 100), &rounds, 4096);
        for line in [
            "evener_nbd_requests_total{command=\"read\"} 4",
            "evener_nbd_cache_bytes 0",
            "evener_nbd_overlay_bytes 4096",
            "evener_nbd_rounds_total{blocks=\"2 to 3\"} 1",
            "evener_nbd_plan_info{blocks=\"2 to 3\",dispatch=\"fifo\",grain=\"1\",workers=\"2\"} 1",
            "evener_nbd_request_seconds_bucket{le=\"0.000016\"} 2",
            "evener_nbd_request_seconds_bucket{le=\"0.000032\"} 3",
            "evener_nbd_request_seconds_bucket{le=\"1.048576\"} 3",
            "evener_nbd_request_seconds_bucket{le=\"+Inf\"} 4",
            "evener_nbd_request_seconds_sum 2.000033",
            "evener_nbd_request_seconds_count 4",
        ] {
            assert!(text.lines().any(|l| l == line), "no {line} in\n{text}");
        }
    }
}
