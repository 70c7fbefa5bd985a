//! Bytes that came before others that they follow: which there are, and what the peer is told of them (RFC 2018, RFC 2883).

use crate::wire::tcp::SackBlocks;

/// More gaps than these are not kept: what would make another is dropped, and comes again.
const MAX_RANGES: usize = 64;

#[derive(Clone, Copy, Debug)]
struct Range {
    start: u64,
    end: u64,
    /// Greater in ranges that grew later.
    grown: u64,
}

/// Ranges beyond the next byte that is expected, in order, with gaps between them.
#[derive(Debug, Default)]
pub(super) struct Reassembly {
    ranges: Vec<Range>,
    grown: u64,
    duplicate: Option<(u64, u64)>,
}

impl Reassembly {
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// The end of the last range; 0 if there is none.
    pub fn end(&self) -> u64 {
        self.ranges.last().map_or(0, |range| range.end)
    }

    /// `start..end` has come and is kept, beyond `next`. False if there are too many gaps.
    pub fn insert(&mut self, start: u64, end: u64) -> bool {
        let first = self.ranges.partition_point(|range| range.end < start);
        let after = self.ranges.partition_point(|range| range.start <= end);
        self.grown += 1;
        let mut joined = Range {
            start,
            end,
            grown: self.grown,
        };
        if first == after {
            if self.ranges.len() == MAX_RANGES {
                return false;
            }
            self.ranges.insert(first, joined);
            return true;
        }
        let has = |range: &Range| range.start <= start && range.end >= end;
        if self.ranges[first..after].iter().any(has) {
            self.duplicate = Some((start, end));
        }
        joined.start = start.min(self.ranges[first].start);
        joined.end = end.max(self.ranges[after - 1].end);
        self.ranges[first] = joined;
        self.ranges.drain(first + 1..after);
        true
    }

    /// Everything before `next` has come: returns how far it goes with what is kept.
    pub fn advance(&mut self, next: u64) -> u64 {
        let mut next = next;
        let mut gone = 0;
        for range in &self.ranges {
            if range.start > next {
                break;
            }
            next = next.max(range.end);
            gone += 1;
        }
        self.ranges.drain(..gone);
        next
    }

    /// Its ranges are in order, with gaps, between what is expected and the end of the window.
    pub fn check(&self, expected: u64, told: u64) {
        let mut at = expected;
        for range in &self.ranges {
            assert!(range.start > at && range.end > range.start && range.end <= told);
            at = range.end;
        }
    }

    /// `start..end` came though it had come before.
    pub fn duplicate(&mut self, start: u64, end: u64) {
        self.duplicate = Some((start, end));
    }

    /// Whether there is something to tell.
    pub fn has_news(&self) -> bool {
        self.duplicate.is_some() || !self.ranges.is_empty()
    }

    /// The blocks of the next acknowledgement, at most `max`; `wire` turns positions into sequence numbers. What came twice
    /// is first, and told once; then ranges, those that grew last first.
    pub fn blocks(&self, max: usize, wire: impl Fn(u64) -> u32) -> SackBlocks {
        let mut blocks = SackBlocks::default();
        if let Some((start, end)) = self.duplicate {
            blocks.push(wire(start), wire(end));
        }
        let mut before = u64::MAX;
        while blocks.len() < max {
            let next = (self.ranges.iter())
                .filter(|range| range.grown < before)
                .max_by_key(|range| range.grown);
            let Some(range) = next else { break };
            blocks.push(wire(range.start), wire(range.end));
            before = range.grown;
        }
        blocks
    }

    /// The blocks went out.
    pub fn told(&mut self) {
        self.duplicate = None;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_range_that_grew_last_is_told_first() {
        let mut reassembly = Reassembly::default();
        for start in [10, 30, 20] {
            assert!(reassembly.insert(start, start + 5));
        }
        let blocks = reassembly.blocks(4, |position| position as u32);
        assert_eq!(
            blocks.iter().collect::<Vec<_>>(),
            [(20, 25), (30, 35), (10, 15)]
        );
        assert!(reassembly.insert(12, 14));
        let blocks = reassembly.blocks(3, |position| position as u32);
        assert_eq!(
            blocks.iter().collect::<Vec<_>>(),
            [(12, 14), (10, 15), (20, 25)]
        );
    }

    proptest! {
        /// Beside one bit for each byte.
        #[test]
        fn it_agrees_with_a_table_of_bytes(parts in prop::collection::vec((0u64..200, 1u64..20), 1..40)) {
            let mut reassembly = Reassembly::default();
            let mut bytes = [false; 256];
            let mut next = 0;
            for (start, len) in parts {
                let (start, end) = (start.max(next), start + len);
                if end <= start {
                    continue;
                }
                bytes[start as usize..end as usize].fill(true);
                if start == next {
                    next = reassembly.advance(end);
                } else {
                    prop_assert!(reassembly.insert(start, end));
                }
                let expected = bytes.iter().position(|&there| !there).unwrap() as u64;
                prop_assert_eq!(next, expected);
                let mut told = [false; 256];
                told[..next as usize].fill(true);
                for range in &reassembly.ranges {
                    told[range.start as usize..range.end as usize].fill(true);
                }
                prop_assert_eq!(&told[..], &bytes[..]);
            }
        }
    }
}
