//! How the starts of a board are cut into units.
//!
//! The size of the tree below a start is not known beforehand. Units have about equal *estimated* work, so that the
//! tuner compares like with like. In the last quarter they shrink: each is an equal share of what is left, so that all
//! workers finish together even if the estimates are bad. This is guided self-scheduling (C. D. Polychronopoulos and D.
//! J. Kuck, IEEE Transactions on Computers 36, 1987). The shares are small enough for some hundred workers, so the
//! units depend on the board alone, and a run that goes on elsewhere has the same units.

#![forbid(unsafe_code)]

use std::ops::Range;
use std::sync::Arc;

use evener_runtime::{Service, Source};

use crate::starts::Starts;

/// How many units of full size the work of a board would be. Up to 19 rows a unit takes a few milliseconds or less,
/// below 16 rows some microseconds. For larger boards the number of units is limited.
fn parts(n: u32) -> f64 {
    let parts: u32 = match n {
        0..=18 => (1024 >> (18 - n)).max(64),
        19..=21 => 1024 << (2 * (n - 18)),
        _ => 1 << 18,
    };
    f64::from(parts)
}

/// Units begin to shrink when this share of the work is left.
const SHRINKING: f64 = 0.25;

/// The units of a board, or of a range of its starts, as ranges of starts.
#[derive(Clone, Debug)]
pub(crate) struct Division {
    starts: Arc<Starts>,
    next: u64,
    end: u64,
    parts: f64,
}

impl Division {
    /// The units from start `from` to the last.
    pub(crate) fn new(starts: Arc<Starts>, from: u64) -> Division {
        let end = starts.len();
        Division::of(starts, from..end)
    }

    /// The units of a range of starts.
    pub(crate) fn of(starts: Arc<Starts>, range: Range<u64>) -> Division {
        let parts = parts(starts.n());
        Division {
            starts,
            next: range.start,
            end: range.end,
            parts,
        }
    }

    /// The same in units of which `parts` of full size would be the board.
    pub(crate) fn with_parts(self, parts: u32) -> Division {
        Division {
            parts: f64::from(parts.max(1)),
            ..self
        }
    }
}

impl Iterator for Division {
    type Item = Range<u64>;

    fn next(&mut self) -> Option<Range<u64>> {
        if self.next >= self.end {
            return None;
        }
        let begin = self.next;
        let done = self.starts.share(begin);
        let whole = 1.0 / self.parts;
        let size = whole.min((1.0 - done) * whole / SHRINKING);
        let end = self.starts.before(done + size);
        self.next = end.clamp(begin + 1, self.end);
        Some(begin..self.next)
    }
}

/// The units as the source of a stream. They are computed before the stream begins, so that their number is known.
pub(crate) struct Units {
    left: std::vec::IntoIter<Range<u64>>,
    count: u64,
}

impl Units {
    /// The units of a division.
    pub(crate) fn new(division: Division) -> Units {
        let units: Vec<Range<u64>> = division.collect();
        Units {
            count: units.len() as u64,
            left: units.into_iter(),
        }
    }
}

impl<S: Service<Input = Range<u64>>> Source<S> for Units {
    type Error = std::convert::Infallible;

    fn read(&mut self, unit: &mut Range<u64>) -> Result<bool, Self::Error> {
        let next = self.left.next();
        let more = next.is_some();
        *unit = next.unwrap_or_default();
        Ok(more)
    }

    fn units(&self) -> Option<u64> {
        Some(self.count)
    }

    fn inline(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::starts::Searcher;
    use evener_runtime::Simd;

    fn units(n: u32, depth: usize, from: u64) -> (Arc<Starts>, Vec<Range<u64>>) {
        let starts = Arc::new(Starts::with_depth(n, depth).unwrap());
        let units = Division::new(Arc::clone(&starts), from).collect();
        (starts, units)
    }

    #[test]
    fn every_start_is_in_one_unit() {
        for (n, depth, from) in [
            (0, 0, 0),
            (1, 0, 0),
            (2, 0, 0),
            (5, 0, 0),
            (9, 2, 0),
            (14, 0, 17),
            (12, 1, 300),
        ] {
            let (starts, units) = units(n, depth, from);
            let mut next = from.min(starts.len());
            for unit in units {
                assert_eq!(unit.start, next, "n {n}");
                assert!(unit.end > unit.start, "n {n}");
                next = unit.end;
            }
            assert_eq!(next, starts.len(), "n {n}");
        }
    }

    #[test]
    fn units_are_about_equal_and_shrink_to_single_starts() {
        let (starts, units) = units(18, 0, 0);
        let share = |unit: &Range<u64>| starts.share(unit.end) - starts.share(unit.start);
        assert!((1024..3000).contains(&units.len()), "{}", units.len());
        for unit in &units {
            assert!(unit.end - unit.start == 1 || share(unit) <= 1.001 / 1024.0);
        }
        let (last, before) = units.split_at(units.len() / 2);
        let mean = |of: &[Range<u64>]| of.iter().map(share).sum::<f64>() / of.len() as f64;
        assert!(mean(last) > mean(before));
        assert!(
            units[units.len() - 100..]
                .iter()
                .all(|u| u.end - u.start == 1)
        );
    }

    #[test]
    fn shares_grow_from_none_to_all() {
        for (n, depth) in [(8, 0), (11, 2)] {
            let starts = Starts::with_depth(n, depth).unwrap();
            assert_eq!(starts.share(0), 0.0);
            assert_eq!(starts.share(starts.len()), 1.0);
            assert_eq!(starts.before(1.0), starts.len());
            for number in 0..starts.len() {
                let share = starts.share(number);
                let next = starts.share(number + 1);
                assert!(share < next, "{number}");
                assert_eq!(starts.before(share), number);
                assert_eq!(starts.before((share + next) / 2.0), number);
            }
        }
        let none = Starts::new(3).unwrap();
        assert_eq!((none.share(0), none.before(0.5)), (1.0, 0));
        assert_eq!(Starts::new(8).unwrap().before(-0.5), 0);
    }

    #[test]
    fn half_the_estimated_work_is_half_the_queens() {
        for n in 12..=15 {
            let starts = Starts::new(n).unwrap();
            let mut searcher = Searcher::new(Simd::Scalar);
            let mut nodes = |range| searcher.search(&starts, range).nodes as f64;
            let [half, all] = [starts.before(0.5), starts.len()].map(|end| nodes(0..end));
            let error = half / 0.5 / all - 1.0;
            println!("{n}: {error}");
            assert!(error.abs() < 0.05, "{n}: {error}");
        }
    }
}
