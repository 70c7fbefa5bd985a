//! `evener gateway`

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Instant;

use evener_gateway::access::Target;
use evener_gateway::session::config::{
    Config, Engines, listen_address, metrics_address, origin_url, weight,
};
use evener_gateway::session::{Line, OnStatus, listen};
use evener_runtime::Runtime;
use evener_runtime::quantity::counted;
use evener_sockets::{Address, HostName};

use crate::failure::{Ended, Failure};
use crate::output::SideOutput;
use crate::progress::{Bar, BarKind};
use crate::signals::Signals;
use crate::stderr::{note, print_err};

/// Serve RTSP, RTP and transport streams to clients of HTTP
#[derive(clap::Args, Clone)]
#[command(after_help = "\
Examples:
  evener gateway --listen tcp:127.0.0.1:8080
  curl http://127.0.0.1:8080/rtp/239.1.1.1:5000 -o stream.ts
  evener gateway --listen tcp:127.0.0.1:8080 --allow 192.168.1.20
  mpv http://127.0.0.1:8080/rtsp/192.168.1.20/stream
  evener gateway --config gateway.toml --metrics 127.0.0.1:9100 --status

Clients ask for:
  /rtp/ADDRESS:PORT  /udp/ADDRESS:PORT   a transport stream that comes there, in RTP or by itself
  /rtsp/HOST:PORT/PATH                   the stream of an RTSP server; as MP4 with ?format=mp4
  /pool/NAME/PATH                        the same of the servers of a pool: of another when one fails
  /status                                a page for browsers, and JSON for others

A client that is 2 seconds late goes on with the next key picture, and others notice nothing. There are
no users and no encryption. Private addresses, and anything where clients come from other machines, are
only for those that --allow names. Clients name the gateway by its address, by localhost or the name of
the machine, or by a name of --host. SIGTERM ends it with exit status 0, Ctrl-C with that of the signal.
SIGHUP reads the origins and pools of FILE again.")]
pub struct Args {
    /// Where clients come to
    #[arg(long, value_name = "tcp:HOST:PORT", value_parser = listen_address, required_unless_present = "config")]
    listen: Option<Address>,

    /// What clients may ask for: a host, an address or a network; can be given more than once
    #[arg(long, value_name = "HOST|ADDRESS[/BITS]")]
    allow: Vec<Target>,

    /// A name of this machine that clients use in addresses, beside its own and localhost; can be given more than once
    #[arg(long, value_name = "NAME")]
    host: Vec<HostName>,

    /// A server of the pool 'default', and its share relative to others; can be given more than once
    #[arg(long, value_names = ["rtsp://HOST/PATH", "weight=N"], num_args = 1..=2)]
    origin: Vec<String>,

    /// Read options, origins and pools from FILE; options of the command line come first
    #[arg(long, value_name = "FILE.toml")]
    config: Option<PathBuf>,

    /// Threads that carry streams: a number, or auto, which begins with 1 and adds one when those that
    /// there are have no room, and processors do
    #[arg(long, value_name = "auto|N")]
    engines: Option<Engines>,

    /// Let pages of other sites ask, and read what is served (Access-Control-Allow-Origin: *)
    #[arg(long)]
    cross_origin: bool,

    /// Serve metrics for Prometheus over HTTP at HOST:PORT
    #[arg(long, value_name = "HOST:PORT", value_parser = metrics_address)]
    metrics: Option<Address>,

    /// Show each second how it is doing: clients, sources, rates
    #[arg(long)]
    status: bool,

    /// Print at the end why there were so many engines
    #[arg(long)]
    explain: bool,

    /// Write what was served to FILE as JSON at the end; - is the standard output
    #[arg(long, value_name = "FILE")]
    json: Option<OsString>,
}

/// The file, and what the command line says beside it.
fn config(args: &Args) -> Result<Config, Failure> {
    let mut config = match &args.config {
        Some(file) => Config::read(file)?,
        None => Config::default(),
    };
    let Config {
        listen,
        metrics,
        hosts,
        engines,
        cross_origin,
        allow,
        ..
    } = &mut config;
    *listen = args.listen.clone().or(listen.take());
    *metrics = args.metrics.clone().or(metrics.take());
    *engines = args.engines.unwrap_or(*engines);
    *cross_origin |= args.cross_origin;
    hosts.extend(args.host.iter().cloned());
    allow.extend(args.allow.iter().cloned());
    let mut words = args.origin.iter().peekable();
    while let Some(word) = words.next() {
        let url = origin_url(word).map_err(|what| Failure::request(format!("--origin: {what}")))?;
        let share = words.next_if(|word| word.starts_with("weight="));
        let share = share.map(|word| weight(&word["weight=".len()..]));
        let share = share.transpose();
        let share = share
            .map_err(|what| Failure::request(format!("--origin: {what}")))?
            .unwrap_or(1);
        config.add_origin(url, share);
    }
    Ok(config)
}

pub fn run(args: &Args) -> Ended {
    let config = config(args)?;
    let signals = Signals::take()?;
    let json = args.json.as_deref().map(SideOutput::create).transpose()?;
    // Engines have threads of their own, and no work for others.
    let runtime = Runtime::builder().workers(1).build()?;
    let first = config.clone();
    let session = listen(config)?;
    if let Some(file) = &args.config {
        let (args, pools, listens) = (args.clone(), session.pools(), first.listen);
        let file = file.display().to_string();
        signals.on_hangup(move || match self::config(&args) {
            Ok(config) => {
                pools.configure(config.members(), Instant::now());
                let count = counted(config.origins.len() as u64, "origins");
                note(&format!("{file} is read again: {count}"));
                if config.listen != listens {
                    print_err(&format!(
                        "evener: {file}: listen has changed, which needs a new start"
                    ));
                }
            }
            Err(failure) => print_err(&format!("evener: {failure}; the old set-up stays")),
        });
    } else {
        signals.on_hangup(|| {
            print_err("evener: SIGHUP is ignored: there is no --config to read again")
        });
    }
    signals.streaming();
    print_err(&session.to_string());
    let bar = args.status.then(|| Bar::start(BarKind::Lines)).flatten();
    let mut on_bar = bar.as_ref().map(|bar| bar.line_updater());
    let mut on_line = |line: &Line| note(&line.to_string());
    let on_status: Option<OnStatus<'_>> = match (&mut on_bar, args.status) {
        (Some(show), _) => Some(show),
        (None, true) => Some(&mut on_line),
        (None, false) => None,
    };
    let served = session.run(&runtime, &signals.token(), on_status);
    drop(bar);
    let served = served.map_err(|error| signals.failed(error))?;
    note(&served.to_string());
    if args.explain {
        served.decisions.iter().for_each(|line| print_err(line));
    }
    if let Some(json) = json {
        json.write_json(&served)?;
    }
    Ok(signals.served())
}
