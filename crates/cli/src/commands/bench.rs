//! `evener bench`

use std::ffi::OsString;

use clap::Subcommand;
use evener_bench::dispatch;
use evener_runtime::dispatch::MAX_WORKERS;

use crate::failure::{DONE, Ended, Failure};
use crate::output::{Side, print};

/// Measure evener on this machine
#[derive(clap::Args)]
#[command(arg_required_else_help = true, subcommand_required = true)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    Dispatch(DispatchArgs),
}

/// Time what handing out a job costs, beside rayon and crossbeam-channel
#[derive(clap::Args)]
struct DispatchArgs {
    /// Workers, the thread that waits included; otherwise one for each cpu
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=MAX_WORKERS as i64))]
    workers: Option<u32>,

    /// Times everything is measured; medians are reported
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    rounds: Option<u32>,

    /// Write the figures as JSON; `-` is the standard output, in place of the table
    #[arg(long, value_name = "FILE")]
    json: Option<OsString>,
}

pub fn run(args: Args) -> Ended {
    match args.what {
        What::Dispatch(args) => dispatch(&args),
    }
}

fn dispatch(args: &DispatchArgs) -> Ended {
    let json = args.json.as_deref().map(Side::create).transpose()?;
    let mut options = dispatch::Options::default();
    if let Some(workers) = args.workers {
        options.workers = workers as usize;
    }
    if let Some(rounds) = args.rounds {
        options.rounds = rounds as usize;
    }
    let report = dispatch::run(&options).map_err(Failure::running)?;
    if !matches!(json, Some(Side::Stdout)) {
        print(report.to_string().trim_end())?;
    }
    if let Some(json) = json {
        json.write_json(&report)?;
    }
    Ok(DONE)
}
