//! What searches count.

#![forbid(unsafe_code)]

use std::iter::Sum;
use std::ops::AddAssign;

/// The result of a search or of a part of one. Parts can be added in any order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Solutions. Those below [`Starts`](crate::Starts) are weighted: all images under symmetry are counted.
    pub solutions: u128,
    /// Queens that were placed below the starts, without those of the last row. It measures the cost of the search.
    /// Kernels that look further ahead place fewer.
    pub nodes: u64,
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Counts) {
        self.solutions += other.solutions;
        self.nodes += other.nodes;
    }
}

impl Sum for Counts {
    fn sum<I: Iterator<Item = Counts>>(parts: I) -> Counts {
        parts.fold(Counts::default(), |mut sum, part| {
            sum += part;
            sum
        })
    }
}
