//! Clients of an engine: applications, those that ask how it is doing, collectors of metrics.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

use evener_runtime::IoThreads;
use evener_runtime::stream::{CancelToken, Waker};
use evener_sockets::http::Collectors;
use evener_sockets::{Listener, Slots, Stream};
use rustix::event::{PollFd, PollFlags, poll};
use tracing::{debug, warn};

use super::{metrics, status};
use crate::handshake::{WISH, Wish};
use crate::layout::Layout;
use crate::run::Commands;
use crate::server::{Attached, Heir};

/// The name of a thread that hears a client, and the most there may be.
const THREAD: &str = "evener-client";
pub const MAX_THREADS: usize = 16;
/// How long a client may take to say what it wants, and to read the answer.
const TIMEOUT: Duration = Duration::from_secs(2);

/// Serves clients.
#[derive(Clone, Copy)]
pub struct Clients<'a> {
    pub commands: &'a Commands,
    pub layout: Layout,
    /// The addresses of the engine, as clients read them.
    pub addresses: &'a str,
    pub metrics: Option<&'a Collectors>,
    pub cancel: &'a CancelToken,
    /// Threads that hear clients.
    pub threads: &'a Slots,
}

impl<'a> Clients<'a> {
    /// Serves until it is cancelled.
    pub fn serve<'scope>(
        self,
        threads: IoThreads<'scope, '_>,
        applications: &Listener,
    ) -> io::Result<()>
    where
        'a: 'scope,
    {
        let (woken, waker) = UnixStream::pair()?;
        waker.set_nonblocking(true)?;
        // If the socket is full, this thread is awake anyway.
        let waker: Waker = Arc::new(move || drop((&waker).write(&[1])));
        let _waker = self.cancel.on_cancel(waker);
        while !self.cancel.is_cancelled() {
            let mut fds = vec![
                PollFd::new(&woken, PollFlags::IN),
                PollFd::new(applications, PollFlags::IN),
            ];
            fds.extend((self.metrics).map(|metrics| PollFd::new(metrics, PollFlags::IN)));
            match poll(&mut fds, None) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            let is_ready = |at: usize| fds.get(at).is_some_and(|fd| !fd.revents().is_empty());
            let (client, collector) = (is_ready(1), is_ready(2));
            if client && let Some(Stream::Unix(stream)) = applications.accept_or_pause() {
                self.start(threads, move || self.hear(stream));
            }
            if collector
                && let Some(collectors) = self.metrics
                && let Some(stream) = collectors.accept_or_pause()
            {
                self.start(threads, move || {
                    let text = || match self.commands.inspect(false) {
                        Some(snapshot) => metrics::text(&snapshot),
                        None => String::new(),
                    };
                    collectors.answer(&stream, text)
                });
            }
        }
        Ok(())
    }

    /// Hears a client on a thread of its own, so that one that is slow keeps no other waiting.
    fn start<'scope>(
        self,
        threads: IoThreads<'scope, '_>,
        hear: impl FnOnce() -> io::Result<()> + Send + 'scope,
    ) where
        'a: 'scope,
    {
        let Some(slot) = self.threads.take() else {
            warn!("a client is refused: too many come at once");
            return;
        };
        // If the thread is not started, the closure is dropped, and the slot is free.
        let started = threads.start(THREAD, move || {
            let _slot = slot;
            if let Err(error) = hear() {
                debug!("a client is gone: {error}");
            }
        });
        if let Err(error) = started {
            warn!("a client is refused: {error}");
        }
    }

    fn hear(self, mut stream: UnixStream) -> io::Result<()> {
        stream.set_read_timeout(Some(TIMEOUT))?;
        stream.set_write_timeout(Some(TIMEOUT))?;
        let mut wish = [0; WISH];
        stream.read_exact(&mut wish)?;
        match Wish::decode(&wish) {
            Some(Wish::Attach) => {
                self.commands.attach(Attached::new(stream, self.layout)?);
                Ok(())
            }
            Some(Wish::Heir) => {
                self.commands.add_heir(Heir::new(stream)?);
                Ok(())
            }
            Some(Wish::Status) => match status::text(self.commands) {
                Some(text) => stream.write_all(text.as_bytes()),
                None => Ok(()),
            },
            Some(Wish::Addresses) => stream.write_all(self.addresses.as_bytes()),
            None => Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "it is of another version, or no client of an engine",
            )),
        }
    }
}
