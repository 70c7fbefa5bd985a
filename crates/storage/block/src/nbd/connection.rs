//! A client after the negotiation, and the threads that serve it.
//!
//! At most one thread of a connection reads requests at a time: the one that holds [`ReadSide`]. It answers requests
//! that need no decoding itself. If one has to be decoded and the next request is already there, it hands reading over
//! to another thread, so that both are worked on at once and replies are sent in whatever order they are ready. Before
//! a request that may take long, such as a flush, it hands reading over in any case.
//!
//! So a client that waits for each reply is served by one thread, which only the client wakes, and the workers help to
//! decode what it requests. While no request is there, the reading thread reads ahead. If requests come soon after
//! replies, it spins before it parks ([`SpinWait`]). A small reply is held back while the next request is already in
//! memory, so that many replies are sent with one system call.

use std::io;
use std::net::Shutdown;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Instant;

use evener_files::lock;
use evener_runtime::{IoThreads, Pool, Runtime, SpinWait};

use super::channel::Channel;
use super::clients::Client;
use super::export::Export;
use super::handshake::Negotiated;
use super::input::Input;
use super::payload::Payload;
use super::reply::Reply;
use super::request::{Action, Request};
use super::transmission::{Responder, WINDOW};
use crate::serve::{Counter, ReadAheadTracker, ReadFailure, ServeContext, Window};

/// The name of the threads of connections.
pub const THREAD: &str = "evener-nbd";
/// The most threads of one connection.
const MAX_THREADS: usize = 8;

/// A client, and what its threads share.
pub struct Connection<'a> {
    context: &'a ServeContext,
    pool: &'a Pool,
    client: Client<'a>,
    export: Export,
    negotiated: Negotiated,
    read_side: Mutex<ReadSide>,
    /// Held while a reply is sent.
    output: Mutex<()>,
    threads: AtomicUsize,
    /// Threads that wait for `read_side`.
    idle: AtomicUsize,
}

/// What the reading thread uses.
struct ReadSide {
    input: Input,
    spin_wait: SpinWait,
    read_ahead: ReadAheadTracker,
    ended: bool,
}

/// What a thread needs for a request. It is kept from one request to the next.
#[derive(Default)]
struct RequestScratch {
    window: Window,
    reply: Reply,
    payload: Payload,
}

/// A request under way.
struct ActiveRequest<'a> {
    request: Request,
    action: Action,
    /// Where its first window ends.
    looked_up: Result<u64, ReadFailure>,
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
    /// A client with which everything is negotiated.
    pub fn new(
        (context, runtime): (&'a ServeContext, &'a Runtime),
        client: Client<'a>,
        input: Input,
        (export, negotiated): (Export, Negotiated),
    ) -> Arc<Connection<'a>> {
        Arc::new(Connection {
            read_side: Mutex::new(ReadSide {
                input,
                spin_wait: runtime.spin_wait(),
                read_ahead: ReadAheadTracker::new(context.read_ahead),
                ended: false,
            }),
            context,
            pool: runtime.pool(),
            client,
            export,
            negotiated,
            output: Mutex::new(()),
            threads: AtomicUsize::new(1),
            idle: AtomicUsize::new(0),
        })
    }

    /// Serves the client until it is gone, as one of its threads.
    pub fn run<'scope>(self: Arc<Self>, threads: IoThreads<'scope, '_>)
    where
        'a: 'scope,
    {
        let _guard = ShutdownOnPanic(self.client.stream());
        let mut scratch = RequestScratch::default();
        loop {
            self.idle.fetch_add(1, Ordering::Relaxed);
            let read_side = lock(&self.read_side);
            self.idle.fetch_sub(1, Ordering::Relaxed);
            if self
                .read_requests(read_side, &mut scratch, threads)
                .is_break()
            {
                return;
            }
        }
    }

    /// Reads requests and answers them, until this thread has handed reading over and has answered its last one.
    /// `Break`: the connection ends.
    fn read_requests<'scope>(
        self: &Arc<Self>,
        mut read_side: MutexGuard<'_, ReadSide>,
        scratch: &mut RequestScratch,
        threads: IoThreads<'scope, '_>,
    ) -> ControlFlow<()>
    where
        'a: 'scope,
    {
        while !read_side.ended {
            let Some(mut active) = self.next(&mut read_side, scratch) else {
                read_side.ended = true;
                // Replies under way are still sent, and then the last thread closes the connection.
                let _ = self.send(scratch);
                break;
            };
            let long = active.action.is_long();
            let may_wait = long || self.may_wait(&active.action, scratch);
            if may_wait && self.send_held_replies(&mut active, scratch).is_err() {
                self.end(&mut read_side);
                break;
            }
            if long || may_wait && read_side.input.is_ready() {
                drop(read_side);
                self.hand_over_reading(threads);
                if self.answer(active, scratch, false).is_err() {
                    // The reading thread finds the connection at its end.
                    self.client.stream().shutdown(Shutdown::Both);
                    return ControlFlow::Break(());
                }
                return ControlFlow::Continue(());
            }
            let more = read_side.input.has(Request::LEN);
            if self.answer(active, scratch, more).is_err() {
                self.end(&mut read_side);
            }
        }
        ControlFlow::Break(())
    }

    fn end(&self, read_side: &mut ReadSide) {
        read_side.ended = true;
        self.client.stream().shutdown(Shutdown::Both);
    }

    /// Whether an action that is not long waits for blocks to be decoded or for the file.
    fn may_wait(&self, action: &Action, scratch: &RequestScratch) -> bool {
        match action {
            Action::Read { .. } => scratch.window.has_pending(),
            Action::Write { .. } => self.context.store.needs_base(&scratch.payload.place()),
            Action::Nothing | Action::Refuse(..) => false,
            _ => true,
        }
    }

    /// Sends replies that are held back. Until this client has read them, no other thread may wait for the blocks of
    /// the window, so they are released and looked up again.
    fn send_held_replies(
        &self,
        active: &mut ActiveRequest<'_>,
        scratch: &mut RequestScratch,
    ) -> io::Result<()> {
        if scratch.reply.is_empty() {
            return Ok(());
        }
        scratch.window.clear();
        self.send(scratch)?;
        active.looked_up = self.look_up(&active.action, &mut scratch.window);
        Ok(())
    }

    /// Makes sure that another thread reads: one that waits, or a new one.
    fn hand_over_reading<'scope>(self: &Arc<Self>, threads: IoThreads<'scope, '_>)
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
        // If it cannot be started, this thread reads again when it has answered.
        if threads.start(THREAD, move || other.run(threads)).is_err() {
            self.threads.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// The next request, with its first window looked up. `None`: there will be none.
    fn next(
        &self,
        read_side: &mut ReadSide,
        scratch: &mut RequestScratch,
    ) -> Option<ActiveRequest<'a>> {
        if !read_side.input.has(Request::LEN) {
            self.send(scratch).ok()?;
        }
        self.read_ahead(read_side, scratch);
        let context: &'a ServeContext = self.context;
        let store = &context.store;
        let request = self.read_request(read_side)?;
        let since = Instant::now();
        let metrics = store.metrics();
        let in_flight = InFlight::new(&metrics.in_flight);
        metrics.requests[request.kind()].add(1);
        let action = request.action(&self.export, &self.negotiated);
        self.receive_payload(&request, &action, read_side, scratch)
            .ok()?;
        if let Action::Read { bytes, .. } = &action {
            read_side.read_ahead.record(bytes);
        }
        let looked_up = self.look_up(&action, &mut scratch.window);
        Some(ActiveRequest {
            request,
            action,
            looked_up,
            since,
            _in_flight: in_flight,
        })
    }

    /// Reads ahead until a request is there.
    fn read_ahead(&self, read_side: &mut ReadSide, scratch: &mut RequestScratch) {
        let store = &self.context.store;
        let size = self.export.start + self.export.size;
        let step = u64::from(store.image().block_size()) * self.pool.workers() as u64;
        while let Some(bytes) = read_side.read_ahead.next_step(step, size)
            && !read_side.input.is_ready()
        {
            store.prefetch(self.pool, bytes.clone(), &mut scratch.window);
            read_side.read_ahead.advance(&bytes);
        }
    }

    /// Waits for a request and reads it.
    fn read_request(&self, read_side: &mut ReadSide) -> Option<Request> {
        let ReadSide {
            input, spin_wait, ..
        } = read_side;
        let waits = !input.has(Request::LEN);
        if waits {
            let others = || self.context.store.rounds().busy() > 0;
            spin_wait.begin(|| input.is_ready(), others);
        }
        let request = Request::read(input).ok().flatten()?;
        if waits {
            spin_wait.end();
        }
        Some(request)
    }

    /// Looks up the first window of a request that reads.
    fn look_up(&self, action: &Action, window: &mut Window) -> Result<u64, ReadFailure> {
        let store = &self.context.store;
        match action {
            Action::Read { bytes, .. } => store.look_up(bytes.clone(), WINDOW, window),
            _ => Ok(0),
        }
    }

    /// Reads the payload of a request and writes all of it but the last part.
    fn receive_payload(
        &self,
        request: &Request,
        action: &Action,
        read_side: &mut ReadSide,
        scratch: &mut RequestScratch,
    ) -> io::Result<()> {
        let len = request.payload();
        if len == 0 {
            return Ok(());
        }
        if !read_side.input.has(len as usize) {
            self.send(scratch)?;
        }
        let RequestScratch {
            window, payload, ..
        } = scratch;
        let (store, input) = (&self.context.store, &mut read_side.input);
        match action {
            Action::Write { bytes, .. } => payload.receive(input, bytes, |at, part| {
                store.write(self.pool, at, part, window)
            }),
            _ => input.skip(len),
        }
    }

    /// Sends replies that were held back.
    fn send(&self, scratch: &mut RequestScratch) -> io::Result<()> {
        if scratch.reply.is_empty() {
            return Ok(());
        }
        let _output = lock(&self.output);
        scratch.reply.send(self.client.stream(), &[])
    }

    /// Does what a request asks for and replies. `more`: the next request is in memory already.
    fn answer(
        &self,
        active: ActiveRequest<'_>,
        scratch: &mut RequestScratch,
        more: bool,
    ) -> io::Result<()> {
        let responder = Responder {
            context: self.context,
            pool: self.pool,
            stream: self.client.stream(),
            output: &self.output,
            negotiated: &self.negotiated,
            start: self.export.start,
            cookie: active.request.cookie,
            window: &mut scratch.window,
            reply: &mut scratch.reply,
            payload: &mut scratch.payload,
            more,
        };
        let done = responder.handle(active.action, active.looked_up);
        scratch.window.clear();
        let metrics = self.context.store.metrics();
        metrics.latency.record(active.since.elapsed());
        done
    }
}

/// Ends the connection if a thread of it panics. Otherwise the client would wait for its reply for ever.
struct ShutdownOnPanic<'a>(&'a Channel);

impl Drop for ShutdownOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.shutdown(Shutdown::Both);
        }
    }
}
