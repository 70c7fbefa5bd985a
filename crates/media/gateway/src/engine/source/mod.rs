//! Where a stream comes from, and what of it clients may still want.

pub(super) mod input;
pub(super) mod join;
pub(super) mod output;
pub(super) mod pooled;
pub(super) mod pools;
pub(super) mod prober;
pub(super) mod recent;
pub(super) mod resolve;
pub(super) mod rtsp;
pub(super) mod udp;

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use rustix::rand::{GetRandomFlags, getrandom};

use crate::access::Access;
use crate::engine::handle::Handle;
use crate::engine::http::request::Refused;
use crate::engine::http::status::SourceStatus;
use crate::engine::source::output::{Format, Output, Outputs};
use crate::engine::source::pools::Pools;
use crate::engine::source::resolve::{Resolved, Resolver};
use crate::engine::source::udp::Batch;
use crate::engine::wait::{Ready, Waiter};

/// What brings a stream. To add a kind: a file of its own, and a place where requests ask for it.
pub trait Input: Send {
    /// A socket is ready. Which one it is was said when it was added to the waiter.
    ///
    /// # Errors
    /// [`Over`] if nothing comes any more.
    fn ready(&mut self, socket: u8, ready: Ready, turn: &mut Turn<'_>) -> Result<(), Over>;

    /// Does what is due.
    ///
    /// # Errors
    /// [`Over`] if nothing comes any more.
    fn advance(&mut self, turn: &mut Turn<'_>) -> Result<(), Over>;

    /// When [`advance`](Input::advance) is due.
    fn deadline(&self) -> Option<Instant>;

    /// The addresses of a name that was asked for.
    ///
    /// # Errors
    /// [`Over`] if nothing comes any more.
    fn resolved(&mut self, _: Resolved, _: &mut Turn<'_>) -> Result<(), Over> {
        Ok(())
    }

    /// Whether a client can begin. False if it is not known yet.
    ///
    /// # Errors
    /// The stream cannot be had in that format.
    fn begins(&self, format: Format, outputs: &Outputs) -> Result<bool, Refused>;

    /// Whether key pictures are to be expected.
    fn may_have_keys(&self) -> bool;

    /// What a client needs of a transport stream before it begins.
    fn tables(&self) -> Bytes;

    /// How long it goes on without clients.
    fn grace(&self) -> Duration {
        Duration::ZERO
    }

    /// Says to the origin that nothing is wanted any more. What is left to do is done by [`advance`](Input::advance).
    ///
    /// # Errors
    /// [`Over`] if nothing is left to do.
    fn leave(&mut self, _: &mut Turn<'_>) -> Result<(), Over> {
        Err(Over::Ended)
    }

    /// Adds what it knows.
    fn status(&self, status: &mut SourceStatus);
}

/// Why nothing comes any more.
#[derive(Debug)]
pub enum Over {
    /// The stream has ended: the origin says so.
    Ended,
    /// There is none. Clients whose response has begun see that it is cut off.
    Failed(Refused),
}

impl From<Refused> for Over {
    fn from(refused: Refused) -> Over {
        Over::Failed(refused)
    }
}

/// What an engine has for all its sources.
pub struct Services {
    /// What may be connected to.
    pub access: Arc<Access>,
    /// Origins that have the same streams.
    pub pools: Arc<Pools>,
    /// Where names become addresses.
    pub resolver: Resolver,
    /// Where the answers go.
    pub handle: Arc<Handle>,
    /// The last ticket that was given out.
    pub ticket: u64,
}

/// What a source has while it does something.
pub struct Turn<'a> {
    pub now: Instant,
    /// The number of the source.
    pub number: u32,
    pub waiter: &'a Waiter,
    pub batch: &'a mut Batch,
    /// For what comes on a connection.
    pub scratch: &'a mut [u8],
    pub services: &'a mut Services,
    /// Where the stream goes.
    pub outputs: &'a mut Outputs,
    pub received: &'a mut Received,
}

/// What came.
#[derive(Clone, Copy, Debug, Default)]
pub struct Received {
    /// Datagrams, or frames of a connection.
    pub packets: u64,
    pub bytes: u64,
}

/// A stream and its clients.
pub struct Source {
    /// What it is called.
    pub name: String,
    /// What clients ask for that get it.
    pub key: String,
    input: Box<dyn Input>,
    pub outputs: Outputs,
    /// The numbers of those that get it.
    pub clients: Vec<u32>,
    /// The numbers of those whose response has not begun.
    pub waiting: Vec<u32>,
    /// When something came last, or when it began.
    pub heard: Instant,
    pub received: Received,
    /// Since when there are no clients.
    pub unused: Option<Instant>,
    /// Nothing more comes: what waits begins with what there is.
    pub ends: bool,
    /// The origin was told that nothing is wanted; no client comes any more.
    pub leaves: bool,
    /// It has chunks that were not offered to its clients.
    pub has_news: bool,
    /// Its time in the timers.
    pub scheduled: Option<Instant>,
}

impl Services {
    /// Another number for each question.
    pub fn next_ticket(&mut self) -> u64 {
        self.ticket += 1;
        self.ticket
    }
}

/// A number that cannot be guessed.
pub fn random() -> u64 {
    let mut bytes = [0; 8];
    // So few bytes come at once, or not at all where the system is older than the call.
    match getrandom(&mut bytes, GetRandomFlags::empty()) {
        Ok(_) => u64::from_ne_bytes(bytes),
        Err(_) => 0,
    }
}

impl Source {
    /// A source without clients.
    pub fn new(name: String, key: String, input: Box<dyn Input>, now: Instant) -> Source {
        Source {
            name,
            key,
            input,
            outputs: Outputs::default(),
            clients: Vec::new(),
            waiting: Vec::new(),
            heard: now,
            received: Received::default(),
            unused: None,
            ends: false,
            leaves: false,
            has_news: false,
            scheduled: None,
        }
    }

    /// Its input, with where the stream goes.
    pub fn split(&mut self) -> (&mut dyn Input, &mut Outputs, &mut Received) {
        (&mut *self.input, &mut self.outputs, &mut self.received)
    }

    /// When its input has something to do.
    pub fn deadline(&self) -> Option<Instant> {
        self.input.deadline()
    }

    /// Whether it is to be told that it has no clients.
    pub fn is_unused(&mut self, now: Instant) -> bool {
        if !self.clients.is_empty() || !self.waiting.is_empty() || self.leaves {
            self.unused = None;
            return false;
        }
        let since = *self.unused.get_or_insert(now);
        now.saturating_duration_since(since) >= self.input.grace()
    }

    /// Whether a client can begin; see [`Input::begins`].
    ///
    /// # Errors
    /// The stream cannot be had in that format.
    pub fn begins(&self, format: Format) -> Result<bool, Refused> {
        self.input.begins(format, &self.outputs)
    }

    /// Whether a client that waits for a key picture waits for something; see [`Input::may_have_keys`].
    pub fn may_have_keys(&self) -> bool {
        self.input.may_have_keys()
    }

    /// The number of the chunk that a client begins with, and what it needs before it. `early` says that there was no
    /// client before: what came first is still there.
    pub fn beginning(&self, output: &Output, early: bool) -> (u64, Bytes) {
        let (recent, beginning) = (&output.recent, output.beginning());
        match beginning {
            None if early && !recent.has_keys() => (recent.oldest(), Bytes::new()),
            // Tables are in it.
            None if early && recent.start() == 0 => (0, Bytes::new()),
            None => (recent.start(), self.input.tables()),
            Some(beginning) => (recent.start(), beginning),
        }
    }

    /// What is known of it.
    pub fn status(&self) -> SourceStatus {
        let mut status = SourceStatus {
            name: self.name.clone(),
            clients: self.clients.len(),
            waiting: self.waiting.len(),
            datagrams: self.received.packets,
            bytes: self.received.bytes,
            kept_bytes: self.outputs.bytes(),
            ..SourceStatus::default()
        };
        self.input.status(&mut status);
        status
    }
}
