//! `evener bench`

mod block;
mod crypt;
mod encode;
mod gateway;
mod net;
mod product;
mod queens;
mod results;
mod tuner;

use std::ffi::OsString;
use std::io::{self, IsTerminal};

use clap::Subcommand;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use evener_bench::error::Error;
use evener_bench::filters::{FilterReport, Plans};
use evener_bench::picture::Picture;
use evener_bench::{dispatch, filters, report};
use evener_image::{Size, pipelines};
use evener_report::table::aligned;
use evener_runtime::Placement;
use evener_runtime::dispatch::MAX_WORKERS;

use crate::failure::{Ended, Failure};
use crate::run::placement;
use crate::stderr::note;
use crate::structures;
use results::Results;

/// Benchmark evener on this machine
#[derive(clap::Args)]
#[command(arg_required_else_help = true, subcommand_required = true)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    Filters(FiltersArgs),
    Dispatch(DispatchArgs),
    Tuner(tuner::Args),
    Block(block::Args),
    Crypt(crypt::Args),
    Encode(encode::Args),
    Gateway(gateway::Args),
    Net(net::Args),
    Product(product::Args),
    Queens(queens::Args),
    #[command(hide = true)]
    GatewayPart(gateway::PartArgs),
    #[command(hide = true)]
    NetEcho(net::EchoArgs),
    #[command(hide = true)]
    CpuHog(tuner::CpuHogArgs),
    #[command(hide = true)]
    Resident(tuner::ResidentArgs),
}

/// Time filter graphs on frames in memory, without I/O
#[derive(clap::Args)]
#[command(after_help = "\
Repeat options that take lists, or separate values with commas. All combinations
are measured.

Examples:
  evener bench filters --graph A --graph B --size 1920x1080 --plan all
  evener bench filters --plan auto,all --workers 1,2,4 --ops --report run.html
  evener bench filters --graph \"blur,sobel,threshold\" --size 640x480")]
struct FiltersArgs {
    /// Filter graph, or one of the built-in graphs A to G; by default all of these
    #[arg(long, value_name = "GRAPH")]
    graph: Vec<String>,

    /// Use the first frame of an `evener filter` input instead of a generated one
    #[arg(short, long, value_name = "INPUT", conflicts_with = "size")]
    input: Option<OsString>,

    /// Frame sizes
    #[arg(long, value_name = "WxH", value_delimiter = ',', value_parser = super::plan::size, default_value = "352x288,1920x1080")]
    size: Vec<Size>,

    /// Plans: auto, all or NAME[/DISPATCH[/GRAIN]]; see `evener plans`
    #[arg(long, value_delimiter = ',', value_parser = plans, default_value = "auto")]
    plan: Vec<Plans>,

    /// Worker counts; by default one per CPU, and for --plan all also 1
    #[arg(long, value_name = "N", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=MAX_WORKERS as i64))]
    workers: Vec<u32>,

    /// Add a thread that writes each frame into memory, and place workers relative to it
    #[arg(long, value_delimiter = ',', value_parser = placement())]
    affinity: Vec<Placement>,

    /// Planes: luma (one plane) or each (three 4:2:0 planes, every filter on each)
    #[arg(long, action = clap::ArgAction::Set, default_value = "luma", value_parser = PossibleValuesParser::new(["luma", "each"]).map(|planes| planes == "each"))]
    planes: bool,

    /// Frames per measurement; by default as many as it takes
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    frames: Option<u64>,

    /// Neither use nor save remembered plans
    #[arg(long)]
    no_memory: bool,

    /// Also count the operations of each stage and structure
    #[arg(long)]
    ops: bool,

    /// Write the figures as JSON; - prints them instead of the table
    #[arg(long, value_name = "FILE")]
    json: Option<OsString>,

    /// Write an HTML page with tables and graphs
    #[arg(long, value_name = "FILE.html")]
    report: Option<OsString>,
}

fn plans(text: &str) -> Result<Plans, String> {
    match text {
        "all" => Ok(Plans::All),
        name => structures::plan(name).map(Plans::One),
    }
}

/// Time job dispatch, beside rayon and crossbeam-channel
#[derive(clap::Args)]
struct DispatchArgs {
    /// Workers, including the waiting thread; by default one per CPU
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=MAX_WORKERS as i64))]
    workers: Option<u32>,

    /// Rounds of measurement; medians are reported
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    rounds: Option<u32>,

    /// Write the figures as JSON; - prints them instead of the table
    #[arg(long, value_name = "FILE")]
    json: Option<OsString>,
}

pub fn run(args: Args) -> Ended {
    match args.what {
        What::Filters(args) => filters(args),
        What::Dispatch(args) => dispatch(&args),
        What::Tuner(args) => tuner::run(args),
        What::Crypt(args) => crypt::run(args),
        What::Encode(args) => encode::run(args),
        What::Gateway(args) => gateway::run(args),
        What::GatewayPart(args) => gateway::part(&args),
        What::NetEcho(args) => net::echo(&args),
        What::Net(args) => net::run(args),
        What::Block(args) => block::run(args),
        What::Product(args) => product::run(args),
        What::Queens(args) => queens::run(args),
        What::CpuHog(args) => tuner::cpu_hog(&args),
        What::Resident(args) => tuner::resident(&args),
    }
}

fn filters(args: FiltersArgs) -> Ended {
    let results = Results::create(args.json.as_deref(), args.report.as_deref())?;
    let picture = match &args.input {
        Some(input) => Picture::read(input, args.planes).map_err(failure)?,
        None => Picture::Generated,
    };
    let options = filters::Options {
        graphs: match args.graph {
            none if none.is_empty() => pipelines::PIPELINES.map(|p| p.name.to_owned()).into(),
            graphs => graphs,
        },
        sizes: picture.size().map_or(args.size, |size| vec![size]),
        picture,
        plans: args.plan,
        workers: args.workers,
        affinities: args.affinity,
        frames: args.frames,
        memory: !args.no_memory,
        ops: args.ops,
        each: args.planes,
    };
    let report = filters::run(&options, &mut progress()).map_err(failure)?;
    results.write(&table(&report), &report, || report::html(&report))
}

/// Reports what is measured next, on a terminal or in the log.
fn progress() -> impl FnMut(&str) {
    let watched = io::stderr().is_terminal();
    move |what| match watched {
        true => note(what),
        false => tracing::info!("{what}"),
    }
}

fn failure(error: Error) -> Failure {
    match error {
        Error::Graph { .. } => Failure::request(error),
        other => Failure::running(other),
    }
}

/// A line for each measurement.
fn table(report: &FilterReport) -> String {
    let head = [
        "graph",
        "size",
        "plan",
        "workers",
        "affinity",
        "median ms",
        "p99 ms",
        "ran as",
    ];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    rows.extend(report.results.iter().map(|r| {
        vec![
            r.graph.clone(),
            r.size.clone(),
            r.plan.clone(),
            r.workers.to_string(),
            r.affinity.map_or_else(|| "-".to_owned(), |a| a.to_string()),
            format!("{:.3}", r.ms.median),
            format!("{:.3}", r.ms.p99),
            format!(
                "{}/{}/{} on {}",
                r.structure, r.dispatch, r.grain, r.workers_used
            ),
        ]
    }));
    let mut text = aligned(&rows);
    if !report.ops.is_empty() {
        let head = ["graph", "size", "structure", "stage", "operations a sample"];
        let mut rows = vec![head.map(str::to_owned).to_vec()];
        rows.extend(report.ops.iter().map(|r| {
            let (structure, stage) = (r.structure.to_string(), r.stage.to_owned());
            vec![
                r.graph.clone(),
                r.size.clone(),
                structure,
                stage,
                format!("{:.2}", r.ops),
            ]
        }));
        text.push('\n');
        text.push_str(&aligned(&rows));
    }
    text
}

fn dispatch(args: &DispatchArgs) -> Ended {
    let results = Results::create(args.json.as_deref(), None)?;
    let mut options = dispatch::Options::default();
    if let Some(workers) = args.workers {
        options.workers = workers as usize;
    }
    if let Some(rounds) = args.rounds {
        options.rounds = rounds as usize;
    }
    let report = dispatch::run(&options).map_err(Failure::running)?;
    results.write(&report.to_string(), &report, String::new)
}
