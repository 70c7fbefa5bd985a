//! A socket of UDP.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::link::Link;
use super::poller::{Sealed, Source, Target};
use super::wait::lock;
use super::{Shared, Stack};
use crate::datagram::{self, LEN, MAX_DATAGRAMS, MAX_PAYLOAD, Record};
use crate::entry::Request;
use crate::memory::{Mapping, Reader, Taken, Writer};
use crate::slot::CLOSED;

/// A socket of UDP. Dropping it closes it.
#[derive(Debug)]
pub struct UdpSocket {
    // Dropped before the link: the slot is given back when no end of it is left.
    writer: Writer,
    reader: Reader,
    _taken: Taken,
    link: Arc<Link>,
}

/// Where a datagram goes that names nothing: where the socket is connected to.
const CONNECTED_PEER: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0);

impl UdpSocket {
    pub(super) fn open(
        shared: &Arc<Shared>,
        local: SocketAddr,
        remote: Option<SocketAddr>,
        share: bool,
    ) -> io::Result<UdpSocket> {
        let reply = shared.call(Request::Bind {
            local,
            remote,
            share,
        })?;
        lock(&shared.board).opened(reply.number, reply.generation);
        UdpSocket::of_slot(shared, reply.number)
    }

    pub(super) fn of_slot(shared: &Arc<Shared>, slot: u32) -> io::Result<UdpSocket> {
        let (ends, link) = Link::take(shared, slot, Mapping::take_copying)?;
        let (writer, reader, taken) = ends;
        Ok(UdpSocket {
            writer,
            reader,
            _taken: taken,
            link,
        })
    }

    /// The stack that it is of.
    pub fn stack(&self) -> Stack {
        let shared = Arc::clone(&self.link.shared);
        Stack { shared }
    }

    /// The address is `local` and the peer `remote`, or none, from now on. What was received before stays.
    ///
    /// # Errors
    /// The address is none of the stack's, or the engine is gone.
    pub fn reconnect(&self, local: SocketAddr, remote: Option<SocketAddr>) -> io::Result<()> {
        let slot = self.link.slot;
        let request = Request::Reconnect {
            slot,
            local,
            remote,
        };
        self.link.shared.call(request).map(drop)
    }

    /// What any thread may use while another has the socket.
    pub fn link(&self) -> &Arc<Link> {
        &self.link
    }

    /// The address of this end.
    ///
    /// # Errors
    /// It is not known.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        let (local, _) = self.link.head.addresses();
        local.ok_or_else(|| io::ErrorKind::NotConnected.into())
    }

    /// Whether operations wait.
    pub fn set_nonblocking(&self, on: bool) {
        self.link.blocking.store(!on, Ordering::Relaxed);
    }

    /// How long receiving waits; for ever if `None`.
    pub fn set_read_timeout(&self, time: Option<Duration>) {
        Link::set_timeout(&self.link.receive_timeout, time);
    }

    /// How long sending waits for room; for ever if `None`.
    pub fn set_write_timeout(&self, time: Option<Duration>) {
        Link::set_timeout(&self.link.send_timeout, time);
    }

    /// Sends a datagram.
    ///
    /// # Errors
    /// It is too long, there is no room in time, or the engine is gone.
    pub fn send_to(&mut self, bytes: &[u8], remote: SocketAddr) -> io::Result<()> {
        self.send_segments(bytes, 0, Some(remote))
    }

    /// Sends a datagram to where the socket is connected.
    ///
    /// # Errors
    /// As [`send_to`](UdpSocket::send_to).
    pub fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.send_segments(bytes, 0, None)
    }

    /// Sends `bytes` as datagrams of `segment` bytes each, of which the last may be shorter; as one if that is 0. To
    /// `remote`, or to where the socket is connected.
    ///
    /// # Errors
    /// There are too many bytes (`EMSGSIZE`) or more than [`MAX_DATAGRAMS`] datagrams (`EINVAL`), there is no room in time, or
    /// the engine is gone.
    pub fn send_segments(
        &mut self,
        bytes: &[u8],
        segment: u16,
        remote: Option<SocketAddr>,
    ) -> io::Result<()> {
        let record = Record {
            len: bytes.len(),
            segment,
            remote: remote.unwrap_or(CONNECTED_PEER),
        };
        if bytes.len() > MAX_PAYLOAD || record.room() > self.link.shared.mapping.slots().send {
            return Err(io::Error::from_raw_os_error(libc::EMSGSIZE));
        }
        if record.datagrams() > MAX_DATAGRAMS {
            return Err(io::Error::from_raw_os_error(libc::EINVAL));
        }
        self.check()?;
        while !datagram::write(&mut self.writer, &record, bytes) {
            self.link.wait(&self.link.send_timeout, || {
                self.link.has(CLOSED) || self.writer.room() >= record.room()
            })?;
            self.check()?;
        }
        self.link.shared.notify(self.link.slot);
        self.link.shared.check_engine()
    }

    /// Receives a datagram, and returns its length and where it is from. What `to` has no room for is lost.
    ///
    /// # Errors
    /// None comes in time, or the engine is gone.
    pub fn recv_from(&mut self, to: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        let record = self.recv_segments(to)?;
        Ok((record.len.min(to.len()), record.remote))
    }

    /// Receives a datagram, or several of one peer that came together: the [`Record`] says how long each is.
    ///
    /// # Errors
    /// As [`recv_from`](UdpSocket::recv_from).
    pub fn recv_segments(&mut self, to: &mut [u8]) -> io::Result<Record> {
        loop {
            match datagram::read(&mut self.reader, to) {
                Ok(Some(record)) => return Ok(record),
                Ok(None) => {}
                Err(corrupt) => return Err(io::Error::new(io::ErrorKind::InvalidData, corrupt)),
            }
            self.check()?;
            self.link.wait(&self.link.receive_timeout, || {
                self.link.has(CLOSED) || self.reader.available() >= LEN
            })?;
        }
    }

    /// What [`recv_segments`](UdpSocket::recv_segments) would receive, if there is anything, which stays; and how many bytes of
    /// it are [taken](UdpSocket::take).
    ///
    /// # Errors
    /// There is nothing, or the socket is over.
    pub fn peek_segments(&self, to: &mut [u8]) -> io::Result<(Record, usize)> {
        match datagram::peek(&self.reader, to) {
            Ok(Some(record)) => Ok((record, datagram::taken(&self.reader).min(record.len))),
            Ok(None) => {
                self.check()?;
                Err(io::ErrorKind::WouldBlock.into())
            }
            Err(corrupt) => Err(io::Error::new(io::ErrorKind::InvalidData, corrupt)),
        }
    }

    /// Takes the first `len` bytes of what was last peeked at, of which there is no more when that is all.
    pub fn take(&mut self, peeked: &Record, len: usize) {
        match len >= peeked.len {
            true => self.reader.advance(peeked.room()),
            false => datagram::set_taken(&self.reader, len),
        }
    }

    /// Fails if the socket is over, or the engine gone.
    fn check(&self) -> io::Result<()> {
        self.link.shared.check_engine()?;
        match self.link.has(CLOSED) {
            true => {
                let error = self.link.error();
                Err(error.unwrap_or_else(|| io::ErrorKind::ConnectionAborted.into()))
            }
            false => self.link.shared.check_engine(),
        }
    }
}

impl Source for UdpSocket {}

impl Sealed for UdpSocket {
    fn target(&self) -> Target<'_> {
        Target::Connection(&self.link)
    }
}
