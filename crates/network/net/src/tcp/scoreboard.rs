//! What was sent and is not acknowledged: ranges of positions, each with the time it was sent and what became of it
//! (RFC 6675, RFC 8985). A range is what went out in one super-segment, or a part of that.
//!
//! The peer decides where ranges are cut, so it could make as many as there are bytes, and each acknowledgement looks at
//! all of them. Two rules keep them few. A selective acknowledgement cuts only between segments: a segment of which it
//! names a part counts as not sacked. And there are [`MAX_RANGES`] at most: then no more is sent, and nothing is cut.

use std::collections::VecDeque;

use crate::time::Time;

/// Ranges beyond which nothing new is sent and no selective acknowledgement cuts one. Retransmissions may make up to three
/// times as many.
pub(super) const MAX_RANGES: usize = 4096;

/// What became of a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// It is on its way.
    Flying,
    /// The peer has it, though not all that is before.
    Sacked,
    /// It is taken to be lost, and was not sent again since.
    Lost,
}

/// The state of delivery when a range was sent, which a sample of the delivery rate is made from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Stamp {
    /// Bytes that had been delivered.
    pub delivered: u64,
    /// When the last of them were.
    pub delivered_at: Time,
    /// When the range was sent with which this flight began.
    pub first_sent_at: Time,
    /// The application had nothing to send.
    pub application_limited: bool,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Range {
    pub start: u64,
    pub end: u64,
    pub sent_at: Time,
    pub stamp: Stamp,
    pub fate: Fate,
    pub retransmitted: bool,
    /// Positions of each segment that it went out in, and of what is left of the first.
    pub size: u16,
    pub first: u16,
}

impl Range {
    pub fn len(&self) -> u64 {
        self.end - self.start
    }

    /// The first border of a segment from `position` on, which is within the range.
    fn border_from(&self, position: u64) -> u64 {
        let (into, first) = (position - self.start, u64::from(self.first));
        if into == 0 {
            return self.start;
        }
        let size = u64::from(self.size);
        let segments = into.saturating_sub(first).div_ceil(size);
        (self.start + first + segments * size).min(self.end)
    }

    /// The last border of a segment up to `position`, which is within the range.
    pub fn border_until(&self, position: u64) -> u64 {
        let (into, first) = (position - self.start, u64::from(self.first));
        let size = u64::from(self.size);
        match into.checked_sub(first) {
            None => self.start,
            Some(beyond) => self.start + first + beyond / size * size,
        }
    }

    /// What is left of it from `position` on, which is within the range.
    fn after(&self, position: u64) -> Range {
        let first = self.border_from(position) - position;
        Range {
            start: position,
            first: if first == 0 { self.size } else { first as u16 },
            ..*self
        }
    }
}

/// All ranges from the first position that is not acknowledged to the next to be sent, in order, without gaps.
#[derive(Debug, Default)]
pub(super) struct Scoreboard {
    ranges: VecDeque<Range>,
    sacked: u64,
    lost: u64,
    /// The end of the last range that is sacked, or what is acknowledged.
    highest_sacked: u64,
    /// No range that begins before this is lost.
    lost_from: u64,
}

impl Scoreboard {
    /// Bytes that are on their way.
    pub fn in_flight(&self) -> u64 {
        match (self.ranges.front(), self.ranges.back()) {
            (Some(front), Some(back)) => back.end - front.start - self.sacked - self.lost,
            _ => 0,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Bytes that are lost and not sent again.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// Bytes that are sacked.
    pub fn sacked(&self) -> u64 {
        self.sacked
    }

    pub fn highest_sacked(&self) -> u64 {
        self.highest_sacked
    }

    pub fn first(&self) -> Option<&Range> {
        self.ranges.front()
    }

    pub fn last(&self) -> Option<&Range> {
        self.ranges.back()
    }

    /// Whether there are as many ranges as there may be.
    pub fn is_full(&self) -> bool {
        self.ranges.len() >= MAX_RANGES
    }

    /// New bytes went out.
    pub fn push(&mut self, range: Range) {
        debug_assert!(
            self.ranges
                .back()
                .is_none_or(|last| last.end == range.start)
        );
        debug_assert!(range.size > 0 && range.first > 0);
        self.ranges.push_back(range);
    }

    /// The first range that is lost.
    pub fn first_lost(&mut self) -> Option<&Range> {
        if self.lost == 0 {
            return None;
        }
        let from = self.index_of(self.lost_from);
        let first = (self.ranges.range(from..)).find(|range| range.fate == Fate::Lost)?;
        self.lost_from = first.start;
        Some(first)
    }

    /// Bytes of `start..end` went out again, in segments of `size`.
    pub fn resent(&mut self, start: u64, end: u64, size: u16, at: Time, stamp: Stamp) {
        if self.is_full() && self.resent_with_those_before(start, end, at, stamp) {
            return;
        }
        self.split(start);
        self.split(end);
        for index in self.index_of(start)..self.ranges.len() {
            let range = &mut self.ranges[index];
            if range.start >= end {
                break;
            }
            match range.fate {
                Fate::Lost => self.lost -= range.len(),
                Fate::Sacked => continue,
                Fate::Flying => {}
            }
            range.fate = Fate::Flying;
            range.retransmitted = true;
            range.sent_at = at;
            range.stamp = stamp;
            (range.size, range.first) = (size, size);
        }
    }

    /// As [`resent`](Scoreboard::resent), of the front of a range that is lost: joins it to the one before if that went out
    /// again, too. False if it did not.
    fn resent_with_those_before(&mut self, start: u64, end: u64, at: Time, stamp: Stamp) -> bool {
        let index = self.index_of(start);
        let Some(before) = index.checked_sub(1) else {
            return false;
        };
        let (range, before) = (self.ranges[index], &mut self.ranges[before]);
        let goes_on = before.fate == Fate::Flying && before.retransmitted;
        let is_front = range.start == start && range.end > end && range.fate == Fate::Lost;
        if !goes_on || !is_front {
            return false;
        }
        before.end = end;
        // It is waited for as for the last of it.
        (before.sent_at, before.stamp) = (at, stamp);
        self.ranges[index] = range.after(end);
        self.lost -= end - start;
        true
    }

    /// The peer has `start..end`, and of that counts what went out as whole segments. Calls `delivered` for each range, or part of one, of which that was not known.
    pub fn sack(&mut self, start: u64, end: u64, mut delivered: impl FnMut(&Range)) {
        let may_cut = self.ranges.len() + 2 <= MAX_RANGES;
        let is_cut = |range: &Range| may_cut && range.fate != Fate::Sacked;
        let start = match self.across(start) {
            Some(range) if is_cut(range) => range.border_from(start),
            Some(range) => range.end,
            None => start,
        };
        let end = match self.across(end) {
            Some(range) if is_cut(range) => range.border_until(end),
            Some(range) => range.start,
            None => end,
        };
        if start >= end {
            return;
        }
        self.split(start);
        self.split(end);
        let first = self.index_of(start);
        let mut index = first;
        while index < self.ranges.len() && self.ranges[index].start < end {
            let range = &mut self.ranges[index];
            if range.fate != Fate::Sacked {
                delivered(range);
                if range.fate == Fate::Lost {
                    self.lost -= range.len();
                }
                range.fate = Fate::Sacked;
                self.sacked += range.len();
            }
            index += 1;
        }
        self.highest_sacked = self.highest_sacked.max(end);
        self.join_sacked(first, index);
    }

    /// The range that has `position` within, not at its start.
    fn across(&self, position: u64) -> Option<&Range> {
        let range = self.ranges.get(self.index_of(position));
        range.filter(|range| range.start < position)
    }

    /// Everything before `position` is acknowledged. Calls `delivered` as [`sack`](Scoreboard::sack) does.
    pub fn acknowledge(&mut self, position: u64, mut delivered: impl FnMut(&Range)) {
        while let Some(&range) = self.ranges.front() {
            if range.start >= position {
                break;
            }
            let gone = Range {
                end: range.end.min(position),
                ..range
            };
            match range.fate {
                Fate::Sacked => self.sacked -= gone.len(),
                Fate::Lost => {
                    self.lost -= gone.len();
                    delivered(&gone);
                }
                Fate::Flying => delivered(&gone),
            }
            if range.end > position {
                self.ranges[0] = range.after(position);
            } else {
                self.ranges.pop_front();
            }
        }
        self.highest_sacked = self.highest_sacked.max(position);
    }

    /// Takes for lost what is on its way and `is_lost`. Returns how many bytes that was.
    pub fn lose(&mut self, mut is_lost: impl FnMut(&Range) -> bool) -> u64 {
        let mut bytes = 0;
        for range in &mut self.ranges {
            if range.fate == Fate::Flying && is_lost(range) {
                range.fate = Fate::Lost;
                self.lost_from = self.lost_from.min(range.start);
                bytes += range.len();
            }
        }
        self.lost += bytes;
        self.join_lost();
        bytes
    }

    /// As [`lose`](Scoreboard::lose), of what was sent before something that went out at `last.0` and ended at `last.1`. What
    /// was sent once is in the order it was sent in, so all behind the first that was sent later was sent later too.
    pub fn lose_of_earlier(
        &mut self,
        last: (Time, u64),
        mut is_lost: impl FnMut(&Range) -> bool,
    ) -> u64 {
        let mut bytes = 0;
        for range in &mut self.ranges {
            let is_later = (range.sent_at, range.end) >= last;
            if is_later && !range.retransmitted {
                break;
            }
            if range.fate == Fate::Flying && !is_later && is_lost(range) {
                range.fate = Fate::Lost;
                self.lost_from = self.lost_from.min(range.start);
                bytes += range.len();
            }
        }
        self.lost += bytes;
        self.join_lost();
        bytes
    }

    /// Takes for lost the first segment, if it is on its way.
    pub fn lose_first(&mut self) -> u64 {
        let Some(&first) = self.ranges.front() else {
            return 0;
        };
        if first.fate != Fate::Flying {
            return 0;
        }
        self.split((first.start + u64::from(first.first)).min(first.end));
        let first = &mut self.ranges[0];
        first.fate = Fate::Lost;
        self.lost_from = first.start;
        self.lost += first.len();
        first.len()
    }

    /// The peer may have thrown away what it sacked (RFC 2018, 8): nothing is sacked any more, and all is lost.
    pub fn lose_all(&mut self) {
        for range in &mut self.ranges {
            range.fate = Fate::Lost;
        }
        self.sacked = 0;
        self.lost = self.ranges.iter().map(Range::len).sum();
        self.highest_sacked = self.ranges.front().map_or(0, |range| range.start);
        self.lost_from = self.highest_sacked;
    }

    /// Nothing that was taken for lost is: a retransmission was not needed.
    pub fn find_lost(&mut self) {
        for range in &mut self.ranges {
            if range.fate == Fate::Lost {
                range.fate = Fate::Flying;
            }
        }
        self.lost = 0;
    }

    /// It has all of `una..nxt`, and its sums are right.
    pub fn check(&self, una: u64, nxt: u64) {
        let (mut at, mut sacked, mut lost) = (una, 0, 0);
        for range in &self.ranges {
            assert!(range.start == at && range.end > at);
            at = range.end;
            match range.fate {
                Fate::Flying => {}
                Fate::Sacked => sacked += range.len(),
                Fate::Lost => lost += range.len(),
            }
        }
        assert!(at == nxt && (sacked, lost) == (self.sacked, self.lost));
    }

    fn index_of(&self, start: u64) -> usize {
        self.ranges.partition_point(|range| range.end <= start)
    }

    /// Makes `position` the border of two ranges, if it is within one.
    fn split(&mut self, position: u64) {
        let index = self.index_of(position);
        let Some(range) = self.ranges.get_mut(index) else {
            return;
        };
        if range.start >= position {
            return;
        }
        let second = range.after(position);
        range.end = position;
        self.ranges.insert(index + 1, second);
    }

    /// Makes one range of those with these numbers, which are sacked, and of neighbours that are, too. Their times are of no
    /// more use.
    fn join_sacked(&mut self, mut first: usize, mut after: usize) {
        let is_sacked = |range: &Range| range.fate == Fate::Sacked;
        if first > 0 && is_sacked(&self.ranges[first - 1]) {
            first -= 1;
        }
        if self.ranges.get(after).is_some_and(is_sacked) {
            after += 1;
        }
        self.ranges[first].end = self.ranges[after - 1].end;
        self.ranges.drain(first + 1..after);
    }

    /// If there are too many ranges, makes one of neighbours that are lost.
    fn join_lost(&mut self) {
        if self.ranges.len() <= MAX_RANGES {
            return;
        }
        let mut joined: VecDeque<Range> = VecDeque::with_capacity(self.ranges.len());
        for range in self.ranges.drain(..) {
            match joined.back_mut() {
                Some(last) if (last.fate, range.fate) == (Fate::Lost, Fate::Lost) => {
                    last.end = range.end;
                    last.retransmitted |= range.retransmitted;
                }
                _ => joined.push_back(range),
            }
        }
        self.ranges = joined;
    }
}

#[cfg(test)]
mod tests;
