//! A listener.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::Shared;
use super::connection::Connection;
use super::poller::{Sealed, Source, Target};
use super::wait::{Key, lock};
use crate::SocketId;
use crate::entry::Request;

/// A listener. Dropping it ends it, and connections that were not accepted are reset.
#[derive(Debug)]
pub struct Listener {
    pub(super) shared: Arc<Shared>,
    pub(super) number: u32,
    id: SocketId,
    local: Option<SocketAddr>,
    blocking: AtomicBool,
}

impl Listener {
    pub(super) fn open(
        shared: &Arc<Shared>,
        local: SocketAddr,
        backlog: u32,
        share: bool,
    ) -> io::Result<Listener> {
        let request = Request::Listen {
            local,
            backlog,
            share,
        };
        Listener::of(shared, request)
    }

    pub(super) fn of(shared: &Arc<Shared>, request: Request) -> io::Result<Listener> {
        let reply = shared.call(request)?;
        let [index, generation, ..] = reply.numbers;
        Ok(Listener {
            shared: Arc::clone(shared),
            number: reply.number,
            id: SocketId { index, generation },
            local: reply.local,
            blocking: AtomicBool::new(true),
        })
    }

    /// The next connection. Its [`peer_addr`](Connection::peer_addr) says from where it is.
    ///
    /// # Errors
    /// The engine is gone, or there is none and the listener is non-blocking.
    pub fn accept(&self) -> io::Result<Connection> {
        let mut next = self.take();
        if next.is_none() && self.blocking.load(Ordering::Relaxed) {
            self.shared.wait(Key::Listener(self.number), None, || {
                next = self.take();
                next.is_some()
            })?;
        }
        match next {
            Some(slot) => Connection::open(&self.shared, slot),
            None => {
                self.shared.check_engine()?;
                Err(io::ErrorKind::WouldBlock.into())
            }
        }
    }

    /// The number of the socket in the engine.
    pub fn id(&self) -> SocketId {
        self.id
    }

    /// Connections are to come to this process, though its children [joined](super::Stack::join) the listener.
    pub fn accept_too(&self) {
        let listener = self.number;
        self.shared.tell(Request::Accept { listener });
    }

    /// Hears of connections, and gives back those that went to a listener of another process before they were accepted.
    fn hear(&self) {
        self.shared.dispatch();
        let moved = lock(&self.shared.board).queues.take_moved();
        for slot in moved {
            self.shared.tell(Request::Close { slot });
        }
    }

    /// Connections that wait to be accepted.
    pub fn pending(&self) -> usize {
        self.hear();
        lock(&self.shared.board).queues.count(self.number)
    }

    /// Whether there will be no more connections, as the engine is gone.
    pub fn is_gone(&self) -> bool {
        self.shared.is_gone()
    }

    fn take(&self) -> Option<u32> {
        self.hear();
        lock(&self.shared.board).queues.take(self.number)
    }

    /// Where it listens.
    ///
    /// # Errors
    /// It is not known.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.local
            .ok_or_else(|| io::ErrorKind::AddrNotAvailable.into())
    }

    /// Whether [`accept`](Listener::accept) waits.
    pub fn set_nonblocking(&self, on: bool) {
        self.blocking.store(!on, Ordering::Relaxed);
    }
}

impl Source for Listener {}

impl Sealed for Listener {
    fn target(&self) -> Target<'_> {
        Target::Listener(self)
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let listener = self.number;
        // After the reply nothing more is accepted, and what was is handed out.
        let _ = self.shared.call(Request::Unlisten { listener });
        self.hear();
        let mut board = lock(&self.shared.board);
        board.listening.remove(&listener);
        let waiting = board.queues.remove(listener);
        drop(board);
        for slot in waiting {
            self.shared.tell(Request::Abort { slot });
        }
    }
}
