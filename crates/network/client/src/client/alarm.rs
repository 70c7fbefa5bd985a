//! A wake-up at anything that an engine publishes.

use std::fmt;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use rustix::event::epoll;

use super::poller::State;
use super::wait::lock;
use super::{Shared, Stack};

/// A file descriptor that is readable when anything about any connection of this process may be new, for a thread that
/// waits for other file descriptors too. [`arm`](Alarm::arm) it, look at the connections, wait for the file descriptor,
/// [`disarm`](Alarm::disarm) it, and look again.
pub struct Alarm {
    shared: Arc<Shared>,
    state: Arc<State>,
    epoll: OwnedFd,
}

impl fmt::Debug for Alarm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Alarm").field(&self.state.number).finish()
    }
}

impl Stack {
    /// An alarm, which is not armed.
    ///
    /// # Errors
    /// What the operating system says.
    pub fn alarm(&self) -> io::Result<Alarm> {
        let shared = Arc::clone(&self.shared);
        let (state, epoll) = State::new(&shared)?;
        lock(&shared.board).alarms.push(Arc::clone(&state));
        Ok(Alarm {
            shared,
            state,
            epoll,
        })
    }

    /// Wakes all that wait for alarms, because of something that this process did.
    pub fn ring_alarms(&self) {
        lock(&self.shared.board).ring_alarms();
    }
}

impl Alarm {
    /// Asks for a wake-up. What is new before this is seen by looking after it.
    pub fn arm(&self) {
        self.state.arm(&self.shared);
        // The socket of an engine that is gone is readable for ever. A second time there is nothing to delete.
        if self.shared.is_gone() {
            let _ = epoll::delete(&self.epoll, &self.shared.socket);
        }
    }

    /// No wake-up is wanted any more.
    pub fn disarm(&self) {
        self.state.disarm(&self.shared);
    }
}

impl Alarm {
    /// All its file descriptors, which are to stay open.
    pub fn descriptors(&self) -> [BorrowedFd<'_>; 2] {
        [self.epoll.as_fd(), self.state.as_fd()]
    }
}

impl AsFd for Alarm {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.epoll.as_fd()
    }
}

impl Drop for Alarm {
    fn drop(&mut self) {
        self.disarm();
        let mut board = lock(&self.shared.board);
        board
            .alarms
            .retain(|alarm| !Arc::ptr_eq(alarm, &self.state));
    }
}
