//! A client after the negotiation: its threads, and who of them reads.
//!
//! One thread of a connection at a time has its *turn*: it reads requests and answers those that need no decoding. When
//! one does, and another request is there already, it passes the turn on, so that both are worked on at once and
//! replies come in whatever order they are ready. Before what may take long, such as a flush, it passes the turn on in
//! any case. A client that waits for each reply is served by one thread otherwise, which nothing wakes but the client,
//! and workers help with what it asks for. A thread that has the turn and no request reads ahead. Where requests come
//! soon after replies it spins before it parks ([`SpinWait`]). Small replies wait while the next request is in memory
//! already, so that many go out with one call of the system.

use std::io;
use std::net::Shutdown;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use evener_runtime::{IoThreads, Pool, Runtime, SpinWait};

use super::guests::Guest;
use super::handshake::{Agreed, Export};
use super::input::Input;
use super::payload::Payload;
use super::reply::Reply;
use super::request::{Job, Request};
use super::stream::Stream;
use super::transmission::{Answer, WINDOW};
use crate::serve::{Ahead, Bad, Counter, Site, Window};

/// What the threads of connections are called.
pub const THREAD: &str = "evener-nbd";
/// Most threads of one connection.
const MAX_THREADS: usize = 8;

/// A client.
pub struct Connection<'a> {
    site: &'a Site,
    pool: &'a Pool,
    guest: Guest<'a>,
    export: Export,
    agreed: Agreed,
    turn: Mutex<Turn<'a>>,
    /// Held while a reply is sent.
    output: Mutex<()>,
    threads: AtomicUsize,
    /// Threads that wait for the turn.
    idle: AtomicUsize,
}

/// What the one thread that reads has.
struct Turn<'a> {
    input: Input,
    spin_wait: SpinWait<'a>,
    ahead: Ahead,
    ended: bool,
}

/// What a thread needs for a request, kept from one to the next.
#[derive(Default)]
struct Desk {
    window: Window,
    reply: Reply,
    payload: Payload,
}

/// A request under way.
struct Begun<'a> {
    request: Request,
    job: Job,
    /// Where its first window ends.
    looked: Result<u64, Bad>,
    since: Instant,
    _in_flight: InFlight<'a>,
}

/// Counts a request until it is answered or given up.
struct InFlight<'a>(&'a Counter);

impl<'a> InFlight<'a> {
    fn new(count: &'a Counter) -> InFlight<'a> {
        count.add(1);
        InFlight(count)
    }
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.0.sub(1);
    }
}

impl<'a> Connection<'a> {
    /// A client with whom all is agreed.
    pub fn new(
        (site, runtime): (&'a Site, &'a Runtime),
        guest: Guest<'a>,
        input: Input,
        (export, agreed): (Export, Agreed),
    ) -> Arc<Connection<'a>> {
        Arc::new(Connection {
            turn: Mutex::new(Turn {
                input,
                spin_wait: runtime.spin_wait(),
                ahead: Ahead::new(site.ahead),
                ended: false,
            }),
            site,
            pool: runtime.pool(),
            guest,
            export,
            agreed,
            output: Mutex::new(()),
            threads: AtomicUsize::new(1),
            idle: AtomicUsize::new(0),
        })
    }

    /// Serves until the client is gone, as one of its threads.
    pub fn work<'scope>(self: Arc<Self>, threads: IoThreads<'scope, '_>)
    where
        'a: 'scope,
    {
        let _watch = Watch(self.guest.stream());
        let mut desk = Desk::default();
        loop {
            self.idle.fetch_add(1, Ordering::Relaxed);
            let mut turn = lock(&self.turn);
            self.idle.fetch_sub(1, Ordering::Relaxed);
            loop {
                if turn.ended {
                    return;
                }
                let Some(mut begun) = self.next(&mut turn, &mut desk) else {
                    turn.ended = true;
                    let _ = self.send(&mut desk);
                    // Replies under way are still sent, and then the last thread closes the connection.
                    return;
                };
                let long = begun.job.is_long();
                let cold = match begun.job {
                    _ if long => true,
                    Job::Read { .. } => desk.window.is_cold(),
                    Job::Write { .. } => self.site.store.needs_rest(&desk.payload.place()),
                    Job::Nothing | Job::Refuse(..) => false,
                    _ => true,
                };
                if cold && !desk.reply.is_empty() {
                    // Nobody is to wait for its blocks because this client reads no replies.
                    desk.window.clear();
                    if self.send(&mut desk).is_err() {
                        turn.ended = true;
                        self.guest.stream().shutdown(Shutdown::Both);
                        return;
                    }
                    begun.looked = self.look(&begun.job, &mut desk.window);
                }
                if long || cold && turn.input.is_ready() {
                    drop(turn);
                    self.pass_on(threads);
                    if self.answer(begun, &mut desk, false).is_err() {
                        // Whoever has the turn finds the connection at its end.
                        self.guest.stream().shutdown(Shutdown::Both);
                        return;
                    }
                    break;
                }
                let more = turn.input.has(Request::LEN);
                if self.answer(begun, &mut desk, more).is_err() {
                    turn.ended = true;
                    self.guest.stream().shutdown(Shutdown::Both);
                    return;
                }
            }
        }
    }

    /// Sees to it that some thread takes the turn.
    fn pass_on<'scope>(self: &Arc<Self>, threads: IoThreads<'scope, '_>)
    where
        'a: 'scope,
    {
        if self.idle.load(Ordering::Relaxed) > 0 {
            return;
        }
        let most = self.pool.workers().clamp(2, MAX_THREADS);
        let grow = |n: usize| (n < most).then_some(n + 1);
        let grown = self
            .threads
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, grow);
        if grown.is_err() {
            return;
        }
        let other = Arc::clone(self);
        // Without it this thread takes the turn again when it has answered.
        if threads.start(THREAD, move || other.work(threads)).is_err() {
            self.threads.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// The next request, with its first window looked up. `None`: there will be none.
    fn next(&self, turn: &mut Turn<'a>, desk: &mut Desk) -> Option<Begun<'a>> {
        let site: &'a Site = self.site;
        let store = &site.store;
        let size = store.image().size();
        let step = u64::from(store.image().block_size()) * self.pool.workers() as u64;
        if !turn.input.has(Request::LEN) {
            self.send(desk).ok()?;
        }
        while let Some(bytes) = turn.ahead.step(step, size)
            && !turn.input.is_ready()
        {
            store.prefetch(self.pool, bytes.clone(), &mut desk.window);
            turn.ahead.took(&bytes);
        }
        let waits = !turn.input.has(Request::LEN);
        if waits {
            let others = || store.rounds().busy() > 0;
            turn.spin_wait.begin(|| turn.input.is_ready(), others);
        }
        let request = Request::read(&mut turn.input).ok().flatten()?;
        if waits {
            turn.spin_wait.end();
        }
        let since = Instant::now();
        let metrics = store.metrics();
        let in_flight = InFlight::new(&metrics.in_flight);
        metrics.requests[request.kind()].add(1);
        let job = request.job(&self.export, &self.agreed);
        self.take_payload(&request, &job, turn, desk).ok()?;
        if let Job::Read { bytes, .. } = &job {
            turn.ahead.note(bytes);
        }
        let looked = self.look(&job, &mut desk.window);
        Some(Begun {
            request,
            job,
            looked,
            since,
            _in_flight: in_flight,
        })
    }

    /// Looks the first window of a request up, where it reads.
    fn look(&self, job: &Job, window: &mut Window) -> Result<u64, Bad> {
        match job {
            Job::Read { bytes, .. } => self.site.store.look(bytes.clone(), WINDOW, window),
            _ => Ok(0),
        }
    }

    /// Reads what comes behind a request, and writes what of it need not be kept.
    fn take_payload(
        &self,
        request: &Request,
        job: &Job,
        turn: &mut Turn,
        desk: &mut Desk,
    ) -> io::Result<()> {
        let len = request.payload();
        if len == 0 {
            return Ok(());
        }
        if !turn.input.has(len as usize) {
            self.send(desk)?;
        }
        let Desk {
            window, payload, ..
        } = desk;
        let store = &self.site.store;
        match job {
            Job::Write { bytes, .. } => payload.take(&mut turn.input, bytes, |at, part| {
                store.write(self.pool, at, part, window)
            }),
            _ => turn.input.skip(len),
        }
    }

    /// Sends replies that have waited for others.
    fn send(&self, desk: &mut Desk) -> io::Result<()> {
        if desk.reply.is_empty() {
            return Ok(());
        }
        let _output = lock(&self.output);
        desk.reply.send(self.guest.stream(), &[])
    }

    fn answer(&self, begun: Begun<'_>, desk: &mut Desk, more: bool) -> io::Result<()> {
        let answer = Answer {
            site: self.site,
            pool: self.pool,
            stream: self.guest.stream(),
            output: &self.output,
            agreed: &self.agreed,
            cookie: begun.request.cookie,
            window: &mut desk.window,
            reply: &mut desk.reply,
            payload: &mut desk.payload,
            more,
        };
        let done = answer.give(begun.job, begun.looked);
        desk.window.clear();
        let metrics = self.site.store.metrics();
        metrics.latency.record(begun.since.elapsed());
        done
    }
}

/// Ends the connection if a thread of it panics: the client would wait for its reply for ever.
struct Watch<'a>(&'a Stream);

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.shutdown(Shutdown::Both);
        }
    }
}

pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
