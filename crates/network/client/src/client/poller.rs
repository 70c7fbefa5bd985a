//! Readiness of many connections and listeners.

use std::fmt;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rustix::event::{EventfdFlags, eventfd};

use super::Shared;
use super::link::Link;
use super::listener::Listener;
use super::wait::{Key, deadline_after, lock};
use crate::flags::fall_asleep;
use crate::slot::{CLOSED, CONNECTED, FINISHED};

/// What is asked about a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interest {
    /// Whether a read, or an accept, would not wait.
    pub readable: bool,
    /// Whether a write would not wait.
    pub writable: bool,
}

/// What is true of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Readiness {
    /// The number that the source was added with.
    pub token: u64,
    /// A read, or an accept, does not wait.
    pub readable: bool,
    /// A write does not wait.
    pub writable: bool,
    /// The connection is over, or the engine is gone. This is told whether it is asked for or not.
    pub closed: bool,
}

/// What a poller can tell of: a connection, one of its halves, or a listener.
pub trait Source: sealed::Source {}

mod sealed {
    pub trait Source {
        fn target(&self) -> super::Target<'_>;
    }
}

pub(super) use sealed::Source as Sealed;

/// What a source is.
pub enum Target<'a> {
    Connection(&'a Arc<Link>),
    Listener(&'a Listener),
}

/// Tells of many sources, again and again while they are ready (level-triggered). A source is in one poller at most, and
/// leaves it when it is dropped.
pub struct Poller {
    shared: Arc<Shared>,
    state: Arc<State>,
    /// Readable when the socket is or `State::own` is.
    epoll: OwnedFd,
}

impl fmt::Debug for Poller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Poller").field(&self.state.number).finish()
    }
}

/// What a poller and the board have.
#[derive(Debug)]
pub struct State {
    pub number: u64,
    /// Sources that may be ready.
    ready: Mutex<Vec<Arc<Watching>>>,
    /// Its file descriptor is waited for.
    pub armed: AtomicBool,
    own: OwnedFd,
}

impl State {
    /// One that nothing waits for, and the file descriptor to wait for.
    pub fn new(shared: &Shared) -> io::Result<(Arc<State>, OwnedFd)> {
        let own = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        let epoll = shared.epoll(&own)?;
        let state = Arc::new(State {
            number: shared.pollers.fetch_add(1, Ordering::Relaxed),
            ready: Mutex::default(),
            armed: AtomicBool::new(false),
            own,
        });
        Ok((state, epoll))
    }

    /// What makes the file descriptor readable.
    pub fn as_fd(&self) -> BorrowedFd<'_> {
        self.own.as_fd()
    }

    /// Its file descriptor is about to be waited for. What is new before that is handed out.
    pub fn arm(&self, shared: &Shared) {
        let mut board = lock(&shared.board);
        if !self.armed.swap(true, Ordering::AcqRel) {
            board.armed += 1;
        }
        fall_asleep(shared.control.application_asleep());
        drop(board);
        shared.dispatch();
    }

    /// Nothing waits for it any more.
    pub fn disarm(&self, shared: &Shared) {
        let mut board = lock(&shared.board);
        if self.armed.swap(false, Ordering::AcqRel) {
            board.armed -= 1;
            drop(board);
            let _ = rustix::io::read(&self.own, &mut [0; 8]);
            shared.look();
            // The rings that it took may have been for others that wait.
            shared.dispatch();
        }
    }

    /// A source may be ready.
    pub fn add(&self, watching: &Arc<Watching>) {
        if !watching.queued.swap(true, Ordering::AcqRel) {
            lock(&self.ready).push(Arc::clone(watching));
        }
        self.wake();
    }

    /// Makes the file descriptor readable.
    pub fn wake(&self) {
        if self.armed.load(Ordering::Acquire) {
            let _ = rustix::io::write(&self.own, &1_u64.to_ne_bytes());
        }
    }
}

/// A source of a poller.
#[derive(Debug)]
pub struct Watching {
    pub poller: Arc<State>,
    place: Place,
    token: u64,
    interest: AtomicU8,
    /// It is among those that may be ready.
    queued: AtomicBool,
    removed: AtomicBool,
}

#[derive(Clone, Copy, Debug)]
enum Place {
    Slot(u32),
    Listener(u32),
}

const READABLE: u8 = 1;
const WRITABLE: u8 = 2;

impl Interest {
    /// Whether a read, or an accept, would not wait.
    pub const READABLE: Interest = Interest {
        readable: true,
        writable: false,
    };
    /// Whether a write would not wait.
    pub const WRITABLE: Interest = Interest {
        readable: false,
        writable: true,
    };
    /// Both.
    pub const BOTH: Interest = Interest {
        readable: true,
        writable: true,
    };

    fn bits(self) -> u8 {
        u8::from(self.readable) * READABLE + u8::from(self.writable) * WRITABLE
    }
}

impl Watching {
    /// What is true of it, if anything that was asked about is.
    fn evaluate(&self, shared: &Shared) -> Option<Readiness> {
        if self.removed.load(Ordering::Acquire) {
            return None;
        }
        let gone = shared.is_gone();
        let (readable, writable, closed) = match self.place {
            Place::Slot(slot) => {
                let state = shared.head(slot).state();
                let closed = gone || state & CLOSED != 0;
                let readable =
                    closed || state & FINISHED != 0 || shared.mapping.available(slot) > 0;
                let writable = closed || state & CONNECTED != 0 && shared.mapping.room(slot) > 0;
                (readable, writable, closed)
            }
            Place::Listener(number) => {
                let board = lock(&shared.board);
                (gone || board.queues.count(number) > 0, false, gone)
            }
        };
        let interest = self.interest.load(Ordering::Relaxed);
        let readiness = Readiness {
            token: self.token,
            readable: readable && interest & READABLE != 0,
            writable: writable && interest & WRITABLE != 0,
            closed,
        };
        (readiness.readable || readiness.writable || closed).then_some(readiness)
    }
}

impl Poller {
    pub(super) fn new(shared: &Arc<Shared>) -> io::Result<Poller> {
        let (state, epoll) = State::new(shared)?;
        Ok(Poller {
            shared: Arc::clone(shared),
            state,
            epoll,
        })
    }

    /// Adds a source, or changes what is asked about it. `token` comes back with what is told.
    ///
    /// # Panics
    /// If the source is of another stack.
    pub fn add(&self, source: &impl Source, token: u64, interest: Interest) {
        let (of, place) = match source.target() {
            Target::Connection(link) => (&link.shared, Place::Slot(link.slot)),
            Target::Listener(listener) => (&listener.shared, Place::Listener(listener.number)),
        };
        assert!(Arc::ptr_eq(of, &self.shared), "a source of this stack");
        let watching = Arc::new(Watching {
            poller: Arc::clone(&self.state),
            place,
            token,
            interest: AtomicU8::new(interest.bits()),
            queued: AtomicBool::new(false),
            removed: AtomicBool::new(false),
        });
        self.state.add(&watching);
        let mut board = lock(&self.shared.board);
        let before = match place {
            Place::Slot(slot) => board.slots.insert(slot, watching),
            Place::Listener(number) => board.listening.insert(number, watching),
        };
        drop(board);
        if let Some(before) = before {
            before.removed.store(true, Ordering::Release);
        }
    }

    /// Removes a source.
    pub fn remove(&self, source: &impl Source) {
        match source.target() {
            Target::Connection(link) => forget(link),
            Target::Listener(listener) => {
                let mut board = lock(&self.shared.board);
                let before = board.listening.remove(&listener.number);
                drop(board);
                if let Some(before) = before {
                    before.removed.store(true, Ordering::Release);
                }
            }
        }
    }

    /// Waits until a source is ready, and puts into `events` what is true of those that are: nothing if that takes longer
    /// than `timeout`.
    ///
    /// # Errors
    /// What the operating system says.
    pub fn wait(&self, events: &mut Vec<Readiness>, timeout: Option<Duration>) -> io::Result<()> {
        events.clear();
        let deadline = timeout.and_then(deadline_after);
        self.disarm();
        loop {
            self.shared.dispatch();
            self.collect(events);
            if !events.is_empty() || timeout.is_some_and(|timeout| timeout.is_zero()) {
                return Ok(());
            }
            if !self.wait_for_news(deadline)? {
                return Ok(());
            }
        }
    }

    /// Puts the tokens of all sources into `tokens` that something is new of since this was last asked, and waits until there
    /// is one: none if that takes longer than `timeout`.
    ///
    /// # Errors
    /// As [`wait`](Poller::wait).
    pub(super) fn changed(
        &self,
        tokens: &mut Vec<u64>,
        timeout: Option<Duration>,
    ) -> io::Result<()> {
        tokens.clear();
        self.shared.dispatch();
        if timeout.is_none_or(|timeout| !timeout.is_zero())
            && !self.wait_for_news(timeout.and_then(deadline_after))?
        {
            return Ok(());
        }
        for watching in lock(&self.state.ready).drain(..) {
            watching.queued.store(false, Ordering::Release);
            if !watching.removed.load(Ordering::Acquire) {
                tokens.push(watching.token);
            }
        }
        Ok(())
    }

    /// Waits until a source may be ready. False if none is until `deadline`.
    fn wait_for_news(&self, deadline: Option<Instant>) -> io::Result<bool> {
        let key = Key::Poller(self.state.number);
        let waited = self.shared.wait(key, deadline, || {
            self.shared.dispatch();
            !lock(&self.state.ready).is_empty()
        });
        match waited {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::TimedOut => Ok(false),
            Err(error) if lock(&self.state.ready).is_empty() => Err(error),
            Err(_) => Ok(true),
        }
    }

    /// Finds out whether the engine has ended in order. Sources are told with the next look.
    pub(super) fn look_for_end(&self) {
        let _ = self.shared.check_engine();
    }

    /// Finds out whether the engine is gone, however it ended.
    pub(super) fn look(&self) {
        self.shared.look();
        self.shared.dispatch();
    }

    fn collect(&self, events: &mut Vec<Readiness>) {
        let candidates = std::mem::take(&mut *lock(&self.state.ready));
        for watching in candidates {
            // Before it is looked at: what comes after that adds it again.
            watching.queued.store(false, Ordering::Release);
            if let Some(readiness) = watching.evaluate(&self.shared) {
                events.push(readiness);
                self.state.add(&watching);
            }
        }
    }

    /// Asks for a wake-up through the file descriptor, which a program that waits with `epoll` or `poll` does before each
    /// wait. False if a source may be ready: then call [`wait`](Poller::wait) first. When the file descriptor is readable,
    /// call `wait`, with a timeout of zero.
    pub fn arm(&self) -> bool {
        self.state.arm(&self.shared);
        let ready = self.shared.is_gone() || !lock(&self.state.ready).is_empty();
        if ready {
            self.disarm();
        }
        !ready
    }

    fn disarm(&self) {
        self.state.disarm(&self.shared);
    }
}

impl AsFd for Poller {
    /// Readable after [`arm`](Poller::arm), when a source may be ready.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.epoll.as_fd()
    }
}

impl Drop for Poller {
    fn drop(&mut self) {
        self.disarm();
        let mut board = lock(&self.shared.board);
        let is_other = |watching: &mut Arc<Watching>| watching.poller.number != self.state.number;
        board.slots.retain(|_, watching| is_other(watching));
        board.listening.retain(|_, watching| is_other(watching));
    }
}

/// A connection leaves its poller.
pub fn forget(link: &Link) {
    let before = lock(&link.shared.board).slots.remove(&link.slot);
    if let Some(before) = before {
        before.removed.store(true, Ordering::Release);
    }
}
