//! The server: who is listened for, and what becomes of them.

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
use super::connection::{Connection, THREAD};
use super::guests::{Guest, Guests};
use super::handshake::{Export, negotiate};
use super::http;
use super::input::Input;
use super::stream::Stream;
use crate::overlay::Overlay;
use crate::serve::{Pulse, Site, Status};

/// What the threads that tell metrics are called, and how many there may be.
const METRICS_THREAD: &str = "evener-metrics";
const METRICS_THREADS: usize = 4;
/// How long a client may take for each step of the negotiation.
const NEGOTIATION: Duration = Duration::from_secs(60);
/// How often the server says how it is doing.
const STATUS: Duration = Duration::from_secs(1);
/// How long to leave the door shut when the system has no room for a client.
const NO_ROOM: Duration = Duration::from_millis(100);

/// What is told how the server is doing, every second.
pub type OnStatus<'a> = &'a mut (dyn FnMut(&Status) + Send);

/// Serves until it is cancelled, and returns when every client is gone.
///
/// # Errors
/// The system cannot wait for clients.
pub fn serve(
    site: &Site,
    runtime: &Runtime,
    listener: &Listener,
    metrics: Option<&Listener>,
    on_status: Option<OnStatus<'_>>,
) -> io::Result<()> {
    more_files();
    let (bell, rope) = UnixStream::pair()?;
    rope.set_nonblocking(true)?;
    // If it cannot be written, enough is in it already.
    let ring: Waker = Arc::new(move || drop((&rope).write(&[1])));
    let _ring = site.cancel.on_cancel(ring);
    let guests = Guests::default();
    let telling = AtomicUsize::new(0);
    runtime.io_threads(|threads| {
        let hall = Hall {
            site,
            runtime,
            guests: &guests,
            telling: &telling,
        };
        let done = hall.open(threads, (listener, metrics), &bell, on_status);
        guests.see_off();
        done
    })
}

/// Where clients arrive.
#[derive(Clone, Copy)]
struct Hall<'a> {
    site: &'a Site,
    runtime: &'a Runtime,
    guests: &'a Guests,
    /// Threads that tell metrics.
    telling: &'a AtomicUsize,
}

impl<'a> Hall<'a> {
    fn open<'scope>(
        self,
        threads: IoThreads<'scope, '_>,
        (listener, metrics): (&Listener, Option<&Listener>),
        bell: &UnixStream,
        mut on_status: Option<OnStatus<'_>>,
    ) -> io::Result<()>
    where
        'a: 'scope,
    {
        let counted = self.site.store.metrics();
        let mut pulse = Pulse::new(counted);
        // Nothing wakes a server that nobody watches.
        let mut next = Instant::now() + STATUS;
        while !self.site.cancel.is_cancelled() {
            let mut fds = vec![
                PollFd::new(bell, PollFlags::IN),
                PollFd::new(listener, PollFlags::IN),
            ];
            fds.extend(metrics.map(|metrics| PollFd::new(metrics, PollFlags::IN)));
            let patience = on_status.is_some().then(|| {
                let left = next.saturating_duration_since(Instant::now());
                Timespec::try_from(left).unwrap_or_default()
            });
            match poll(&mut fds, patience.as_ref()) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            if let Some(on_status) = &mut on_status
                && Instant::now() >= next
            {
                on_status(&pulse.beat(counted));
                next = Instant::now() + STATUS;
            }
            let called = |at: usize| fds.get(at).is_some_and(|fd| !fd.revents().is_empty());
            if called(1)
                && let Some(stream) = accepted(listener)
            {
                self.welcome(threads, stream);
            }
            if called(2)
                && let Some(stream) = metrics.and_then(accepted)
            {
                self.tell(threads, stream);
            }
        }
        Ok(())
    }

    /// A client of the protocol.
    fn welcome<'scope>(self, threads: IoThreads<'scope, '_>, stream: Stream)
    where
        'a: 'scope,
    {
        stream.tune();
        let Some(guest) = self.guests.admit(stream, self.site.store.metrics()) else {
            warn!("a client was turned away: there are too many");
            return;
        };
        let started = threads.start(THREAD, move || {
            if let Err(error) = self.talk(threads, guest) {
                debug!("a client ended in the middle of the negotiation: {error}");
            }
        });
        if let Err(error) = started {
            warn!("a client was turned away: {error}");
        }
    }

    fn talk<'scope>(self, threads: IoThreads<'scope, '_>, guest: Guest<'a>) -> io::Result<()>
    where
        'a: 'scope,
    {
        let mut input = Input::new(guest.stream());
        guest.stream().set_read_timeout(Some(NEGOTIATION))?;
        let export = Export::of(&self.site.store);
        let agreed = negotiate(guest.stream(), &mut input, &export)?;
        guest.stream().set_read_timeout(None)?;
        if let Some(agreed) = agreed {
            let parts = (self.site, self.runtime);
            Connection::new(parts, guest, input, (export, agreed)).work(threads);
        }
        Ok(())
    }

    /// Somebody who collects metrics.
    fn tell<'scope>(self, threads: IoThreads<'scope, '_>, stream: Stream)
    where
        'a: 'scope,
    {
        if self.telling.load(Ordering::Relaxed) >= METRICS_THREADS {
            return;
        }
        self.telling.fetch_add(1, Ordering::Relaxed);
        let told = Told(self.telling);
        // One that is not started is dropped, and no longer counts.
        let _ = threads.start(METRICS_THREAD, move || {
            let _told = told;
            let store = &self.site.store;
            let over = || store.overlay().map_or(0, Overlay::bytes);
            let text = || store.metrics().text(store.cache(), store.rounds(), over());
            let _ = http::answer(&stream, text);
        });
    }
}

/// Lets the process have as many files as the system allows: every client is one.
fn more_files() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let found = getrlimit(Resource::Nofile);
    let wanted = Rlimit {
        current: found.maximum,
        maximum: found.maximum,
    };
    let _ = setrlimit(Resource::Nofile, wanted);
}

/// Somebody who is told metrics, until this is dropped.
struct Told<'a>(&'a AtomicUsize);

impl Drop for Told<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

fn accepted(listener: &Listener) -> Option<Stream> {
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
                std::thread::sleep(NO_ROOM);
            }
            None
        }
    }
}
