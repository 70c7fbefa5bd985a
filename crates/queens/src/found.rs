//! What a search adds up.

#![forbid(unsafe_code)]

use std::iter::Sum;
use std::ops::AddAssign;

/// Result of a search, or of a part of one: parts add up in any order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// Solutions. Those of a [`Starts`](crate::Starts) are weighted: all images under symmetry are counted.
    pub solutions: u128,
    /// Queens placed below the starts to find them, the last row's excepted. Says what the search cost; kernels that
    /// look further ahead need fewer for the same solutions.
    pub nodes: u64,
}

impl AddAssign for Found {
    fn add_assign(&mut self, other: Found) {
        self.solutions += other.solutions;
        self.nodes += other.nodes;
    }
}

impl Sum for Found {
    fn sum<I: Iterator<Item = Found>>(parts: I) -> Found {
        parts.fold(Found::default(), |mut sum, part| {
            sum += part;
            sum
        })
    }
}
