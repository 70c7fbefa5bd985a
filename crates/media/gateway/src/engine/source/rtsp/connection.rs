//! The connection to an origin.

use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::os::fd::AsFd;

use bytes::{Buf, BytesMut};
use rustix::io::Errno;
use socket2::{Domain, Protocol, Socket, Type};

use crate::engine::wait::{Token, Waiter};

/// Reads of a turn at most: what is left is read in the next.
const READS: usize = 16;

/// A connection that does not block.
#[derive(Debug)]
pub struct Connection {
    stream: TcpStream,
    peer: SocketAddr,
    output: BytesMut,
}

/// What came of reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Came {
    /// All that there was.
    All,
    /// There may be more.
    More,
    /// The origin sends nothing more.
    End,
}

impl Connection {
    /// Begins to connect. The waiter tells when it is done.
    ///
    /// # Errors
    /// What the operating system says.
    pub fn begin(peer: SocketAddr, token: Token, waiter: &Waiter) -> io::Result<Connection> {
        let socket = Socket::new(Domain::for_address(peer), Type::STREAM, Some(Protocol::TCP))?;
        socket.set_nonblocking(true)?;
        socket.set_tcp_nodelay(true)?;
        match socket.connect(&peer.into()) {
            Ok(()) => {}
            Err(error) if error.raw_os_error() == Some(Errno::INPROGRESS.raw_os_error()) => {}
            Err(error) => return Err(error),
        }
        waiter.add_connection(token, socket.as_fd())?;
        Ok(Connection {
            stream: socket.into(),
            peer,
            output: BytesMut::new(),
        })
    }

    /// Whether it is connected by now.
    ///
    /// # Errors
    /// Why it cannot be.
    pub fn is_connected(&self) -> io::Result<bool> {
        match self.stream.take_error()? {
            Some(error) => Err(error),
            None => Ok(self.stream.peer_addr().is_ok()),
        }
    }

    /// Where the origin is.
    pub fn peer(&self) -> SocketAddr {
        self.peer
    }

    /// Which of this machine's addresses it has.
    pub fn local(&self) -> Option<IpAddr> {
        self.stream.local_addr().ok().map(|address| address.ip())
    }

    /// Hands what came to `each`.
    pub fn read(&mut self, scratch: &mut [u8], mut each: impl FnMut(&[u8])) -> Came {
        for _ in 0..READS {
            match self.stream.read(scratch) {
                Ok(0) => return Came::End,
                Ok(len) => each(&scratch[..len]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Came::All,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return Came::End,
            }
        }
        Came::More
    }

    /// Sends as much as the socket takes, and keeps the rest. What cannot be sent is not: reading tells why.
    pub fn write(&mut self, bytes: &[u8]) {
        self.output.extend_from_slice(bytes);
        while !self.output.is_empty() {
            match self.stream.write(&self.output) {
                Ok(len) => self.output.advance(len),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(_) => return self.output.clear(),
            }
        }
    }
}
