//! Sockets of UDP.
//!
//! | file | what it is for |
//! | --- | --- |
//! | `datagrams/table.rs` | the sockets, and their rings |
//! | `datagrams/transmit.rs` | what goes out |

mod table;
mod transmit;

use std::net::SocketAddr;

use super::fragment::Fragments;
use super::{Engine, Memory, Owner, SocketError, SocketId};
use crate::datagram::Record;
use crate::memory::Corrupt;
use crate::packet::{Checksum, Offload};
use crate::tcp::{Happened, Reason};
use crate::time::Time;
use crate::wire::checksum::Sum;
use crate::wire::icmp::Unreachable;
use crate::wire::ip::{self, protocol};
use crate::wire::udp;

pub(super) use table::Datagrams;
use table::Socket;

impl<M: Memory> Engine<M> {
    /// A socket of UDP at `local`, whose address may be unspecified, and whose port is chosen if it is 0. What it sends goes to
    /// `remote`, if there is one, and what it receives comes from there. With `share` others may have the address too.
    ///
    /// # Errors
    /// [`SocketError`]
    pub fn bind_datagrams(
        &mut self,
        owner: Owner,
        local: SocketAddr,
        remote: Option<SocketAddr>,
        share: bool,
    ) -> Result<SocketId, SocketError> {
        if !local.ip().is_unspecified() && !self.is_local(local.ip()) {
            return Err(SocketError::NotLocal);
        }
        let mut local = local;
        if local.port() == 0 {
            let mut ports = self.ports_at(local.ip());
            local = ports
                .find(|local| !self.datagrams.has_port(local.port()))
                .ok_or(SocketError::NoPort)?;
        } else if !self.datagrams.may_share(&local, share) {
            return Err(SocketError::InUse);
        }
        let buffers = self.memory.allocate(owner).ok_or(SocketError::NoRoom)?;
        Ok(self.datagrams.insert(Socket {
            owner,
            slot: buffers.slot,
            local,
            remote,
            send: buffers.send,
            receive: buffers.receive,
            sent: 0,
            told: 0,
            partly: 0,
            fragments: Fragments::default(),
            received: 0,
            happened: Happened::default(),
            reason: None,
            queued: false,
            announced: false,
            closed: false,
            share,
        }))
    }

    /// The index of a socket that is still there.
    fn datagrams_at(&self, socket: SocketId) -> Option<u32> {
        self.datagrams.sockets.index(socket)
    }

    /// A socket of UDP has the address `local` and the peer `remote`, or none, from now on. What it received before stays.
    ///
    /// # Errors
    /// The socket is no more, the address is none of the stack's, or others have it.
    pub fn reconnect_datagrams(
        &mut self,
        socket: SocketId,
        local: SocketAddr,
        remote: Option<SocketAddr>,
    ) -> Result<(), SocketError> {
        if !local.ip().is_unspecified() && !self.is_local(local.ip()) {
            return Err(SocketError::NotLocal);
        }
        let index = self.datagrams_at(socket).ok_or(SocketError::Gone)?;
        let found = self.datagrams.sockets.get(index);
        let found = found.ok_or(SocketError::Gone)?;
        if found.local != local && !self.datagrams.may_share(&local, found.share) {
            return Err(SocketError::InUse);
        }
        match self.datagrams.rebind(index, local, remote) {
            true => Ok(()),
            false => Err(SocketError::Gone),
        }
    }

    pub(super) fn notify_datagrams(&mut self, socket: SocketId) {
        if let Some(index) = self.datagrams_at(socket) {
            self.datagrams.touched(index);
        }
    }

    pub(super) fn close_datagrams(&mut self, socket: SocketId) {
        let Some(index) = self.datagrams_at(socket) else {
            return;
        };
        let Some(found) = self.datagrams.sockets.get_mut(index) else {
            return;
        };
        found.closed = true;
        if matches!(found.next(), Ok(Some(_))) {
            self.datagrams.unbind(index);
            self.datagrams.touched(index);
        } else {
            self.remove_datagrams(index);
        }
    }

    /// Forgets a socket.
    fn remove_datagrams(&mut self, index: u32) {
        self.datagrams.unbind(index);
        if let Some(socket) = self.datagrams.remove(index) {
            self.memory.release(socket.owner, socket.slot);
        }
    }

    pub(super) fn release_datagrams(&mut self, owner: Owner) {
        let theirs = self
            .datagrams
            .sockets
            .iter()
            .filter(|(_, socket)| socket.owner == owner);
        let gone: Vec<u32> = theirs.map(|(index, _)| index).collect();
        for index in gone {
            self.remove_datagrams(index);
        }
    }

    pub(super) fn datagram_ends(
        &self,
        socket: SocketId,
    ) -> Option<(SocketAddr, Option<SocketAddr>)> {
        let socket = (self.datagrams.sockets).get(self.datagrams_at(socket)?)?;
        Some((socket.local, socket.remote))
    }

    pub(super) fn datagram_slot(&self, socket: SocketId) -> Option<u32> {
        let socket = (self.datagrams.sockets).get(self.datagrams_at(socket)?)?;
        Some(socket.slot)
    }

    pub(super) fn input_udp(
        &mut self,
        now: Time,
        packet: &[u8],
        ip: &ip::Header,
        bytes: &[u8],
        offload: Offload,
    ) {
        let Ok(header) = udp::parse(bytes) else {
            self.counters.malformed += 1;
            return;
        };
        let bytes = &bytes[..usize::from(header.length)];
        let none = header.checksum == 0 && ip.source.is_ipv4();
        if offload.checksum == Checksum::Complete && !none {
            let pseudo = Sum::pseudo(ip.source, ip.destination, protocol::UDP, bytes.len() as u32);
            if header.checksum == 0 || pseudo.add(bytes).folded() != 0 {
                self.counters.bad_checksum += 1;
                return;
            }
        }
        let local = SocketAddr::new(ip.destination, header.destination_port);
        let remote = SocketAddr::new(ip.source, header.source_port);
        let hash = || self.cookies.flow(&(local, remote));
        let Some(index) = self.datagrams.find(&local, &remote, hash) else {
            self.counters.refused += 1;
            self.tell_unreachable(now, packet, ip, Unreachable::Port);
            return;
        };
        let payload = &bytes[udp::LEN..];
        let record = Record {
            len: payload.len(),
            segment: offload.segment,
            remote,
        };
        let socket = self.datagrams.sockets.get_mut(index).expect("it was found");
        match socket.deliver(&record, payload) {
            Ok(true) => self.datagrams.announce(index, Happened::READABLE),
            Ok(false) => self.counters.datagrams_dropped += 1,
            Err(Corrupt) => self.fail_datagrams(index),
        }
    }

    fn fail_datagrams(&mut self, index: u32) {
        if let Some(socket) = self.datagrams.sockets.get_mut(index) {
            socket.reason = Some(Reason::Corrupt);
            self.datagrams.announce(index, Happened::CLOSED);
        }
    }
}
