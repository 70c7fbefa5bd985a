//! One direction of a link.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::time::Duration;

use super::Conditions;
use super::random::Random;
use crate::device::Medium;
use crate::packet::Offload;
use crate::segments::Splitter;
use crate::time::Time;
use crate::wire::{ethernet, ip};

/// Buffers that are kept for later packets.
const KEPT: usize = 4096;

/// One direction of a link. Packets go in when they are sent, and come out when they arrive.
///
/// Super-segments are taken apart first: each segment is lost, marked or held back on its own.
#[derive(Debug)]
pub struct Path {
    conditions: Conditions,
    /// Bytes before the header of IP.
    network: usize,
    random: Random,
    splitter: Splitter,
    /// When the last packet in the queue has left it.
    free: Time,
    /// Packets in the queue: when they have left it, and their bytes.
    queue: VecDeque<(Time, usize)>,
    queued: usize,
    /// When the last packet arrives that was not held back.
    last: Time,
    arriving: BinaryHeap<Reverse<Arriving>>,
    /// How many went in, which orders those that arrive at the same time.
    order: u64,
    spare: Vec<Vec<u8>>,
    counters: Counters,
}

/// A packet under way.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Arriving {
    at: Time,
    order: u64,
    bytes: Vec<u8>,
    is_partial: bool,
}

/// What became of the segments that went into a path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Segments that came out, copies included.
    pub forwarded: u64,
    /// Lost on the way.
    pub lost: u64,
    /// Dropped, because the queue had no room.
    pub dropped: u64,
    /// Doubled.
    pub duplicated: u64,
    /// Held back.
    pub reordered: u64,
    /// Marked.
    pub marked: u64,
}

impl Path {
    /// An empty path for packets of this medium.
    pub fn new(conditions: Conditions, medium: Medium) -> Path {
        Path {
            conditions,
            network: match medium {
                Medium::Ip => 0,
                Medium::Ethernet(_) => ethernet::LEN,
            },
            random: Random::new(conditions.seed),
            splitter: Splitter::new(),
            free: Time::ZERO,
            queue: VecDeque::new(),
            queued: 0,
            last: Time::ZERO,
            arriving: BinaryHeap::new(),
            order: 0,
            spare: Vec::new(),
            counters: Counters::default(),
        }
    }

    /// Sends a packet into it at `now`, which is not before the last.
    pub fn push(&mut self, now: Time, bytes: &[u8], offload: Offload) {
        let mut splitter = std::mem::take(&mut self.splitter);
        splitter.split(bytes, offload, self.network, &mut |bytes, offload| {
            self.push_segment(now, bytes, offload);
        });
        self.splitter = splitter;
    }

    fn push_segment(&mut self, now: Time, bytes: &[u8], offload: Offload) {
        // Always four, so that what happens to a packet does not depend on what happened to those before.
        let [loses, doubles, holds, varies] = std::array::from_fn(|_| self.random.next());
        let conditions = self.conditions;
        let Some((left, is_marked)) = self.pass_queue(now, bytes.len()) else {
            self.counters.dropped += 1;
            return;
        };
        if loses < conditions.loss {
            self.counters.lost += 1;
            return;
        }
        let on_time = left + conditions.delay + conditions.jitter.mul_f64(varies);
        let at = if holds < conditions.reorder {
            self.counters.reordered += 1;
            on_time + conditions.held
        } else {
            self.last = on_time.max(self.last);
            self.last
        };
        let copies = if doubles < conditions.duplicate {
            self.counters.duplicated += 1;
            2
        } else {
            1
        };
        for _ in 0..copies {
            let mut copy = self.spare.pop().unwrap_or_default();
            copy.extend_from_slice(bytes);
            if is_marked && ip::mark_congestion(&mut copy[self.network..]) {
                self.counters.marked += 1;
            }
            self.arriving.push(Reverse(Arriving {
                at,
                order: self.order,
                bytes: copy,
                is_partial: offload.checksum == crate::packet::Checksum::Partial,
            }));
            self.order += 1;
        }
    }

    /// When a packet has left the queue, and whether it is to be marked. None if there is no room.
    fn pass_queue(&mut self, now: Time, len: usize) -> Option<(Time, bool)> {
        let Some(rate) = self.conditions.rate else {
            return Some((now, false));
        };
        while let Some((left, len)) = self.queue.front().copied()
            && left <= now
        {
            self.queue.pop_front();
            self.queued -= len;
        }
        if self.queued + len > self.conditions.queue {
            return None;
        }
        let is_marked = self.conditions.mark.is_some_and(|mark| self.queued > mark);
        let nanos = (len as u128 * 8 * 1_000_000_000).div_ceil(u128::from(rate.max(1)));
        let takes = Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX));
        self.free = self.free.max(now) + takes;
        self.queue.push_back((self.free, len));
        self.queued += len;
        Some((self.free, is_marked))
    }

    /// Hands a packet that has arrived by `now` to `take`, the earliest first. False if there is none.
    pub fn pop(&mut self, now: Time, take: impl FnOnce(&mut [u8], Offload)) -> bool {
        if self.next_arrival() > now {
            return false;
        }
        let Some(Reverse(mut arriving)) = self.arriving.pop() else {
            return false;
        };
        let checksum = match arriving.is_partial {
            true => crate::packet::Checksum::Partial,
            false => crate::packet::Checksum::Complete,
        };
        let offload = Offload {
            segment: 0,
            checksum,
        };
        take(&mut arriving.bytes, offload);
        self.counters.forwarded += 1;
        if self.spare.len() < KEPT {
            arriving.bytes.clear();
            self.spare.push(arriving.bytes);
        }
        true
    }

    /// When the next packet arrives: [`Time::NEVER`] if none is under way.
    pub fn next_arrival(&self) -> Time {
        self.arriving
            .peek()
            .map_or(Time::NEVER, |Reverse(next)| next.at)
    }

    /// What has become of packets.
    pub fn counters(&self) -> Counters {
        self.counters
    }
}

#[cfg(test)]
mod tests;
