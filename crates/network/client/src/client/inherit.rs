//! What a child has of its parent.
//!
//! A process that is about to fork [bequeaths](Stack::bequeath) what its child is to have. The child attaches on its own, becomes the
//! [heir](Stack::inherit), and adopts a connection when it first uses it: the connection moves to the memory of the child. A
//! connection that moved is over for the process before, which may adopt it in turn.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::connection::Connection;
use super::datagrams::UdpSocket;
use super::listener::Listener;
use super::wait::lock;
use super::{ATTACH_TIMEOUT, Shared, Stack};
use crate::SocketId;
use crate::entry::{KEY, Request};
use crate::handshake::Wish;

/// What a child is to have. The parent drops it after the fork; while the child has it, nothing is closed that it inherits.
#[derive(Debug)]
pub struct Inheritance {
    life: UnixStream,
    key: [u8; KEY],
}

impl Inheritance {
    /// Of an heir that has nothing yet. `socket` is connected to the engine.
    ///
    /// # Errors
    /// The engine is gone.
    pub fn new(mut socket: UnixStream) -> io::Result<Inheritance> {
        socket.set_read_timeout(Some(ATTACH_TIMEOUT))?;
        socket.write_all(&Wish::Heir.encode())?;
        let mut key = [0; KEY];
        socket.read_exact(&mut key)?;
        Ok(Inheritance { life: socket, key })
    }

    /// One of its parts, in another program.
    pub fn from_parts(life: UnixStream, key: [u8; KEY]) -> Inheritance {
        Inheritance { life, key }
    }

    /// The socket that stays open while there is an heir, and the key.
    pub fn parts(&self) -> (BorrowedFd<'_>, &[u8; KEY]) {
        (self.life.as_fd(), &self.key)
    }

    /// The child no longer has a socket, and is not attached.
    pub fn release(&self, socket: SocketId) {
        let words = [socket.index, socket.generation].map(u32::to_ne_bytes);
        // An engine that is gone has forgotten what this is about.
        let _ = (&self.life).write_all(words.as_flattened());
    }
}

impl Stack {
    /// Gives a child, which this process is about to fork, some of what this process has. What it has not is passed over.
    ///
    /// # Errors
    /// The engine is gone, or there are too many heirs: `EMFILE` of this application, `ENFILE` of all. `ESRCH` if others made
    /// heirs so fast that this one is none any more: another may be made.
    pub fn bequeath(
        &self,
        inheritance: &Inheritance,
        sockets: impl IntoIterator<Item = SocketId>,
    ) -> io::Result<()> {
        let key = inheritance.key;
        let of = |socket| Request::Bequeath { key, socket };
        let give = |socket| match self.shared.call(of(socket)) {
            Err(error) if error.raw_os_error() != Some(libc::EBADF) => Err(error),
            _ => Ok(()),
        };
        let mut sockets = sockets.into_iter();
        let Some(first) = sockets.next() else {
            return Ok(());
        };
        give(first)?;
        // Replies come in order, so the last says that all are done.
        let mut last = None;
        for socket in sockets {
            last.replace(socket)
                .into_iter()
                .for_each(|socket| self.shared.tell(of(socket)));
        }
        last.map_or(Ok(()), give)
    }

    /// Makes this process the heir that its parent made it.
    ///
    /// # Errors
    /// It is one already, or the engine is gone.
    pub fn inherit(&self, inheritance: &Inheritance) -> io::Result<()> {
        let key = inheritance.key;
        self.shared.call(Request::Inherit { key }).map(drop)
    }

    /// This process no longer has a socket that it inherited and did not use.
    pub fn release(&self, socket: SocketId) {
        self.shared.tell(Request::Release { socket });
    }

    /// A connection that this process inherited, or that another process adopted. `ended` says whether the direction that is
    /// received was ended, and the one that is sent.
    ///
    /// # Errors
    /// This process does not have it, it is over, there is no room, or the engine is gone.
    pub fn adopt(&self, socket: SocketId, ended: [bool; 2]) -> io::Result<Connection> {
        let slot = Self::adopt_slot(&self.shared, socket)?;
        let connection = Connection::open(&self.shared, slot)?;
        let link = connection.link();
        link.receive_ended.store(ended[0], Ordering::Relaxed);
        link.send_ended.store(ended[1], Ordering::Relaxed);
        Ok(connection)
    }

    /// As [`adopt`](Stack::adopt), a socket of UDP.
    ///
    /// # Errors
    /// As `adopt`.
    pub fn adopt_udp(&self, socket: SocketId) -> io::Result<UdpSocket> {
        UdpSocket::of_slot(&self.shared, Self::adopt_slot(&self.shared, socket)?)
    }

    fn adopt_slot(shared: &Arc<Shared>, socket: SocketId) -> io::Result<u32> {
        let reply = shared.call(Request::Adopt { socket })?;
        lock(&shared.board).opened(reply.number, reply.generation);
        Ok(reply.number)
    }

    /// A listener for the same connections as one that this process inherited.
    ///
    /// # Errors
    /// This process does not have it, or the engine is gone.
    pub fn join(&self, socket: SocketId) -> io::Result<Listener> {
        Listener::of(&self.shared, Request::Join { socket })
    }
}
