//! A segment arrives (RFC 9293, 3.10.7; RFC 7323; RFC 5961).

use std::time::Duration;

use super::timers::Retransmit;
use super::window::Acknowledge;
use super::{Connection, FIRST, Happened, NOWHERE, ORIGIN, Reason, State};
use crate::memory::Corrupt;
use crate::time::Time;
use crate::wire::tcp::{Header, flags};

/// What should not have come is answered this often at most, unless it has data (RFC 5961, 7).
const CHALLENGES: Duration = Duration::from_millis(500);
/// A timestamp is not believed to be old if the last one is older than this (RFC 7323, 5.5).
const TIMESTAMP_AGE: Duration = Duration::from_secs(24 * 24 * 3600);

/// What is to be done about a segment beyond the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Nothing.
    Done,
    /// A reset answers it.
    Refuse,
    /// The connection is over; the segment is a SYN that begins another, whose sequence numbers begin after this one.
    Reopen(u32),
}

/// A segment, or several that follow each other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival<'a> {
    pub header: &'a Header,
    pub payload: &'a [u8],
    /// Bytes of payload in each segment; 0 if it is one.
    pub segment: u16,
    /// A router marked it (RFC 3168).
    pub marked: bool,
}

impl Arrival<'_> {
    fn has(&self, flag: u8) -> bool {
        self.header.flags & flag != 0
    }

    /// Sequence numbers that it takes.
    pub fn positions(&self) -> u64 {
        self.payload.len() as u64
            + u64::from(self.has(flags::SYN))
            + u64::from(self.has(flags::FIN))
    }
}

impl Connection {
    /// # Errors
    /// [`Corrupt`] when a ring of the application is.
    pub fn receive(&mut self, now: Time, arrival: &Arrival<'_>) -> Result<Verdict, Corrupt> {
        let verdict = self.process(now, arrival)?;
        self.check();
        Ok(verdict)
    }

    fn process(&mut self, now: Time, arrival: &Arrival<'_>) -> Result<Verdict, Corrupt> {
        self.counts.received_segments += 1;
        match self.state {
            State::Closed => return Ok(Verdict::Refuse),
            State::SynSent => return self.receive_in_syn_sent(now, arrival),
            _ => {}
        }
        let header = arrival.header;
        let start = self.peer_position(header.sequence);
        let end = start + arrival.positions();
        let opens = flags::SYN | flags::ACK | flags::RST | flags::FIN;
        if self.state == State::TimeWait && header.flags & opens == flags::SYN {
            let newer = match header.options.timestamps {
                // RFC 6191, 2.
                Some((value, _)) if self.agreed.timestamps && value != self.recent => {
                    value.wrapping_sub(self.recent) as i32 > 0
                }
                _ => start >= self.expected,
            };
            if newer {
                return Ok(Verdict::Reopen(self.sequence(self.nxt)));
            }
        }
        if self.is_old_by_timestamp(now, arrival) {
            self.counts.duplicates += 1;
            self.answer(now, arrival);
            return Ok(Verdict::Done);
        }
        let ack = self.position(header.acknowledgment);
        if self.state == State::SynReceived
            && arrival.has(flags::SYN)
            && arrival.has(flags::ACK)
            && !arrival.has(flags::RST)
            && (start, ack) == (ORIGIN, FIRST)
        {
            // Both open at the same time, and the peer got our SYN, too (RFC 9293, 3.5, figure 7).
            self.complete_handshake(now, ack, header)?;
            return Ok(Verdict::Done);
        }
        if !self.is_acceptable(start, end) {
            if !arrival.has(flags::RST) {
                if arrival.payload.is_empty() {
                    self.answer(now, arrival);
                } else {
                    if end <= self.expected {
                        self.reassembly
                            .duplicate(start, start + arrival.payload.len() as u64);
                    }
                    self.acknowledge_quickly();
                }
            }
            return Ok(Verdict::Done);
        }
        self.receiving.heard_at = now;
        self.sending.unheard = 0;
        if arrival.has(flags::RST) {
            if start == self.expected {
                self.reset_by_peer();
            } else {
                self.challenge(now);
            }
            return Ok(Verdict::Done);
        }
        if arrival.has(flags::SYN) {
            self.challenge(now);
            return Ok(Verdict::Done);
        }
        if !arrival.has(flags::ACK) {
            return Ok(Verdict::Done);
        }
        if self.state == State::SynReceived {
            if ack <= self.una || ack > self.nxt {
                return Ok(Verdict::Refuse);
            }
            self.become_established(now);
            self.right = ack + (u64::from(header.window) << self.agreed.send_scale);
        }
        if ack > self.nxt || ack + self.largest_window < self.una {
            // Of data that was never sent, or long ago (RFC 5961, 5).
            self.challenge(now);
            return Ok(Verdict::Done);
        }
        self.take_timestamp(now, header, start);
        let same = self.take_window(start, ack, header);
        self.take_acknowledgement(now, ack, header, arrival.positions() > 0, same)?;
        if self.retransmit == Retransmit::Persist || self.right <= self.una {
            // As long as it answers that it has no room, it is there (RFC 9293, 3.8.6.1).
            self.sending.retries = 0;
        }
        if self.state == State::Closed {
            return Ok(Verdict::Done);
        }
        self.take_mark(arrival);
        self.take_data(now, start, arrival)
    }

    /// PAWS (RFC 7323, 5).
    fn is_old_by_timestamp(&self, now: Time, arrival: &Arrival<'_>) -> bool {
        match arrival.header.options.timestamps {
            Some((value, _)) if self.agreed.timestamps && !arrival.has(flags::RST) => {
                (value.wrapping_sub(self.recent) as i32) < 0
                    && now.since(self.recent_at) < TIMESTAMP_AGE
            }
            _ => false,
        }
    }

    /// RFC 9293, 3.10.7.4, first. One position before the window is a probe.
    fn is_acceptable(&self, start: u64, end: u64) -> bool {
        let ends = self.told.max(self.expected + 1);
        if start == end {
            start >= self.expected && start <= self.told
        } else {
            start < ends && end > self.expected
        }
    }

    /// An acknowledgement answers what is out of place.
    fn answer(&mut self, now: Time, arrival: &Arrival<'_>) {
        if arrival.payload.is_empty() && !arrival.has(flags::FIN) {
            self.challenge(now);
        } else {
            self.acknowledge = Acknowledge::Now;
        }
        if self.state == State::TimeWait && arrival.has(flags::FIN) {
            self.begin_time_wait(now);
        }
    }

    fn challenge(&mut self, now: Time) {
        let last = &mut self.receiving.challenged_at;
        if *last == Time::NEVER || now.since(*last) >= CHALLENGES {
            *last = now;
            self.acknowledge = Acknowledge::Now;
        }
    }

    fn reset_by_peer(&mut self) {
        match self.state {
            State::SynReceived => self.fail(Reason::Refused),
            State::LastAck | State::Closing | State::TimeWait => self.become_closed(),
            _ => self.fail(Reason::Reset),
        }
    }

    /// RFC 7323, 4.3.
    fn take_timestamp(&mut self, now: Time, header: &Header, start: u64) {
        if let Some((value, _)) = header.options.timestamps
            && self.agreed.timestamps
            && start <= self.receiving.acknowledged
            && (value.wrapping_sub(self.recent) as i32 >= 0
                || now.since(self.recent_at) >= TIMESTAMP_AGE)
        {
            self.recent = value;
            self.recent_at = now;
        }
    }

    /// Whether the window is as it was.
    fn take_window(&mut self, start: u64, ack: u64, header: &Header) -> bool {
        let window = u64::from(header.window) << self.agreed.send_scale;
        let right = ack + window;
        let same = right == self.right;
        let (from, acknowledged) = self.window_from;
        if ack >= self.una && (from < start || from == start && acknowledged <= ack) {
            self.window_from = (start, ack);
            self.right = right.max(self.una);
            self.largest_window = self.largest_window.max(window);
        }
        same
    }

    fn take_mark(&mut self, arrival: &Arrival<'_>) {
        if !self.agreed.ecn {
            return;
        }
        if arrival.has(flags::CWR) {
            self.receiving.marked = false;
        }
        if arrival.marked {
            self.receiving.marked = true;
            self.acknowledge_quickly();
        }
    }

    pub(super) fn take_data(
        &mut self,
        now: Time,
        start: u64,
        arrival: &Arrival<'_>,
    ) -> Result<Verdict, Corrupt> {
        let receives = matches!(
            self.state,
            State::Established | State::FinWait1 | State::FinWait2
        );
        let data_end = start + arrival.payload.len() as u64;
        if !receives {
            if arrival.positions() > 0 {
                self.answer(now, arrival);
            }
            return Ok(Verdict::Done);
        }
        if self.orphan && data_end > self.expected && !arrival.payload.is_empty() {
            // The application will not read it (RFC 9293, 3.6.1).
            self.fail(Reason::Aborted);
            return Ok(Verdict::Refuse);
        }
        let finishes = arrival.has(flags::FIN);
        // An end before data that has come cannot be.
        let ends = self.reassembly.end().max(self.expected) <= data_end && data_end <= self.told;
        if finishes && ends && self.peer_end == NOWHERE {
            self.peer_end = data_end;
        }
        if !arrival.payload.is_empty() {
            self.take_payload(now, start, arrival)?;
        }
        if self.expected == self.peer_end {
            self.expected += 1;
            self.peer_finished(now);
        } else if finishes {
            self.acknowledge_quickly();
        }
        Ok(Verdict::Done)
    }

    fn take_payload(
        &mut self,
        now: Time,
        start: u64,
        arrival: &Arrival<'_>,
    ) -> Result<(), Corrupt> {
        let size = if arrival.segment > 0 {
            arrival.segment
        } else {
            arrival.payload.len().min(0xFFFF) as u16
        };
        let size = size.min(self.sending.own_mss);
        self.receiving.mss = self.receiving.mss.max(size);
        let end = start + arrival.payload.len() as u64;
        let limit = self.told.min(self.peer_end);
        let from = start.max(self.expected);
        let until = end.min(limit);
        if start < self.expected {
            self.reassembly.duplicate(start, self.expected.min(end));
            self.acknowledge_quickly();
        }
        if from >= until {
            self.acknowledge = Acknowledge::Now;
            return Ok(());
        }
        let Some(rings) = &mut self.rings else {
            return Ok(());
        };
        let bytes = &arrival.payload[(from - start) as usize..(until - start) as usize];
        rings.receive.consumed()?;
        if from == self.expected {
            rings.receive.put(Self::offset(from), bytes)?;
            let had_gaps = !self.reassembly.is_empty();
            self.expected = self.reassembly.advance(until);
            rings.receive.publish(Self::offset(self.expected))?;
            self.happened.add(Happened::READABLE);
            if had_gaps {
                self.acknowledge_quickly();
            } else {
                self.schedule_acknowledgement(now);
            }
        } else {
            if self.reassembly.insert(from, until) {
                rings.receive.put(Self::offset(from), bytes)?;
            }
            self.acknowledge_quickly();
        }
        Ok(())
    }

    fn peer_finished(&mut self, now: Time) {
        self.happened.add(Happened::FINISHED);
        self.acknowledge = Acknowledge::Now;
        match self.state {
            State::Established => self.state = State::CloseWait,
            State::FinWait1 => self.state = State::Closing,
            State::FinWait2 => self.begin_time_wait(now),
            _ => {}
        }
    }
}
