//! What a segment acknowledges (RFC 9293, 3.10.7.4; RFC 6675; RFC 8985).

use std::time::Duration;

use super::congestion::Ack;
use super::recovery::Phase;
use super::scoreboard::Range;
use super::timers::Retransmit;
use super::{Connection, Happened, ORIGIN, State, timestamp_of};
use crate::memory::Corrupt;
use crate::time::Time;
use crate::wire::tcp::{Header, flags};

impl Connection {
    /// `ack` is of what was sent, perhaps before what is acknowledged already.
    pub(super) fn take_acknowledgement(
        &mut self,
        now: Time,
        ack: u64,
        header: &Header,
        has_data: bool,
        window_same: bool,
    ) -> Result<(), Corrupt> {
        let flight = self.in_flight();
        let advanced = ack > self.una;
        let before = self.delivery.total();
        let repeats = ack == self.una && !has_data && window_same;
        let (sent_at, twice) = self.deliver(now, ack, header);
        let rtt = sent_at.map(|sent_at| now.since(sent_at));
        self.sample_rtt(now, rtt, advanced, header);
        let mut delivered = self.delivery.total() - before;
        if !self.agreed.sack {
            let repeats = repeats && !self.scoreboard.is_empty();
            delivered = self.count_duplicates(repeats, delivered, ack.saturating_sub(self.una));
        }
        if advanced {
            let spurious = self.was_spurious(header);
            self.advance_una(now, ack)?;
            if spurious {
                self.undo_recovery();
            }
        }
        if twice.is_some_and(|(start, end)| self.came_twice(start, end)) {
            self.undo_recovery();
        }
        self.end_probe(ack, repeats, header);
        let mut lost = if self.agreed.sack {
            self.detect_loss(now)
        } else {
            self.detect_loss_without_sack(advanced)
        };
        lost += u64::from(std::mem::take(&mut self.sending.lost_by_timer));
        if self.scoreboard.lost() > 0 && lost > 0 {
            self.begin_recovery(now, flight, true);
        }
        if self.agreed.ecn
            && header.flags & (flags::ECE | flags::SYN) == flags::ECE
            && advanced
            && self.una > self.sending.reduced_until
        {
            self.sending.reduced_until = self.nxt;
            self.sending.reduced = true;
            self.may_be_undone(false);
            self.begin_recovery(now, flight, false);
        }
        if delivered == 0 && lost == 0 && !advanced {
            return Ok(());
        }
        self.counts.lost += lost;
        let sample = Ack {
            now,
            advanced,
            delivered,
            lost,
            in_flight_before: flight,
            in_flight: self.in_flight(),
            window_limited: self.sending.window_limited,
            largest_flight: self.sending.largest_flight.into(),
            in_recovery: self.phase.is_reducing(),
            rtt,
            smoothed_rtt: self.rtt.smoothed(),
            rate: self.delivery.sample(now, self.rtt.minimum()),
            una: self.una,
            nxt: self.nxt,
        };
        self.control.acknowledged(&sample);
        if self.control.is_probing_rtt() {
            // What is delivered meanwhile says nothing of the rate.
            (self.delivery).application_limited(self.scoreboard.in_flight());
        }
        self.continue_recovery(&sample, advanced);
        self.arm(now, advanced);
        Ok(())
    }

    /// Marks what is delivered. Returns when the newest of it was sent, unless it was sent more than once, and what the peer
    /// got twice.
    fn deliver(
        &mut self,
        now: Time,
        ack: u64,
        header: &Header,
    ) -> (Option<Time>, Option<(u64, u64)>) {
        let highest = self.scoreboard.highest_sacked();
        let minimum = self.rtt.minimum();
        let mut newest: Option<Time> = None;
        let mut ambiguous = false;
        let (una, nxt) = (self.una, self.nxt);
        let iss = self.iss;
        let position = |sequence: u32| {
            let base = iss.wrapping_add((una - ORIGIN) as u32);
            una.wrapping_add_signed(i64::from(sequence.wrapping_sub(base) as i32))
        };
        // Whether what is acknowledged came before something was sent at that time: it is of an earlier transmission. What is
        // only sacked has no timestamp of its own.
        let echo = (header.options.timestamps).filter(|_| self.agreed.timestamps);
        let offset = self.timestamp_offset;
        let is_before = |sent_at| {
            echo.is_some_and(|(_, echo)| {
                (echo.wrapping_sub(timestamp_of(sent_at, offset)) as i32) < 0
            })
        };
        let (delivery, rack) = (&mut self.delivery, &mut self.rack);
        let mut deliver = |range: &Range, sacked: bool| {
            delivery.deliver(now, range);
            if sacked || !(range.retransmitted && is_before(range.sent_at)) {
                rack.deliver(now, range, minimum, highest);
            }
            if range.retransmitted {
                ambiguous = true;
            } else {
                newest = newest.max(Some(range.sent_at));
            }
        };
        let mut duplicate = None;
        if self.agreed.sack {
            let mut first = None;
            for (number, (start, end)) in header.options.sack.iter().enumerate() {
                let (start, end) = (position(start), position(end));
                if start >= end || end > nxt {
                    continue;
                }
                match first {
                    None if number == 0 => first = Some((start, end)),
                    _ => {}
                }
                // The first block tells of a duplicate if it is acknowledged, or within the second (RFC 2883, 4).
                if start < ack {
                    duplicate = duplicate.or(Some((start, end)).filter(|_| number == 0));
                    continue;
                }
                if start < una {
                    continue;
                }
                if number == 1 {
                    let within = first.filter(|first| first.0 >= start && first.1 <= end);
                    duplicate = duplicate.or(within);
                }
                (self.scoreboard).sack(start, end, |range| deliver(range, true));
            }
        }
        (self.scoreboard).acknowledge(ack, |range| deliver(range, false));
        if duplicate.is_some() {
            self.counts.duplicates += 1;
            self.sending.probe_duplicated = true;
            self.rack.duplicate(ack, nxt);
        }
        // What went out twice may have been answered the first time (Karn's algorithm, RFC 6298, 3); what is beyond it had
        // come before.
        (newest.filter(|_| !ambiguous), duplicate)
    }

    fn sample_rtt(&mut self, now: Time, rtt: Option<Duration>, advanced: bool, header: &Header) {
        if let Some(rtt) = rtt {
            self.rtt.sample(now, rtt);
            return;
        }
        let Some((_, echo)) = header.options.timestamps else {
            return;
        };
        let millis = self.timestamp(now).wrapping_sub(echo);
        // The timestamp of a cookie is made up.
        let made_up = self.una == ORIGIN && millis == 0;
        if advanced && self.agreed.timestamps && echo != 0 && !made_up && millis < 1 << 17 {
            (self.rtt).smooth(Duration::from_millis(u64::from(millis.max(1))));
        }
    }

    fn advance_una(&mut self, now: Time, ack: u64) -> Result<(), Corrupt> {
        self.una = ack;
        // Something is delivered: there is nothing to find out.
        self.sending.probe_due = false;
        self.sending.unanswered = Time::NEVER;
        self.sending.retries = 0;
        self.sending.unreachable = false;
        if let Some(rings) = &mut self.rings {
            let freed = Self::offset(ack.clamp(super::FIRST, self.end));
            rings.send.free(freed)?;
            // How much room the application sees is not known here: it may have written since. But if it waits, its ring was
            // full, and all that is freed from then on is more than this step.
            if freed - self.sending.told_freed >= rings.send.size() / 3 {
                self.sending.told_freed = freed;
                self.happened.add(Happened::WRITABLE);
            }
        }
        let finished = self.sending.end_sent && ack == self.nxt && ack > self.end;
        if finished {
            self.own_end_acknowledged(now);
        }
        Ok(())
    }

    /// A peer without SACK tells of each segment that it gets out of order by repeating itself. Returns the bytes that are
    /// newly known to be delivered: `delivered` counts those told before, of the `acknowledged` ones.
    fn count_duplicates(&mut self, repeats: bool, delivered: u64, acknowledged: u64) -> u64 {
        let mss = self.mss();
        if repeats {
            self.sending.duplicates = self.sending.duplicates.saturating_add(1);
            return mss;
        }
        // The first segment is what was missing; the others were told of.
        let told = (acknowledged / mss).saturating_sub(1);
        let told = told.min(u64::from(self.sending.duplicates));
        self.sending.duplicates -= told as u32;
        if acknowledged > 0 && !self.phase.has_lost() {
            self.sending.duplicates = 0;
        }
        delivered - (told * mss).min(delivered)
    }

    /// RFC 6582: three repetitions, and each part of an acknowledgement in a recovery.
    fn detect_loss_without_sack(&mut self, advanced: bool) -> u64 {
        let partial =
            advanced && matches!(self.phase, Phase::Recovery { ends, .. } if self.una < ends);
        let third = u64::from(self.sending.duplicates) == super::rack::DUPLICATES;
        if partial || third && !self.phase.has_lost() {
            return self.scoreboard.lose_first();
        }
        0
    }

    /// Whether the peer answers what was sent first, not the retransmission. What acknowledges others beside it may be an
    /// answer to those.
    fn was_spurious(&mut self, header: &Header) -> bool {
        let (position, first) = (self.sending.retransmitted, self.sending.retransmitted_at);
        if self.una < position {
            return false;
        }
        // The first acknowledgement after it tells (RFC 3522, 3.2).
        let doubtful = std::mem::take(&mut self.sending.doubtful) && self.phase.has_lost();
        let echo = header.options.timestamps.map(|(_, echo)| echo);
        doubtful
            && self.una == position
            && self.agreed.timestamps
            && echo.is_some_and(|echo| (echo.wrapping_sub(first) as i32) < 0)
    }

    /// RFC 8985, 7.4.2: what a tail loss probe found.
    fn end_probe(&mut self, ack: u64, repeats: bool, header: &Header) {
        let Some((end, retransmitted)) = self.sending.probe else {
            return;
        };
        if ack < end {
            return;
        }
        // Twice means that nothing had been lost. What is acknowledged beyond it while that did not show means that the probe
        // repaired a loss, for which the window has to answer.
        let twice = self.sending.probe_duplicated || repeats && header.options.sack.is_empty();
        if !retransmitted || twice {
            self.sending.probe = None;
        } else if ack > end {
            self.sending.probe = None;
            self.sending.probe_repaired = self.phase == Phase::Open;
        }
    }

    /// Sets the timer for what is on its way.
    pub(super) fn arm(&mut self, now: Time, advanced: bool) {
        if std::mem::take(&mut self.sending.probe_repaired) {
            self.begin_recovery(now, self.in_flight(), false);
        }
        if self.scoreboard.is_empty() {
            if self.retransmit != Retransmit::Persist {
                self.deadlines.retransmit = Time::NEVER;
            }
            return;
        }
        if advanced || self.deadlines.retransmit == Time::NEVER {
            self.arm_retransmission(now);
        }
    }

    fn own_end_acknowledged(&mut self, now: Time) {
        match self.state {
            State::FinWait1 => {
                self.state = State::FinWait2;
                if self.orphan {
                    self.begin_fin_wait(now);
                }
            }
            State::Closing => self.begin_time_wait(now),
            State::LastAck => self.become_closed(),
            _ => {}
        }
    }
}
