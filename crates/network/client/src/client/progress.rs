//! What threads may do with a connection while others read and write.

use std::io;
use std::net::{Shutdown, SocketAddr};
use std::sync::atomic::Ordering;

use super::link::Link;
use crate::entry::{Choice, Request};
use crate::slot::{CLOSED, CONNECTED, FINISHED};

/// Measures of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Description {
    /// Smoothed round-trip time, in microseconds.
    pub rtt_micros: u32,
    /// Its variation, in microseconds.
    pub rtt_variation_micros: u32,
    /// The congestion window, in bytes.
    pub congestion_window: u32,
    /// Bytes of the payload of a segment.
    pub segment: u32,
    /// Bytes that were sent more than once.
    pub retransmitted: u32,
    /// Bytes that are on their way.
    pub in_flight: u32,
}

/// What is true of a connection at a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// It is, or was, established.
    pub connected: bool,
    /// The peer sends no more.
    pub finished: bool,
    /// It is over, or the engine is gone.
    pub closed: bool,
    /// Why it is over, a number of the operating system's; 0 if that was in order.
    pub error: i32,
    /// Bytes that can be read.
    pub available: usize,
    /// Bytes for which there is room.
    pub room: usize,
}

impl Link {
    /// What is true of the connection.
    pub fn progress(&self) -> Progress {
        let gone = self.shared.is_gone();
        // Before the bytes: what was received before the end is visible once the end is.
        let state = self.state();
        let error = match (state & CLOSED != 0, gone) {
            (true, _) => self.head.error(),
            (false, true) => libc::ECONNRESET,
            (false, false) => 0,
        };
        Progress {
            connected: state & CONNECTED != 0,
            finished: state & FINISHED != 0,
            closed: gone || state & CLOSED != 0,
            error,
            available: self.shared.mapping.available(self.slot),
            room: self.shared.mapping.room(self.slot),
        }
    }

    /// The address of this end.
    ///
    /// # Errors
    /// It is not known.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        let (local, _) = self.head.addresses();
        local.ok_or_else(|| io::ErrorKind::NotConnected.into())
    }

    /// The address of the peer.
    ///
    /// # Errors
    /// It is not known.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        let (_, remote) = self.head.addresses();
        remote.ok_or_else(|| io::ErrorKind::NotConnected.into())
    }

    /// Whether small segments are sent at once, and do not wait for acknowledgments.
    ///
    /// # Errors
    /// The connection is over, or the engine is gone.
    pub fn set_nodelay(&self, on: bool) -> io::Result<()> {
        self.choose(Choice::NoDelay(on))
    }

    /// Whether the peer is probed while the connection is idle.
    ///
    /// # Errors
    /// The connection is over, or the engine is gone.
    pub fn set_keepalive(&self, on: bool) -> io::Result<()> {
        self.choose(Choice::KeepAlive(on))
    }

    /// Makes a choice and does not wait for the reply: of a connection that is over it means nothing.
    pub fn choose_without_reply(&self, choice: Choice) {
        let slot = self.slot;
        self.shared.tell(Request::Choose { slot, choice });
    }

    fn choose(&self, choice: Choice) -> io::Result<()> {
        let slot = self.slot;
        self.shared.call(Request::Choose { slot, choice }).map(drop)
    }

    /// Measures of the connection.
    ///
    /// # Errors
    /// The connection is over, or the engine is gone.
    pub fn describe(&self) -> io::Result<Description> {
        let reply = self.shared.call(Request::Describe { slot: self.slot })?;
        let [rtt, variation, window, segment, retransmitted, in_flight] = reply.numbers;
        Ok(Description {
            rtt_micros: rtt,
            rtt_variation_micros: variation,
            congestion_window: window,
            segment,
            retransmitted,
            in_flight,
        })
    }

    /// Ends one direction or both. What was written before is sent; what arrives after is not read.
    pub fn shutdown(&self, how: Shutdown) {
        if how != Shutdown::Write {
            self.receive_ended.store(true, Ordering::Relaxed);
        }
        if how != Shutdown::Read && !self.send_ended.swap(true, Ordering::Relaxed) {
            self.shared.tell(Request::Shutdown { slot: self.slot });
        }
    }

    /// Whether this process ended the direction that is received, and the one that is sent.
    pub fn ended(&self) -> [bool; 2] {
        [&self.receive_ended, &self.send_ended].map(|ended| ended.load(Ordering::Relaxed))
    }

    /// When the connection is dropped, it is reset, and what was not sent is lost.
    pub fn abort_at_end(&self) {
        self.aborted.store(true, Ordering::Relaxed);
    }
}
