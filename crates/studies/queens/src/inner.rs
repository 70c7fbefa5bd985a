//! The board inside a border: the rows to search, and the state of a search.
//!
//! The classic bit-vector search: N. Wirth, "Algorithms + Data Structures = Programs", 1976, marks attacked columns
//! and diagonals; M. Richards, "Backtracking Algorithms in MCPL using Bit Patterns and Recursion", 1997, keeps them in
//! words that shift by one place from row to row; J. Somers, "The N Queens Problem", 2002, takes the lowest free bit.

#![forbid(unsafe_code)]

/// A row to place a queen in. Bit 0 is the second column of the board.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    /// Its number on the board.
    pub(crate) row: u8,
    /// How many rows it is below the row that is searched before it; 0 for the first.
    pub(crate) shift: u8,
    /// Columns that the queens of the border attack, and all bits beyond the columns.
    pub(crate) blocked: u32,
}

/// The lines of the queens placed so far, where they cross a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct State {
    /// Diagonals that go to higher columns from row to row.
    pub(crate) rising: u32,
    /// Diagonals that go to lower columns.
    pub(crate) falling: u32,
    /// Columns.
    pub(crate) columns: u32,
}

impl State {
    /// Columns where a queen may stand in the row.
    pub(crate) fn free(self, row: Row) -> u32 {
        !(self.rising | self.falling | self.columns | row.blocked)
    }

    /// The state `shift` rows below, with a queen at `bit`.
    pub(crate) fn placed(self, bit: u32, shift: u8) -> State {
        State {
            rising: (self.rising | bit) << shift,
            falling: (self.falling | bit) >> shift,
            columns: self.columns | bit,
        }
    }
}

/// The rows to search, top to bottom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Inner {
    /// Rows where the border has no queen.
    pub(crate) rows: Vec<Row>,
}

impl Inner {
    /// How much the first `rows` of the rows branch: for each square of the first row the product of the free squares in
    /// each row after it, summed up. Of the upper 60 % it orders the rotations of a border nearly as the sizes of their trees do. If it
    /// left the queens of the first row out, the trees chosen by it would be 4 % larger; with those of the second row
    /// too they would be 2 % smaller.
    ///
    /// Rounding is the same on every machine, so all machines choose the same rotation.
    pub(crate) fn branching(&self, rows: usize) -> f64 {
        let upper = &self.rows[..rows.min(self.rows.len())];
        let Some((&first, rest)) = upper.split_first() else {
            return 1.0;
        };
        let squares = State::default().free(first);
        // A product for each square, eight at a time, so that the compiler uses vectors.
        let mut products = [[1.0f32; 8]; 4];
        let wanted = (u32::BITS - squares.leading_zeros()).div_ceil(8) as usize;
        for (block, products) in products[..wanted].iter_mut().enumerate() {
            let mut away = 0;
            for row in rest {
                away += u32::from(row.shift);
                let free = !row.blocked;
                let count = free.count_ones() as i32;
                for (column, product) in products.iter_mut().enumerate() {
                    let queen = 1u32 << column << (8 * block);
                    let taken = |square: u32| i32::from(free & square != 0);
                    let left = count - taken(queen) - taken(queen << away) - taken(queen >> away);
                    *product *= left as f32;
                }
            }
        }
        let possible = (0..).zip(products.as_flattened());
        let possible = possible.filter(|(column, _)| squares >> column & 1 != 0);
        // `sum` of nothing is a negative zero.
        possible.fold(0.0, |sum, (_, &product)| sum + f64::from(product))
    }

    /// Calls `visit` for every way to place queens in the first `depth` rows, or in all if there are fewer, that leaves
    /// a free square in the next row. The order is lexicographic by columns. The arguments are the state for the next
    /// row, and the bit of the queen of each row.
    pub(crate) fn unfold(&self, depth: usize, visit: &mut impl FnMut(State, &[u32])) {
        let depth = depth.min(self.rows.len());
        self.below(State::default(), depth, &mut Vec::new(), visit);
    }

    fn below(
        &self,
        state: State,
        depth: usize,
        queens: &mut Vec<u32>,
        visit: &mut impl FnMut(State, &[u32]),
    ) {
        let at = queens.len();
        let mut free = self.rows.get(at).map_or(1, |&row| state.free(row));
        if at == depth {
            if free != 0 {
                visit(state, queens);
            }
            return;
        }
        let shift = self.rows.get(at + 1).map_or(0, |next| next.shift);
        while free != 0 {
            let bit = free & free.wrapping_neg();
            free ^= bit;
            queens.push(bit);
            self.below(state.placed(bit, shift), depth, queens, visit);
            queens.pop();
        }
    }
}
