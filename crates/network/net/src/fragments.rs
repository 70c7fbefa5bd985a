//! Packets of IP put together from their fragments (RFC 791 section 3.2, RFC 8200 section 4.5).
//!
//! Fragments that overlap make the packet and all its fragments void (RFC 5722, which RFC 8200 and RFC 8900 recommend for
//! IPv4 too): no right sender makes them. Memory has a limit, beyond which the oldest packets are given up.

use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;
use std::ops::Range;
use std::time::Duration;

use crate::time::Time;
use crate::wire::ip::{self, Ecn, Header};

/// How long the fragments of a packet are waited for.
const PATIENCE: Duration = Duration::from_secs(30);
/// Fragments of a packet at most: a packet of 65,535 bytes over links of the smallest MTU of IPv6 has 53.
const PARTS: usize = 128;
/// Bytes of a packet at most.
const LARGEST: usize = 65_535;
/// What a packet costs beside its bytes.
const OVERHEAD: usize = 512;

/// What the fragments of one packet have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Key {
    source: IpAddr,
    destination: IpAddr,
    /// Of IPv4 only: in IPv6 all but the first fragment may name another.
    protocol: u8,
    identification: u32,
}

#[derive(Debug)]
struct Incomplete {
    /// Tells it from an earlier packet with the same key.
    number: u64,
    /// Headers and payload as far as they are known; there is room for the header of IP in front.
    bytes: Vec<u8>,
    /// What is there of the payload, in order, without overlaps.
    parts: Vec<Range<usize>>,
    /// Bytes of the payload, once the last fragment is there.
    len: Option<usize>,
    /// The header of the fragment at offset 0.
    first: Option<Header>,
    has_congestion: bool,
    has_incapable: bool,
    /// Nothing of it is kept, and what comes of it is dropped.
    is_void: bool,
}

/// Packets that are being put together.
#[derive(Debug)]
pub struct Reassembly {
    packets: HashMap<Key, Incomplete>,
    /// In the order of their first fragments: when each is given up.
    ages: VecDeque<(Time, Key, u64)>,
    next: u64,
    bytes: usize,
    limit: usize,
}

impl Reassembly {
    /// With at most `limit` bytes in packets that are not complete.
    pub fn new(limit: usize) -> Reassembly {
        Reassembly {
            packets: HashMap::new(),
            ages: VecDeque::new(),
            next: 0,
            bytes: 0,
            limit,
        }
    }

    /// Takes a fragment: the header that it came with, and its payload. Returns the packet, with a header of IP, if this
    /// was all that was missing.
    pub fn insert(&mut self, now: Time, header: &Header, payload: &[u8]) -> Option<Vec<u8>> {
        let part = header.fragment?;
        let key = Key {
            source: header.source,
            destination: header.destination,
            protocol: if header.source.is_ipv4() {
                header.protocol
            } else {
                0
            },
            identification: part.identification,
        };
        self.expire(now);
        if !self.packets.contains_key(&key) {
            self.start(now, key);
        }
        let packet = self.packets.get_mut(&key)?;
        let before = packet.cost();
        packet.add(header, usize::from(part.offset), part.more, payload);
        self.bytes = self.bytes + packet.cost() - before;
        let is_complete = packet.is_complete();
        self.make_room();
        if !is_complete {
            return None;
        }
        let packet = self.remove(&key)?;
        packet.finish()
    }

    fn start(&mut self, now: Time, key: Key) {
        let packet = Incomplete {
            number: self.next,
            bytes: Vec::new(),
            parts: Vec::new(),
            len: None,
            first: None,
            has_congestion: false,
            has_incapable: false,
            is_void: false,
        };
        self.bytes += packet.cost();
        self.ages.push_back((now + PATIENCE, key, self.next));
        self.packets.insert(key, packet);
        self.next += 1;
    }

    fn remove(&mut self, key: &Key) -> Option<Incomplete> {
        let packet = self.packets.remove(key)?;
        self.bytes -= packet.cost();
        Some(packet)
    }

    fn remove_oldest(&mut self) {
        let Some((_, key, number)) = self.ages.pop_front() else {
            return;
        };
        // One that was completed is not there, or another has its key.
        if self
            .packets
            .get(&key)
            .is_some_and(|packet| packet.number == number)
        {
            self.remove(&key);
        }
    }

    fn make_room(&mut self) {
        while self.bytes > self.limit && !self.ages.is_empty() {
            self.remove_oldest();
        }
        // Packets that were completed leave their ages behind.
        if self.ages.len() > 2 * self.packets.len() + 16 {
            let packets = &self.packets;
            self.ages.retain(|(_, key, number)| {
                packets
                    .get(key)
                    .is_some_and(|packet| packet.number == *number)
            });
        }
    }

    /// Gives up packets whose fragments have been waited for long enough.
    pub fn expire(&mut self, now: Time) {
        while self.next_deadline() <= now {
            self.remove_oldest();
        }
    }

    /// When the next packet may be given up: [`Time::NEVER`] if there is none.
    pub fn next_deadline(&self) -> Time {
        self.ages.front().map_or(Time::NEVER, |(until, ..)| *until)
    }

    /// Bytes that are in use.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Incomplete {
    fn cost(&self) -> usize {
        OVERHEAD + self.bytes.capacity()
    }

    fn void(&mut self) {
        self.is_void = true;
        self.bytes = Vec::new();
        self.parts = Vec::new();
    }

    fn add(&mut self, header: &Header, offset: usize, more: bool, payload: &[u8]) {
        if self.is_void {
            return;
        }
        let front = if header.source.is_ipv4() {
            ip::V4_LEN
        } else {
            ip::V6_LEN
        };
        // The length field counts the header in IPv4, and does not in IPv6.
        let most = if header.source.is_ipv4() {
            LARGEST - ip::V4_LEN
        } else {
            LARGEST
        };
        let part = offset..offset + payload.len();
        let is_known = self.parts.contains(&part) && !part.is_empty();
        let overlaps = self
            .parts
            .iter()
            .any(|other| other.start < part.end && part.start < other.end);
        let ends_differ = match self.len {
            Some(len) => part.end > len || !more && part.end != len,
            None => !more && self.parts.last().is_some_and(|last| last.end > part.end),
        };
        if is_known && !ends_differ && self.bytes[front + part.start..front + part.end] == *payload
        {
            return;
        }
        if overlaps || ends_differ || part.end > most || self.parts.len() >= PARTS {
            return self.void();
        }
        if !more {
            self.len = Some(part.end);
        }
        if offset == 0 {
            self.first = Some(*header);
        }
        self.has_congestion |= header.ecn() == Ecn::Congestion;
        self.has_incapable |= header.ecn() == Ecn::NotCapable;
        if self.bytes.len() < front + part.end {
            self.bytes.resize(front + part.end, 0);
        }
        self.bytes[front + part.start..front + part.end].copy_from_slice(payload);
        let at = self.parts.partition_point(|other| other.start < part.start);
        if !part.is_empty() {
            self.parts.insert(at, part);
        }
    }

    fn is_complete(&self) -> bool {
        let mut at = 0;
        for part in &self.parts {
            if part.start != at {
                return false;
            }
            at = part.end;
        }
        !self.is_void && self.first.is_some() && self.len == Some(at)
    }

    /// The packet: none if its fragments contradict each other about congestion (RFC 3168 section 5.3).
    fn finish(mut self) -> Option<Vec<u8>> {
        if self.has_congestion && self.has_incapable {
            return None;
        }
        let first = self.first?;
        let mut header = Header {
            fragment: None,
            ..first
        };
        if self.has_congestion {
            header = header.with_ecn(Ecn::Congestion);
        }
        let len = self.len?;
        self.bytes.truncate(header.len() + len);
        ip::write(&header, len, &mut self.bytes);
        Some(self.bytes)
    }
}

#[cfg(test)]
mod tests;
