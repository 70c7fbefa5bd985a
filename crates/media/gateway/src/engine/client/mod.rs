//! A client's connection: what it asks for, and what waits to be sent to it.

pub(super) mod allowance;
pub(super) mod choice;
pub(super) mod outgoing;
pub(super) mod watching;

use std::io::{self, Read};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use socket2::SockRef;

use crate::engine::client::allowance::Allowance;
use crate::engine::client::outgoing::Outgoing;
use crate::engine::client::watching::Watching;
use crate::engine::http::answer::Asked;
use crate::engine::http::request::Request;
use crate::engine::source::recent::Recent;

/// Bytes of a request's head at most.
pub const HEAD: usize = 16 << 10;
/// Bytes of no interest that are read in a turn at most.
const IGNORED: usize = 256 << 10;
/// Bytes that the kernel keeps beside those that are on their way: what it has grows old.
const UNSENT: u32 = 32 << 10;

/// A connection.
#[derive(Debug)]
pub struct Client {
    stream: TcpStream,
    /// Where it comes from.
    pub peer: SocketAddr,
    /// What has come and was not understood yet.
    pub head: BytesMut,
    /// What waits.
    pub outgoing: Outgoing,
    /// The stream that it waits for.
    pub asked: Option<Asked>,
    /// The stream that it gets.
    pub watching: Option<Watching>,
    /// It is closed when nothing waits any more.
    pub ends: bool,
    /// When it connected, asked last, or took something last.
    pub active: Instant,
    /// Bytes that it has taken.
    pub taken: u64,
    writable: bool,
    /// There was no room to read all that had come.
    pub has_more: bool,
    /// It sends nothing more.
    pub has_closed: bool,
    /// What it asked for and is not answered yet.
    pub asks: Option<Request>,
    /// It is told each second how the gateway is doing, in chunks or without.
    pub follows: Option<bool>,
    /// It may say more than was read when its response ends.
    lingers: bool,
    /// Its response has gone, and what it says is not listened to.
    over: bool,
}

impl Client {
    /// One that has connected.
    ///
    /// # Errors
    /// What the operating system says.
    pub fn new(stream: TcpStream, peer: SocketAddr, now: Instant) -> io::Result<Client> {
        stream.set_nonblocking(true)?;
        stream.set_nodelay(true)?;
        SockRef::from(&stream).set_tcp_notsent_lowat(UNSENT)?;
        Ok(Client {
            stream,
            peer,
            head: BytesMut::new(),
            outgoing: Outgoing::default(),
            asked: None,
            watching: None,
            ends: false,
            active: now,
            taken: 0,
            writable: true,
            has_more: false,
            has_closed: false,
            asks: None,
            follows: None,
            lingers: false,
            over: false,
        })
    }

    /// Its socket.
    pub fn stream(&self) -> &TcpStream {
        &self.stream
    }

    /// Its socket has room again.
    pub fn has_room(&mut self) {
        self.writable = true;
    }

    /// Whether its next request can be answered: it gets no stream, and waits for nothing.
    pub fn can_ask(&self) -> bool {
        self.watching.is_none()
            && self.asked.is_none()
            && self.asks.is_none()
            && self.follows.is_none()
            && !self.ends
    }

    /// Gets a response that refuses, after which the connection ends.
    pub fn refuse(&mut self, response: Bytes) {
        self.outgoing.push(response);
        self.ends = true;
        self.lingers = true;
    }

    /// Whether it has all that it gets, and has not closed its side.
    pub fn is_over(&self) -> bool {
        self.over
    }

    /// Closes this side only, where the client may have more to say. False if both can be closed.
    pub fn linger(&mut self, now: Instant) -> bool {
        let lingers = std::mem::take(&mut self.lingers) && !self.has_closed;
        if lingers && self.outgoing.is_empty() {
            self.over = self.stream.shutdown(Shutdown::Write).is_ok();
            self.active = now;
            self.head.clear();
        }
        self.over
    }

    /// Reads what has come, to [`HEAD`] bytes. False if the client is gone, or sends much that is of no interest. A client
    /// that sends nothing more may still read: it is gone when it takes nothing.
    ///
    /// # Errors
    /// What the operating system says.
    pub fn read(&mut self) -> io::Result<bool> {
        let mut bytes = [0; 4096];
        let mut ignored = 0;
        while self.head.len() < HEAD {
            match self.stream.read(&mut bytes) {
                Ok(0) => {
                    self.has_closed = true;
                    self.has_more = false;
                    return Ok(!self.over);
                }
                // Nothing that comes while a stream is sent is of interest.
                Ok(len) if self.watching.is_some() || self.ends => {
                    ignored += len;
                    if ignored > IGNORED {
                        return Ok(false);
                    }
                }
                Ok(len) => self.head.extend_from_slice(&bytes[..len]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.has_more = false;
                    return Ok(true);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.has_more = true;
        Ok(true)
    }

    /// Begins to get the stream that it asked for, after the head of its response was added: `beginning`, and what comes
    /// from the chunk of number `place` on.
    pub fn watch(
        &mut self,
        asked: Asked,
        recent: &Recent,
        place: u64,
        beginning: Bytes,
        now: Instant,
    ) {
        self.head.clear();
        let allowance = Allowance::of(&self.stream, now);
        let watching = Watching::new(asked, recent, place, &beginning, allowance);
        self.watching = Some(watching);
        match asked.is_11 {
            true => self
                .outgoing
                .push_chunk(|outgoing| outgoing.push(beginning)),
            false => self.outgoing.push(beginning),
        }
    }

    /// The end of its stream: it gets the rest of it, as far as it is not too late for that. Without the last chunk, the
    /// client sees that something is missing.
    pub fn finish(&mut self, recent: Option<&Recent>, is_whole: bool, now: Instant, lag: Duration) {
        if let (Some(recent), Some(watching)) = (recent, &mut self.watching) {
            watching.take_all(recent, now, lag, &mut self.outgoing);
        }
        let chunked = self.watching.take().map(|watching| watching.chunked());
        if chunked == Some(true) && is_whole {
            self.outgoing.push_last_chunk();
        }
        self.ends = true;
    }

    /// Leaves out what it is too late for.
    pub fn fall_back(&mut self, recent: &Recent, now: Instant, lag: Duration) {
        if let Some(watching) = &mut self.watching {
            watching.look(&self.stream, now);
            watching.fall_back(recent, now, lag, &mut self.outgoing);
        }
    }

    /// Sends what waits, and more of the stream as long as the socket takes it. False if it is over.
    ///
    /// # Errors
    /// What the operating system says.
    pub fn send(
        &mut self,
        recent: Option<&Recent>,
        now: Instant,
        lag: Duration,
    ) -> io::Result<bool> {
        if let Some(watching) = &mut self.watching {
            watching.look(&self.stream, now);
        }
        while self.writable {
            if let (Some(recent), Some(watching)) = (recent, &mut self.watching) {
                watching.take(recent, now, lag, &mut self.outgoing);
            }
            if self.outgoing.is_empty() {
                return Ok(!self.ends);
            }
            let sent = self.outgoing.write_to(&mut self.stream)?;
            self.taken += sent as u64;
            if sent > 0 {
                self.active = now;
            }
            self.writable = self.outgoing.is_empty();
            if let Some(watching) = self.watching.as_mut().filter(|_| !self.writable) {
                watching.allowance.block();
            }
        }
        Ok(true)
    }
}
