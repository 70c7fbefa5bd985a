//! How a gateway is doing, in the format of Prometheus.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::pool::{OriginStatus, State};

use crate::engine::{Counts, EngineStatus, Report, SourceStatus};

/// Name, type and help of a metric.
type Metric = (&'static str, &'static str, &'static str);
/// A metric of each of several, and its value.
type Row<T> = (Metric, fn(&T) -> f64);

/// Of each engine.
const ENGINE: [Row<EngineStatus>; 9] = [
    (
        (
            "engine_busy_ratio",
            "gauge",
            "Share of the time that its thread ran on a CPU.",
        ),
        |e| e.busy,
    ),
    (
        (
            "engine_waited_ratio",
            "gauge",
            "Share of the time that its thread waited for a CPU.",
        ),
        |e| e.waited,
    ),
    (
        ("requests_total", "counter", "Requests that were answered."),
        |e| of(e, |c| c.requests),
    ),
    (
        ("refused_total", "counter", "Requests that were refused."),
        |e| of(e, |c| c.refused),
    ),
    (
        ("streams_total", "counter", "Responses that were streams."),
        |e| of(e, |c| c.streams),
    ),
    (("sources", "gauge", "Sources that are open."), |e| {
        of(e, |c| c.sources)
    }),
    (("clients", "gauge", "Clients that get a stream."), |e| {
        of(e, |c| c.watching)
    }),
    (
        ("received_bytes_total", "counter", "Bytes that came."),
        |e| of(e, |c| c.bytes_in),
    ),
    (
        ("sent_bytes_total", "counter", "Bytes that clients took."),
        |e| of(e, |c| c.bytes_out),
    ),
];

/// Of each source that is open.
const SOURCE: [Row<SourceStatus>; 8] = [
    (("source_clients", "gauge", "Clients that get it."), |s| {
        s.clients as f64
    }),
    (
        ("source_packets_total", "counter", "Packets that came."),
        |s| s.datagrams as f64,
    ),
    (("source_bytes_total", "counter", "Bytes in them."), |s| {
        s.bytes as f64
    }),
    (
        (
            "source_lost_total",
            "counter",
            "Packets of RTP that did not come in time.",
        ),
        |s| s.lost as f64,
    ),
    (
        (
            "source_duplicated_total",
            "counter",
            "Packets that came twice.",
        ),
        |s| s.duplicated as f64,
    ),
    (
        (
            "source_gaps_total",
            "counter",
            "Places where packets of the transport stream are missing.",
        ),
        |s| s.gaps as f64,
    ),
    (
        (
            "source_kept_bytes",
            "gauge",
            "Bytes that are kept for its clients.",
        ),
        |s| s.kept_bytes as f64,
    ),
    (
        (
            "source_failovers_total",
            "counter",
            "Sessions at origins of a pool that failed.",
        ),
        |s| s.failovers as f64,
    ),
];

/// Of each origin of each pool.
const ORIGIN: [Row<OriginStatus>; 4] = [
    (
        (
            "origin_up",
            "gauge",
            "1 if the origin can be asked, 0 if it is down.",
        ),
        |o| f64::from(u8::from(o.state != State::Down)),
    ),
    (
        (
            "origin_drains",
            "gauge",
            "1 if the origin takes no new sessions.",
        ),
        |o| f64::from(u8::from(o.drains)),
    ),
    (("origin_sessions", "gauge", "Sessions that it has."), |o| {
        o.sessions as f64
    }),
    (
        (
            "origin_weight",
            "gauge",
            "Its weight now: after an outage it grows to what is set.",
        ),
        |o| o.weight,
    ),
];

fn of(engine: &EngineStatus, count: impl Fn(&Counts) -> u64) -> f64 {
    count(&engine.counts) as f64
}

/// All of it.
pub fn text(report: &Report) -> String {
    let mut text = String::new();
    one(
        &mut text,
        ("uptime_seconds", "gauge", "Since the gateway began."),
        report.uptime_s,
    );
    one(
        &mut text,
        ("engines", "gauge", "Engines that run."),
        report.engines.len() as f64,
    );
    for (metric, value) in ENGINE {
        let values = report.engines.iter();
        let values = values.map(|engine| (engine.number.to_string(), value(engine)));
        each(&mut text, metric, "engine", values);
    }
    for (metric, value) in SOURCE {
        let values = report.sources.iter();
        let values = values.map(|source| (source.name.clone(), value(source)));
        each(&mut text, metric, "source", values);
    }
    for (metric, value) in ORIGIN {
        begin(&mut text, metric);
        for (pool, origin) in
            (report.pools.iter()).flat_map(|pool| pool.origins.iter().map(move |of| (pool, of)))
        {
            let (pool, url) = (escaped(&pool.name), escaped(&origin.url));
            let _ = writeln!(
                text,
                "evener_gateway_{}{{pool=\"{pool}\",origin=\"{url}\"}} {}",
                metric.0,
                value(origin)
            );
        }
    }
    let left_out = report
        .clients
        .iter()
        .map(|client| client.left_out)
        .sum::<u64>();
    let metric = (
        "clients_left_out",
        "gauge",
        "Pictures that clients of now did not get.",
    );
    one(&mut text, metric, left_out as f64);
    text
}

fn begin(text: &mut String, (name, kind, help): Metric) {
    let _ = writeln!(text, "# HELP evener_gateway_{name} {help}");
    let _ = writeln!(text, "# TYPE evener_gateway_{name} {kind}");
}

fn one(text: &mut String, metric: Metric, value: f64) {
    begin(text, metric);
    let _ = writeln!(text, "evener_gateway_{} {value}", metric.0);
}

/// As the value of a label.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}

/// Those that have the same label, as sources that differ only in a password, are one: a collector refuses a page with two.
fn each(
    text: &mut String,
    metric: Metric,
    label: &str,
    values: impl Iterator<Item = (String, f64)>,
) {
    begin(text, metric);
    let mut sums: BTreeMap<String, f64> = BTreeMap::new();
    for (of, value) in values {
        *sums.entry(of).or_default() += value;
    }
    for (of, value) in sums {
        let of = escaped(&of);
        let _ = writeln!(
            text,
            "evener_gateway_{}{{{label}=\"{of}\"}} {value}",
            metric.0
        );
    }
}
