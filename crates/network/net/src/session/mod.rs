//! Runs of an engine: with a device, on a processor of its own, for the applications that come to a Unix socket.

mod check;
mod clients;
mod error;
mod exec;
mod library;
mod metrics;
mod status;

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use evener_runtime::Runtime;
use evener_runtime::quantity::counted;
use evener_runtime::stream::CancelToken;
use evener_sockets::http::Collectors;
use evener_sockets::{Address, HostName, Listener, Slots, raise_file_limit};

use crate::device::{Capture, Context, Device, Prefix, Specification};
use crate::engine::{Config, SocketOptions};
use crate::filter::{Filtered, Rules};
use crate::layout::{Layout, Sizes};
use crate::run::{self, LoopOptions, Snapshot};
use crate::tcp::congestion::Algorithm;

pub use crate::client::{addresses, status};
pub use error::SessionError;
pub use evener_net_client::DEFAULT_SOCKET;
pub use exec::{ExecError, Program};
pub use library::LibraryError;

/// How long the thread spins, unless it is said: about as long as it takes to wake it.
pub const DEFAULT_SPIN: Duration = Duration::from_micros(50);
/// The thread of the engine.
const THREAD: &str = "evener-net";

/// How an engine is run.
#[derive(Debug)]
pub struct RunOptions {
    /// Where packets come from and go to.
    pub device: Arc<Specification>,
    /// The addresses of the stack. Without one it has the address after that of the kernel's end of the device.
    pub addresses: Vec<Prefix>,
    /// Where packets go that are for no network of the addresses: one of each version at most.
    pub gateways: Vec<IpAddr>,
    /// The processor that the engine has to itself; any if `None`.
    pub core: Option<usize>,
    /// Where applications come to.
    pub socket: PathBuf,
    /// How connections control congestion.
    pub congestion: Algorithm,
    /// Where metrics are served over HTTP.
    pub metrics: Option<Address>,
    /// Names of this machine that collectors of metrics may use, beside those that [`Hosts`](evener_sockets::Hosts) has.
    pub hosts: Vec<HostName>,
    /// How long the thread goes on without work before it sleeps.
    pub spin: Duration,
    /// The file that all packets are recorded in.
    pub pcap: Option<PathBuf>,
    /// What becomes of packets between the device and the stack.
    pub filter: Option<Rules>,
    /// The memory of an application.
    pub sizes: Sizes,
}

/// An engine that can run. Applications can connect, and wait until it does.
pub struct RunSession {
    device: Box<dyn Device>,
    name: String,
    options: LoopOptions,
    core: Option<usize>,
    listener: Listener,
    metrics: Option<Collectors>,
    layout: Layout,
    cancel: CancelToken,
}

/// What an engine did. `Display` gives one line.
#[derive(Clone, Debug)]
pub struct Ran(Option<Snapshot>);

/// Opens the device and listens for applications. The token of `context` ends this, and the run.
///
/// # Errors
/// The device cannot be opened, the sizes cannot be, or the engine cannot listen at the socket.
pub fn run(options: RunOptions, context: impl Into<Context>) -> Result<RunSession, SessionError> {
    let mut context = context.into();
    let layout = Layout::new(options.sizes)?;
    let mut addresses = options.addresses;
    if addresses.is_empty() {
        let next = options.device.address().and_then(|kernel| kernel.next());
        addresses.push(next.ok_or(SessionError::NoAddress)?);
    }
    check::addresses(&addresses, options.device.address())?;
    check::core(options.core)?;
    check::gateways(&options.gateways, &addresses)?;
    context.addresses = addresses.iter().map(|own| own.address).collect();
    let failed = |address: &Address, reason| SessionError::Listen {
        address: address.to_string(),
        reason,
    };
    let socket = Address::Unix(options.socket);
    let listener = Listener::bind(&socket).map_err(|reason| failed(&socket, reason))?;
    let collectors = |address: &Address| {
        Collectors::bind(address, &options.hosts).map_err(|reason| failed(address, reason))
    };
    let metrics = options.metrics.as_ref().map(collectors).transpose()?;
    let mut device =
        options
            .device
            .open_with(&context)
            .map_err(|reason| match context.stop.is_cancelled() {
                true => SessionError::Stopped,
                false => SessionError::Device {
                    device: options.device.to_string(),
                    reason,
                },
            })?;
    if let Some(path) = options.pcap {
        let name = path.display().to_string();
        let recorded = Capture::new(device, &path)
            .map_err(|reason| SessionError::Capture { path: name, reason })?;
        device = Box::new(recorded);
    }
    if let Some(rules) = &options.filter {
        device = Box::new(Filtered::new(device, rules).map_err(SessionError::Mirror)?);
    }
    Ok(RunSession {
        device,
        name: options.device.to_string(),
        options: LoopOptions {
            engine: Config {
                addresses,
                gateways: options.gateways,
                seed: seed().map_err(SessionError::System)?,
                ..Config::default()
            },
            sockets: SocketOptions {
                congestion: options.congestion,
                ..SocketOptions::default()
            },
            spin: options.spin,
        },
        core: options.core,
        listener,
        metrics,
        layout,
        cancel: context.stop,
    })
}

fn seed() -> io::Result<[u8; 16]> {
    let mut seed = [0; 16];
    File::open("/dev/urandom")?.read_exact(&mut seed)?;
    Ok(seed)
}

impl RunSession {
    /// Where metrics are served.
    pub fn metrics_address(&self) -> Option<Address> {
        self.metrics.as_ref().map(Collectors::address)
    }

    /// Runs until it is cancelled. Connections that are open then are forgotten.
    ///
    /// # Errors
    /// The processor cannot be had, the device is gone, or the system cannot wait for applications.
    pub fn run(self, runtime: &Runtime) -> Result<Ran, SessionError> {
        raise_file_limit();
        let (commands, inbox) = run::channel().map_err(SessionError::System)?;
        let prefixes: Vec<String> = (self.options.engine.addresses.iter())
            .map(Prefix::to_string)
            .collect();
        let addresses = prefixes.join(" ");
        let (device, options, cancel) = (self.device, self.options, self.cancel.clone());
        let ended = Mutex::new(Ok(()));
        let hearing = Slots::new(clients::MAX_THREADS);
        let result = runtime.io_threads(|threads| {
            let body = || {
                // Without the engine there is nothing to serve, whatever ended it.
                let _cancels = CancelOnDrop(&cancel);
                let result = run::run(device, options, inbox);
                // A device that goes away while all ends is no failure.
                let result = result.or_else(|error| match cancel.is_cancelled() {
                    true => Ok(()),
                    false => Err(error),
                });
                *ended
                    .lock()
                    .unwrap_or_else(std::sync::PoisonError::into_inner) = result;
            };
            match self.core {
                Some(core) => threads.start_pinned(THREAD, core, body),
                None => threads.start(THREAD, body),
            }?;
            let clients = clients::Clients {
                commands: &commands,
                layout: self.layout,
                addresses: &addresses,
                metrics: self.metrics.as_ref(),
                cancel: &self.cancel,
                threads: &hearing,
            };
            let served = clients.serve(threads, &self.listener);
            let last = commands.inspect(false);
            commands.stop();
            served.map_err(SessionError::System)?;
            Ok(Ran(last))
        });
        let ended = ended.into_inner();
        ended
            .unwrap_or_else(std::sync::PoisonError::into_inner)
            .map_err(|reason| SessionError::Device {
                device: self.name,
                reason,
            })?;
        result
    }
}

struct CancelOnDrop<'a>(&'a CancelToken);

impl Drop for CancelOnDrop<'_> {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

impl fmt::Display for RunSession {
    /// One line: what runs, and how to come to it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let addresses = self.options.engine.addresses.iter();
        let addresses: Vec<String> = addresses.map(|own| own.address.to_string()).collect();
        write!(f, "{} on {}", addresses.join(" and "), self.name)?;
        if let Some(core) = self.core {
            write!(f, ", on CPU {core}")?;
        }
        write!(f, "; applications at {}", self.listener.address())?;
        match self.metrics_address() {
            Some(metrics) => write!(f, "; metrics at {metrics}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Ran {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(last) = &self.0 else {
            return write!(f, "ended");
        };
        let counters = &last.counters;
        let connections = counters.connections + counters.accepted;
        write!(
            f,
            "{}, {} in, {} out",
            counted(connections, "connections"),
            counted(counters.packets_in, "packets"),
            counters.packets_out
        )
    }
}
