//! Three ways to cut a board into jobs. Two are those of textbooks, to compare with.

#![forbid(unsafe_code)]

use std::ops::Range;
use std::sync::Arc;

use crate::counts::Counts;
use crate::division::Division;
use crate::error::{Error, checked};
use crate::inner::{Inner, Row, State};
use crate::starts::{Searcher, Starts};

/// A way to cut a board into jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Split {
    /// A job for each square of the left half of the first row, with the middle. The solutions below a square count
    /// twice, for their mirror images, except below the middle.
    FirstRow,
    /// The same for each two queens in the first two rows.
    TwoRows,
    /// The units that `evener queens` runs.
    Constellations,
}

impl Split {
    /// All of them, the coarsest first.
    pub const ALL: [Split; 3] = [Split::FirstRow, Split::TwoRows, Split::Constellations];

    /// Its name on command lines.
    pub const fn name(self) -> &'static str {
        match self {
            Split::FirstRow => "first-row",
            Split::TwoRows => "two-rows",
            Split::Constellations => "constellations",
        }
    }
}

/// The jobs of a board.
#[derive(Clone, Debug)]
pub struct Jobs(Kind);

#[derive(Clone, Debug)]
enum Kind {
    /// The rows of the board, how many of them are filled, and the root and the weight of each job.
    Rows(Inner, usize, Vec<(State, u8)>),
    Units(Arc<Starts>, Vec<Range<u64>>),
}

impl Jobs {
    /// The jobs of a board of `n` x `n`.
    ///
    /// # Errors
    /// [`Error::TooLarge`]
    pub fn new(split: Split, n: u32) -> Result<Jobs, Error> {
        let n = checked(n)?;
        let depth = match split {
            Split::FirstRow => 1,
            Split::TwoRows => 2,
            Split::Constellations => {
                let starts = Arc::new(Starts::new(n)?);
                let units = Division::new(Arc::clone(&starts), 0).collect();
                return Ok(Jobs(Kind::Units(starts, units)));
            }
        };
        let rows = (0..n).map(|row| Row {
            row: row as u8,
            shift: u8::from(row > 0),
            blocked: u32::MAX << n,
        });
        let inner = Inner {
            rows: rows.collect(),
        };
        let mut roots = Vec::new();
        inner.unfold(depth, &mut |root, queens| {
            let first = queens.first().map_or(0, |bit| bit.trailing_zeros());
            let (left, mirrored) = (2 * first < n.max(1), 2 * first + 1 < n);
            if left {
                roots.push((root, 1 + u8::from(mirrored)));
            }
        });
        Ok(Jobs(Kind::Rows(inner, depth, roots)))
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        match &self.0 {
            Kind::Rows(_, _, roots) => roots.len(),
            Kind::Units(_, units) => units.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Runs a job. The solutions of all jobs add up to those of the board. The nodes depend on the way.
    ///
    /// # Panics
    /// There is no such job.
    pub fn search(&self, searcher: &mut Searcher, job: usize) -> Counts {
        match &self.0 {
            Kind::Rows(inner, depth, roots) => {
                let (root, weight) = roots[job];
                searcher.below(inner, *depth, &[root], weight)
            }
            Kind::Units(starts, units) => searcher.search(starts, units[job].clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use evener_runtime::Simd;

    use super::*;

    const TOTALS: [u128; 14] = [1, 1, 0, 0, 2, 10, 4, 40, 92, 352, 724, 2680, 14_200, 73_712];

    #[test]
    fn every_way_has_the_total() {
        for split in Split::ALL {
            for simd in Simd::levels() {
                let mut searcher = Searcher::new(simd);
                for (n, total) in (0..).zip(TOTALS) {
                    let jobs = Jobs::new(split, n).unwrap();
                    let found = (0..jobs.len()).map(|job| jobs.search(&mut searcher, job));
                    assert_eq!(found.sum::<Counts>().solutions, total, "{split:?}, n {n}");
                }
            }
        }
    }

    #[test]
    fn there_are_half_as_many_jobs_as_squares_in_a_row() {
        for (n, jobs) in [(8, 4), (17, 9), (30, 15)] {
            assert_eq!(Jobs::new(Split::FirstRow, n).unwrap().len(), jobs);
        }
    }
}
