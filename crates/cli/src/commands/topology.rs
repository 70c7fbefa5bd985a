//! `evener topology`

use evener_runtime::Topology;

use crate::failure::{DONE, Ended};
use crate::output::{print, print_json};

/// Show the machine as evener sees it
#[derive(clap::Args)]
#[command(after_help = "\
Cores and cpus are those this process may run on. Set EVENER_CPU to see the machine with fewer vector instructions.")]
pub struct Args {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args) -> Ended {
    let topology = Topology::detect();
    if args.json {
        print_json(&topology)?;
    } else {
        print(topology)?;
    }
    Ok(DONE)
}
