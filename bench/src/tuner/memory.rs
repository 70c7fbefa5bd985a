//! Memory of a process beyond the frames in flight.
//!
//! A process of its own filters test frames under plan `tiled` without an output. Its anonymous memory counts while the
//! stream runs, less that of before the stream and less the frames in flight.

use std::convert::Infallible;
use std::path::Path;
use std::process::{Command, Stdio};

use evener_image::Frame;
use evener_image::exec::service::FilterService;
use evener_image::graph::Graph;
use evener_image::io::TestSource;
use evener_image::structures::TILED;
use evener_image::{Size, pipelines};
use evener_runtime::stream::Sink;
use evener_runtime::{Choice, Runtime};
use serde::{Deserialize, Serialize};

use super::{ALL_PIPELINES, FULL_HD, Options, pairs};
use crate::error::Error;
use crate::subject::unusable;
use evener_report::Table;

/// Largest number of bytes beyond the frames in flight.
pub const TARGET: u64 = 4 << 20;
/// Frames of a stream.
const FRAMES: u64 = 100;

/// Memory of one process, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resident {
    /// Frames computed.
    pub frames: u64,
    /// Anonymous memory before the graph was bound and the stream began.
    pub before: u64,
    /// The most anonymous memory seen while the stream ran.
    pub during: u64,
    /// Frames in flight, input and output.
    pub in_flight: u64,
    /// The most memory the process ever had resident, with its code and libraries.
    pub peak_resident: u64,
}

impl Resident {
    /// Bytes beyond the frames in flight; negative if not all of those were touched.
    pub fn beyond(&self) -> i64 {
        self.during as i64 - self.before as i64 - self.in_flight as i64
    }
}

/// One graph at one size.
#[derive(Clone, Debug, Serialize)]
pub struct MemoryResult {
    /// The graph as given.
    pub graph: String,
    /// Width x height.
    pub size: String,
    /// Bytes beyond the frames in flight, in the process with the most.
    pub beyond: i64,
    /// Each process.
    pub processes: Vec<Resident>,
}

pub(super) fn run(
    options: &Options,
    progress: &mut dyn FnMut(&str),
) -> Result<Vec<MemoryResult>, Error> {
    let mut results = Vec::new();
    for (graph, size) in pairs(options, ALL_PIPELINES, &[FULL_HD]) {
        progress(&format!("{graph} {size}"));
        let frames = options.frames.unwrap_or(FRAMES);
        let process = |_| process(&options.program, &graph, size, frames);
        let processes: Vec<Resident> =
            (0..options.rounds).map(process).collect::<Result<_, _>>()?;
        let beyond = processes.iter().map(Resident::beyond).max();
        results.push(MemoryResult {
            beyond: beyond.unwrap_or_default(),
            graph,
            size: size.to_string(),
            processes,
        });
    }
    Ok(results)
}

/// Runs `program bench resident`, which prints a [`Resident`].
fn process(program: &Path, graph: &str, size: Size, frames: u64) -> Result<Resident, Error> {
    let failed = |reason: String| Error::Process {
        what: "filters and tells its memory",
        reason,
    };
    let output = Command::new(program)
        .args(["bench", "resident", "--graph", graph])
        .args(["--size", &size.to_string()])
        .args(["--frames", &frames.to_string()])
        .stdin(Stdio::null())
        .output()
        .map_err(|e| failed(e.to_string()))?;
    if !output.status.success() {
        let told = String::from_utf8_lossy(&output.stderr);
        return Err(failed(format!("{}: {}", output.status, told.trim())));
    }
    serde_json::from_slice(&output.stdout).map_err(|e| failed(e.to_string()))
}

/// Filters test frames and measures the memory of this process, which should have done nothing else.
///
/// # Errors
/// The graph cannot be used, the stream fails, or the operating system does not report the memory.
pub fn resident(graph: &str, size: Size, frames: u64) -> Result<Resident, Error> {
    let wrong = |e: &dyn std::fmt::Display| Error::Run {
        graph: graph.to_owned(),
        size: size.to_string(),
        plan: TILED.to_string(),
        reason: e.to_string(),
    };
    let text = pipelines::find(graph).map_or(graph, |p| p.text);
    let parsed = Graph::parse(text).map_err(|e| unusable(graph, e))?;
    let runtime = Runtime::new().map_err(|e| Error::Runtime(e.to_string()))?;
    let mut source = TestSource::parse(&format!("{size}:{frames}")).map_err(|e| wrong(&e))?;
    source.draw().map_err(|e| wrong(&e))?;
    let input = source.format().frame_bytes() as u64;
    let before = anonymous().ok_or_else(|| {
        let reason = "this operating system does not report the memory of a process";
        wrong(&reason)
    })?;
    let mut look = Look::default();
    let stream = runtime.stream(source).through(parsed);
    let output = stream
        .service()
        .map_or(0, |s| s.output_format().frame_bytes() as u64);
    let report = stream
        .plan(Choice::Fixed {
            structure: TILED.to_string(),
            dispatch: None,
            grain: None,
        })
        .into(&mut look)
        .map_err(|e| wrong(&e))?;
    Ok(Resident {
        frames: report.units,
        before,
        during: look.most,
        in_flight: input * report.memory.inputs as u64 + output * report.memory.outputs as u64,
        peak_resident: report.memory.peak_resident.unwrap_or_default(),
    })
}

/// A sink that measures the memory at frames whose number is a power of two.
#[derive(Default)]
struct Look {
    seen: u64,
    most: u64,
}

impl Sink<FilterService> for Look {
    type Error = Infallible;

    fn write(&mut self, _: &Frame) -> Result<(), Infallible> {
        self.seen += 1;
        if self.seen.is_power_of_two() {
            self.most = self.most.max(anonymous().unwrap_or_default());
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<(), Infallible> {
        Ok(())
    }

    fn inline(&self) -> bool {
        true
    }
}

/// Anonymous memory of this process in bytes; see proc_pid_smaps(5). It is exact, unlike `RssAnon` of `/proc/self/status`,
/// which is a sum of counters of each processor.
fn anonymous() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/smaps_rollup").ok()?;
    let line = text.lines().find_map(|l| l.strip_prefix("Anonymous:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib << 10)
}

pub(super) fn table(results: &[MemoryResult]) -> Table {
    let mib = |bytes: i64| format!("{:.2}", bytes as f64 / f64::from(1 << 20));
    let row = |r: &MemoryResult| {
        let first = r.processes.first();
        let of = |bytes: fn(&Resident) -> u64| {
            first.map_or_else(|| "-".to_owned(), |p| mib(bytes(p) as i64))
        };
        vec![
            r.graph.clone(),
            r.size.clone(),
            mib(r.beyond),
            of(|p| p.in_flight),
            of(|p| p.before),
            of(|p| p.during),
            of(|p| p.peak_resident),
        ]
    };
    Table {
        title: "Memory beyond the frames in flight",
        about: format!(
            "MiB of a process that filters 8-bit 4:2:0 under plan tiled, to nowhere; target {}. Before and during the \
             stream: anonymous memory. Peak: all that was ever resident.",
            mib(TARGET as i64)
        ),
        head: vec![
            "graph",
            "size",
            "beyond",
            "in flight",
            "before",
            "during",
            "peak",
        ],
        rows: results.iter().map(row).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_in_flight_do_not_count() {
        let resident = Resident {
            frames: 9,
            before: 3 << 20,
            during: 30 << 20,
            in_flight: 25 << 20,
            peak_resident: 40 << 20,
        };
        assert_eq!(resident.beyond(), 2 << 20);
        let result = MemoryResult {
            graph: "A".into(),
            size: "1x1".into(),
            beyond: resident.beyond(),
            processes: vec![resident],
        };
        assert_eq!(table(&[result]).rows[0][2..4], ["2.00", "25.00"]);
    }
}
