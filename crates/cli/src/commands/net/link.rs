//! `evener net link`

use std::sync::Arc;
use std::time::Duration;

use evener_net::device::{Context, Specification};
use evener_net::filter::Rules;
use evener_net::link::{Bytes, Conditions, Error, Held, Rate, Session, Share, Wait};

use evener_runtime::Runtime;

use crate::failure::Ended;
use crate::signals::Signals;
use crate::stderr::{note, print_err};

/// Link two devices, with delay, loss, reordering or a rate limit
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  evener net link tap:a0 tap:b0 --delay 5ms --loss 1%
  evener net link tun:a0,addr=10.1.0.1/24 wire:/run/wire --rate 100M --queue 64K
  evener net link packet:eth0 wire:/run/wire --reorder 1%/3ms --seed 7

Devices:
  tun:NAME, tap:NAME   a kernel interface for IP packets or Ethernet frames
                       ,addr=ADDRESS/PREFIX ,mtu=BYTES ,queue=PACKETS
                       ,offload=on|off
  wire:PATH            memory shared with one process, met at a Unix socket
                       ,mtu=BYTES ,offload=on|off
  packet:INTERFACE     an Ethernet interface through a packet socket
                       ,offload=on|off
  xdp:INTERFACE        an Ethernet interface through AF_XDP; the kernel sees
                       none of its packets
  seal:PEER:PORT       an encrypted tunnel to another evener, over UDP
                       ,local=ADDRESS:PORT ,key=FILE ,mtu=BYTES

The conditions apply to each direction separately. Super-segments are split
first, so a loss affects one segment. The seed decides the fate of each packet:
the same packets in the same order fare the same again. Ctrl-C ends the link and
prints what became of the packets; so does SIGTERM, with exit status 0.")]
pub struct Args {
    /// First device
    #[arg(value_name = "A")]
    first: Specification,

    /// Second device
    #[arg(value_name = "B")]
    second: Specification,

    /// One-way delay: 50us, 5ms, 1s
    #[arg(long, value_name = "TIME")]
    delay: Option<Wait>,

    /// Add up to this much random delay; packets stay in order
    #[arg(long, value_name = "TIME")]
    jitter: Option<Wait>,

    /// Share of packets to lose: 1%, 0.01
    #[arg(long, value_name = "SHARE")]
    loss: Option<Share>,

    /// Share of packets to duplicate
    #[arg(long, value_name = "SHARE")]
    duplicate: Option<Share>,

    /// Share of packets to delay past others, and for how long [default time: 1ms]
    #[arg(long, value_name = "SHARE[/TIME]")]
    reorder: Option<Held>,

    /// Rate limit in bits per second: 800k, 100M, 2.5G
    #[arg(long, value_name = "RATE")]
    rate: Option<Rate>,

    /// Bytes the rate limit may queue; more are dropped
    #[arg(long, value_name = "BYTES", default_value = "1M", requires = "rate")]
    queue: Bytes,

    /// Mark packets (ECN) while more bytes than this are queued
    #[arg(long, value_name = "BYTES", requires = "rate")]
    mark: Option<Bytes>,

    /// Rules, or a file of rules, that drop, count or mirror packets; `in` is from A, `out` is to A
    #[arg(long, value_name = "RULES")]
    filter: Option<Rules>,

    /// Seed for which packets are lost, duplicated and held back
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
}

fn conditions(args: &Args) -> Conditions {
    let time = |wait: Option<Wait>| wait.map_or(Duration::ZERO, |wait| wait.0);
    let share = |share: Option<Share>| share.map_or(0.0, |share| share.0);
    let usual = Conditions::default();
    Conditions {
        delay: time(args.delay),
        jitter: time(args.jitter),
        loss: share(args.loss),
        duplicate: share(args.duplicate),
        reorder: args.reorder.map_or(0.0, |held| held.share),
        held: args
            .reorder
            .and_then(|held| held.time)
            .unwrap_or(usual.held),
        rate: args.rate.map(|rate| rate.0),
        queue: args.queue.0,
        mark: args.mark.map(|mark| mark.0),
        seed: args.seed,
    }
}

pub fn run(args: &Args) -> Ended {
    let signals = Signals::take()?;
    // A wire that waits for its peer has a socket, which a signal has to take away.
    signals.streaming();
    let runtime = match args.first.computes() || args.second.computes() {
        true => Some(Arc::new(Runtime::builder().build()?)),
        false => None,
    };
    let context = Context {
        runtime,
        waits: Some(note),
        ..Context::from(signals.token())
    };
    let session = match Session::open(&args.first, &args.second, args.filter.as_ref(), &context) {
        Err(Error::Stopped) => return Ok(signals.served()),
        opened => opened?,
    };
    print_err(&format!("link between {} and {}", args.first, args.second));
    let (report, ended) = session.run(&conditions(args), &signals.token());
    report.to_string().lines().for_each(note);
    ended?;
    Ok(signals.served())
}
