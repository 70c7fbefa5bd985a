//! The counters of a server, and their text in Prometheus format.

use std::fmt;
use std::time::Duration;

use evener_runtime::rounds::LoadReport;

use super::cache::Cache;
use super::counter::Counter;
use super::store::Store;
use crate::overlay::Overlay;

/// Kinds of requests, by their names in metrics.
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

/// Upper bounds of the buckets of latencies, in microseconds. One more bucket has no bound.
const BOUNDS: [u64; 12] = [
    16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 16_384, 65_536, 1_048_576,
];

/// A histogram of latencies.
#[derive(Debug, Default)]
pub struct Latency {
    counts: [Counter; BOUNDS.len() + 1],
    micros: Counter,
}

impl Latency {
    /// Counts a request that took `time`.
    pub fn record(&self, time: Duration) {
        let micros = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        let at = BOUNDS.partition_point(|&bound| bound < micros);
        self.counts[at].add(1);
        self.micros.add(micros);
    }
}

/// The counters of a server.
#[derive(Debug, Default)]
pub struct Metrics {
    /// Requests in progress.
    pub in_flight: Counter,
    /// Requests by command, in the order of [`COMMANDS`].
    pub requests: [Counter; COMMANDS.len()],
    /// Requests that were answered with an error.
    pub errors: Counter,
    /// Bytes of the image that were read.
    pub bytes: Counter,
    /// Bytes that were written, including zeros.
    pub written: Counter,
    /// Bytes of trims.
    pub trimmed: Counter,
    /// Blocks that were in the cache.
    pub hits: Counter,
    /// Blocks that were missing, and were decoded for the request.
    pub misses: Counter,
    /// Blocks that another thread was decoding.
    pub waits: Counter,
    /// Blocks that were decoded for read-ahead.
    pub prefetched: Counter,
    /// Blocks that could not be decoded.
    pub bad: Counter,
    /// Time from request to reply.
    pub latency: Latency,
}

impl Metrics {
    /// Requests of all kinds.
    pub fn requests_total(&self) -> u64 {
        self.requests.iter().map(Counter::get).sum()
    }
}

/// The clients of a server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClientCounts {
    /// Clients that are connected.
    pub connected: u64,
    /// Clients that were accepted.
    pub accepted: u64,
}

/// An image that is served.
pub struct Described<'a> {
    /// The name of its export, where there are several.
    pub export: Option<&'a str>,
    /// The image and its counters.
    pub store: &'a Store,
}

/// The text of all counters. If there are several exports, each figure of an image has the label `export`.
pub fn metrics_text<'a>(
    images: impl Iterator<Item = Described<'a>>,
    clients: ClientCounts,
) -> String {
    let images = images.map(|image| Rows {
        label: image.export.map(label),
        metrics: image.store.metrics(),
        cache: image.store.cache(),
        overlay: image.store.overlay().map_or(0, Overlay::bytes),
        decoding: image.store.rounds().busy() as u64,
        loads: image.store.rounds().report(),
    });
    let images = images.collect();
    Text { images, clients }.to_string()
}

/// A label with the name of an export.
fn label(name: &str) -> String {
    let name = name.replace('\\', "\\\\").replace('"', "\\\"");
    format!("export=\"{}\"", name.replace('\n', "\\n"))
}

struct Text<'a> {
    images: Vec<Rows<'a>>,
    clients: ClientCounts,
}

/// What is told of one image.
struct Rows<'a> {
    label: Option<String>,
    metrics: &'a Metrics,
    cache: &'a Cache,
    overlay: u64,
    decoding: u64,
    loads: Vec<LoadReport>,
}

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.requests(f)?;
        let rows = self.images.iter().map(|image| (image, image.rows()));
        let rows: Vec<_> = rows.collect();
        let first = rows.first().map_or(&[][..], |(_, rows)| &rows[..]);
        for (at, (name, kind, help, _)) in first.iter().enumerate() {
            head(f, name, kind, help)?;
            for (image, rows) in &rows {
                let labels = image.labels("");
                writeln!(f, "evener_nbd_{name}{labels} {}", rows[at].3)?;
            }
        }
        let ClientCounts {
            connected,
            accepted,
        } = self.clients;
        for (name, kind, help, value) in [
            gauge("connections", "Clients connected.", connected),
            counter("connections_total", "Clients accepted.", accepted),
        ] {
            head(f, name, kind, help)?;
            writeln!(f, "evener_nbd_{name} {value}")?;
        }
        self.rounds(f)?;
        self.latency(f)
    }
}

/// Name, type, help and value of a metric without labels.
type Row = (&'static str, &'static str, &'static str, u64);

fn counter(name: &'static str, help: &'static str, value: u64) -> Row {
    (name, "counter", help, value)
}

fn gauge(name: &'static str, help: &'static str, value: u64) -> Row {
    (name, "gauge", help, value)
}

impl Rows<'_> {
    /// The labels of a figure of this image, with `more`.
    fn labels(&self, more: &str) -> String {
        match (&self.label, more) {
            (None, "") => String::new(),
            (None, more) => format!("{{{more}}}"),
            (Some(label), "") => format!("{{{label}}}"),
            (Some(label), more) => format!("{{{label},{more}}}"),
        }
    }

    fn rows(&self) -> Vec<Row> {
        self.transfer().into_iter().chain(self.blocks()).collect()
    }

    fn transfer(&self) -> [Row; 5] {
        let m = self.metrics;
        [
            counter(
                "errors_total",
                "Requests answered with an error.",
                m.errors.get(),
            ),
            counter(
                "read_bytes_total",
                "Bytes of the image read.",
                m.bytes.get(),
            ),
            counter(
                "written_bytes_total",
                "Bytes written, zeros too.",
                m.written.get(),
            ),
            counter(
                "trimmed_bytes_total",
                "Bytes that trims named.",
                m.trimmed.get(),
            ),
            gauge(
                "overlay_bytes",
                "Bytes of the image that are in the overlay.",
                self.overlay,
            ),
        ]
    }

    fn blocks(&self) -> [Row; 11] {
        let (m, cache) = (self.metrics, self.cache);
        [
            counter("cache_hits_total", "Blocks found decoded.", m.hits.get()),
            counter(
                "cache_misses_total",
                "Blocks decoded for a request.",
                m.misses.get(),
            ),
            counter(
                "cache_waits_total",
                "Blocks another request was decoding.",
                m.waits.get(),
            ),
            gauge(
                "cache_bytes",
                "Bytes of memory that decoded blocks take.",
                cache.bytes(),
            ),
            counter(
                "readahead_blocks_total",
                "Blocks decoded for read-ahead.",
                m.prefetched.get(),
            ),
            counter(
                "readahead_used_total",
                "Blocks decoded for read-ahead that were requested then.",
                cache.prefetched_used(),
            ),
            counter(
                "front_blocks_total",
                "Blocks of which only a prefix was decoded.",
                cache.prefixes().decoded_total(),
            ),
            counter(
                "front_again_total",
                "Blocks of which more than the cached prefix was requested.",
                cache.prefixes().extended_total(),
            ),
            gauge(
                "decoding_threads",
                "Threads that decode, workers that help not counted.",
                self.decoding,
            ),
            counter(
                "bad_blocks_total",
                "Blocks that could not be decoded.",
                m.bad.get(),
            ),
            gauge(
                "requests_in_flight",
                "Requests under way.",
                m.in_flight.get(),
            ),
        ]
    }
}

impl Text<'_> {
    fn requests(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        head(f, "requests_total", "counter", "Requests by command.")?;
        for image in &self.images {
            for (command, counter) in COMMANDS.iter().zip(&image.metrics.requests) {
                let labels = image.labels(&format!("command=\"{command}\""));
                writeln!(f, "evener_nbd_requests_total{labels} {}", counter.get())?;
            }
        }
        Ok(())
    }

    fn loads(&self) -> impl Iterator<Item = (&Rows<'_>, &LoadReport)> {
        let images = self.images.iter();
        images.flat_map(|image| image.loads.iter().map(move |load| (image, load)))
    }

    /// How many blocks were decoded at once, and by which plan.
    fn rounds(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        head(
            f,
            "rounds_total",
            "counter",
            "Times that blocks were decoded together.",
        )?;
        for (image, load) in self.loads() {
            let labels = image.labels(&format!("blocks=\"{}\"", load.items()));
            writeln!(f, "evener_nbd_rounds_total{labels} {}", load.rounds)?;
        }
        head(
            f,
            "block_seconds",
            "gauge",
            "Time of a block of those decoded together.",
        )?;
        for (image, load) in self.loads() {
            let labels = image.labels(&format!("blocks=\"{}\"", load.items()));
            let seconds = load.item.as_secs_f64();
            writeln!(f, "evener_nbd_block_seconds{labels} {seconds}")?;
        }
        head(
            f,
            "plan_info",
            "gauge",
            "The plan in force, by blocks decoded together.",
        )?;
        for (image, load) in self.loads() {
            let (blocks, plan) = (load.items(), load.plan);
            let (dispatch, grain, workers) = (plan.dispatch, plan.grain, plan.workers);
            let labels = image.labels(&format!(
                "blocks=\"{blocks}\",dispatch=\"{dispatch}\",grain=\"{grain}\",workers=\"{workers}\""
            ));
            writeln!(f, "evener_nbd_plan_info{labels} 1")?;
        }
        Ok(())
    }

    fn latency(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = "request_seconds";
        head(f, name, "histogram", "From request to reply.")?;
        for image in &self.images {
            let latency = &image.metrics.latency;
            let mut sum = 0;
            for (at, counter) in latency.counts.iter().enumerate() {
                sum += counter.get();
                let bound = match BOUNDS.get(at) {
                    Some(&bound) => (bound as f64 / 1e6).to_string(),
                    None => "+Inf".to_owned(),
                };
                let labels = image.labels(&format!("le=\"{bound}\""));
                writeln!(f, "evener_nbd_{name}_bucket{labels} {sum}")?;
            }
            let seconds = latency.micros.get() as f64 / 1e6;
            let labels = image.labels("");
            writeln!(f, "evener_nbd_{name}_sum{labels} {seconds}")?;
            writeln!(f, "evener_nbd_{name}_count{labels} {sum}")?;
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
    use evener_runtime::{Pool, Rounds};

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
        let cache = Cache::new(100, 100);
        let rows = |label| Rows {
            label,
            metrics: &metrics,
            cache: &cache,
            overlay: 4096,
            decoding: 0,
            loads: rounds.report(),
        };
        let text = |images| {
            let clients = ClientCounts::default();
            Text { images, clients }.to_string()
        };
        let two = text(vec![rows(Some(label("a\"b"))), rows(Some(label("c")))]);
        for line in [
            "evener_nbd_requests_total{export=\"a\\\"b\",command=\"read\"} 4",
            "evener_nbd_overlay_bytes{export=\"c\"} 4096",
            "evener_nbd_connections 0",
        ] {
            assert!(two.lines().any(|l| l == line), "no {line} in\n{two}");
        }
        let text = text(vec![rows(None)]);
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
