//! What an engine counts, in the format of Prometheus.

use std::fmt::Write;

use crate::run::Snapshot;

/// Name, type, help and value of a metric.
type Row = (&'static str, &'static str, &'static str, u64);

fn rows(snapshot: &Snapshot) -> Vec<Row> {
    let counters = &snapshot.counters;
    let counter = |name, help, value| (name, "counter", help, value);
    vec![
        counter(
            "packets_in_total",
            "Packets that came.",
            counters.packets_in,
        ),
        counter(
            "packets_out_total",
            "Packets that went out.",
            counters.packets_out,
        ),
        counter(
            "bytes_in_total",
            "Bytes that came, with headers.",
            counters.bytes_in,
        ),
        counter(
            "bytes_out_total",
            "Bytes of data that went out.",
            counters.bytes_out,
        ),
        counter(
            "malformed_total",
            "Packets that were no packets.",
            counters.malformed,
        ),
        counter(
            "bad_checksum_total",
            "Packets with a wrong checksum.",
            counters.bad_checksum,
        ),
        counter(
            "not_for_us_total",
            "Packets for others.",
            counters.not_for_us,
        ),
        counter(
            "refused_total",
            "Segments answered with a reset.",
            counters.refused,
        ),
        counter(
            "connections_total",
            "Connections that were begun.",
            counters.connections,
        ),
        counter(
            "accepted_total",
            "Connections that came.",
            counters.accepted,
        ),
        counter(
            "cookies_sent_total",
            "SYN cookies sent.",
            counters.cookies_sent,
        ),
        counter(
            "cookies_taken_total",
            "SYN cookies that came back.",
            counters.cookies_taken,
        ),
        counter(
            "requests_dropped_total",
            "Connections for which there was no room.",
            counters.requests_dropped,
        ),
        counter(
            "cache_hits_total",
            "Packets of a recent flow.",
            snapshot.cache.hits,
        ),
        counter(
            "cache_misses_total",
            "Packets of another flow.",
            snapshot.cache.misses,
        ),
        counter("turns_total", "Turns of the loop.", snapshot.turns),
        counter(
            "sleeps_total",
            "Times that the loop slept.",
            snapshot.sleeps,
        ),
        (
            "applications",
            "gauge",
            "Applications that are attached.",
            snapshot.applications as u64,
        ),
        (
            "uptime_seconds",
            "gauge",
            "Since the engine began.",
            snapshot.uptime.as_secs(),
        ),
    ]
}

/// All of it.
pub fn text(snapshot: &Snapshot) -> String {
    let mut text = String::new();
    for (name, kind, help, value) in rows(snapshot) {
        let _ = writeln!(text, "# HELP evener_net_{name} {help}");
        let _ = writeln!(text, "# TYPE evener_net_{name} {kind}");
        let _ = writeln!(text, "evener_net_{name} {value}");
    }
    let mut last = "";
    for count in &snapshot.device {
        let (name, value) = (count.name, count.value);
        if name != last {
            let _ = writeln!(text, "# HELP evener_net_{name} {}", count.about);
            let _ = writeln!(text, "# TYPE evener_net_{name} counter");
        }
        last = name;
        let _ = match &count.of {
            Some(of) => {
                let of = of.replace('\\', "\\\\").replace('"', "\\\"");
                writeln!(text, "evener_net_{name}{{of=\"{of}\"}} {value}")
            }
            None => writeln!(text, "evener_net_{name} {value}"),
        };
    }
    text
}
