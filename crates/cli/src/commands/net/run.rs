//! `evener net run`

use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use evener_net::device::{Context, Prefix, Specification, SpecificationError};
use evener_net::filter::Rules;
use evener_net::layout::Sizes;
use evener_net::session::{
    DEFAULT_SOCKET, DEFAULT_SPIN, RunOptions, SessionError, run as open, status,
};
use evener_net::tcp::congestion::Algorithm;
use evener_runtime::Runtime;
use evener_sockets::{Address, HostName};

use super::prefix;
use crate::failure::{DONE, Ended, Failure};
use crate::output::print;
use crate::signals::Signals;
use crate::stderr::{note, print_err};

/// Run a TCP/IP stack that applications attach to
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  evener net run --device tun:evener0,addr=10.1.0.1/24
  evener net run --device tun:evener0 --address 10.1.0.2/24 --core 3 --spin 1000
  evener net run --device wire:/run/wire --address 10.1.0.2/24 --pcap run.pcapng
  evener net run --status --socket /run/stack.sock

The stack drives the device and has its own addresses. Applications attach at
the socket, share memory with the stack and make no system calls while data
flows; the crate evener-net is their library. One thread does all the work. It
spins while there is work and sleeps otherwise. Anyone who may open the socket
may use the stack. All devices except wire: and seal: need permission to
administer the network. Ctrl-C ends the stack, as does SIGTERM with exit status
0; open connections are reset.")]
pub struct Args {
    /// Device to drive: tun:NAME, tap:NAME, wire:PATH, packet:INTERFACE, xdp:INTERFACE or seal:PEER:PORT, with options such as
    /// tun:NAME,addr=10.1.0.1/24,offload=off; addr is the kernel's end
    #[arg(long, value_name = "DEVICE", value_parser = device, required_unless_present = "status")]
    device: Option<Arc<Specification>>,

    /// Address of the stack (repeatable); by default the one after the device's addr
    #[arg(long, value_name = "ADDRESS/PREFIX", value_parser = prefix)]
    address: Vec<Prefix>,

    /// Default gateway; at most one for IPv4 and one for IPv6
    #[arg(long, value_name = "ADDRESS")]
    gateway: Vec<IpAddr>,

    /// Pin the stack's thread to CPU N
    #[arg(long, value_name = "N")]
    core: Option<usize>,

    /// Unix socket that applications attach to
    #[arg(long, value_name = "PATH", default_value = DEFAULT_SOCKET)]
    socket: PathBuf,

    /// Congestion control
    #[arg(long, value_name = "NAME", default_value = "cubic", value_parser = congestion())]
    congestion: Algorithm,

    /// Serve Prometheus metrics over HTTP at HOST:PORT
    #[arg(long, value_name = "HOST:PORT", value_parser = metrics)]
    metrics: Option<Address>,

    /// Accept metrics requests that use NAME for this machine (repeatable)
    #[arg(long, value_name = "NAME", requires = "metrics")]
    host: Vec<HostName>,

    /// Print the status of the stack at the socket: connections, rates, loss and round-trip times
    #[arg(long, conflicts_with_all = ["device", "address", "gateway", "core", "metrics", "pcap", "filter"])]
    status: bool,

    /// Sleep after this many microseconds without work
    #[arg(long, value_name = "US", default_value_t = DEFAULT_SPIN.as_micros() as u64)]
    spin: u64,

    /// Rules, or a file of rules, that drop, count or mirror packets: 'drop in tcp dport 23; mirror dns.pcapng udp dport 53'
    #[arg(long, value_name = "RULES")]
    filter: Option<Rules>,

    /// Capture all packets to FILE for Wireshark
    #[arg(long, value_name = "FILE")]
    pcap: Option<PathBuf>,
}

fn device(text: &str) -> Result<Arc<Specification>, SpecificationError> {
    text.parse().map(Arc::new)
}

fn metrics(text: &str) -> Result<Address, String> {
    let wrong = |_| "a host and a port, as in 127.0.0.1:9100".to_owned();
    format!("tcp:{text}").parse().map_err(wrong)
}

fn congestion() -> impl TypedValueParser<Value = Algorithm> {
    let names = Algorithm::TABLE.map(|(name, _)| name);
    PossibleValuesParser::new(names)
        .try_map(|name| Algorithm::from_name(&name).ok_or("no such algorithm"))
}

pub fn run(args: Args) -> Ended {
    let Some(device) = args.device else {
        let text = status(&args.socket).map_err(|error| {
            let socket = args.socket.display();
            Failure::running(format!("{socket}: no stack answers there: {error}"))
        })?;
        print(text.trim_end())?;
        return Ok(DONE);
    };
    let signals = Signals::take()?;
    // The stack has a thread of its own. Only a device may have work for others.
    let runtime = match device.computes() {
        true => Runtime::builder(),
        false => Runtime::builder().workers(1),
    };
    let runtime = Arc::new(runtime.build()?);
    let context = Context {
        runtime: Some(Arc::clone(&runtime)),
        waits: Some(note),
        ..Context::from(signals.token())
    };
    let options = RunOptions {
        device,
        addresses: args.address,
        gateways: args.gateway,
        core: args.core,
        socket: args.socket,
        congestion: args.congestion,
        metrics: args.metrics,
        hosts: args.host,
        spin: Duration::from_micros(args.spin),
        pcap: args.pcap,
        filter: args.filter,
        sizes: Sizes::default(),
    };
    // From here on a signal has to take the socket away.
    signals.streaming();
    let session = match open(options, context) {
        Err(SessionError::Stopped) => return Ok(signals.served()),
        opened => opened?,
    };
    print_err(&session.to_string());
    let ran = session
        .run(&runtime)
        .map_err(|error| signals.failed(error))?;
    note(&ran.to_string());
    Ok(signals.served())
}
