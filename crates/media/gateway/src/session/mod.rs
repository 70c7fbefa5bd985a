//! What the command line asks for: a gateway that listens, with engines in threads of their own.

pub mod config;
mod engines;
mod error;
mod metrics;
mod served;

use std::fmt;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use evener_runtime::stream::{CancelToken, Waker};
use evener_runtime::{IoThreads, Runtime};
use evener_sockets::http::Collectors;
use evener_sockets::{Address, Listener, Slots, Stream, raise_file_limit};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tracing::warn;

use crate::access::Access;
use crate::engine::{Message, Pools, Prober, Resolver, Shared, ask};
use config::Config;
use engines::Crew;

pub use error::SessionError;
pub use served::{Line, Served};

/// The name of the threads that answer collectors of metrics, and the most there may be.
const METRICS_THREAD: &str = "evener-metrics";
const MAX_METRICS_THREADS: usize = 4;
/// The threads that wait for the system's resolver, and how many there are.
const RESOLVER: &str = "evener-names";
const RESOLVERS: usize = 4;
/// Clients that are accepted before anything else is looked at.
const ACCEPTED: usize = 64;
/// The thread that sends probes to origins.
const PROBER: &str = "evener-probes";
/// How often load and status are looked at.
const INTERVAL: Duration = Duration::from_secs(1);

/// Called every second with how the gateway is doing.
pub type OnStatus<'a> = &'a mut (dyn FnMut(&Line) + Send);

/// A gateway that can run. Clients can connect, and wait until it does.
#[derive(Debug)]
pub struct Session {
    listener: Listener,
    metrics: Option<Collectors>,
    config: Config,
    pools: Arc<Pools>,
}

/// Listens.
///
/// # Errors
/// It cannot.
pub fn listen(config: Config) -> Result<Session, SessionError> {
    let Some(address) = &config.listen else {
        return Err(SessionError::Nowhere);
    };
    if !matches!(address, Address::Tcp(..)) {
        let message = "clients of HTTP come to tcp:HOST:PORT";
        let reason = io::Error::new(io::ErrorKind::InvalidInput, message);
        let address = address.to_string();
        return Err(SessionError::Listen { address, reason });
    }
    let failed = |address: &Address, reason| SessionError::Listen {
        address: address.to_string(),
        reason,
    };
    let listener = Listener::bind(address).map_err(|reason| failed(address, reason))?;
    let collectors = |address: &Address| {
        Collectors::bind(address, &config.hosts).map_err(|reason| failed(address, reason))
    };
    Ok(Session {
        listener,
        metrics: config.metrics.as_ref().map(collectors).transpose()?,
        pools: Arc::new(Pools::new(config.members()).map_err(SessionError::System)?),
        config,
    })
}

impl Session {
    /// Where clients come to.
    pub fn address(&self) -> Address {
        self.listener.address()
    }

    /// The pools, whose origins can change while it serves.
    pub fn pools(&self) -> Arc<Pools> {
        self.pools.clone()
    }

    /// Whether only clients of this machine can come.
    fn is_local(&self) -> bool {
        let address: Option<SocketAddr> = match self.listener.address() {
            Address::Tcp(address) => address.parse().ok(),
            Address::Unix(_) | Address::Vsock(..) | Address::Systemd => None,
        };
        address.is_some_and(|address| address.ip().to_canonical().is_loopback())
    }

    /// Where collectors of metrics come to.
    pub fn metrics_address(&self) -> Option<Address> {
        self.metrics.as_ref().map(Collectors::address)
    }

    /// Serves until it is cancelled. Responses that run then end.
    ///
    /// # Errors
    /// The system refuses a thread or a socket.
    pub fn run(
        self,
        runtime: &Runtime,
        cancel: &CancelToken,
        on_status: Option<OnStatus<'_>>,
    ) -> Result<Served, SessionError> {
        raise_file_limit();
        let (resolver, names) = Resolver::new();
        let access = Access::new(self.is_local(), self.config.allow.clone());
        let (config, pools) = (self.config.clone(), self.pools.clone());
        let shared = Arc::new(Shared::new(config, Arc::new(access), pools));
        let prober = Prober::new(self.pools.clone(), resolver.clone());
        let ended = engines::Ended::default();
        let slots = Slots::new(MAX_METRICS_THREADS);
        let reasons = runtime.io_threads(|threads| {
            let _stops = StopOnDrop(&shared);
            let mut crew = Crew::new(threads, &shared, resolver, &ended, cancel);
            for _ in 0..RESOLVERS {
                threads.start(RESOLVER, || names.run())?;
            }
            threads.start(PROBER, || {
                if let Err(error) = prober.run() {
                    warn!("origins are probed no more: {error}");
                }
            })?;
            crew.begin(self.config.engines)?;
            self.accept(&shared, &slots, cancel, threads, &mut crew, on_status)?;
            Ok::<_, SessionError>(crew.into_reasons())
        });
        ended.result().map_err(SessionError::System)?;
        Ok(Served::of(&shared, reasons?))
    }

    /// Hands each client to an engine.
    fn accept<'scope>(
        &'scope self,
        shared: &'scope Arc<Shared>,
        slots: &'scope Slots,
        cancel: &CancelToken,
        threads: IoThreads<'scope, '_>,
        crew: &mut Crew<'scope, '_>,
        mut on_status: Option<OnStatus<'_>>,
    ) -> Result<(), SessionError> {
        let (woken, waker) = UnixStream::pair().map_err(SessionError::System)?;
        waker.set_nonblocking(true).map_err(SessionError::System)?;
        // If the socket is full, this thread is awake anyway.
        let waker: Waker = Arc::new(move || drop((&waker).write(&[1])));
        let _waker = cancel.on_cancel(waker);
        let mut next = Instant::now() + INTERVAL;
        let mut before = Line::default();
        while !cancel.is_cancelled() {
            let mut fds = vec![
                PollFd::new(&woken, PollFlags::IN),
                PollFd::new(&self.listener, PollFlags::IN),
            ];
            fds.extend((self.metrics.iter()).map(|metrics| PollFd::new(metrics, PollFlags::IN)));
            let left = next.saturating_duration_since(Instant::now());
            match poll(
                &mut fds,
                Some(&Timespec::try_from(left).unwrap_or_default()),
            ) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(SessionError::System(error.into())),
            }
            let is_ready = |at: usize| fds.get(at).is_some_and(|fd| !fd.revents().is_empty());
            let (client, collector) = (is_ready(1), is_ready(2));
            if Instant::now() >= next {
                next = Instant::now() + INTERVAL;
                crew.look()?;
                if let Some(on_status) = &mut on_status {
                    before = Line::after(&before, shared);
                    on_status(&before);
                }
            }
            for _ in 0..if client { ACCEPTED } else { 0 } {
                let Some(Stream::Tcp(stream)) = self.listener.accept_or_pause() else {
                    break;
                };
                if let Ok(peer) = stream.peer_addr()
                    && let Some(engine) = shared.directory.with_most_room()
                {
                    engine.send(Message::Connected(stream, peer));
                }
            }
            if collector
                && let Some(metrics) = &self.metrics
                && let Some(stream) = metrics.accept_or_pause()
                && let Some(slot) = slots.take()
            {
                // If the thread is not started, the closure is dropped, and the slot is free.
                let _ = threads.start(METRICS_THREAD, move || {
                    let _slot = slot;
                    let _ = metrics.answer(&stream, || metrics::text(&ask(shared)));
                });
            }
        }
        Ok(())
    }
}

impl fmt::Display for Session {
    /// One line: what runs, and how to come to it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "listening at {}", self.address())?;
        match self.metrics_address() {
            Some(metrics) => write!(f, "; metrics at {metrics}"),
            None => Ok(()),
        }
    }
}

struct StopOnDrop<'a>(&'a Shared);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.pools.stop();
        for engine in self.0.directory.engines() {
            engine.send(Message::Stop);
        }
    }
}
