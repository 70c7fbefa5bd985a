//! The rows of sums that are still needed.

/// Where rows of sums are in a ring. No division: rows come in order.
pub(super) struct RowRing {
    pub capacity: usize,
    pub width: usize,
    /// A row that is not after those that are asked for, and its slot.
    pub first: (usize, usize),
}

impl RowRing {
    /// Rows before `row` are not asked for any more.
    #[inline]
    pub fn advance(&mut self, row: usize) {
        let (first, slot) = self.first;
        let mut slot = slot + row - first;
        while slot >= self.capacity {
            slot -= self.capacity;
        }
        self.first = (row, slot);
    }

    /// Where the sums of a row begin.
    #[inline]
    pub fn start(&self, row: usize) -> usize {
        let (first, slot) = self.first;
        let mut slot = slot + row - first;
        while slot >= self.capacity {
            slot -= self.capacity;
        }
        slot * self.width
    }
}
