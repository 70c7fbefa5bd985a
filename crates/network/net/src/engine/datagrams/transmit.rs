//! Datagrams that go out.

use std::io;
use std::net::SocketAddr;

use siphasher::sip::SipHasher13;

use crate::device::Device;
use crate::engine::output::{Exit, Packet, SUPER_SEGMENT};
use crate::engine::{Engine, Memory, address_for};
use crate::memory::{Corrupt, Shared};
use crate::tcp::Happened;
use crate::time::Time;
use crate::wire::ip::{self, protocol};
use crate::wire::udp;

/// Packets and records that are sent before others have their turn: an application may write as fast as the engine sends.
const AT_A_TIME: u64 = 1024;

/// Why a record was not sent.
enum Failure {
    Device(io::Error),
    /// The memory of the application is at fault.
    Memory,
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        Failure::Device(error)
    }
}

impl From<Corrupt> for Failure {
    fn from(_: Corrupt) -> Failure {
        Failure::Memory
    }
}

impl<M: Memory> Engine<M> {
    /// False if the device is full.
    pub(in crate::engine) fn transmit_datagrams(
        &mut self,
        now: Time,
        device: &mut dyn Device,
    ) -> io::Result<bool> {
        let before = self.counters.packets_out;
        let mut records = 0;
        self.datagrams.has_more = false;
        while let Some(&index) = self.datagrams.ready.front() {
            if self.counters.packets_out - before + records >= AT_A_TIME {
                self.datagrams.has_more = true;
                break;
            }
            let sent = match self.transmit_datagram(now, index, device) {
                Ok(sent) => sent,
                Err(Failure::Device(error)) => return Err(error),
                Err(Failure::Memory) => {
                    self.fail_datagrams(index);
                    Sent::None
                }
            };
            match sent {
                Sent::Some(bytes) => {
                    records += 1;
                    self.datagrams.turn += bytes;
                    if self.datagrams.turn >= SUPER_SEGMENT as usize {
                        self.datagrams.turn = 0;
                        self.datagrams.ready.rotate_left(1);
                    }
                    self.tell_of_room(index, false);
                }
                Sent::Full => return Ok(false),
                Sent::None => {
                    self.datagrams.turn = 0;
                    self.datagrams.ready.pop_front();
                    self.tell_of_room(index, true);
                    self.datagrams.sockets.take_queued(index);
                    if let Some(socket) = self.datagrams.sockets.get_mut(index) {
                        socket.queued = false;
                        if socket.closed {
                            self.remove_datagrams(index);
                        }
                    }
                }
            }
        }
        Ok(true)
    }

    fn tell_of_room(&mut self, index: u32, all: bool) {
        let socket = self.datagrams.sockets.get_mut(index);
        if socket.is_some_and(|socket| socket.tells_of_room(all)) {
            self.datagrams.announce(index, Happened::WRITABLE);
        }
    }

    fn transmit_datagram(
        &mut self,
        now: Time,
        index: u32,
        device: &mut dyn Device,
    ) -> Result<Sent, Failure> {
        let Some(socket) = self.datagrams.sockets.get_mut(index) else {
            return Ok(Sent::None);
        };
        let Some((record, at)) = socket.next()? else {
            return Ok(Sent::None);
        };
        let unspecified = record.remote.ip().is_unspecified();
        let remote = socket
            .remote
            .filter(|_| unspecified)
            .unwrap_or(record.remote);
        let local = socket.local.ip();
        let source = match local.is_unspecified() {
            true => address_for(&self.config.addresses, remote.ip()),
            false => Some(local),
        };
        let ip_len = if remote.is_ipv4() {
            ip::V4_LEN
        } else {
            ip::V6_LEN
        };
        let largest = usize::from(self.capabilities.mtu) - ip_len - udp::LEN;
        let size = match record.segment {
            0 => record.len,
            segment => usize::from(segment),
        };
        let whole = record.len + udp::LEN + ip_len;
        // Only a datagram by itself is fragmented.
        let fits = size <= largest || record.segment == 0;
        let source = source.filter(|source| source.is_ipv4() == remote.is_ipv4());
        let Some(source) = source.filter(|_| fits && !remote.ip().is_unspecified()) else {
            self.counters.datagrams_dropped += 1;
            socket.sent(&record)?;
            return Ok(Sent::Some(whole));
        };
        let offloads = self.capabilities.checksums;
        let together =
            size < record.len && offloads && whole <= self.capabilities.udp_segments as usize;
        let step = if together { record.len } else { size.max(1) };
        let mut exit = Exit {
            device,
            offloads,
            scratch: &mut self.scratch,
            link: &mut self.link,
            now,
        };
        if size > largest {
            if socket.fragments.is_new() {
                let latest = &mut self.datagrams.identification;
                let next = match *latest {
                    Some(latest) => latest.wrapping_add(1),
                    // Where they begin cannot be guessed (RFC 7739).
                    None => SipHasher13::new_with_key(&self.config.seed).hash(b"fragments") as u32,
                };
                socket.fragments.identification = *latest.insert(next);
            }
            let ends = (SocketAddr::new(source, socket.local.port()), remote);
            let payload = socket.send.slices(at, record.len)?;
            let mtu = usize::from(self.capabilities.mtu);
            let (count, all) = exit.send_fragments(&ends, payload, mtu, &mut socket.fragments)?;
            self.counters.packets_out += count;
            if !all {
                return Ok(Sent::Full);
            }
            self.counters.bytes_out += record.len as u64;
            socket.sent(&record)?;
            return Ok(Sent::Some(whole));
        }
        // If the device is full in the middle of a record, `partly` says how much of it has gone out.
        let mut done = socket.partly;
        while done < record.len || done == 0 {
            let len = step.min(record.len - done);
            let payload = socket.send.slices(at + done as u64, len)?;
            let segment = if together { record.segment } else { 0 };
            let ends = (SocketAddr::new(source, socket.local.port()), remote);
            if !exit.send_datagram(&ends, payload, segment)? {
                socket.partly = done;
                return Ok(Sent::Full);
            }
            self.counters.packets_out += 1;
            self.counters.bytes_out += len as u64;
            done += len;
            if record.len == 0 {
                break;
            }
        }
        socket.partly = 0;
        socket.sent(&record)?;
        Ok(Sent::Some(whole))
    }
}

/// What came of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sent {
    /// A record of so many bytes with its headers.
    Some(usize),
    None,
    /// The device is full.
    Full,
}

impl Exit<'_> {
    /// False if the device is full.
    fn send_datagram(
        &mut self,
        (local, remote): &(SocketAddr, SocketAddr),
        payload: [Shared<'_>; 2],
        segment: u16,
    ) -> io::Result<bool> {
        let len = udp::LEN + payload[0].len() + payload[1].len();
        let header = udp::Header {
            source_port: local.port(),
            destination_port: remote.port(),
            length: len as u16,
            checksum: 0,
        };
        let mut bytes = [0; udp::LEN];
        udp::write(&header, &mut bytes);
        self.send(Packet {
            ip: ip::Header::new(local.ip(), remote.ip(), protocol::UDP),
            header: &mut bytes,
            checksum_at: Some(udp::CHECKSUM_AT),
            payload,
            segment,
        })
    }
}
