//! The server: it accepts clients of the protocol and collectors of metrics.

use std::io::{self, Write};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use evener_runtime::stream::{CancelToken, Waker};
use evener_runtime::{IoThreads, Runtime};
use evener_sockets::http::Collectors;
use evener_sockets::{Listener, Slots, Stream, raise_file_limit};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tracing::{debug, warn};

use super::clients::{Client, Clients};
use super::connection::{Connection, THREAD};
use super::export::NamedExport;
use super::handshake::{Offer, negotiate};
use super::input::Input;
use super::tls::Tls;
use crate::serve::{Described, Metrics, RateMeter, Status, metrics_text};

/// The name of the threads that answer collectors of metrics, and the most there may be.
const METRICS_THREAD: &str = "evener-metrics";
const MAX_METRICS_THREADS: usize = 4;
/// How long a client may take for each step of the negotiation.
const NEGOTIATION_TIMEOUT: Duration = Duration::from_secs(60);
/// How often the status is reported.
const STATUS_INTERVAL: Duration = Duration::from_secs(1);

/// Called every second with the status of the server.
pub type OnStatus<'a> = &'a mut (dyn FnMut(&Status) + Send);

/// When a server ends.
#[derive(Clone, Debug)]
pub struct End {
    /// Ends the server.
    pub cancel: CancelToken,
    /// Also ends the server when the last client that chose an export is gone.
    pub exit_last: bool,
}

/// Serves until it is cancelled, with TLS if `tls` is given. Disconnects all clients, and returns their number.
/// Several exports must have different names.
///
/// # Errors
/// The system cannot wait for clients.
pub fn serve(
    exports: &[NamedExport],
    runtime: &Runtime,
    (listener, metrics): (&Listener, Option<&Collectors>),
    tls: Option<&Tls>,
    end: &End,
    on_status: Option<OnStatus<'_>>,
) -> io::Result<u64> {
    raise_file_limit();
    let (wake_receiver, wake_sender) = UnixStream::pair()?;
    wake_sender.set_nonblocking(true)?;
    // If the socket is full, the receiver is awake anyway.
    let waker: Waker = Arc::new(move || drop((&wake_sender).write(&[1])));
    let _waker = end.cancel.on_cancel(waker);
    let clients = Clients::new(end.exit_last.then(|| end.cancel.clone()));
    let metrics_threads = Slots::new(MAX_METRICS_THREADS);
    runtime.io_threads(|threads| {
        let acceptor = Acceptor {
            offer: Offer { exports, tls },
            cancel: &end.cancel,
            runtime,
            clients: &clients,
            metrics,
            metrics_threads: &metrics_threads,
        };
        let done = acceptor.run(threads, listener, &wake_receiver, on_status);
        clients.disconnect_all();
        done.map(|()| clients.counts().accepted)
    })
}

/// Accepts clients.
#[derive(Clone, Copy)]
struct Acceptor<'a> {
    offer: Offer<'a>,
    cancel: &'a CancelToken,
    runtime: &'a Runtime,
    clients: &'a Clients,
    metrics: Option<&'a Collectors>,
    /// Threads that answer requests for metrics.
    metrics_threads: &'a Slots,
}

impl<'a> Acceptor<'a> {
    fn run<'scope>(
        self,
        threads: IoThreads<'scope, '_>,
        listener: &Listener,
        wake_receiver: &UnixStream,
        mut on_status: Option<OnStatus<'_>>,
    ) -> io::Result<()>
    where
        'a: 'scope,
    {
        let stores = self.offer.exports.iter().map(NamedExport::store);
        let counters: Vec<&Metrics> = stores.map(|store| store.metrics()).collect();
        let mut meter = RateMeter::new(&counters);
        let mut next = Instant::now() + STATUS_INTERVAL;
        while !self.cancel.is_cancelled() {
            let mut fds = vec![
                PollFd::new(wake_receiver, PollFlags::IN),
                PollFd::new(listener, PollFlags::IN),
            ];
            fds.extend((self.metrics).map(|metrics| PollFd::new(metrics, PollFlags::IN)));
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
                on_status(&meter.sample(&counters, self.clients.counts().connected));
                next = Instant::now() + STATUS_INTERVAL;
            }
            let is_ready = |at: usize| fds.get(at).is_some_and(|fd| !fd.revents().is_empty());
            if is_ready(1)
                && let Some(stream) = listener.accept_or_pause()
            {
                self.start_client(threads, stream);
            }
            if is_ready(2)
                && let Some(collectors) = self.metrics
                && let Some(stream) = collectors.accept_or_pause()
            {
                self.answer_metrics(threads, collectors, stream);
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
        let Some(client) = self.clients.admit(stream) else {
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
        mut client: Client<'a>,
    ) -> io::Result<()>
    where
        'a: 'scope,
    {
        let mut input = Input::new(client.stream());
        client
            .stream()
            .set_read_timeout(Some(NEGOTIATION_TIMEOUT))?;
        let mut refused = None;
        let agreed = negotiate(client.stream(), &mut input, self.offer, &mut refused);
        if let (Ok(None) | Err(_), Some(reason)) = (&agreed, refused) {
            let place = client.stream().place();
            let line = format!("a client{place} was refused: {reason}");
            // It bounds what clients can have logged.
            let log = self
                .offer
                .exports
                .first()
                .map(|export| export.store().faults());
            log.into_iter().for_each(|log| log.report(&line));
        }
        let agreed = agreed?;
        client.stream().set_read_timeout(None)?;
        if let Some(agreed) = agreed {
            client.set_negotiated();
            let parts = (&agreed.export.context, self.runtime);
            let chosen = (agreed.export.export(), agreed.negotiated);
            Connection::new(parts, client, input, chosen).run(threads);
        }
        Ok(())
    }

    /// Answers a collector of metrics, on a thread of its own.
    fn answer_metrics<'scope>(
        self,
        threads: IoThreads<'scope, '_>,
        collectors: &'a Collectors,
        stream: Stream,
    ) where
        'a: 'scope,
    {
        let Some(slot) = self.metrics_threads.take() else {
            return;
        };
        // If the thread is not started, the closure is dropped, and the slot is free.
        let _ = threads.start(METRICS_THREAD, move || {
            let _slot = slot;
            let text = || {
                let exports = self.offer.exports;
                let described = exports.iter().map(|export| Described {
                    export: (exports.len() > 1).then_some(&*export.name),
                    store: export.store(),
                });
                metrics_text(described, self.clients.counts())
            };
            let _ = collectors.answer(&stream, text);
        });
    }
}
