//! `evener gateway`

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Instant;

use clap::ArgGroup;
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

/// Serve RTSP, RTP and MPEG transport streams over HTTP
#[derive(clap::Args, Clone)]
#[command(group(ArgGroup::new("from").required(true).multiple(true).args(["listen", "config"])))]
#[command(override_usage = "\
evener gateway --listen tcp:HOST:PORT [OPTIONS]
       evener gateway --config FILE.toml [OPTIONS]")]
#[command(after_help = "\
Examples:
  evener gateway --listen tcp:127.0.0.1:8080
  curl http://127.0.0.1:8080/rtp/239.1.1.1:5000 -o stream.ts
  evener gateway --listen tcp:127.0.0.1:8080 --allow 192.168.1.20
  mpv http://127.0.0.1:8080/rtsp/192.168.1.20/stream
  evener gateway --config gateway.toml --metrics 127.0.0.1:9100 --status

Clients request:
  /rtp/ADDRESS:PORT,     a transport stream received there, in RTP or bare
  /udp/ADDRESS:PORT
  /rtsp/HOST:PORT/PATH   the stream of an RTSP server; ?format=mp4 for MP4
  /pool/NAME/PATH        the same from a pool of servers, with failover
  /status                a page for browsers, JSON for other clients

A client that falls 2 seconds behind resumes at the next keyframe; other
clients are not affected. There are no user accounts and no encryption. Clients
of this machine may request public hosts; private addresses, and everything
once other machines can connect, need --allow. Clients must name the gateway by
its address, localhost, this machine's name or a --host name.

SIGTERM ends the gateway with exit status 0; Ctrl-C ends it by the signal.
SIGHUP rereads the origins and pools from FILE.")]
pub struct Args {
    /// Listen for clients here
    #[arg(long, value_name = "tcp:HOST:PORT", value_parser = listen_address)]
    listen: Option<Address>,

    /// Let clients request this host, address or network (repeatable)
    #[arg(long, value_name = "HOST|ADDRESS[/BITS]")]
    allow: Vec<Target>,

    /// Accept requests that use this name for the gateway (repeatable)
    #[arg(long, value_name = "NAME")]
    host: Vec<HostName>,

    /// Add a weighted server to the pool 'default' (repeatable)
    #[arg(long, value_names = ["rtsp://HOST/PATH", "weight=N"], num_args = 1..=2)]
    origin: Vec<String>,

    /// Read options, origins and pools from FILE; the command line wins
    #[arg(long, value_name = "FILE.toml")]
    config: Option<PathBuf>,

    /// Threads that carry streams: a number, or auto, which starts with 1 and adds threads while CPUs are free
    #[arg(long, value_name = "auto|N")]
    engines: Option<Engines>,

    /// Let pages of other sites request and read streams (Access-Control-Allow-Origin: *)
    #[arg(long)]
    cross_origin: bool,

    /// Serve Prometheus metrics over HTTP at HOST:PORT
    #[arg(long, value_name = "HOST:PORT", value_parser = metrics_address)]
    metrics: Option<Address>,

    /// Show clients, sources and rates every second
    #[arg(long)]
    status: bool,

    /// Print at the end when and why engines were added
    #[arg(long)]
    explain: bool,

    /// Write what was served as JSON at the end; - for standard output
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
