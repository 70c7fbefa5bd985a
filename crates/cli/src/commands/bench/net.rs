//! `evener bench net`

use std::ffi::OsString;
use std::net::SocketAddr;
use std::time::Duration;

use evener_bench::net::{self, Options};
use evener_bench::report;

use super::results::{Measured, Results};
use super::{failure, progress};
use crate::failure::{DONE, Ended, Failure};

/// Time the network stack beside a bare loop, smoltcp and the kernel's stack
#[derive(clap::Args)]
#[command(after_help = "\
Measurements over TUN create an interface, evbench, with the address 10.1.0.1;
run them in a network namespace. The bare loop uses the same device.

Examples:
  unshare --user --map-root-user --net evener bench net
  evener bench net --only wire,tcp,udp --seconds 2 --report run.html")]
pub struct Args {
    /// Measure only figures whose names start with NAME; 'list' prints all names
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = name)]
    only: Vec<String>,

    /// Seconds per contestant and round
    #[arg(long, value_name = "S", default_value = "1", value_parser = seconds)]
    seconds: Duration,

    #[command(flatten)]
    measured: Measured,

    /// Write an HTML page with the table and graphs
    #[arg(long, value_name = "FILE.html")]
    report: Option<OsString>,
}

fn name(text: &str) -> Result<String, String> {
    if text == "list" || net::names().any(|name| name.starts_with(text)) {
        return Ok(text.into());
    }
    Err("no figure has a name that begins so; --only list prints all".into())
}

pub(super) fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text
        .parse::<f64>()
        .ok()
        .filter(|&s| (0.05..=3600.0).contains(&s));
    let seconds = seconds.ok_or("not a number of seconds from 0.05 to 3600")?;
    Ok(Duration::from_secs_f64(seconds))
}

pub fn run(args: Args) -> Ended {
    let results = Results::create(args.measured.json.as_deref(), args.report.as_deref())?;
    if args.only == ["list"] {
        let names: Vec<&str> = net::names().collect();
        return results.write(&(names.join("\n") + "\n"), &names, String::new);
    }
    let options = Options {
        only: args.only,
        rounds: args.measured.rounds,
        time: args.seconds,
    };
    let report = net::run(&options, &mut progress()).map_err(failure)?;
    results.write(&report.table().to_string(), &report, || {
        report::net_html(&report)
    })
}

/// Answer requests of the measurement of the network stack
#[derive(clap::Args)]
pub struct EchoArgs {
    address: SocketAddr,
}

pub fn echo(args: &EchoArgs) -> Ended {
    net::echo(args.address).map_err(Failure::running)?;
    Ok(DONE)
}
