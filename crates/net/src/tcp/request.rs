//! Connections that listeners were asked for, before the peer has shown that it is there: they take little memory, and
//! when there are too many, none (SYN cookies).

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::net::SocketAddr;
use std::time::Duration;

use super::open::{MAX_SCALE, Origin, agreed_mss, scale_for};
use super::{Agreed, Options, timestamp_of};
use crate::time::Time;
use crate::wire::tcp::{self, Header, flags};

/// The SYN and ACK goes out so many times again (Linux's `tcp_synack_retries`).
const RETRIES: u8 = 5;
const FIRST_TIMEOUT: Duration = Duration::from_secs(1);

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

/// All of them.
#[derive(Debug, Default)]
pub(crate) struct Requests {
    /// Each with the number of its listener.
    requests: HashMap<Ends, (u32, Request)>,
    /// How many there are of each listener.
    counts: HashMap<u32, usize>,
    due: BinaryHeap<Reverse<(Time, Ends)>>,
}

impl Requests {
    /// How many there are of a listener.
    pub fn count(&self, listener: u32) -> usize {
        self.counts.get(&listener).copied().unwrap_or(0)
    }

    pub fn get(&self, ends: &Ends) -> Option<&Request> {
        Some(&self.requests.get(ends)?.1)
    }

    pub fn get_mut(&mut self, ends: &Ends) -> Option<&mut Request> {
        Some(&mut self.requests.get_mut(ends)?.1)
    }

    pub fn insert(&mut self, ends: Ends, listener: u32, request: Request) {
        self.remove(&ends);
        self.due
            .push(Reverse((request.sent_at + FIRST_TIMEOUT, ends)));
        *self.counts.entry(listener).or_default() += 1;
        self.requests.insert(ends, (listener, request));
    }

    pub fn remove(&mut self, ends: &Ends) -> Option<Request> {
        let (listener, request) = self.requests.remove(ends)?;
        Self::uncount(&mut self.counts, listener);
        Some(request)
    }

    fn uncount(counts: &mut HashMap<u32, usize>, listener: u32) {
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
            let timeout = FIRST_TIMEOUT * (1 << request.retries);
            if request.sent_at + timeout > at {
                // Another, that came at the same ends later.
                continue;
            }
            if request.retries == RETRIES {
                self.remove(&ends);
                continue;
            }
            request.retries += 1;
            let next = FIRST_TIMEOUT * (1 << request.retries);
            request.sent_at = at;
            let request = *request;
            self.due.push(Reverse((at + next, ends)));
            return Some((ends, request));
        }
        None
    }
}
