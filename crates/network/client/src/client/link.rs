//! What the halves of a connection have, and sockets of UDP.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use super::Shared;
use super::poller::forget;
use super::wait::{Key, deadline_after};
use crate::SocketId;
use crate::entry::Request;
use crate::memory::Mapping;
use crate::slot::{Head, MOVED};

/// Failed non-blocking operations after which one looks whether the engine is gone.
const LOOK_EVERY: u32 = 1024;

/// What both halves have, and any thread may use beside them. The connection is closed when the last of them is dropped.
#[derive(Debug)]
pub struct Link {
    pub(super) shared: Arc<Shared>,
    pub(super) slot: u32,
    pub(super) id: SocketId,
    pub(super) head: Head,
    pub(super) blocking: AtomicBool,
    /// Nanoseconds; 0 for no timeout.
    pub(super) receive_timeout: AtomicU64,
    pub(super) send_timeout: AtomicU64,
    pub(super) send_ended: AtomicBool,
    pub(super) receive_ended: AtomicBool,
    pub(super) aborted: AtomicBool,
    failures: AtomicU32,
}

impl Drop for Link {
    fn drop(&mut self) {
        let slot = self.slot;
        forget(self);
        self.shared
            .tell(match self.aborted.load(Ordering::Relaxed) {
                true => Request::Abort { slot },
                false => Request::Close { slot },
            });
    }
}

impl Link {
    /// The ends of a slot, which `take` takes, and a link to it.
    pub(super) fn take<E>(
        shared: &Arc<Shared>,
        slot: u32,
        take: fn(&Arc<Mapping>, u32) -> Option<E>,
    ) -> io::Result<(E, Arc<Link>)> {
        let is_one = slot < shared.mapping.slots().count;
        let Some(ends) = is_one.then(|| take(&shared.mapping, slot)).flatten() else {
            let what = "the engine hands out a connection twice";
            return Err(io::Error::new(io::ErrorKind::InvalidData, what));
        };
        let head = shared.head(slot);
        head.take(head.generation());
        let link = Arc::new(Link {
            shared: Arc::clone(shared),
            slot,
            id: head.id(),
            head,
            blocking: AtomicBool::new(true),
            receive_timeout: AtomicU64::new(0),
            send_timeout: AtomicU64::new(0),
            send_ended: AtomicBool::new(false),
            receive_ended: AtomicBool::new(false),
            aborted: AtomicBool::new(false),
            failures: AtomicU32::new(0),
        });
        Ok((ends, link))
    }

    /// The number of the socket in the engine.
    pub fn id(&self) -> SocketId {
        self.id
    }

    /// Whether another process has adopted the connection.
    pub fn is_moved(&self) -> bool {
        self.has(MOVED)
    }

    pub(super) fn state(&self) -> u32 {
        self.head.state()
    }

    pub(super) fn has(&self, bits: u32) -> bool {
        self.state() & bits != 0
    }

    /// Why the connection is closed.
    pub(super) fn error(&self) -> Option<io::Error> {
        match self.head.error() {
            0 => None,
            error => Some(io::Error::from_raw_os_error(error)),
        }
    }

    /// Waits for something about the connection; at once `WouldBlock` if it is non-blocking.
    pub(super) fn wait(&self, timeout: &AtomicU64, ready: impl FnMut() -> bool) -> io::Result<()> {
        if !self.blocking.load(Ordering::Relaxed) {
            let failures = self.failures.fetch_add(1, Ordering::Relaxed);
            if failures % LOOK_EVERY == LOOK_EVERY - 1 {
                self.shared.look();
            }
            self.shared.check_engine()?;
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let nanos = timeout.load(Ordering::Relaxed);
        let deadline = match nanos {
            0 => None,
            nanos => deadline_after(Duration::from_nanos(nanos)),
        };
        self.shared.wait(Key::Slot(self.slot), deadline, ready)
    }

    pub(super) fn set_timeout(timeout: &AtomicU64, time: Option<Duration>) {
        let nanos = time.map_or(0, |time| time.as_nanos().clamp(1, u64::MAX.into()) as u64);
        timeout.store(nanos, Ordering::Relaxed);
    }
}
