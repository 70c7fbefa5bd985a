//! What was sent and is not acknowledged: ranges of positions, each with the time it was sent and what became of it
//! (RFC 6675, RFC 8985). A range is what went out in one super-segment, or a part of that.

use std::collections::VecDeque;

use crate::time::Time;

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
}

impl Range {
    pub fn len(&self) -> u64 {
        self.end - self.start
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

    /// New bytes went out.
    pub fn push(&mut self, range: Range) {
        debug_assert!(
            self.ranges
                .back()
                .is_none_or(|last| last.end == range.start)
        );
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

    /// Bytes of `start..end` went out again.
    pub fn resent(&mut self, start: u64, end: u64, at: Time, stamp: Stamp) {
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
        }
    }

    /// The peer has `start..end`. Calls `delivered` for each range, or part of one, of which that was not known.
    pub fn sack(&mut self, start: u64, end: u64, mut delivered: impl FnMut(&Range)) {
        self.split(start);
        self.split(end);
        let mut index = self.index_of(start);
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
        self.join_sacked(start, end);
    }

    /// Everything before `position` is acknowledged. Calls `delivered` as [`sack`](Scoreboard::sack) does.
    pub fn acknowledge(&mut self, position: u64, mut delivered: impl FnMut(&Range)) {
        while let Some(&range) = self.ranges.front() {
            if range.start >= position {
                break;
            }
            if range.end > position {
                self.split(position);
                continue;
            }
            match range.fate {
                Fate::Sacked => self.sacked -= range.len(),
                Fate::Lost => {
                    self.lost -= range.len();
                    delivered(&range);
                }
                Fate::Flying => delivered(&range),
            }
            self.ranges.pop_front();
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
        bytes
    }

    /// Takes for lost what is on its way of `start..end`.
    pub fn lose_between(&mut self, start: u64, end: u64) -> u64 {
        self.split(start);
        self.split(end);
        self.lose(|range| range.start >= start && range.end <= end)
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
        let mut second = *range;
        range.end = position;
        second.start = position;
        self.ranges.insert(index + 1, second);
    }

    /// Makes one range of neighbours that are sacked. Their times are of no more use.
    fn join_sacked(&mut self, start: u64, end: u64) {
        let mut index = self.index_of(start).saturating_sub(1);
        while index + 1 < self.ranges.len() && self.ranges[index].start <= end {
            let (first, second) = (self.ranges[index], self.ranges[index + 1]);
            if first.fate == Fate::Sacked && second.fate == Fate::Sacked {
                self.ranges[index].end = second.end;
                self.ranges.remove(index + 1);
            } else {
                index += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn range(start: u64, end: u64) -> Range {
        Range {
            start,
            end,
            sent_at: Time::ZERO,
            stamp: Stamp::default(),
            fate: Fate::Flying,
            retransmitted: false,
        }
    }

    proptest! {
        /// Beside one fate for each byte.
        #[test]
        fn it_agrees_with_a_table_of_bytes(steps in prop::collection::vec((0u8..5, 0u64..400, 1u64..80), 1..60)) {
            let mut board = Scoreboard::default();
            let mut bytes: Vec<Fate> = Vec::new();
            let mut una = 0usize;
            for (step, at, len) in steps {
                let end_of_all = bytes.len() as u64;
                let start = (una as u64 + at).min(end_of_all);
                let end = (start + len).min(end_of_all);
                match step {
                    0 => {
                        board.push(range(end_of_all, end_of_all + len));
                        bytes.resize(bytes.len() + len as usize, Fate::Flying);
                    }
                    1 if end > start => {
                        let mut news = 0;
                        board.sack(start, end, |range| news += range.len());
                        let slice = &mut bytes[start as usize..end as usize];
                        let expected = slice.iter().filter(|&&fate| fate != Fate::Sacked).count();
                        prop_assert_eq!(news, expected as u64);
                        slice.fill(Fate::Sacked);
                    }
                    2 => {
                        let mut news = 0;
                        board.acknowledge(end, |range| news += range.len());
                        let slice = &bytes[una..end as usize];
                        let expected = slice.iter().filter(|&&fate| fate != Fate::Sacked).count();
                        prop_assert_eq!(news, expected as u64);
                        una = end as usize;
                    }
                    3 if end > start => {
                        board.lose_between(start, end);
                        for fate in &mut bytes[start as usize..end as usize] {
                            if *fate == Fate::Flying {
                                *fate = Fate::Lost;
                            }
                        }
                    }
                    4 if end > start => {
                        board.resent(start, end, Time::ZERO, Stamp::default());
                        for fate in &mut bytes[start as usize..end as usize] {
                            if *fate == Fate::Lost {
                                *fate = Fate::Flying;
                            }
                        }
                    }
                    _ => {}
                }
                let count = |wanted| bytes[una..].iter().filter(|&&fate| fate == wanted).count() as u64;
                prop_assert_eq!(board.in_flight(), count(Fate::Flying));
                prop_assert_eq!(board.lost(), count(Fate::Lost));
                prop_assert_eq!(board.sacked(), count(Fate::Sacked));
                let first = bytes[una..].iter().position(|&fate| fate == Fate::Lost);
                prop_assert_eq!(board.first_lost().map(|range| range.start), first.map(|at| (una + at) as u64));
            }
        }
    }
}
