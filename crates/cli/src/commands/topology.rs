//! `evener topology`

use evener_devices::survey::{Survey, survey};
use evener_runtime::kernels::Table;
use evener_runtime::{Kernels, Topology};
use serde::Serialize;

use crate::failure::{DONE, Ended};
use crate::output::{print, print_json};

/// Show the machine as evener sees it: cores and devices
#[derive(clap::Args)]
#[command(after_help = "\
Cores and CPUs are those this process may run on. Set EVENER_CPU to see the
machine with fewer vector instructions.

Devices are measured, which takes 0.2 s each, and a few seconds the first time,
when their arithmetic is compared with a core's. Set EVENER_DEVICE to one
device, real or simulated, or to none.")]
pub struct Args {
    /// Show the kernels in use and how long each variant takes here
    #[arg(long)]
    kernels: bool,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Machine {
    #[serde(flatten)]
    topology: Topology,
    #[serde(flatten)]
    devices: Survey,
}

pub fn run(args: &Args) -> Ended {
    if args.kernels {
        return kernels(args.json);
    }
    let machine = Machine {
        topology: Topology::detect(),
        devices: survey(),
    };
    if args.json {
        print_json(&machine)?;
    } else {
        print(format!("{}\n{}", machine.topology, machine.devices))?;
    }
    Ok(DONE)
}

fn kernels(json: bool) -> Ended {
    let services = [
        evener_image::chosen::KERNELS.as_slice(),
        evener_crypt::chosen::KERNELS.as_slice(),
        evener_queens::chosen::KERNELS.as_slice(),
        evener_h264::chosen::KERNELS.as_slice(),
    ];
    let kernels = services.concat();
    let selections: Vec<_> = kernels.into_iter().map(Kernels::selection).collect();
    if json {
        print_json(&selections)?;
    } else {
        print(Table(&selections))?;
    }
    Ok(DONE)
}
