//! Connections that listeners were asked for, before the peer has shown that it is there: they take little memory, and
//! when there are too many, none (SYN cookies).

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::hash::Hash;
use std::net::SocketAddr;
use std::time::Duration;

use super::open::{MAX_SCALE, Origin, agreed_mss, scale_for};
use super::{Agreed, Options, timestamp_of};
use crate::time::Time;
use crate::wire::tcp::{self, Header, flags};

/// The SYN and ACK goes out so many times again (Linux's `tcp_synack_retries`).
const RETRIES: u8 = 5;
const FIRST_TIMEOUT: Duration = Duration::from_secs(1);
/// How many are kept of all listeners: more are answered by cookies.
const MAX_REQUESTS: usize = 1 << 16;
/// Deadlines of requests that are gone are swept out when there are more of them than of others, and more than so many.
const SWEPT: usize = 1024;

/// Both ends of a connection: ours and the peer's.
pub(crate) type Ends = (SocketAddr, SocketAddr);

/// What is known of one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request {
    pub irs: u32,
    pub iss: u32,
    pub timestamp_offset: u32,
    pub agreed: Agreed,
    /// The peer scales windows: so do we.
    pub scales: bool,
    /// The window it was told.
    pub window: u16,
    pub recent: u32,
    pub sent_at: Time,
    pub retries: u8,
    /// The peer asked again, and was answered again.
    pub repeated: bool,
    /// The size of segments that the peer is told.
    pub own_mss: u16,
}

impl Request {
    /// What a SYN asks for, of a listener with these options whose rings have this size.
    pub fn new(
        now: Time,
        header: &Header,
        options: &Options,
        origin: &Origin,
        ring: u64,
    ) -> Request {
        let peer = &header.options;
        let timestamps = options.timestamps && peer.timestamps.is_some();
        let asks = flags::ECE | flags::CWR;
        let agreed = Agreed {
            mss: agreed_mss(origin, peer.mss, timestamps),
            send_scale: peer.window_scale.unwrap_or(0).min(MAX_SCALE),
            receive_scale: peer.window_scale.map_or(0, |_| scale_for(ring)),
            sack: options.sack && peer.sack_permitted,
            timestamps,
            ecn: header.flags & asks == asks,
        };
        Request {
            irs: header.sequence,
            iss: origin.iss,
            timestamp_offset: origin.timestamp_offset,
            agreed,
            scales: peer.window_scale.is_some(),
            window: ring.min(0xFFFF) as u16,
            recent: peer.timestamps.map_or(0, |(value, _)| value),
            sent_at: now,
            retries: 0,
            repeated: false,
            own_mss: options.mss.unwrap_or(origin.mss).min(origin.mss),
        }
    }

    /// The SYN and ACK, without ports.
    pub fn answer(&self, now: Time) -> Header {
        let timestamp = timestamp_of(now, self.timestamp_offset);
        let ecn = if self.agreed.ecn { flags::ECE } else { 0 };
        Header {
            sequence: self.iss,
            acknowledgment: self.irs.wrapping_add(1),
            flags: flags::SYN | flags::ACK | ecn,
            window: self.window,
            options: tcp::Options {
                mss: Some(self.own_mss),
                window_scale: self.scales.then_some(self.agreed.receive_scale),
                sack_permitted: self.agreed.sack,
                timestamps: self.agreed.timestamps.then_some((timestamp, self.recent)),
                ..tcp::Options::default()
            },
            ..Header::default()
        }
    }
}

/// All of them, each of a listener that an `L` names.
#[derive(Debug)]
pub(crate) struct Requests<L> {
    requests: HashMap<Ends, (L, Request)>,
    /// How many there are of each listener.
    counts: HashMap<L, usize>,
    due: BinaryHeap<Reverse<(Time, Ends)>>,
}

impl<L> Default for Requests<L> {
    fn default() -> Requests<L> {
        Requests {
            requests: HashMap::new(),
            counts: HashMap::new(),
            due: BinaryHeap::new(),
        }
    }
}

impl<L: Copy + Eq + Hash> Requests<L> {
    /// Whether another of a listener is kept that has so many at most.
    pub fn has_room(&self, listener: L, backlog: usize) -> bool {
        let count = self.counts.get(&listener).copied().unwrap_or(0);
        count < backlog && self.requests.len() < MAX_REQUESTS
    }

    pub fn get(&self, ends: &Ends) -> Option<&Request> {
        Some(&self.requests.get(ends)?.1)
    }

    pub fn get_mut(&mut self, ends: &Ends) -> Option<&mut Request> {
        Some(&mut self.requests.get_mut(ends)?.1)
    }

    pub fn insert(&mut self, ends: Ends, listener: L, request: Request) {
        self.remove(&ends);
        self.sweep();
        self.due.push(Reverse((next_at(&request), ends)));
        *self.counts.entry(listener).or_default() += 1;
        self.requests.insert(ends, (listener, request));
    }

    pub fn remove(&mut self, ends: &Ends) -> Option<Request> {
        let (listener, request) = self.requests.remove(ends)?;
        Self::uncount(&mut self.counts, listener);
        Some(request)
    }

    /// A peer that asks and resets, again and again, leaves a deadline each time.
    fn sweep(&mut self) {
        if self.due.len() > 2 * self.requests.len() + SWEPT {
            let requests = &self.requests;
            (self.due).retain(|Reverse((at, ends))| {
                (requests.get(ends)).is_some_and(|(_, request)| next_at(request) == *at)
            });
        }
    }

    fn uncount(counts: &mut HashMap<L, usize>, listener: L) {
        if let Some(count) = counts.get_mut(&listener) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&listener);
            }
        }
    }

    /// Keeps those whose local end is to be kept.
    pub fn retain(&mut self, keep: impl Fn(&SocketAddr) -> bool) {
        let Requests {
            requests, counts, ..
        } = self;
        requests.retain(|(local, _), (listener, _)| {
            let kept = keep(local);
            if !kept {
                Self::uncount(counts, *listener);
            }
            kept
        });
    }

    /// When the next is due.
    pub fn deadline(&self) -> Time {
        self.due.peek().map_or(Time::NEVER, |Reverse((at, _))| *at)
    }

    /// One of which the SYN and ACK is to go out again.
    pub fn next_due(&mut self, now: Time) -> Option<(Ends, Request)> {
        while let Some(&Reverse((at, ends))) = self.due.peek() {
            if at > now {
                return None;
            }
            self.due.pop();
            let Some(request) = self.get_mut(&ends) else {
                continue;
            };
            if next_at(request) > at {
                // Another, that came at the same ends later.
                continue;
            }
            if request.retries == RETRIES {
                self.remove(&ends);
                continue;
            }
            request.retries += 1;
            request.sent_at = at;
            let request = *request;
            self.due.push(Reverse((next_at(&request), ends)));
            return Some((ends, request));
        }
        None
    }
}

/// When the SYN and ACK is due again.
fn next_at(request: &Request) -> Time {
    request.sent_at + FIRST_TIMEOUT * (1 << request.retries)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request() -> Request {
        let origin = Origin {
            iss: 0,
            timestamp_offset: 0,
            mss: 1460,
            default_mss: 536,
        };
        let header = Header::default();
        Request::new(Time::ZERO, &header, &Options::default(), &origin, 1 << 16)
    }

    fn ends(number: u32) -> Ends {
        let peer = SocketAddr::new([10, 0, (number >> 8) as u8, number as u8].into(), 99);
        ("10.1.0.1:80".parse().unwrap(), peer)
    }

    #[test]
    fn deadlines_of_those_that_are_gone_do_not_pile_up() {
        let mut requests = Requests::default();
        requests.insert(ends(0), 'a', request());
        for number in 0..100_000 {
            let ends = ends(1 + number % 60_000);
            requests.insert(ends, 'a', request());
            requests.remove(&ends).unwrap();
            assert!(requests.due.len() <= SWEPT + 4);
        }
        let due = requests.next_due(Time::from_millis(1000));
        assert_eq!(due.map(|(ends, _)| ends), Some(ends(0)));
        assert!(requests.next_due(Time::from_millis(1000)).is_none());
    }

    #[test]
    fn there_are_so_many_of_a_listener_and_so_many_of_all() {
        let mut requests = Requests::default();
        for number in 0..4 {
            assert!(requests.has_room('a', 4));
            requests.insert(ends(number), 'a', request());
        }
        assert!(!requests.has_room('a', 4) && requests.has_room('b', 4));
        for number in 4..MAX_REQUESTS as u32 {
            let listener = char::from(b'c' + (number % 20) as u8);
            requests.insert(ends(number), listener, request());
        }
        assert!(!requests.has_room('b', 4));
    }
}
