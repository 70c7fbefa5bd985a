//! `evener image serve`

mod disk;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::ArgGroup;
use evener_block::nbd::{Address, HostName, OnStatus};
use evener_block::session::{
    ByteRange, ReadAhead, ServeOptions, Served, TlsOptions, Writes, bytes, serve,
};
use evener_files::one_line;
use evener_runtime::dispatch::MAX_WORKERS;
use evener_runtime::{Choice, Runtime};

use crate::failure::Ended;
use crate::progress::{Bar, BarKind};
use crate::signals::Signals;
use crate::stderr::{note, print_err};
use crate::structures;

/// Serve images over NBD, or one as a local block device
#[derive(clap::Args)]
#[command(group(ArgGroup::new("where").required(true).args(["nbd", "ublk"])))]
#[command(override_usage = "\
evener image serve --nbd ADDRESS [OPTIONS] <IMAGE>...
       evener image serve --ublk [OPTIONS] <IMAGE>")]
#[command(after_help = "\
Examples:
  evener image serve disk.img.zst --nbd unix:/tmp/disk.sock
  nbdcopy 'nbd+unix:///?socket=/tmp/disk.sock' copy.img
  qemu-img info 'nbd+unix:///?socket=/tmp/disk.sock'
  evener image serve disk.qcow2 --nbd tcp:127.0.0.1:10809 --cache 1G

Blocks are decoded on request, by all workers, and cached. A block that several
clients request is decoded once. Without --tls-certs nothing is encrypted, and
without --tls-verify-peer any client may read. On a shared network listen on
127.0.0.1 or a Unix socket. Ctrl-C ends the server, as does SIGTERM with exit
status 0.

  evener image serve disk.img.zst --nbd unix:/tmp/disk.sock --overlay disk.ovl

With --overlay clients may write; without it the image is read-only. The image
itself does not change. The overlay takes as much space as was written, and the
next server of the same image reuses it. An acknowledged write survives kill -9
of the server; a flushed write survives a power cut.

  evener image serve disk.img.zst --nbd unix:/tmp/disk.sock \\
      --overlay monday.ovl --overlay tuesday.ovl

Several overlays act as snapshots, each on top of the one before. Only the last
one is written. An overlay that changed after another was put on top is refused.

  evener image serve a.img.zst b.qcow2 --nbd unix:/tmp/disks.sock \\
      --export a --export b
  nbdcopy 'nbd+unix:///b?socket=/tmp/disks.sock' b.img
  evener image serve disk.img.zst --nbd unix:/tmp/disk.sock \\
      --partition 1 --snapshot --exit-last

  evener image serve disk.img.zst --ublk
  mount -o ro /dev/ublkb0 /mnt
  evener image serve disk.img.zst --ublk --recover 0

A --ublk disk needs Linux 6.5 or later, root and `modprobe ublk_drv`. evener
prints its name. The disk is read-only without --overlay. Ctrl-C removes it, so
unmount it first. If the server is killed, readers wait, and see no error, until
a new server takes the disk over with --recover.")]
pub struct Args {
    /// Image to serve; with --nbd several, which clients choose by name
    #[arg(value_name = "IMAGE", required = true)]
    images: Vec<OsString>,

    /// Listen for NBD clients: unix:PATH, unix:@NAME, tcp:HOST:PORT, vsock:PORT, or systemd for socket activation
    #[arg(long, value_name = "ADDRESS")]
    nbd: Option<Address>,

    /// Serve as the local disk /dev/ublkbN through the Linux ublk driver
    #[arg(long, conflicts_with_all = ["nbd", "metrics"])]
    ublk: bool,

    #[command(flatten)]
    disk: disk::Choices,

    /// Let clients write, into FILE, created if missing (repeatable; later ones on top, only the last is written)
    #[arg(long, value_name = "FILE")]
    overlay: Vec<PathBuf>,

    /// Let clients write, into a temporary file deleted at the end
    #[arg(long, conflicts_with_all = ["ublk", "overlay"])]
    snapshot: bool,

    /// Export name, given once per image; by default empty for one image, the file names for several
    #[arg(long, value_name = "NAME", conflicts_with = "ublk")]
    export: Vec<String>,

    /// Serve only MBR or GPT partition N, counted from 1
    #[arg(long, value_name = "N", conflicts_with_all = ["ublk", "offset", "length"], value_parser = clap::value_parser!(u32).range(1..))]
    partition: Option<u32>,

    /// Serve from this byte onwards
    #[arg(long, value_name = "BYTES", conflicts_with = "ublk", value_parser = bytes)]
    offset: Option<u64>,

    /// Serve only this many bytes
    #[arg(long, value_name = "BYTES", conflicts_with = "ublk", value_parser = bytes)]
    length: Option<u64>,

    /// Use TLS: off, on (clients may start it) or require (refuse other clients); on by default with --tls-certs
    #[arg(
        long,
        value_name = "MODE",
        value_enum,
        requires = "tls_certs",
        conflicts_with = "ublk"
    )]
    tls: Option<TlsMode>,

    /// Directory with server-cert.pem and server-key.pem, laid out as for qemu-nbd and nbdkit
    #[arg(long, value_name = "DIR", conflicts_with = "ublk")]
    tls_certs: Option<PathBuf>,

    /// Refuse clients without a certificate signed by ca-cert.pem in DIR
    #[arg(long, requires = "tls_certs")]
    tls_verify_peer: bool,

    /// Exit when the last client disconnects
    #[arg(long, conflicts_with = "ublk")]
    exit_last: bool,

    /// Write the process ID to FILE once clients can connect; remove it at the end
    #[arg(long, value_name = "FILE", conflicts_with = "ublk")]
    pid_file: Option<PathBuf>,

    /// Decode with N workers; by default one per CPU
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=MAX_WORKERS as i64))]
    workers: Option<u32>,

    /// Size of the cache of decoded blocks
    #[arg(long, value_name = "BYTES", default_value = "64M", value_parser = bytes)]
    cache: u64,

    /// Bytes to decode ahead of sequential reads: auto, off or a number
    #[arg(long, value_name = "BYTES", default_value = "auto")]
    readahead: ReadAhead,

    /// Plan to decode a request's blocks: auto (measure) or sequential[/DISPATCH[/BLOCKS]], with BLOCKS per job
    #[arg(long, value_name = "PLAN", default_value = "auto", value_parser = structures::plan)]
    plan: Choice,

    /// Print at the end which plans were used, and why
    #[arg(long)]
    explain: bool,

    /// Serve Prometheus metrics over HTTP at HOST:PORT
    #[arg(long, value_name = "HOST:PORT", value_parser = metrics)]
    metrics: Option<Address>,

    /// Accept metrics requests that use NAME for this machine (repeatable)
    #[arg(long, value_name = "NAME", requires = "metrics")]
    host: Vec<HostName>,

    #[command(flatten)]
    opening: super::Opening,
}

/// The values of `--tls`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum TlsMode {
    Off,
    On,
    Require,
}

fn tls(args: &Args) -> Option<TlsOptions> {
    let folder = args.tls_certs.clone()?;
    let mode = args.tls.unwrap_or(TlsMode::On);
    (mode != TlsMode::Off).then_some(TlsOptions {
        folder,
        verifies_clients: args.tls_verify_peer,
        is_required: mode == TlsMode::Require,
    })
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
    let names = args.images.iter().map(|image| image.to_string_lossy());
    let names = names.collect::<Vec<_>>().join(", ");
    note(&format!("{}: {served}", one_line(&names)));
    if args.explain {
        served.explained().iter().for_each(|line| print_err(line));
    }
}

fn range(args: &Args) -> ByteRange {
    match (args.partition, args.offset, args.length) {
        (Some(number), _, _) => ByteRange::Partition(number),
        (None, None, None) => ByteRange::Whole,
        (None, offset, length) => ByteRange::Bytes {
            offset: offset.unwrap_or(0),
            length,
        },
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
        exports: args.export.clone(),
        range: range(args),
        writes: match &args.overlay[..] {
            [] if args.snapshot => Writes::Temporary,
            [] => Writes::Refused,
            paths => Writes::Overlays(paths.to_vec()),
        },
        tls: tls(args),
        pid_file: args.pid_file.clone(),
        exit_last: args.exit_last,
        metrics: args.metrics.clone(),
        hosts: args.host.clone(),
        open: args.opening.options(),
        cache: args.cache,
        read_ahead: args.readahead,
        plan: args.plan.clone(),
    };
    // From here on a signal has to take the socket away.
    signals.streaming();
    let session = serve(&args.images, &options, &runtime, signals.token())?;
    print_err(&session.to_string());
    let bar = Bar::start(BarKind::Lines);
    let mut show = bar.as_ref().map(|bar| bar.line_updater());
    let on_status = show.as_mut().map(|show| show as OnStatus<'_>);
    let served = session.run(&runtime, on_status);
    drop(bar);
    report(args, &served?);
    Ok(signals.served())
}
