//! Packets in the order in which they were sent.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use super::{Packet, Reception, distance};
use crate::rate::Losses;

/// Until when a packet that is missing is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// At most so many later packets are held; with 0 nothing is waited for.
    pub packets: usize,
    /// At most so long.
    pub wait: Duration,
}

impl Default for Bounds {
    /// 64 packets and 50 ms.
    fn default() -> Bounds {
        Bounds {
            packets: 64,
            wait: Duration::from_millis(50),
        }
    }
}

/// A packet in its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ordered {
    /// As it came.
    pub packet: Packet,
    /// How many packets are missing directly before it.
    pub missing: u32,
    /// Its numbers and timestamps have nothing to do with those of the packets before.
    pub restarts: bool,
}

/// What came, in packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// All that came from the sender.
    pub received: u64,
    /// Were not there when their turn was over.
    pub lost: u64,
    /// Came after their turn was over, and were dropped. Each is one of `lost` as well.
    pub late: u64,
    /// Came more than once, and were dropped.
    pub duplicated: u64,
    /// Came after a packet that was sent later, and in time.
    pub reordered: u64,
    /// Of another sender, or far from all others in number; dropped.
    pub foreign: u64,
    /// Changes of sender, and jumps in number.
    pub restarts: u64,
}

/// From here on a number is a jump (RFC 3550, section A.1: `MAX_DROPOUT` and `MAX_MISORDER`).
const DROPOUT: i32 = 3000;
const MISORDER: i32 = 100;
/// The round-trip time to a sender, which packets of RTP do not tell: losses that are closer are one event.
const RTT: Duration = Duration::from_millis(100);

/// Puts the packets of one sender into order. A packet whose turn it is goes through at once, and none is copied.
#[derive(Debug)]
pub struct Order {
    bounds: Bounds,
    reception: Reception,
    counts: Counts,
    sender: Option<Sender>,
    /// Came before their turn, in order of their numbers.
    held: VecDeque<(Packet, Instant)>,
    /// When the first of `held` could have gone if none was missing.
    blocked: Option<Instant>,
    /// A packet that may be the first of a new sender, or after a jump: it is if its successor comes next.
    stray: Option<Packet>,
    losses: Losses,
    /// What [`Counts::lost`] was when losses were counted last.
    counted: u64,
    /// When the first packet came, and bytes of payload since.
    begun: Option<Instant>,
    bytes: u64,
}

#[derive(Clone, Copy, Debug)]
struct Sender {
    ssrc: u32,
    /// Whose turn it is.
    next: u16,
    /// Of the 128 numbers before `next`, which packets came; the lowest bit is for the last.
    came: u128,
}

impl Order {
    /// For a payload whose timestamps count `clock_rate` units a second.
    pub fn new(bounds: Bounds, clock_rate: u32) -> Order {
        Order {
            bounds,
            reception: Reception::new(clock_rate),
            counts: Counts::default(),
            sender: None,
            held: VecDeque::new(),
            blocked: None,
            stray: None,
            losses: Losses::new(),
            counted: 0,
            begun: None,
            bytes: 0,
        }
    }

    /// Loss events a packet (RFC 5348, section 5): 0 before the first loss.
    pub fn loss_event_rate(&self) -> f64 {
        self.losses.loss_event_rate()
    }

    /// What came so far.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// What reports say of it.
    pub fn reception(&mut self) -> &mut Reception {
        &mut self.reception
    }

    /// Whose packets go through, once there was one.
    pub fn ssrc(&self) -> Option<u32> {
        self.sender.map(|sender| sender.ssrc)
    }

    /// When [`Order::expire`] has something to do, if nothing comes before.
    pub fn deadline(&self) -> Option<Instant> {
        self.blocked.map(|since| since + self.bounds.wait)
    }

    /// Takes a packet, and gives `out` all whose turn it is.
    pub fn push(&mut self, packet: Packet, now: Instant, mut out: impl FnMut(Ordered)) {
        let len = packet.payload.len();
        self.take(packet, now, &mut out);
        self.expire(now, out);
        self.count(len, now);
    }

    /// Counts a packet, and those that were given up since the last.
    fn count(&mut self, len: usize, now: Instant) {
        let begun = *self.begun.get_or_insert(now);
        self.bytes += len as u64;
        let lost = self.counts.lost - self.counted;
        self.counted = self.counts.lost;
        let time = now.saturating_duration_since(begun).max(RTT);
        let rate = self.bytes as f64 / time.as_secs_f64();
        let segment = len.max(1) as f64;
        self.losses.count(now, 1 + lost, lost, RTT, rate, segment);
    }

    fn take(&mut self, packet: Packet, now: Instant, out: &mut impl FnMut(Ordered)) {
        let Some(sender) = self.sender else {
            return self.restart(packet, now, out);
        };
        let ahead = distance(sender.next, packet.sequence);
        if packet.ssrc != sender.ssrc || !(-MISORDER..DROPOUT).contains(&ahead) {
            return self.stray(packet, now, out);
        }
        self.stray = None;
        self.counts.received += 1;
        match ahead {
            0 => {
                self.reordered_if(!self.held.is_empty());
                self.reception.came(&packet, now);
                self.release(packet, 0, out);
                self.release_successors(out);
            }
            1.. => self.hold(packet, now),
            behind => {
                // The last packet before `next` is bit 0.
                let bit = 1u128.checked_shl(!behind as u32).unwrap_or(0);
                match sender.came & bit != 0 {
                    true => self.counts.duplicated += 1,
                    false => {
                        self.counts.late += 1;
                        self.reception.came(&packet, now);
                        self.mark_came(bit);
                    }
                }
            }
        }
    }

    /// Gives up what has been waited for too long, and gives `out` what comes after.
    pub fn expire(&mut self, now: Instant, mut out: impl FnMut(Ordered)) {
        while !self.held.is_empty()
            && (self.held.len() > self.bounds.packets
                || self.deadline().is_some_and(|deadline| deadline <= now))
        {
            self.give_up(&mut out);
        }
    }

    /// The packets of this stream are over: gives `out` what is held.
    pub fn finish(&mut self, mut out: impl FnMut(Ordered)) {
        while !self.held.is_empty() {
            self.give_up(&mut out);
        }
    }

    fn reordered_if(&mut self, is: bool) {
        self.counts.reordered += u64::from(is);
    }

    fn mark_came(&mut self, bit: u128) {
        if let Some(sender) = &mut self.sender {
            sender.came |= bit;
        }
    }

    fn hold(&mut self, packet: Packet, now: Instant) {
        let before = |(held, _): &(Packet, Instant)| distance(held.sequence, packet.sequence) <= 0;
        let after = self
            .held
            .iter()
            .rev()
            .take_while(|held| before(held))
            .count();
        let at = self.held.len() - after;
        if self
            .held
            .get(at)
            .is_some_and(|(held, _)| held.sequence == packet.sequence)
        {
            self.counts.duplicated += 1;
            return;
        }
        self.reordered_if(after > 0);
        self.reception.came(&packet, now);
        self.held.insert(at, (packet, now));
        self.blocked.get_or_insert(now);
    }

    fn release(&mut self, packet: Packet, missing: u32, out: &mut impl FnMut(Ordered)) {
        if let Some(sender) = &mut self.sender {
            sender.next = packet.sequence.wrapping_add(1);
            sender.came = sender.came.checked_shl(missing + 1).unwrap_or(0) | 1;
        }
        self.counts.lost += u64::from(missing);
        out(Ordered {
            packet,
            missing,
            restarts: false,
        });
    }

    fn release_successors(&mut self, out: &mut impl FnMut(Ordered)) {
        if self.held.is_empty() {
            return;
        }
        while let (Some((first, _)), Some(sender)) = (self.held.front(), self.sender)
            && first.sequence == sender.next
            && let Some((packet, _)) = self.held.pop_front()
        {
            self.release(packet, 0, out);
        }
        self.blocked = self.held.iter().map(|&(_, came)| came).min();
    }

    fn give_up(&mut self, out: &mut impl FnMut(Ordered)) {
        if let (Some((packet, _)), Some(sender)) = (self.held.pop_front(), self.sender) {
            let missing = packet.sequence.wrapping_sub(sender.next);
            self.release(packet, missing.into(), out);
        }
        self.release_successors(out);
        if self.held.is_empty() {
            self.blocked = None;
        }
    }

    /// Two packets in sequence make a new sender; one alone is dropped.
    fn stray(&mut self, packet: Packet, now: Instant, out: &mut impl FnMut(Ordered)) {
        let first = self.stray.take_if(|first| {
            first.ssrc == packet.ssrc && distance(first.sequence, packet.sequence) == 1
        });
        let Some(first) = first else {
            self.counts.foreign += 1;
            self.stray = Some(packet);
            return;
        };
        self.counts.foreign -= 1;
        while !self.held.is_empty() {
            self.give_up(out);
        }
        self.restart(first, now, out);
        self.take(packet, now, out);
    }

    fn restart(&mut self, packet: Packet, now: Instant, out: &mut impl FnMut(Ordered)) {
        self.counts.received += 1;
        self.counts.restarts += u64::from(self.sender.is_some());
        self.reception.restart(&packet, now);
        self.sender = Some(Sender {
            ssrc: packet.ssrc,
            next: packet.sequence.wrapping_add(1),
            came: 1,
        });
        out(Ordered {
            packet,
            missing: 0,
            restarts: true,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn packet(ssrc: u32, sequence: u16) -> Packet {
        Packet {
            sequence,
            timestamp: u32::from(sequence) * 90,
            ssrc,
            payload_type: 33,
            marker: false,
            payload: bytes::Bytes::new(),
        }
    }

    /// Gives an order packets, and keeps what comes out.
    struct Test {
        order: Order,
        begun: Instant,
        out: Vec<(u16, u32)>,
        restarts: usize,
    }

    impl Test {
        fn new(packets: usize) -> Test {
            let wait = Duration::from_millis(50);
            Test {
                order: Order::new(Bounds { packets, wait }, 90_000),
                begun: Instant::now(),
                out: Vec::new(),
                restarts: 0,
            }
        }

        fn push(&mut self, packet: Packet, millis: u64) {
            self.order.push(
                packet,
                self.begun + Duration::from_millis(millis),
                |ordered| {
                    self.out.push((ordered.packet.sequence, ordered.missing));
                    self.restarts += usize::from(ordered.restarts);
                },
            );
        }

        fn sequences(&self) -> Vec<u16> {
            self.out.iter().map(|&(sequence, _)| sequence).collect()
        }
    }

    #[test]
    fn a_packet_in_its_turn_goes_through_at_once() {
        let mut test = Test::new(8);
        for at in [65534, 65535, 0, 1] {
            test.push(packet(1, at), 0);
            assert_eq!(test.out.pop(), Some((at, 0)));
        }
        let counts = Counts {
            received: 4,
            ..Counts::default()
        };
        assert_eq!((test.order.counts(), test.restarts), (counts, 1));
    }

    #[test]
    fn a_missing_packet_is_waited_for_as_long_as_allowed() {
        let mut test = Test::new(8);
        test.push(packet(1, 1), 0);
        test.push(packet(1, 3), 10);
        test.push(packet(1, 5), 20);
        assert_eq!(test.out, [(1, 0)]);
        assert_eq!(
            test.order.deadline(),
            Some(test.begun + Duration::from_millis(60))
        );
        let mut expire = |millis: u64| {
            let mut out = Vec::new();
            test.order
                .expire(test.begun + Duration::from_millis(millis), |ordered| {
                    out.push((ordered.packet.sequence, ordered.missing));
                });
            out
        };
        assert_eq!(expire(59), []);
        assert_eq!(expire(60), [(3, 1)]);
        assert_eq!(expire(69), []);
        assert_eq!(expire(70), [(5, 1)]);
        assert_eq!(test.order.deadline(), None);
        test.push(packet(1, 4), 80);
        test.push(packet(1, 4), 80);
        test.push(packet(1, 5), 80);
        let counts = Counts {
            received: 6,
            lost: 2,
            late: 1,
            duplicated: 2,
            ..Counts::default()
        };
        assert_eq!(test.order.counts(), counts);
    }

    #[test]
    fn no_more_are_held_than_allowed() {
        let mut test = Test::new(2);
        for at in [1, 4, 3, 6] {
            test.push(packet(1, at), 0);
        }
        assert_eq!(test.out, [(1, 0), (3, 1), (4, 0)]);
        let mut without = Test::new(0);
        for at in [1, 3, 2] {
            without.push(packet(1, at), 0);
        }
        assert_eq!(without.out, [(1, 0), (3, 1)]);
    }

    #[test]
    fn losses_are_events_a_packet() {
        let mut test = Test::new(0);
        for at in 0..5000u64 {
            // Two in a row of each hundred, which are a second apart.
            if at % 100 < 98 {
                test.push(packet(1, at as u16), at * 10);
            }
        }
        let rate = test.order.loss_event_rate();
        assert!((rate - 0.01).abs() < 1e-4, "{rate}");
    }

    #[test]
    fn two_packets_in_sequence_are_a_new_sender() {
        let mut test = Test::new(8);
        for packet in [
            packet(1, 1),
            packet(1, 3),
            packet(2, 900),
            packet(2, 901),
            packet(2, 902),
        ] {
            test.push(packet, 0);
        }
        assert_eq!(test.out, [(1, 0), (3, 1), (900, 0), (901, 0), (902, 0)]);
        assert_eq!(
            (
                test.restarts,
                test.order.counts().foreign,
                test.order.ssrc()
            ),
            (2, 0, Some(2))
        );
        for at in 0..10 {
            test.push(packet(1, at), 0);
            test.push(packet(2, 903 + at), 0);
        }
        assert_eq!((test.restarts, test.order.counts().foreign), (2, 10));
    }

    #[test]
    fn a_jump_in_number_is_a_new_beginning() {
        let mut test = Test::new(8);
        for at in [1, 20_000, 2, 40_000, 40_001] {
            test.push(packet(1, at), 0);
        }
        assert_eq!(test.sequences(), [1, 2, 40_000, 40_001]);
        let counts = test.order.counts();
        assert_eq!((counts.restarts, counts.foreign, counts.lost), (1, 1, 0));
    }

    proptest! {
        #[test]
        fn what_is_not_too_late_comes_out_in_order(
            first: u16, fates in proptest::collection::vec((0..8u64, 0..10u8), 1..400),
        ) {
            let mut sent = Vec::new();
            for (at, &(delay, fate)) in (0u16..).zip(&fates) {
                // A packet comes after at most seven that were sent later; one in ten is lost, one comes twice.
                let copies = match (at, fate) { (0, _) => 1, (_, 0) => 0, (_, 1) => 2, _ => 1 };
                let delay = if at == 0 { 0 } else { delay };
                sent.extend((0..copies).map(|copy| (u64::from(at) + delay + copy, at)));
            }
            sent.sort();
            let mut test = Test::new(16);
            for &(when, at) in &sent {
                test.push(packet(1, first.wrapping_add(at)), when);
            }
            test.order.finish(|ordered| test.out.push((ordered.packet.sequence, ordered.missing)));
            let mut numbers: Vec<u16> = sent.iter().map(|&(_, at)| at).collect();
            let copies = numbers.len();
            numbers.sort();
            numbers.dedup();
            let out: Vec<u16> = test.sequences().iter().map(|at| at.wrapping_sub(first)).collect();
            prop_assert_eq!(&out, &numbers);
            let last = usize::from(*numbers.last().unwrap());
            let counts = test.order.counts();
            prop_assert_eq!(counts.lost as usize, last + 1 - numbers.len());
            prop_assert_eq!(counts.duplicated as usize, copies - numbers.len());
            prop_assert_eq!(test.out.iter().map(|&(_, missing)| missing as usize).sum::<usize>(), last + 1 - numbers.len());
        }

        #[test]
        fn any_numbers_are_taken(packets in proptest::collection::vec((0..3u32, any::<u16>(), 0..100u64), 0..300)) {
            let mut test = Test::new(4);
            for &(ssrc, sequence, millis) in &packets {
                // Half are near each other.
                let sequence = if millis % 2 == 0 { sequence % 64 } else { sequence };
                test.push(packet(ssrc, sequence), millis);
                prop_assert!(test.order.held.len() <= 4);
            }
            prop_assert!(test.out.len() <= packets.len());
        }
    }
}
