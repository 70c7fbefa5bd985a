//! How threads of an application wait, and how what the engine says reaches them.
//!
//! A thread spins for a while. Then one of those that wait, the *leader*, sleeps at the socket; the others park. Whatever
//! the leader is woken for, it hands out: it unparks the threads that wait for it. A leader that has what it waited for
//! makes another thread the leader. The README beside `application/mod.rs` says why no wake-up is lost.

use std::collections::HashMap;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::Shared;
use super::poller::{State, Watching};
use super::queues::Queues;
use crate::flags::fall_asleep;
use crate::handshake::answer;
use crate::slot::MOVED;

/// Looks between two readings of the clock.
const LOOKS: u32 = 64;

/// What a thread waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Key {
    /// Something about the connection of a slot.
    Slot(u32),
    /// A connection of a listener.
    Listener(u32),
    /// A reply.
    Reply,
    /// A poller, by its number.
    Poller(u64),
}

/// What the threads of an application know of each other, and of its connections.
#[derive(Debug, Default)]
pub struct Board {
    leader: bool,
    waiters: HashMap<Key, Vec<Thread>>,
    /// The last generation that was seen of each slot.
    generations: HashMap<u32, u32>,
    /// Connections that were not taken.
    pub queues: Queues,
    pub slots: HashMap<u32, Arc<Watching>>,
    pub listening: HashMap<u32, Arc<Watching>>,
    /// Pollers whose file descriptors are waited for.
    pub armed: usize,
    /// What is woken by anything that is published.
    pub alarms: Vec<Arc<State>>,
}

impl Board {
    fn unpark(&self, key: Key) {
        if let Some(threads) = self.waiters.get(&key) {
            threads.iter().for_each(Thread::unpark);
        }
    }

    pub fn ring_alarms(&self) {
        self.alarms.iter().for_each(|alarm| alarm.wake());
    }

    /// A connection that this application has from a reply.
    pub fn opened(&mut self, slot: u32, generation: u32) {
        self.generations.insert(slot, generation);
    }
}

/// Locks a mutex, poisoned or not: what it guards is consistent at every point at which anything panics.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The end of a wait that begins now; none for one that is for ever, or too long for the clock.
pub fn deadline_after(timeout: Duration) -> Option<Instant> {
    Instant::now().checked_add(timeout)
}

impl Shared {
    /// Waits until `ready`. `ready` is called at any time and must not wait.
    ///
    /// # Errors
    /// `TimedOut` at the deadline, `ConnectionReset` when the engine is gone.
    pub fn wait(
        &self,
        key: Key,
        deadline: Option<Instant>,
        mut ready: impl FnMut() -> bool,
    ) -> io::Result<()> {
        if self.spin(deadline, &mut ready) {
            return Ok(());
        }
        let me = thread::current();
        let mut board = lock(&self.board);
        board.waiters.entry(key).or_default().push(me.clone());
        drop(board);
        let result = self.wait_asleep(deadline, &mut ready);
        let mut board = lock(&self.board);
        if let Some(threads) = board.waiters.get_mut(&key) {
            if let Some(own) = threads.iter().position(|thread| thread.id() == me.id()) {
                threads.swap_remove(own);
            }
            if threads.is_empty() {
                board.waiters.remove(&key);
            }
        }
        if !board.leader
            && let Some(next) = board.waiters.values().flatten().next()
        {
            next.unpark();
        }
        result
    }

    fn wait_asleep(
        &self,
        deadline: Option<Instant>,
        ready: &mut dyn FnMut() -> bool,
    ) -> io::Result<()> {
        loop {
            if ready() {
                return Ok(());
            }
            self.check_engine()?;
            let left = deadline.map(|end| end.saturating_duration_since(Instant::now()));
            if left.is_some_and(|left| left.is_zero()) {
                return Err(io::ErrorKind::TimedOut.into());
            }
            let leads = !std::mem::replace(&mut lock(&self.board).leader, true);
            if leads {
                self.sleep(left, ready);
                lock(&self.board).leader = false;
                self.dispatch();
            } else {
                match left {
                    Some(left) => thread::park_timeout(left),
                    None => thread::park(),
                }
            }
        }
    }

    /// Looks until `ready`, or until it has spun for as long as it may.
    fn spin(&self, deadline: Option<Instant>, ready: &mut dyn FnMut() -> bool) -> bool {
        if ready() {
            return true;
        }
        let budget = Duration::from_nanos(self.spin_nanos.load(Ordering::Relaxed));
        let end = deadline_after(budget).into_iter().chain(deadline).min();
        while end.is_none_or(|end| Instant::now() < end) && !self.is_gone() {
            for _ in 0..LOOKS {
                if ready() {
                    return true;
                }
                std::hint::spin_loop();
            }
            // What is waited for may need this processor.
            thread::yield_now();
        }
        false
    }

    /// Sleeps until the engine rings, unless something is new.
    fn sleep(&self, left: Option<Duration>, ready: &mut dyn FnMut() -> bool) {
        fall_asleep(self.control.application_asleep());
        if !self.has_news() && !ready() {
            let timeout = left.map(|left| Timespec::try_from(left).unwrap_or_default());
            let mut fds = [PollFd::new(&self.socket, PollFlags::IN)];
            let _ = poll(&mut fds, timeout.as_ref());
        }
        if !answer(&self.socket) {
            self.mark_gone();
        }
        let board = lock(&self.board);
        let asleep = self.control.application_asleep();
        match board.armed {
            0 => asleep.store(0, Ordering::Relaxed),
            // A poller sleeps elsewhere, and what woke this thread may have been for it.
            _ => fall_asleep(asleep),
        }
    }

    /// Takes rings of the socket, unless a leader sleeps there, which they are to wake; and finds out whether the engine is
    /// gone.
    pub fn look(&self) {
        // No thread becomes the leader meanwhile.
        let board = lock(&self.board);
        let there = board.leader || answer(&self.socket);
        drop(board);
        if !there {
            self.mark_gone();
        }
    }

    /// The engine is gone: all that wait hear of it.
    pub fn mark_gone(&self) {
        if self.gone.swap(true, Ordering::AcqRel) {
            return;
        }
        let board = lock(&self.board);
        for watching in board.slots.values().chain(board.listening.values()) {
            watching.poller.add(watching);
        }
        board.ring_alarms();
        board.waiters.values().flatten().for_each(Thread::unpark);
    }

    /// Whether the engine has published something that was not handed out.
    fn has_news(&self) -> bool {
        self.control.ready().any()
            || self.control.replied().load(Ordering::Relaxed)
                != self.replies_seen.load(Ordering::Relaxed)
    }

    /// Hands out what the engine has published.
    pub fn dispatch(&self) {
        if !self.has_news() {
            return;
        }
        let mut board = lock(&self.board);
        board.ring_alarms();
        loop {
            let replied = self.control.replied().load(Ordering::Acquire);
            if self.replies_seen.swap(replied, Ordering::Relaxed) != replied {
                board.unpark(Key::Reply);
            }
            let board = &mut *board;
            self.control.ready().take(|slot| {
                if slot < self.mapping.slots().count {
                    self.dispatch_slot(board, slot);
                }
            });
            // A poller sleeps elsewhere.
            if board.armed == 0 {
                break;
            }
            fall_asleep(self.control.application_asleep());
            if !self.has_news() {
                break;
            }
        }
    }

    fn dispatch_slot(&self, board: &mut Board, slot: u32) {
        let head = self.head(slot);
        let generation = head.generation();
        let known = board.generations.get(&slot) == Some(&generation);
        if !known
            && generation != 0
            && let Some(listener) = head.listener()
        {
            board.generations.insert(slot, generation);
            board.queues.add(listener, slot);
            if head.state() & MOVED != 0 {
                board.queues.moved(slot);
            }
            board.unpark(Key::Listener(listener));
            if let Some(watching) = board.listening.get(&listener) {
                watching.poller.add(watching);
                board.unpark(Key::Poller(watching.poller.number));
            }
            return;
        }
        if head.state() & MOVED != 0 {
            board.queues.moved(slot);
        }
        board.unpark(Key::Slot(slot));
        if let Some(watching) = board.slots.get(&slot) {
            watching.poller.add(watching);
            board.unpark(Key::Poller(watching.poller.number));
        }
    }

    /// A file descriptor that tells of what `dispatch` hands out, together with the socket.
    pub fn epoll(&self, own: &OwnedFd) -> io::Result<OwnedFd> {
        use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        let data = EventData::new_u64(0);
        epoll::add(&epoll, &self.socket, data, EventFlags::IN)?;
        epoll::add(&epoll, own, data, EventFlags::IN)?;
        Ok(epoll)
    }
}
