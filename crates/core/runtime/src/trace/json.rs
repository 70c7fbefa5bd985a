//! Writes a trace as Chrome trace-event JSON.

use std::io::{self, Write};

use serde_json::{Value, json};

use super::{Event, Log, Recorder, Trace, Track};
use crate::device::MOST_LANES;
use crate::sync::lock;

/// All events are of one process; its number only has to be the same in all of them.
const PROCESS: u32 = 1;

impl Trace {
    /// Writes everything recorded so far as a JSON trace. If the trace is off, it has no events.
    ///
    /// Recording may continue meanwhile; a track that is being written waits.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write(&self, mut out: impl Write) -> io::Result<()> {
        write!(
            out,
            "{{\"displayTimeUnit\":\"ns\",\"otherData\":{{\"dropped\":{}}},",
            self.dropped()
        )?;
        write!(out, "\"traceEvents\":[")?;
        let mut list = List {
            out: &mut out,
            first: true,
        };
        if let Some(recorder) = &self.0 {
            recorder.write(&mut list)?;
        }
        writeln!(out, "\n]}}")?;
        out.flush()
    }
}

impl Recorder {
    fn write<W: Write>(&self, list: &mut List<'_, W>) -> io::Result<()> {
        list.put(&metadata("process_name", 0, json!({ "name": "evener" })))?;
        let tracks = Track::all(self.workers).zip(&self.tracks).enumerate();
        for (index, (track, log)) in tracks {
            // Thread 0 has a meaning of its own to Perfetto (the idle thread).
            let thread = index + 1;
            let log = lock(&log.0);
            if log.events.is_empty() && !matches!(track, Track::Worker(_)) {
                continue;
            }
            list.put(&metadata(
                "thread_name",
                thread,
                json!({ "name": label(track) }),
            ))?;
            let order = json!({ "sort_index": order(track, self.workers) });
            list.put(&metadata("thread_sort_index", thread, order))?;
            write_log(&log, thread, list)?;
        }
        for (name, at, value) in &lock(&self.counters).samples {
            list.put(&json!({
                "ph": "C", "pid": PROCESS, "tid": 0, "name": name, "ts": micros(*at),
                "args": { "value": value },
            }))?;
        }
        Ok(())
    }
}

fn write_log<W: Write>(log: &Log, thread: usize, list: &mut List<'_, W>) -> io::Result<()> {
    // Spans are recorded when they end. Readers want them by start, and an enclosing one first.
    let mut events: Vec<&Event> = log.events.iter().collect();
    events.sort_by_key(|event| match **event {
        Event::Span { start, end, .. } => (start, u64::MAX - end),
        Event::Instant { at, .. } => (at, u64::MAX),
    });
    for event in events {
        list.put(&match event {
            Event::Span {
                name,
                unit,
                start,
                end,
            } => json!({
                "ph": "X", "pid": PROCESS, "tid": thread, "name": name, "cat": "evener",
                "ts": micros(*start), "dur": micros(end - start), "args": { "unit": unit },
            }),
            Event::Instant { name, detail, at } => json!({
                "ph": "i", "s": "t", "pid": PROCESS, "tid": thread, "name": name, "cat": "evener",
                "ts": micros(*at), "args": { "detail": detail },
            }),
        })?;
    }
    Ok(())
}

fn metadata(name: &str, thread: usize, args: Value) -> Value {
    json!({ "ph": "M", "pid": PROCESS, "tid": thread, "name": name, "args": args })
}

/// The names of the threads themselves, so that a trace and a profile agree.
fn label(track: Track) -> String {
    match track {
        Track::Input => "evener-in".into(),
        Track::Worker(worker) => format!("evener-w{worker}"),
        Track::Lane(lane) => format!("evener-dev{lane}"),
        Track::Output => "evener-out".into(),
        Track::Tuner => "tuner".into(),
    }
}

/// From top to bottom in the order a unit meets them.
fn order(track: Track, workers: usize) -> usize {
    match track {
        Track::Tuner => 0,
        Track::Input => 1,
        Track::Worker(worker) => 2 + worker,
        Track::Lane(lane) => 2 + workers + lane,
        Track::Output => 2 + workers + MOST_LANES,
    }
}

fn micros(nanos: u64) -> f64 {
    nanos as f64 / 1e3
}

/// The elements of a JSON array, one a line.
struct List<'a, W> {
    out: &'a mut W,
    first: bool,
}

impl<W: Write> List<'_, W> {
    fn put(&mut self, event: &Value) -> io::Result<()> {
        self.out
            .write_all(if self.first { b"\n" } else { b",\n" })?;
        self.first = false;
        serde_json::to_writer(&mut *self.out, event).map_err(io::Error::from)
    }
}
