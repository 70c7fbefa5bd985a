//! `evener bench gateway`

use std::env;
use std::ffi::OsString;
use std::time::Duration;

use evener_bench::gateway::{self, Options, Peer, PeerKind, ROWS, part};
use evener_bench::report;

use super::net::seconds;
use super::results::{Measured, Results};
use super::{failure, progress};
use crate::failure::{DONE, Ended, Failure};

/// Time the gateway beside a bare loop and other gateways
#[derive(clap::Args)]
#[command(after_help = "\
Gateways run in their own network namespace, on the first CPU. Senders and
receivers run on the other CPUs, at the other end of a veth pair, evgate0 with
the address 10.4.0.1. The bare loop uses the same sockets.

Examples:
  unshare --user --map-root-user --net evener bench gateway
  evener bench gateway --only sessions --peer rtp2httpd=/usr/bin/rtp2httpd")]
pub struct Args {
    /// Measure only rows whose names start with NAME; 'list' prints all names
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = name)]
    only: Vec<String>,

    /// Seconds per contestant and round
    #[arg(long, value_name = "S", default_value = "4", value_parser = seconds)]
    seconds: Duration,

    /// Also measure rtp2httpd, go2rtc or another build of evener
    #[arg(long, value_name = "NAME=PATH", value_parser = peer)]
    peer: Vec<Peer>,

    #[command(flatten)]
    measured: Measured,

    /// Write an HTML page with the table and graphs
    #[arg(long, value_name = "FILE.html")]
    report: Option<OsString>,
}

fn name(text: &str) -> Result<String, String> {
    if text == "list" || ROWS.iter().any(|row| row.name.starts_with(text)) {
        return Ok(text.into());
    }
    Err("no row has a name that begins so; --only list prints all".into())
}

fn peer(text: &str) -> Result<Peer, String> {
    let kind = |name: &str| PeerKind::ALL.iter().find(|(known, _)| *known == name);
    let found = text
        .split_once('=')
        .and_then(|(name, path)| Some((kind(name)?.1, path)));
    let (kind, path) = found.ok_or("not rtp2httpd=PATH, go2rtc=PATH or evener=PATH")?;
    Ok(Peer {
        kind,
        program: path.into(),
    })
}

pub fn run(args: Args) -> Ended {
    let results = Results::create(args.measured.json.as_deref(), args.report.as_deref())?;
    if args.only == ["list"] {
        let names: Vec<&str> = ROWS.iter().map(|row| row.name).collect();
        return results.write(&(names.join("\n") + "\n"), &names, String::new);
    }
    let options = Options {
        only: args.only,
        rounds: args.measured.rounds,
        time: args.seconds,
        peers: args.peer,
        program: env::current_exe().map_err(Failure::running)?,
    };
    let report = gateway::run(&options, &mut progress()).map_err(failure)?;
    results.write(&report.table().to_string(), &report, || {
        report::gateway_html(&report)
    })
}

/// Take part in the measurement of the gateway
#[derive(clap::Args)]
pub struct PartArgs {
    task: String,
}

pub fn part(args: &PartArgs) -> Ended {
    part::run(&args.task).map_err(failure)?;
    Ok(DONE)
}
