//! How an engine is doing, for people.

use std::collections::HashMap;
use std::fmt::Write;
use std::thread;
use std::time::Duration;

use evener_runtime::quantity::counted;

use crate::run::{Commands, Snapshot};

/// Rates are over this time.
const SAMPLE: Duration = Duration::from_millis(250);
/// Connections that are listed at most: those that do most.
const MOST: usize = 40;

/// Some lines; none if the engine has ended. Takes as long as a sample.
pub fn text(commands: &Commands) -> Option<String> {
    let before = commands.inspect(true)?;
    thread::sleep(SAMPLE);
    Some(between(&before, &commands.inspect(true)?))
}

fn between(before: &Snapshot, now: &Snapshot) -> String {
    let seconds = (now.uptime - before.uptime).as_secs_f64().max(1e-9);
    let rate = |before: u64, now: u64| now.saturating_sub(before) as f64 / seconds;
    let megabits = |before: u64, now: u64| rate(before, now) * 8e-6;
    let mut text = String::new();
    let (old, new) = (&before.counters, &now.counters);
    let _ = writeln!(
        text,
        "up {} s; {}, {}",
        now.uptime.as_secs(),
        counted(now.applications as u64, "applications"),
        counted(now.flows.len() as u64, "connections")
    );
    for (what, packets, bytes) in [
        (
            "in",
            rate(old.packets_in, new.packets_in),
            megabits(old.bytes_in, new.bytes_in),
        ),
        (
            "out",
            rate(old.packets_out, new.packets_out),
            megabits(old.bytes_out, new.bytes_out),
        ),
    ] {
        let _ = writeln!(text, "{what}: {bytes:.1} Mbit/s, {packets:.0} packets/s");
    }
    let (hits, misses) = (now.cache.hits, now.cache.misses);
    let share = 100.0 * hits as f64 / (hits + misses).max(1) as f64;
    let _ = writeln!(text, "cache: {share:.1} % of {} packets", hits + misses);
    let sleeps = rate(before.sleeps, now.sleeps);
    let _ = writeln!(text, "loop: {sleeps:.0} sleeps/s");
    for count in now.device.iter().filter(|count| count.value > 0) {
        let _ = writeln!(text, "{count}");
    }

    let earlier: HashMap<_, _> = before
        .flows
        .iter()
        .map(|(local, remote, info)| ((local, remote), (info.sent_bytes, info.received_bytes)))
        .collect();
    let mut flows: Vec<_> = now
        .flows
        .iter()
        .map(|(local, remote, info)| {
            let (sent, received) = earlier.get(&(local, remote)).copied().unwrap_or_default();
            let out = megabits(sent, info.sent_bytes);
            let into = megabits(received, info.received_bytes);
            (out + into, (out, into), (local, remote), info)
        })
        .collect();
    flows.sort_by(|one, other| other.0.total_cmp(&one.0));
    for (_, (out, into), (local, remote), info) in flows.iter().take(MOST) {
        let rtt = info.rtt.map_or(0.0, |rtt| rtt.as_secs_f64() * 1e3);
        let lost = 100.0 * info.lost as f64 / info.sent_bytes.max(1) as f64;
        let _ = writeln!(
            text,
            "{local} to {remote}: {:?}, {out:.1} Mbit/s out, {into:.1} in, rtt {rtt:.3} ms, window {} KiB, {lost:.3} % lost",
            info.state,
            info.window >> 10
        );
    }
    if let Some(more @ 1..) = flows.len().checked_sub(MOST) {
        let _ = writeln!(text, "and {more} more");
    }
    text
}
