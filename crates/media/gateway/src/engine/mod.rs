//! Sockets, sources and clients of one thread. Engines share nothing while they forward packets.
//!
//! A turn first receives everything that has arrived for all sources. Then it sends to each client of these sources
//! as much as the client takes. So the higher the load, the more is sent in one call.

mod client;
mod directory;
mod handle;
mod http;
mod pace;
mod report;
mod shared;
mod source;
mod timers;
mod wait;

use std::collections::HashMap;
use std::io::{self, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use evener_runtime::io::ThreadMeter;
use slab::Slab;
use tracing::{debug, info};

use client::Client;
use http::request::Refused;
use http::response::Responses;
use pace::Pace;
use report::Reports;
use source::output::{Format, Outputs};
use source::udp::Batch;
use source::{Input, Over, Received, Services, Source, Turn};
use timers::Timers;
use wait::{Ready, Token, Waiter};

pub use directory::Directory;
pub use handle::{Counts, Handle, Message};
pub use http::status::{ClientStatus, SourceStatus};
pub use report::{EngineStatus, Report, ask};
pub use shared::Shared;
pub use source::pools::{NoOrigin, PoolStatus, Pools};
pub use source::prober::Prober;
pub use source::resolve::{Names, Resolved, Resolver};

/// How often clients and sources are looked at that nothing happens to.
const TICK: Duration = Duration::from_millis(100);
/// How often the load of the thread is measured.
const MEASURED: Duration = Duration::from_secs(1);
/// How long a client may take to ask.
const ASKING: Duration = Duration::from_secs(10);
/// How long a client that was refused may take to close its side.
const LINGERING: Duration = Duration::from_secs(1);
/// How long a client may take nothing while something waits for it.
const STUCK: Duration = Duration::from_secs(30);
/// How long a source is silent before the responses end that have it.
const SILENT: Duration = Duration::from_secs(10);
/// How many clients an engine has at most.
const CLIENTS: usize = 20_000;
/// Times that a client is read from in a turn.
const ROUNDS: usize = 4;
/// Bytes of answers that wait before more requests are answered.
const ANSWERS: usize = 64 << 10;
/// How many sources.
const SOURCES: usize = 10_000;
/// Bytes that are read from an origin's connection at a time.
const SCRATCH: usize = 64 << 10;

/// The sources and clients of one thread.
///
/// Most programs use [`session::listen`](crate::session::listen), which starts as many engines as the load needs. To
/// run engines yourself:
///
/// 1. Make what all engines share: [`Access`](crate::access::Access), [`Pools`], a [`Resolver`] and [`Shared`].
/// 2. Start threads that call [`Names::run`], and for pools a thread with a [`Prober`].
/// 3. Create each engine, keep its [`Handle`], and call [`Engine::run`] on a thread of its own.
/// 4. Accept clients, and send each to an engine as [`Message::Connected`].
/// 5. Send [`Message::Stop`] to end an engine. The threads in `Names::run` end with the last engine.
///
/// ```
/// use std::io::{Read, Write};
/// use std::net::{TcpListener, TcpStream};
/// use std::sync::Arc;
/// use std::thread;
///
/// use evener_gateway::access::Access;
/// use evener_gateway::engine::{Engine, Message, Pools, Resolver, Shared};
/// use evener_gateway::session::config::Config;
///
/// let config = Config::default();
/// let access = Arc::new(Access::new(true, config.allow.clone()));
/// let pools = Arc::new(Pools::new(config.members())?);
/// let shared = Arc::new(Shared::new(config, access, pools));
/// let (resolver, names) = Resolver::new();
/// let engine = Engine::new(&shared, resolver)?;
/// let handle = engine.handle();
/// let names = thread::spawn(move || names.run());
/// let running = thread::spawn(|| engine.run());
///
/// let listener = TcpListener::bind("127.0.0.1:0")?;
/// let mut client = TcpStream::connect(listener.local_addr()?)?;
/// let (stream, peer) = listener.accept()?;
/// handle.send(Message::Connected(stream, peer));
/// client.write_all(b"GET /status HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
/// let mut answer = String::new();
/// client.read_to_string(&mut answer)?;
/// assert!(answer.starts_with("HTTP/1.1 200 OK"));
///
/// handle.send(Message::Stop);
/// running.join().unwrap()?;
/// names.join().unwrap();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Engine {
    shared: Arc<Shared>,
    /// Its number among all.
    number: usize,
    handle: Arc<Handle>,
    waiter: Waiter,
    batch: Batch,
    scratch: Vec<u8>,
    services: Services,
    sources: Slab<Source>,
    timers: Timers,
    by_key: HashMap<String, u32>,
    clients: Slab<Client>,
    /// Clients that had more to say than was heard in a turn.
    unheard: Vec<u32>,
    /// Sources that something came for in this turn.
    came: Vec<u32>,
    /// What clients of a source get next.
    places: Vec<(Format, u64)>,
    counts: Counts,
    pace: Pace,
    responses: Responses,
    reports: Reports,
    /// When all is looked at next.
    tick: Instant,
}

impl Engine {
    /// Creates an engine without sources and clients. It resolves names with `resolver`.
    ///
    /// # Errors
    /// The operating system refuses a file descriptor.
    pub fn new(shared: &Arc<Shared>, resolver: Resolver) -> io::Result<Engine> {
        let handle = Arc::new(Handle::new()?);
        let waiter = Waiter::new()?;
        waiter.add(Token::Inbox, handle.as_fd())?;
        let now = Instant::now();
        Ok(Engine {
            shared: shared.clone(),
            number: shared.directory.add(handle.clone()),
            services: Services {
                access: shared.access.clone(),
                pools: shared.pools.clone(),
                resolver,
                handle: handle.clone(),
                ticket: 0,
            },
            handle,
            waiter,
            batch: Batch::new(),
            scratch: vec![0; SCRATCH],
            sources: Slab::new(),
            timers: Timers::default(),
            by_key: HashMap::new(),
            clients: Slab::new(),
            unheard: Vec::new(),
            came: Vec::new(),
            places: Vec::new(),
            counts: Counts::default(),
            pace: Pace::new(now),
            responses: Responses {
                cross_origin: shared.config.cross_origin,
            },
            reports: Reports::new(now),
            tick: now + TICK,
        })
    }

    /// The handle for other threads.
    pub fn handle(&self) -> Arc<Handle> {
        self.handle.clone()
    }

    /// Forwards packets until [`Message::Stop`].
    ///
    /// # Errors
    /// The operating system cannot wait for sockets.
    pub fn run(mut self) -> io::Result<()> {
        let mut ready: Vec<Ready> = Vec::new();
        let mut meter = ThreadMeter::of_this_thread();
        let mut look = Instant::now() + MEASURED;
        loop {
            let now = Instant::now();
            let due = self.timers.next().map_or(self.tick, |at| at.min(self.tick));
            let timeout = match self.unheard.is_empty() {
                true => due.saturating_duration_since(now),
                false => Duration::ZERO,
            };
            ready.clear();
            self.waiter.wait(timeout, &mut ready)?;
            let now = Instant::now();
            for number in std::mem::take(&mut self.unheard) {
                let token = Token::Client(number);
                let ready = Ready {
                    token,
                    readable: true,
                    writable: false,
                };
                self.hear(number, ready, now);
            }
            for &ready in &ready {
                match ready.token {
                    Token::Inbox => {
                        for message in self.handle.take() {
                            match message {
                                Message::Connected(stream, peer) => {
                                    self.connected(stream, peer, now)
                                }
                                Message::Resolved(resolved) => {
                                    self.turn(resolved.source, now, |input, turn| {
                                        input.resolved(resolved, turn)
                                    });
                                }
                                Message::HandedOver(client) => self.handed_over(*client, now),
                                Message::Report(reply) => (reply.0)(self.part()),
                                Message::Reported(question, part) => {
                                    self.reported(question, *part, now)
                                }
                                Message::Stop => {
                                    self.end(now);
                                    return Ok(());
                                }
                            }
                        }
                    }
                    Token::Source(number, socket) => {
                        self.turn(number, now, |input, turn| input.ready(socket, ready, turn));
                    }
                    Token::Client(number) => self.hear(number, ready, now),
                }
            }
            if now >= due {
                self.advance(now);
            }
            self.send_what_came(now);
            self.counts.sources = self.sources.len() as u64;
            self.handle.publish(&self.counts);
            if now >= look {
                self.handle.publish_load(meter.look());
                look = now + MEASURED;
            }
            if let Some(next) = self.pace.turn(now) {
                thread::sleep(next.saturating_duration_since(Instant::now()));
            }
        }
    }

    /// All responses end.
    fn end(&mut self, now: Instant) {
        let sources: Vec<u32> = self
            .sources
            .iter()
            .map(|(number, _)| number as u32)
            .collect();
        sources.into_iter().for_each(|number| {
            self.end_source(number, Refused::busy("the gateway ends").into(), now);
        });
        self.end_reports(now);
        self.handle.publish(&self.counts);
    }

    fn connected(&mut self, stream: TcpStream, peer: SocketAddr, now: Instant) {
        if self.clients.len() >= CLIENTS {
            info!("{peer} is refused: there are too many clients");
            let refused = Refused::busy(format!("there are {CLIENTS} clients already"));
            // What a new socket does not take, it does not get.
            let _ = (&stream).write(&self.responses.refused(&refused, true));
            return;
        }
        let entry = self.clients.vacant_entry();
        let token = Token::Client(entry.key() as u32);
        let client = Client::new(stream, peer, now).and_then(|client| {
            self.waiter
                .add_connection(token, client.stream())
                .map(|()| client)
        });
        match client {
            Ok(client) => drop(entry.insert(client)),
            Err(error) => debug!("{peer} is gone: {error}"),
        }
    }

    /// Lets the input of a source do something, and sees to what came of it.
    fn turn(
        &mut self,
        number: u32,
        now: Instant,
        act: impl FnOnce(&mut dyn Input, &mut Turn<'_>) -> Result<(), Over>,
    ) {
        let Some(source) = self.sources.get_mut(number as usize) else {
            return;
        };
        let (bytes, chunks) = (source.received.bytes, source.outputs.pushed());
        let (input, outputs, received) = source.split();
        let mut turn = Turn {
            now,
            number,
            waiter: &self.waiter,
            batch: &mut self.batch,
            scratch: &mut self.scratch,
            services: &mut self.services,
            outputs,
            received,
        };
        let result = act(input, &mut turn);
        self.counts.bytes_in += source.received.bytes - bytes;
        // What is not of the stream keeps no source open.
        let came = source.outputs.pushed() - chunks;
        if came > 0 {
            self.pace.came(came, source.clients.len());
            source.heard = now;
            if !std::mem::replace(&mut source.has_news, true) {
                self.came.push(number);
            }
        }
        if let Some(at) = source.deadline()
            && source.scheduled.is_none_or(|scheduled| at < scheduled)
        {
            source.scheduled = Some(at);
            self.timers.add(at, number);
        }
        match result {
            Ok(()) if source.waiting.is_empty() => {}
            Ok(()) => self.begin_responses(number, now),
            Err(over) => self.end_source(number, over, now),
        }
    }

    fn hear(&mut self, number: u32, ready: Ready, now: Instant) {
        let Some(client) = self.clients.get_mut(number as usize) else {
            return;
        };
        if ready.writable {
            client.has_room();
        }
        let mut readable = ready.readable || client.has_more;
        self.send(number, now);
        // As long as something is answered. What waits for room is told of when there is some.
        for _ in 0..ROUNDS {
            let Some(client) = self.clients.get_mut(number as usize) else {
                return;
            };
            if readable && !client.read().unwrap_or(false) {
                return self.forget(number);
            }
            let before = client.head.len();
            self.answer(number, now);
            self.send(number, now);
            let Some(client) = self.clients.get_mut(number as usize) else {
                return;
            };
            if client.head.len() == before {
                // All that it asked for is answered, or waits for room.
                client.ends |= client.has_closed
                    && client.watching.is_none()
                    && client.asked.is_none()
                    && client.asks.is_none()
                    && client.outgoing.len() < ANSWERS;
                return self.send(number, now);
            }
            readable = client.has_more;
        }
        self.unheard.push(number);
    }

    /// Sends to a client what it takes.
    fn send(&mut self, number: u32, now: Instant) {
        let Some(client) = self.clients.get_mut(number as usize) else {
            return;
        };
        let recent = client.watching.as_ref().and_then(|watching| {
            let source = self.sources.get(watching.source as usize)?;
            Some(&source.outputs.get(watching.format)?.recent)
        });
        let before = client.taken;
        let goes_on = client.send(recent, now, self.shared.config.lag);
        self.counts.bytes_out += client.taken - before;
        // A client that is refused reads why only if what it says further is read (RFC 9112, section 9.6).
        if !goes_on.unwrap_or(false) && !client.linger(now) {
            self.forget(number);
        }
    }

    fn send_what_came(&mut self, now: Instant) {
        for number in std::mem::take(&mut self.came) {
            let Some(source) = self.sources.get_mut(number as usize) else {
                continue;
            };
            source.has_news = false;
            // Clients may go, and others come, meanwhile.
            let clients = std::mem::take(&mut source.clients);
            for &client in &clients {
                self.send(client, now);
            }
            if let Some(source) = self.sources.get_mut(number as usize) {
                let joined = std::mem::replace(&mut source.clients, clients);
                source.clients.extend(joined);
                self.places.clear();
                source.clients.retain(|&client| {
                    let client = self.clients.get(client as usize);
                    let watching = client.and_then(|client| client.watching.as_ref());
                    let watching = watching.filter(|watching| watching.source == number);
                    (self.places)
                        .extend(watching.map(|watching| (watching.format, watching.next())));
                    watching.is_some()
                });
                // Those that wait begin with what has come, if there are no key pictures.
                if !source.clients.is_empty() || source.waiting.is_empty() {
                    source.outputs.taken(&self.places);
                }
            }
        }
    }

    /// Does what is due.
    fn advance(&mut self, now: Instant) {
        let mut due = Vec::new();
        while let Some((at, number)) = self.timers.take(now) {
            if let Some(source) = self.sources.get_mut(number as usize)
                && source.scheduled == Some(at)
            {
                source.scheduled = None;
                due.push(number);
            }
        }
        for number in due {
            self.turn(number, now, |input, turn| input.advance(turn));
        }
        if now < self.tick {
            return;
        }
        self.tick = now + TICK;
        self.advance_reports(now);
        let (mut over, mut unfinished) = (Vec::new(), Vec::new());
        for (number, client) in &mut self.clients {
            let idle = now.saturating_duration_since(client.active);
            let limit = match (&client.watching, client.outgoing.is_empty()) {
                _ if client.is_over() => Some(LINGERING),
                (None, true) if client.asked.is_some() || client.asks.is_some() => None,
                (None, true) => Some(ASKING),
                (_, false) => Some(STUCK),
                (Some(_), true) => None,
            };
            if limit.is_some_and(|limit| idle > limit) {
                match limit == Some(ASKING) && !client.head.is_empty() && !client.ends {
                    true => unfinished.push(number as u32),
                    false => over.push(number as u32),
                }
                continue;
            }
            let recent = client.watching.as_ref().and_then(|watching| {
                let source = self.sources.get(watching.source as usize)?;
                Some(&source.outputs.get(watching.format)?.recent)
            });
            if let Some(recent) = recent {
                client.fall_back(recent, now, self.shared.config.lag);
            }
        }
        over.into_iter().for_each(|number| self.forget(number));
        for number in unfinished {
            self.refuse(number, &Refused::timeout(ASKING.as_secs()), true);
            self.send(number, now);
        }
        let (mut silent, mut unused, mut waiting) = (Vec::new(), Vec::new(), Vec::new());
        for (number, source) in &mut self.sources {
            let is_silent = now.saturating_duration_since(source.heard) > SILENT;
            if is_silent && !source.clients.is_empty() {
                silent.push(number as u32);
            } else if source.is_unused(now) {
                unused.push(number as u32);
            } else if !source.waiting.is_empty() {
                waiting.push(number as u32);
            }
        }
        for number in silent {
            let text = format!("nothing came for {} s", SILENT.as_secs());
            self.end_source(number, Refused::late(text).into(), now);
        }
        for number in unused {
            if let Some(source) = self.sources.get_mut(number as usize) {
                source.leaves = true;
                self.by_key.remove(&source.key);
                self.shared.directory.remove(&source.key, self.number);
            }
            self.turn(number, now, |input, turn| input.leave(turn));
        }
        for number in waiting {
            self.begin_responses(number, now);
        }
    }

    /// A source is over, and with it what its clients get.
    fn end_source(&mut self, source_number: u32, over: Over, now: Instant) {
        if let Some(source) = self.sources.get_mut(source_number as usize) {
            source.ends = true;
            self.begin_responses(source_number, now);
        }
        let Some(source) = self.sources.get_mut(source_number as usize) else {
            return;
        };
        let is_whole = matches!(over, Over::Ended);
        // What came last.
        for number in std::mem::take(&mut source.clients) {
            self.send(number, now);
            let source = self.sources.get(source_number as usize);
            if let Some(client) = self.clients.get_mut(number as usize) {
                let output = source.zip(client.watching.as_ref());
                let output =
                    output.and_then(|(source, watching)| source.outputs.get(watching.format));
                let recent = output.map(|output| &output.recent);
                client.finish(recent, is_whole, now, self.shared.config.lag);
                self.counts.watching -= 1;
            }
            self.send(number, now);
        }
        let source = self.sources.remove(source_number as usize);
        if !source.leaves {
            self.by_key.remove(&source.key);
            self.shared.directory.remove(&source.key, self.number);
        }
        let refused = match over {
            Over::Failed(refused) => refused,
            Over::Ended => Refused::bad_gateway(format!("{}: the stream has ended", source.name)),
        };
        info!("{} ends: {refused}", source.name);
        for number in source.waiting {
            if let Some(client) = self.clients.get_mut(number as usize) {
                client.asked = None;
                self.refuse(number, &refused, true);
                self.send(number, now);
            }
        }
    }

    fn forget(&mut self, number: u32) {
        let Some(client) = self.clients.try_remove(number as usize) else {
            return;
        };
        let asked = client.asked.map(|asked| asked.source);
        if let Some(source) = asked.and_then(|source| self.sources.get_mut(source as usize)) {
            source.waiting.retain(|&other| other != number);
        }
        let watched = client.watching.map(|watching| watching.source);
        if let Some(source) = watched.and_then(|source| self.sources.get_mut(source as usize)) {
            source.clients.retain(|&other| other != number);
            self.counts.watching -= 1;
        }
    }

    /// The source of that name and key, which is opened if it is not there.
    fn source(
        &mut self,
        (name, key): (String, String),
        now: Instant,
        open: impl FnOnce(&mut Turn<'_>) -> Result<Box<dyn Input>, Refused>,
    ) -> Result<u32, Refused> {
        if let Some(&number) = self.by_key.get(&key) {
            return Ok(number);
        }
        if self.sources.len() >= SOURCES {
            return Err(Refused::busy(format!(
                "there are {SOURCES} sources already"
            )));
        }
        let entry = self.sources.vacant_entry();
        let number = entry.key() as u32;
        let input = open(&mut Turn {
            now,
            number,
            waiter: &self.waiter,
            batch: &mut self.batch,
            scratch: &mut self.scratch,
            services: &mut self.services,
            outputs: &mut Outputs::default(),
            received: &mut Received::default(),
        })?;
        entry.insert(Source::new(name, key.clone(), input, now));
        self.by_key.insert(key, number);
        self.turn(number, now, |_, _| Ok(()));
        Ok(number)
    }
}
