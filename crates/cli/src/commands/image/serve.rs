//! `evener image serve`

mod disk;

use std::ffi::OsString;
use std::path::PathBuf;

use evener_block::format::Format;
use evener_block::nbd::{Address, OnStatus};
use evener_block::session::{ReadAhead, ServeOptions, Served, bytes, serve};
use evener_files::one_line;
use evener_runtime::dispatch::MAX_WORKERS;
use evener_runtime::{Choice, Runtime};

use crate::failure::Ended;
use crate::progress::{Bar, BarKind};
use crate::signals::Signals;
use crate::stderr::{note, print_err};
use crate::structures;

/// Serve an image to NBD clients or as a disk of this machine
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  evener image serve disk.img.zst --nbd unix:/run/disk.sock
  nbdcopy 'nbd+unix:///?socket=/run/disk.sock' disk.img
  qemu-img info 'nbd+unix:///?socket=/run/disk.sock'
  evener image serve disk.qcow2 --nbd tcp:127.0.0.1:10809 --cache 1G --metrics 127.0.0.1:9100

Blocks are decoded on request, by all workers, and kept. A block that several clients request is
decoded once. There is no encryption and no password: on a shared network, listen at 127.0.0.1 or at
a Unix socket. Ctrl-C ends it, and so does SIGTERM, with exit status 0.

  evener image serve disk.img.zst --nbd unix:/run/disk.sock --overlay disk.overlay

With --overlay clients may write. The image stays as it is. The file takes as much room as was
written, and the next server of the same image uses it again. A write that was answered survives a
kill -9 of the server; one that was flushed survives a power cut. Without --overlay the image is
read only.

  evener image serve disk.img.zst --ublk
  mount -o ro /dev/ublkb0 /mnt
  evener image serve disk.img.zst --ublk --recover 0

A disk needs Linux 6.5 or later, root, and `modprobe ublk_drv`. A line says which disk it is. Ctrl-C
removes it, so unmount it before. If the server is killed, readers wait until another one is started
with --recover and the number of the disk, and see no error.")]
pub struct Args {
    /// The image
    image: OsString,

    /// Where clients connect: unix:PATH or tcp:HOST:PORT
    #[arg(long, value_name = "ADDRESS", required_unless_present = "ublk")]
    nbd: Option<Address>,

    /// Be a disk of this machine, /dev/ublkbN, through the Linux driver ublk
    #[arg(long, conflicts_with_all = ["nbd", "metrics"])]
    ublk: bool,

    #[command(flatten)]
    disk: disk::Choices,

    /// Let clients write, into FILE beside the image; it is made if there is none. For --nbd only
    #[arg(long, value_name = "FILE", conflicts_with = "ublk")]
    overlay: Option<PathBuf>,

    /// Decode with N workers; otherwise one for each cpu
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=MAX_WORKERS as i64))]
    workers: Option<u32>,

    /// Bytes of decoded blocks to keep
    #[arg(long, value_name = "BYTES", default_value = "64M", value_parser = bytes)]
    cache: u64,

    /// Bytes to decode ahead of a client that reads sequentially: auto, off or a number
    #[arg(long, value_name = "BYTES", default_value = "auto")]
    readahead: ReadAhead,

    /// How to decode the blocks of a request: auto, which measures, or
    /// sequential[/DISPATCH[/BLOCKS]], with the number of blocks of a job
    #[arg(long, value_name = "PLAN", default_value = "auto", value_parser = structures::plan)]
    plan: Choice,

    /// Print at the end by which plans blocks were decoded, and why
    #[arg(long)]
    explain: bool,

    /// Serve metrics for Prometheus over HTTP at HOST:PORT
    #[arg(long, value_name = "HOST:PORT", value_parser = metrics)]
    metrics: Option<Address>,

    /// The format of the image, instead of recognising it
    #[arg(long, value_parser = super::format())]
    format: Option<&'static Format>,
}

fn metrics(text: &str) -> Result<Address, String> {
    let wrong = |_| "a host and a port, as in 127.0.0.1:9100".to_owned();
    format!("tcp:{text}").parse().map_err(wrong)
}

fn runtime(args: &Args) -> Result<Runtime, evener_runtime::Error> {
    let mut builder = Runtime::builder();
    if let Some(workers) = args.workers {
        builder = builder.workers(workers as usize);
    }
    builder.build()
}

/// Says what was served.
fn report(args: &Args, served: &Served) {
    note(&format!(
        "{}: {served}",
        one_line(&args.image.to_string_lossy())
    ));
    if args.explain {
        served.explained().iter().for_each(|line| print_err(line));
    }
}

pub fn run(args: &Args) -> Ended {
    let Some(address) = args.nbd.clone() else {
        return disk::run(args);
    };
    let signals = Signals::take()?;
    let runtime = runtime(args)?;
    let options = ServeOptions {
        address,
        overlay: args.overlay.clone(),
        metrics: args.metrics.clone(),
        format: args.format,
        cache: args.cache,
        read_ahead: args.readahead,
        plan: args.plan.clone(),
    };
    // From here on a signal has to take the socket away.
    signals.streaming();
    let session = serve(&args.image, &options, &runtime, signals.token())?;
    print_err(&session.to_string());
    let bar = Bar::start(BarKind::Lines);
    let mut show = bar.as_ref().map(|bar| bar.line_updater());
    let on_status = show.as_mut().map(|show| show as OnStatus<'_>);
    let served = session.run(&runtime, on_status);
    drop(bar);
    report(args, &served?);
    Ok(signals.served())
}
