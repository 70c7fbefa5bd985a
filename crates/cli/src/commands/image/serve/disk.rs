//! `evener image serve --ublk`

use evener_block::session::{DEFAULT_DEPTH, DiskOptions, disk};
use evener_block::ublk::{MAX_DEPTH, MAX_QUEUES, mark_io_flusher};

use crate::failure::{Ended, Failure};
use crate::signals::Signals;
use crate::stderr::print_err;

/// Options of a disk.
#[derive(clap::Args)]
pub struct Choices {
    /// Disk queues, with one thread each; by default one per worker, up to 4
    #[arg(long, value_name = "N", conflicts_with = "nbd", value_parser = clap::value_parser!(u16).range(1..=MAX_QUEUES as i64))]
    queues: Option<u16>,

    /// Requests in flight per queue
    #[arg(long, value_name = "N", conflicts_with = "nbd", default_value_t = DEFAULT_DEPTH,
        value_parser = clap::value_parser!(u16).range(1..=MAX_DEPTH as i64))]
    depth: u16,

    /// Take over /dev/ublkbID, whose server has ended
    #[arg(long, value_name = "ID", conflicts_with_all = ["nbd", "queues", "depth"])]
    recover: Option<u32>,
}

pub fn run(args: &super::Args) -> Ended {
    let [image] = &args.images[..] else {
        return Err(Failure::request("--ublk makes a disk of one image"));
    };
    // Before any thread is started, since it holds for threads that decode, too.
    mark_io_flusher();
    let signals = Signals::take()?;
    let runtime = super::runtime(args)?;
    let options = DiskOptions {
        queues: args.disk.queues,
        depth: args.disk.depth,
        recover: args.disk.recover,
        overlays: args.overlay.clone(),
        open: args.opening.options(),
        cache: args.cache,
        read_ahead: args.readahead,
        plan: args.plan.clone(),
    };
    // From here on a signal has to take the disk away.
    signals.streaming();
    let session = disk(image, options, signals.token())?;
    let served = session.run(&runtime, |disk| print_err(&disk.to_string()))?;
    super::report(args, &served);
    Ok(signals.served())
}
