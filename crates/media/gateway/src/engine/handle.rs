//! What other threads have of an engine: they hand it messages, and see what it counts.

use std::fmt;
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use evener_files::lock;
use evener_runtime::io::ThreadLoad;
use rustix::event::{EventfdFlags, eventfd};
use serde::Serialize;

use crate::engine::client::Client;
use crate::engine::report::Part;
use crate::engine::source::resolve::Resolved;

/// What an engine is told.
#[derive(Debug)]
pub enum Message {
    /// A client has connected.
    Connected(TcpStream, SocketAddr),
    /// A name that it asked for has these addresses.
    Resolved(Resolved),
    /// A client of another engine asks for a source that this one has or opens.
    HandedOver(Box<Client>),
    /// Another thread asks how it is doing.
    Report(Reply),
    /// What another engine says to a question of this one, by its number.
    Reported(u64, Box<Part>),
    /// It ends.
    Stop,
}

/// Takes what an engine says of itself.
pub struct Reply(pub(super) Box<dyn FnOnce(Part) + Send>);

impl fmt::Debug for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Reply")
    }
}

/// Thousandths of a thread's time that count as a source which is not measured yet.
const COARSE: u32 = 10;
/// How many numbers [`Counts`] has.
const COUNTS: usize = 7;

/// What an engine did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Requests that were answered.
    pub requests: u64,
    /// Requests that were refused.
    pub refused: u64,
    /// Responses that were streams.
    pub streams: u64,
    /// Sources that are open now.
    pub sources: u64,
    /// Clients that get a stream now.
    pub watching: u64,
    /// Bytes of datagrams.
    pub bytes_in: u64,
    /// Bytes that clients took.
    pub bytes_out: u64,
}

impl Counts {
    /// Of both.
    pub fn and(self, other: Counts) -> Counts {
        let (a, b) = (self.all(), other.all());
        Counts::of(std::array::from_fn(|at| a[at] + b[at]))
    }

    fn all(&self) -> [u64; COUNTS] {
        [
            self.requests,
            self.refused,
            self.streams,
            self.sources,
            self.watching,
            self.bytes_in,
            self.bytes_out,
        ]
    }

    fn of(
        [
            requests,
            refused,
            streams,
            sources,
            watching,
            bytes_in,
            bytes_out,
        ]: [u64; COUNTS],
    ) -> Counts {
        Counts {
            requests,
            refused,
            streams,
            sources,
            watching,
            bytes_in,
            bytes_out,
        }
    }
}

/// Messages, a file descriptor that is readable when there are some, and the counts of the last turn.
#[derive(Debug)]
pub struct Handle {
    messages: Mutex<Vec<Message>>,
    bell: OwnedFd,
    counts: [AtomicU64; COUNTS],
    /// Shares of its thread's time, in thousandths.
    busy: AtomicU32,
    waited: AtomicU32,
    /// Sources that were given to it since its load was measured.
    placed: AtomicU32,
}

impl Handle {
    pub(super) fn new() -> io::Result<Handle> {
        let flags = EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC;
        Ok(Handle {
            messages: Mutex::new(Vec::new()),
            bell: eventfd(0, flags)?,
            counts: Default::default(),
            busy: AtomicU32::new(0),
            waited: AtomicU32::new(0),
            placed: AtomicU32::new(0),
        })
    }

    /// Adds a message, and wakes the engine.
    pub fn send(&self, message: Message) {
        self.messages
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(message);
        // If the counter is full, the engine is awake anyway.
        let _ = rustix::io::write(&self.bell, &1u64.to_ne_bytes());
    }

    /// What it did so far.
    pub fn counts(&self) -> Counts {
        Counts::of(
            self.counts
                .each_ref()
                .map(|count| count.load(Ordering::Relaxed)),
        )
    }

    /// What its thread did with its time of late.
    pub fn load(&self) -> ThreadLoad {
        let share = |of: &AtomicU32| f64::from(of.load(Ordering::Relaxed)) / 1000.0;
        ThreadLoad {
            busy: share(&self.busy),
            waited: share(&self.waited),
        }
    }

    pub(super) fn publish_load(&self, load: ThreadLoad) {
        let thousandths = |share: f64| (share * 1000.0) as u32;
        self.busy.store(thousandths(load.busy), Ordering::Relaxed);
        self.waited
            .store(thousandths(load.waited), Ordering::Relaxed);
        self.placed.store(0, Ordering::Relaxed);
    }

    /// A source is given to it.
    pub(super) fn place(&self) {
        self.placed.fetch_add(1, Ordering::Relaxed);
    }

    /// How little room it has, to be compared: its load and what was added since, and then its sources.
    pub(super) fn weight(&self) -> (u32, u64) {
        let placed = self.placed.load(Ordering::Relaxed);
        let busy = self.busy.load(Ordering::Relaxed) / COARSE;
        (busy + placed, self.counts().sources)
    }

    /// All messages that have come.
    pub(super) fn take(&self) -> Vec<Message> {
        let _ = rustix::io::read(&self.bell, &mut [0; 8]);
        let mut messages = lock(&self.messages);
        std::mem::take(&mut messages)
    }

    pub(super) fn publish(&self, counts: &Counts) {
        for (to, from) in self.counts.iter().zip(counts.all()) {
            to.store(from, Ordering::Relaxed);
        }
    }
}

impl AsFd for Handle {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }
}
