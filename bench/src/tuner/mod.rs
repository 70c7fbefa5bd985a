//! `evener bench tuner`: what plan auto costs on this machine, compared with fixed plans.
//!
//! Frames of f32 planes lie in memory. Only part `memory` reads and writes. The tuner starts without remembered plans. Whole
//! streams are timed from start to end, with learning and the making of buffers, since users pay for both. What is compared
//! takes turns within each round.
//!
//! | file | what it measures |
//! | --- | --- |
//! | `auto.rs` | whole streams under plan auto and under the best fixed plan in hindsight |
//! | `disturbance.rs` | epochs until plan auto recovers after another process came or went |
//! | `bad_arm.rs` | time lost on a structure many times slower than the best |
//! | `overhead.rs` | a stream under one plan and a loop written by hand |
//! | `memory.rs` | memory beyond the frames in flight |
//!
//! | file | what it is for |
//! | --- | --- |
//! | `stream.rs` | a stream that is timed unit by unit and as a whole |
//! | `static_source.rs` | a source and a service in memory |
//! | `buffer_pool.rs` | frames that short streams share |
//! | `screen.rs` | fixed plans that are worth whole streams |
//! | `windows.rs` | epochs after a change, and recovery |
//! | `topology_guard.rs` | reruns of streams during which the host moved processors |
//! | `cpu_hog.rs` | a process that keeps one processor busy |
#![forbid(unsafe_code)]

pub mod auto;
pub mod bad_arm;
mod buffer_pool;
pub mod cpu_hog;
pub mod disturbance;
pub mod memory;
pub mod overhead;
mod screen;
mod static_source;
mod stream;
pub mod topology_guard;
mod windows;

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use evener_image::Size;
use evener_runtime::{Plan, Runtime};
use serde::Serialize;

pub use crate::error::Error;
use crate::subject::Subject;
use evener_report::table::{Table, text};
pub use screen::LeftOut;

/// What to measure.
#[derive(Clone, Debug)]
pub struct Options {
    /// Parts, in this order; all when empty.
    pub parts: Vec<Part>,
    /// Graphs, as a letter A to G or a chain of filters; those of each part when empty.
    pub graphs: Vec<String>,
    /// Frame sizes; those of each part when empty.
    pub sizes: Vec<Size>,
    /// Times everything is measured, 1 or more.
    pub rounds: u32,
    /// Frames of a stream; otherwise those of each part.
    pub frames: Option<u64>,
    /// Numbers of workers of the fixed plans that plan auto is compared with; those of each part when empty.
    pub workers: Vec<u32>,
    /// The program `evener`, for parts that need another process.
    pub program: PathBuf,
}

/// A part of the benchmark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Plan auto and the best fixed plan.
    Auto,
    /// Another process comes and goes.
    Disturbance,
    /// One structure is many times slower than the best.
    BadArm,
    /// A stream and a loop written by hand.
    Overhead,
    /// Memory beyond the frames in flight.
    Memory,
}

impl Part {
    /// Every part, in the order they are listed to users.
    pub const ALL: [Part; 5] = [
        Part::Auto,
        Part::Disturbance,
        Part::BadArm,
        Part::Overhead,
        Part::Memory,
    ];

    /// The name used on command lines.
    pub fn name(self) -> &'static str {
        match self {
            Part::Auto => "auto",
            Part::Disturbance => "disturbance",
            Part::BadArm => "bad-arm",
            Part::Overhead => "overhead",
            Part::Memory => "memory",
        }
    }
}

impl FromStr for Part {
    type Err = String;

    fn from_str(text: &str) -> Result<Part, String> {
        let known = || Part::ALL.map(Part::name).join(", ");
        Part::ALL
            .into_iter()
            .find(|part| part.name() == text)
            .ok_or_else(|| format!("unknown part '{text}'; one of: {}", known()))
    }
}

/// Everything that was measured; parts that were not asked for are empty.
#[derive(Debug, Default, Serialize)]
pub struct TunerReport {
    /// Processor, cores and SIMD level.
    pub machine: String,
    /// Version of evener.
    pub version: &'static str,
    /// Workers of the runtime.
    pub workers: u32,
    /// Times everything was measured.
    pub rounds: u32,
    /// Whole streams under plan auto.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub auto: Vec<auto::AutoResult>,
    /// Streams with another process in their middle.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub disturbance: Vec<disturbance::DisturbanceResult>,
    /// Streams with a slow structure among the candidates.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub bad_arm: Vec<bad_arm::BadArmResult>,
    /// Streams beside loops.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub overhead: Vec<overhead::OverheadResult>,
    /// Memory of processes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub memory: Vec<memory::MemoryResult>,
}

impl TunerReport {
    /// A table for each part that was measured.
    pub fn tables(&self) -> Vec<Table> {
        let tables = [
            (!self.auto.is_empty()).then(|| auto::table(&self.auto)),
            (!self.disturbance.is_empty()).then(|| disturbance::table(&self.disturbance)),
            (!self.bad_arm.is_empty()).then(|| bad_arm::table(&self.bad_arm)),
            (!self.overhead.is_empty()).then(|| overhead::table(&self.overhead)),
            (!self.memory.is_empty()).then(|| memory::table(&self.memory)),
        ];
        tables.into_iter().flatten().collect()
    }
}

impl fmt::Display for TunerReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&text(&self.tables()))
    }
}

/// Measures the parts one after the other; `progress` is told what is measured next.
///
/// # Errors
/// A graph cannot be parsed or bound, or a stream or a process fails.
pub fn run(options: &Options, progress: &mut dyn FnMut(&str)) -> Result<TunerReport, Error> {
    let runtime = Runtime::new().map_err(|e| Error::Runtime(e.to_string()))?;
    let mut report = TunerReport {
        machine: runtime.topology().machine_key(),
        version: env!("CARGO_PKG_VERSION"),
        workers: runtime.workers() as u32,
        rounds: options.rounds,
        ..TunerReport::default()
    };
    if let Some(&workers) = options.workers.iter().find(|&&w| w > report.workers) {
        let have = report.workers;
        return Err(Error::Runtime(format!(
            "{workers} workers for fixed plans, where this machine has {have}"
        )));
    }
    // A graph that cannot be used fails at once, not after minutes.
    subjects(options, &runtime, &[], &[CIF])?;
    let parts = match options.parts.as_slice() {
        [] => &Part::ALL,
        some => some,
    };
    for part in parts {
        let progress = &mut |what: &str| progress(&format!("{}: {what}", part.name()));
        match part {
            Part::Auto => report.auto = auto::run(options, &runtime, progress)?,
            Part::Disturbance => {
                report.disturbance = disturbance::run(options, &runtime, progress)?;
            }
            Part::BadArm => report.bad_arm = bad_arm::run(options, &runtime, progress)?,
            Part::Overhead => report.overhead = overhead::run(options, &runtime, progress)?,
            Part::Memory => report.memory = memory::run(options, progress)?,
        }
    }
    Ok(report)
}

const FULL_HD: Size = Size { w: 1920, h: 1080 };
const CIF: Size = Size { w: 352, h: 288 };
const ALL_PIPELINES: &[&str] = &["A", "B", "C", "D", "E", "F", "G"];

/// Graphs and sizes: those asked for, otherwise those of a part.
fn pairs(options: &Options, graphs: &[&str], sizes: &[Size]) -> Vec<(String, Size)> {
    let graphs = match options.graphs.as_slice() {
        [] => graphs.iter().map(|&g| g.to_owned()).collect(),
        some => some.to_vec(),
    };
    let sizes = match options.sizes.as_slice() {
        [] => sizes,
        some => some,
    };
    let with = |&size: &Size| graphs.iter().map(move |graph| (graph.clone(), size));
    sizes.iter().flat_map(with).collect()
}

/// [`pairs`], bound.
fn subjects(
    options: &Options,
    runtime: &Runtime,
    graphs: &[&str],
    sizes: &[Size],
) -> Result<Vec<Subject>, Error> {
    pairs(options, graphs, sizes)
        .into_iter()
        .map(|(graph, size)| Subject::new(&graph, size, false, runtime))
        .collect()
}

/// Frames of a stream as long as a user's: 300, or 3000 of small frames.
fn frames(options: &Options, size: Size) -> u64 {
    let small = size.area() < 640 * 480;
    options.frames.unwrap_or(if small { 3000 } else { 300 })
}

/// A plan in a cell of a table: `tiled/fifo/34 on 2`.
fn short(plan: &Plan) -> String {
    format!(
        "{}/{}/{} on {}",
        plan.structure, plan.dispatch, plan.grain, plan.workers
    )
}

/// Plans with how often each occurs, the most frequent first.
fn counted(plans: impl IntoIterator<Item = Plan>) -> String {
    let mut counts: Vec<(Plan, u32)> = Vec::new();
    for plan in plans {
        match counts.iter_mut().find(|c| c.0 == plan) {
            Some(count) => count.1 += 1,
            None => counts.push((plan, 1)),
        }
    }
    counts.sort_by_key(|c| std::cmp::Reverse(c.1));
    let text: Vec<String> = counts
        .iter()
        .map(|(plan, n)| format!("{} ({n}x)", short(plan)))
        .collect();
    text.join(", ")
}

#[cfg(test)]
mod tests {
    use evener_image::structures::TILED;
    use evener_runtime::Dispatch;

    use super::*;

    #[test]
    fn parts_have_names() {
        for part in Part::ALL {
            assert_eq!(part.name().parse(), Ok(part));
        }
        let error = "autos".parse::<Part>().unwrap_err();
        assert!(
            error.contains("'autos'") && error.contains("bad-arm"),
            "{error}"
        );
    }

    #[test]
    fn plans_are_counted() {
        let plan = |grain| Plan {
            structure: &TILED,
            dispatch: Dispatch::Steal,
            grain,
            workers: 2,
            devices: 0,
        };
        let text = counted([plan(8), plan(9), plan(9)]);
        assert_eq!(text, "tiled/steal/9 on 2 (2x), tiled/steal/8 on 2 (1x)");
    }
}
