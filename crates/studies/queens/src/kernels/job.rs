//! What a kernel searches.

use crate::inner::{Row, State};

/// A search below roots.
#[derive(Clone, Copy)]
pub struct Job<'a> {
    /// The rows inside the border.
    pub rows: &'a [Row],
    /// The row that the roots are at.
    pub depth: usize,
    /// Where the search starts.
    pub roots: &'a [State],
}

impl Job<'_> {
    /// Columns inside the border.
    pub(super) fn columns(&self) -> u32 {
        let widest = self
            .rows
            .iter()
            .map(|row| u32::BITS - (!row.blocked).leading_zeros());
        widest.max().unwrap_or(0)
    }
}
