//! `evener bench tuner`, and the processes it starts.

use std::env;
use std::ffi::OsString;
use std::time::Duration;

use evener_bench::report;
use evener_bench::tuner::{self, Options, Part, cpu_hog, memory};
use evener_image::Size;
use evener_runtime::dispatch::MAX_WORKERS;

use super::results::Results;
use super::{failure, progress};
use crate::commands::plan::size;
use crate::failure::{DONE, Ended, Failure};
use crate::output::{print, print_json};

/// Time plan auto beside fixed plans, and the runtime's overhead
#[derive(clap::Args)]
#[command(after_help = "\
Parts:
  auto         whole streams, learning and buffer allocation included, beside
               the best fixed plan
  disturbance  epochs until plan auto recovers after another process comes or
               goes
  bad-arm      time lost on a structure many times slower than the best
  overhead     a stream under one plan beside a hand-written loop
  memory       memory of a process beyond the frames in flight

The fixed plans are every structure with every dispatch flavour, at the default
grain, on all workers (disturbance: on 1 and on all). Plans far slower than the
best are dropped after a few frames. Contestants take turns in each round.
Figures are medians over rounds.

Examples:
  evener bench tuner
  evener bench tuner --part auto --graph A --graph G --size 1920x1080
  evener bench tuner --part auto --workers 1,2 --rounds 9")]
pub struct Args {
    /// Parts to measure; by default all
    #[arg(long, value_name = "PART", value_delimiter = ',')]
    part: Vec<Part>,

    /// Filter graph, or one of the built-in graphs A to G; by default those of each part
    #[arg(long, value_name = "GRAPH")]
    graph: Vec<String>,

    /// Frame sizes; by default those of each part
    #[arg(long, value_name = "WxH", value_delimiter = ',', value_parser = size)]
    size: Vec<Size>,

    /// Rounds of measurement
    #[arg(long, value_name = "N", default_value = "5", value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,

    /// Frames per stream; by default 300, or 3000 small ones, or as many as it takes
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(9..))]
    frames: Option<u64>,

    /// Worker counts of the fixed plans
    #[arg(long, value_name = "N", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=MAX_WORKERS as i64))]
    workers: Vec<u32>,

    /// Write the figures and decisions as JSON; - prints them instead of the tables
    #[arg(long, value_name = "FILE")]
    json: Option<OsString>,

    /// Write an HTML page with tables and graphs
    #[arg(long, value_name = "FILE.html")]
    report: Option<OsString>,
}

/// Keep one CPU busy
#[derive(clap::Args)]
pub struct CpuHogArgs {
    /// For how long
    #[arg(long, value_name = "N")]
    seconds: u64,
}

/// Filter test frames and print the memory it took
#[derive(clap::Args)]
pub struct ResidentArgs {
    #[arg(long)]
    graph: String,

    #[arg(long, value_parser = size)]
    size: Size,

    #[arg(long)]
    frames: u64,
}

pub fn run(args: Args) -> Ended {
    let results = Results::create(args.json.as_deref(), args.report.as_deref())?;
    let options = Options {
        parts: args.part,
        graphs: args.graph,
        sizes: args.size,
        rounds: args.rounds,
        frames: args.frames,
        workers: args.workers,
        program: env::current_exe().map_err(Failure::running)?,
    };
    let report = tuner::run(&options, &mut progress()).map_err(failure)?;
    results.write(&report.to_string(), &report, || report::tuner_html(&report))
}

pub fn cpu_hog(args: &CpuHogArgs) -> Ended {
    cpu_hog::run(Duration::from_secs(args.seconds), || print("busy"))?;
    Ok(DONE)
}

pub fn resident(args: &ResidentArgs) -> Ended {
    print_json(&memory::resident(&args.graph, args.size, args.frames).map_err(failure)?)?;
    Ok(DONE)
}
