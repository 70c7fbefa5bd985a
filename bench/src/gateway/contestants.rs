//! Gateways that run in the namespace: evener, programs that were built elsewhere, and the bare loop.

use std::fs;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::link::FAR;
use super::part::{Part, Running};
use super::place::{End, GROUPS, Place, THERE};
use super::{Options, PeerKind, bare};
use crate::error::Error;

const PORT: u16 = 8080;
/// How long a gateway may take until clients can connect.
const PATIENCE: Duration = Duration::from_secs(5);
/// Ticks of a second in `/proc/PID/stat` (proc(5)): what Linux tells programs on all its architectures.
const TICKS: f64 = 100.0;

/// What forwards.
#[derive(Clone, Debug)]
pub enum Kind {
    /// This program.
    Evener,
    /// This program with so many engines, on all processors.
    Engines(usize),
    /// The loop of this program, with a pause of so many microseconds in which datagrams gather.
    Bare(u64),
    /// Another program.
    Peer(super::Peer),
}

impl Kind {
    /// What it is called in tables.
    pub fn name(&self) -> String {
        match self {
            Kind::Evener => "evener".into(),
            Kind::Engines(1) => "evener, 1 engine".into(),
            Kind::Engines(count) => format!("evener, {count} engines"),
            Kind::Bare(0) => "bare loop".into(),
            Kind::Bare(pause) => format!("bare loop, every {:.1} ms", *pause as f64 / 1e3),
            Kind::Peer(peer) => peer.kind.name().into(),
        }
    }
}

impl Kind {
    /// Where a stream is sent to in a request, and where it is got from, if not in datagrams.
    pub fn posted(&self) -> Option<(String, String)> {
        match self {
            Kind::Peer(peer) if peer.kind == PeerKind::Go2rtc => Some((
                "/api/stream.ts?dst=one".into(),
                "/api/stream.ts?src=one".into(),
            )),
            _ => None,
        }
    }
}

/// Evener, the bare loops, and the peers of these kinds that are given.
pub fn all(options: &Options, pauses: &[u64], peers: &[PeerKind]) -> Vec<Kind> {
    let given = options
        .peers
        .iter()
        .filter(|peer| peer.kind == PeerKind::Evener || peers.contains(&peer.kind));
    let mut kinds = vec![Kind::Evener];
    kinds.extend(given.cloned().map(Kind::Peer));
    kinds.extend(pauses.iter().copied().map(Kind::Bare));
    kinds
}

/// A gateway that runs, ended on drop.
pub struct Gateway {
    process: Process,
    address: SocketAddr,
}

enum Process {
    Program(Child),
    Part(Running),
}

impl Gateway {
    /// Starts it at an address of its namespace and waits until clients can connect.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn start(
        place: &Place,
        options: &Options,
        kind: &Kind,
        at: Ipv4Addr,
    ) -> Result<Gateway, Error> {
        let listen = SocketAddr::from((at, PORT));
        let process = match kind {
            Kind::Evener => {
                let command = command(PeerKind::Evener, &options.program, listen);
                Process::Program(spawn(place, End::There, command)?)
            }
            Kind::Engines(count) => {
                let mut command = command(PeerKind::Evener, &options.program, listen);
                command.args(["--engines", &count.to_string()]);
                Process::Program(spawn(place, End::ThereOnAll, command)?)
            }
            Kind::Bare(pause) => {
                let task = bare::Task {
                    listen,
                    pause: *pause,
                };
                let part = Part::Bare(task);
                Process::Part(Running::start(place, End::There, &options.program, &part)?)
            }
            Kind::Peer(peer) => {
                let command = command(peer.kind, &peer.program, listen);
                Process::Program(spawn(place, End::There, command)?)
            }
        };
        let gateway = Gateway {
            process,
            address: listen,
        };
        let begun = Instant::now();
        while let Err(error) = TcpStream::connect_timeout(&listen, Duration::from_secs(1)) {
            if begun.elapsed() > PATIENCE {
                return Err(failed(error));
            }
            thread::sleep(Duration::from_millis(5));
        }
        Ok(gateway)
    }

    /// Where clients come to.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    fn id(&self) -> u32 {
        match &self.process {
            Process::Program(child) => child.id(),
            Process::Part(part) => part.id(),
        }
    }

    /// Its processes: itself, and those that it started.
    fn processes(&self) -> Vec<u32> {
        let mut processes = vec![self.id()];
        let mut at = 0;
        while at < processes.len() {
            let of = processes[at];
            let path = format!("/proc/{of}/task/{of}/children");
            let children = fs::read_to_string(path).unwrap_or_default();
            processes.extend(children.split_whitespace().flat_map(str::parse::<u32>));
            at += 1;
        }
        processes
    }

    /// Seconds of processors that it has taken.
    ///
    /// # Errors
    /// It has ended.
    pub fn processor_time(&self) -> Result<f64, Error> {
        let mut total = 0.0;
        for process in self.processes() {
            let text = fs::read_to_string(format!("/proc/{process}/stat")).map_err(failed)?;
            // The name, in parentheses, may have spaces. The first field after it is the third.
            let fields = text.rsplit(')').next().unwrap_or_default();
            let mut fields = fields.split_whitespace().skip(14 - 3);
            let mut next = || fields.next().and_then(|field| field.parse::<f64>().ok());
            total += (next().unwrap_or(0.0) + next().unwrap_or(0.0)) / TICKS;
        }
        Ok(total)
    }

    /// Bytes of memory that it holds, without those of files and those that the kernel has for its sockets.
    ///
    /// # Errors
    /// It has ended.
    pub fn memory(&self) -> Result<f64, Error> {
        let mut total = 0.0;
        for process in self.processes() {
            let path = format!("/proc/{process}/smaps_rollup");
            let text = fs::read_to_string(path).map_err(failed)?;
            let line = text
                .lines()
                .find_map(|line| line.strip_prefix("Anonymous:"));
            let kib = line.and_then(|line| line.trim().strip_suffix("kB"));
            total += kib
                .and_then(|kib| kib.trim().parse::<f64>().ok())
                .unwrap_or(0.0)
                * 1024.0;
        }
        Ok(total)
    }
}

impl Gateway {
    /// How many descriptors it has open.
    ///
    /// # Errors
    /// It has ended.
    pub fn descriptors(&self) -> Result<f64, Error> {
        let mut total = 0;
        for process in self.processes() {
            total += fs::read_dir(format!("/proc/{process}/fd"))
                .map_err(failed)?
                .count();
        }
        Ok(total as f64)
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        if let Process::Program(child) = &mut self.process {
            // A supervisor ends its workers when it is asked to end.
            let pid = i32::try_from(child.id())
                .ok()
                .and_then(rustix::process::Pid::from_raw);
            if let Some(pid) = pid {
                let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
            }
            let begun = Instant::now();
            while begun.elapsed() < PATIENCE && matches!(child.try_wait(), Ok(None)) {
                thread::sleep(Duration::from_millis(5));
            }
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn command(kind: PeerKind, program: &Path, listen: SocketAddr) -> Command {
    let mut command = Command::new(program);
    match kind {
        PeerKind::Evener => {
            command.args(["gateway", "--listen", &format!("tcp:{listen}")]);
            for allowed in [&THERE.to_string(), &FAR.to_string(), GROUPS] {
                command.args(["--allow", allowed]);
            }
        }
        PeerKind::Rtp2httpd => {
            let listen = listen.to_string();
            command.args(["--noconfig", "--quiet", "--maxclients", "256"]);
            command.args(["--listen", &listen]);
        }
        PeerKind::Go2rtc => {
            let config = format!(
                "{{api: {{listen: \"{listen}\"}}, rtsp: {{listen: \"\"}}, webrtc: {{listen: \"\"}}, log: {{level: error}}, streams: {{one: \"\"}}}}"
            );
            command.args(["-config", &config]);
        }
    }
    command
}

fn spawn(place: &Place, end: End, mut command: Command) -> Result<Child, Error> {
    command.stdin(Stdio::null()).stdout(Stdio::null());
    // What it has to say when it fails is shown.
    command.stderr(Stdio::null());
    place.at(end, move || command.spawn()).map_err(failed)
}

fn failed(error: io::Error) -> Error {
    Error::Gateway(error)
}
