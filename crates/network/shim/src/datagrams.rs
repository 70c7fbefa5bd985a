//! Sockets of UDP.

use std::ffi::{c_int, c_short};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use evener_net_client::UdpSocket;
use evener_net_client::client::Link;
use evener_net_client::client::lock;
use evener_net_client::datagram::{LEN, MAX_PAYLOAD, Record};
use evener_net_client::program::errno;

use crate::socket::Socket;
use crate::sys::Errno;
use crate::{process, wait};

/// A socket of UDP.
pub struct Datagrams {
    pub link: Arc<Link>,
    inner: Mutex<Inner>,
}

struct Inner {
    socket: UdpSocket,
    /// A copy of the next datagrams in the ring, all of one peer, what is known of them, and where the next begins. They stay
    /// in the ring until the last was read: a child has what its parent has not read.
    bytes: Vec<u8>,
    record: Option<Record>,
    next: usize,
}

/// A datagram that was read.
pub struct Received {
    /// Bytes that it had, and that there was room for.
    pub len: usize,
    pub copied: usize,
    pub from: SocketAddr,
}

impl Datagrams {
    /// With a socket.
    pub fn new(socket: UdpSocket) -> Datagrams {
        socket.set_nonblocking(true);
        Datagrams {
            link: Arc::clone(socket.link()),
            inner: Mutex::new(Inner {
                socket,
                bytes: Vec::new(),
                record: None,
                next: 0,
            }),
        }
    }

    /// The peer, if it has one.
    pub fn remote(&self) -> Option<SocketAddr> {
        self.link.peer_addr().ok()
    }

    /// Connects it to another peer, or to none.
    pub fn reconnect(&self, remote: Option<SocketAddr>) -> Result<(), Errno> {
        let mut local = self.link.local_addr().map_err(|_| libc::EINVAL)?;
        if let Some(remote) = remote
            && local.ip().is_unspecified()
        {
            local.set_ip(process::source(&remote).ok_or(libc::ENETUNREACH)?);
        }
        let inner = lock(&self.inner);
        let done = inner.socket.reconnect(local, remote);
        done.map_err(|error| errno(&error))
    }

    /// What `poll` tells of it. An error that was `told` is not told again.
    pub fn events(&self, told: bool) -> c_short {
        let progress = self.link.progress();
        let waiting = progress.available >= LEN;
        let news = progress.closed && !told;
        let writable = progress.closed || progress.room >= LEN + MAX_PAYLOAD.next_multiple_of(8);
        let bit = |is: bool, bits| if is { bits } else { 0 };
        bit(news || waiting, libc::POLLIN | libc::POLLRDNORM)
            | bit(writable, libc::POLLOUT | libc::POLLWRNORM)
            | bit(news, libc::POLLERR)
    }

    /// Bytes of the next datagram.
    pub fn available(&self) -> usize {
        lock(&self.inner).fill().map_or(0, |(len, _)| len)
    }

    /// Reads a datagram into parts, one after another; `EAGAIN` if there is none.
    fn receive(&self, parts: &mut [&mut [u8]], peeks: bool) -> Result<Received, Errno> {
        let mut inner = lock(&self.inner);
        let (len, from) = inner.fill()?;
        let bytes = &inner.bytes[inner.next..inner.next + len];
        let mut copied = 0;
        for part in parts {
            let n = part.len().min(len - copied);
            part[..n].copy_from_slice(&bytes[copied..copied + n]);
            copied += n;
        }
        if !peeks {
            inner.take(len);
        }
        Ok(Received { len, copied, from })
    }

    fn send(&self, bytes: &[u8], to: Option<SocketAddr>) -> Result<(), Errno> {
        let remote = to.or_else(|| self.remote());
        let remote = remote.ok_or(libc::EDESTADDRREQ)?;
        let sent = lock(&self.inner).socket.send_to(bytes, remote);
        sent.map_err(|error| errno(&error))
    }
}

impl Inner {
    /// The length of the next datagram and where it is from; `EAGAIN` if there is none.
    fn fill(&mut self) -> Result<(usize, SocketAddr), Errno> {
        let record = match self.record {
            Some(record) => record,
            None => {
                self.bytes.resize(MAX_PAYLOAD, 0);
                let record = self.socket.peek_segments(&mut self.bytes);
                let (record, next) = record.map_err(|error| errno(&error))?;
                self.next = next;
                *self.record.insert(record)
            }
        };
        let left = record.len - self.next;
        let len = match record.segment {
            0 => left,
            segment => left.min(segment.into()),
        };
        Ok((len, record.remote))
    }

    /// The next datagram was read.
    fn take(&mut self, len: usize) {
        self.next += len;
        if let Some(record) = self.record {
            self.socket.take(&record, self.next);
            self.record = self.record.filter(|_| self.next < record.len);
        }
    }
}

impl Socket {
    /// Receives a datagram.
    pub fn receive_datagram(
        &self,
        datagrams: &Datagrams,
        parts: &mut [&mut [u8]],
        flags: c_int,
    ) -> Result<Received, Errno> {
        self.check()?;
        let deadline = self.options.receive_timeout.deadline();
        loop {
            match datagrams.receive(parts, flags & libc::MSG_PEEK != 0) {
                Err(libc::EAGAIN) => {}
                // Once: a program that tries again sleeps from then on.
                Err(_) if datagrams.link.progress().closed && !self.tell() => {}
                result => return result,
            }
            match self.waits(flags) {
                true => wait::one(self, libc::POLLIN, deadline)?,
                false => return Err(libc::EAGAIN),
            }
        }
    }

    /// Sends a datagram, to where the socket is connected if it names no address.
    pub fn send_datagram(
        &self,
        datagrams: &Datagrams,
        bytes: &[u8],
        to: Option<SocketAddr>,
        flags: c_int,
    ) -> Result<usize, Errno> {
        self.check()?;
        let deadline = self.options.send_timeout.deadline();
        loop {
            match datagrams.send(bytes, to) {
                Ok(()) => return Ok(bytes.len()),
                Err(libc::EAGAIN) if self.waits(flags) => wait::one(self, libc::POLLOUT, deadline)?,
                Err(error) => return Err(error),
            }
        }
    }

    /// Begins to receive at an address.
    pub fn bind_datagrams(&self, local: SocketAddr) -> Result<(), Errno> {
        let stack = &process::attach()?.stack;
        let made = stack.open_udp(local, None, self.shares_address()?);
        let socket = made.map_err(|error| errno(&error))?;
        self.set_datagrams(Datagrams::new(socket));
        Ok(())
    }
}
