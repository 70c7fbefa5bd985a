//! The server: it accepts clients of the protocol and collectors of metrics.

use std::io::{self, Write};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use evener_runtime::stream::Waker;
use evener_runtime::{IoThreads, Runtime};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tracing::{debug, warn};

use super::address::Listener;
use super::clients::{Client, Clients};
use super::connection::{Connection, THREAD};
use super::handshake::{Export, negotiate};
use super::http;
use super::input::Input;
use super::stream::Stream;
use crate::overlay::Overlay;
use crate::serve::{RateMeter, ServeContext, Status};

/// The name of the threads that answer collectors of metrics, and the most there may be.
const METRICS_THREAD: &str = "evener-metrics";
const MAX_METRICS_THREADS: usize = 4;
/// How long a client may take for each step of the negotiation.
const NEGOTIATION_TIMEOUT: Duration = Duration::from_secs(60);
/// How often the status is reported.
const STATUS_INTERVAL: Duration = Duration::from_secs(1);
/// How long to wait when the system has no room for a client.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Called every second with how the server is doing.
pub type OnStatus<'a> = &'a mut (dyn FnMut(&Status) + Send);

/// Serves until it is cancelled, and returns when all clients are disconnected.
///
/// # Errors
/// The system cannot wait for clients.
pub fn serve(
    context: &ServeContext,
    runtime: &Runtime,
    listener: &Listener,
    metrics: Option<&Listener>,
    on_status: Option<OnStatus<'_>>,
) -> io::Result<()> {
    raise_file_limit();
    let (wake_receiver, wake_sender) = UnixStream::pair()?;
    wake_sender.set_nonblocking(true)?;
    // If the socket is full, the receiver is awake anyway.
    let waker: Waker = Arc::new(move || drop((&wake_sender).write(&[1])));
    let _waker = context.cancel.on_cancel(waker);
    let clients = Clients::default();
    let metrics_threads = AtomicUsize::new(0);
    runtime.io_threads(|threads| {
        let acceptor = Acceptor {
            context,
            runtime,
            clients: &clients,
            metrics_threads: &metrics_threads,
        };
        let done = acceptor.run(threads, (listener, metrics), &wake_receiver, on_status);
        clients.disconnect_all();
        done
    })
}

/// Accepts clients.
#[derive(Clone, Copy)]
struct Acceptor<'a> {
    context: &'a ServeContext,
    runtime: &'a Runtime,
    clients: &'a Clients,
    /// How many threads answer requests for metrics.
    metrics_threads: &'a AtomicUsize,
}

impl<'a> Acceptor<'a> {
    fn run<'scope>(
        self,
        threads: IoThreads<'scope, '_>,
        (listener, metrics): (&Listener, Option<&Listener>),
        wake_receiver: &UnixStream,
        mut on_status: Option<OnStatus<'_>>,
    ) -> io::Result<()>
    where
        'a: 'scope,
    {
        let counters = self.context.store.metrics();
        let mut meter = RateMeter::new(counters);
        let mut next = Instant::now() + STATUS_INTERVAL;
        while !self.context.cancel.is_cancelled() {
            let mut fds = vec![
                PollFd::new(wake_receiver, PollFlags::IN),
                PollFd::new(listener, PollFlags::IN),
            ];
            fds.extend(metrics.map(|metrics| PollFd::new(metrics, PollFlags::IN)));
            // Without a callback only a client wakes the server.
            let timeout = on_status.is_some().then(|| {
                let left = next.saturating_duration_since(Instant::now());
                Timespec::try_from(left).unwrap_or_default()
            });
            match poll(&mut fds, timeout.as_ref()) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            if let Some(on_status) = &mut on_status
                && Instant::now() >= next
            {
                on_status(&meter.sample(counters));
                next = Instant::now() + STATUS_INTERVAL;
            }
            let is_ready = |at: usize| fds.get(at).is_some_and(|fd| !fd.revents().is_empty());
            if is_ready(1)
                && let Some(stream) = accept(listener)
            {
                self.start_client(threads, stream);
            }
            if is_ready(2)
                && let Some(stream) = metrics.and_then(accept)
            {
                self.answer_metrics(threads, stream);
            }
        }
        Ok(())
    }

    /// Starts the first thread of a client.
    fn start_client<'scope>(self, threads: IoThreads<'scope, '_>, stream: Stream)
    where
        'a: 'scope,
    {
        stream.configure();
        let Some(client) = self.clients.admit(stream, self.context.store.metrics()) else {
            warn!("a client was refused: there are too many");
            return;
        };
        let started = threads.start(THREAD, move || {
            if let Err(error) = self.negotiate_and_serve(threads, client) {
                debug!("a client disconnected during the negotiation: {error}");
            }
        });
        if let Err(error) = started {
            warn!("a client was refused: {error}");
        }
    }

    fn negotiate_and_serve<'scope>(
        self,
        threads: IoThreads<'scope, '_>,
        client: Client<'a>,
    ) -> io::Result<()>
    where
        'a: 'scope,
    {
        let mut input = Input::new(client.stream());
        client
            .stream()
            .set_read_timeout(Some(NEGOTIATION_TIMEOUT))?;
        let export = Export::of(&self.context.store);
        let negotiated = negotiate(client.stream(), &mut input, &export)?;
        client.stream().set_read_timeout(None)?;
        if let Some(negotiated) = negotiated {
            let parts = (self.context, self.runtime);
            Connection::new(parts, client, input, (export, negotiated)).run(threads);
        }
        Ok(())
    }

    /// Answers a collector of metrics, on a thread of its own.
    fn answer_metrics<'scope>(self, threads: IoThreads<'scope, '_>, stream: Stream)
    where
        'a: 'scope,
    {
        if self.metrics_threads.load(Ordering::Relaxed) >= MAX_METRICS_THREADS {
            return;
        }
        self.metrics_threads.fetch_add(1, Ordering::Relaxed);
        let counted = MetricsThread(self.metrics_threads);
        // If the thread is not started, the closure is dropped and the thread is no longer counted.
        let _ = threads.start(METRICS_THREAD, move || {
            let _counted = counted;
            let store = &self.context.store;
            let overlay = || store.overlay().map_or(0, Overlay::bytes);
            let text = || {
                store
                    .metrics()
                    .text(store.cache(), store.rounds(), overlay())
            };
            let _ = http::answer(&stream, text);
        });
    }
}

/// Raises the limit of open files to the most that the system allows, since each client is one.
fn raise_file_limit() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let found = getrlimit(Resource::Nofile);
    let wanted = Rlimit {
        current: found.maximum,
        maximum: found.maximum,
    };
    let _ = setrlimit(Resource::Nofile, wanted);
}

/// Counts a thread that answers a collector of metrics, until this is dropped.
struct MetricsThread<'a>(&'a AtomicUsize);

impl Drop for MetricsThread<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

fn accept(listener: &Listener) -> Option<Stream> {
    match listener.accept() {
        Ok(stream) => Some(stream),
        Err(error) => {
            let gone = [
                io::ErrorKind::WouldBlock,
                io::ErrorKind::Interrupted,
                io::ErrorKind::ConnectionAborted,
            ];
            if !gone.contains(&error.kind()) {
                warn!("a client cannot be accepted: {error}");
                std::thread::sleep(ACCEPT_PAUSE);
            }
            None
        }
    }
}
