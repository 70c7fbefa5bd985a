//! Solutions that a rotation of the board maps to themselves, and the number of fundamental solutions.
//!
//! No solution on more than one square is its own mirror image. So by Burnside's lemma there are (total + P + 2 R) / 8
//! classes under the eight symmetries, where P solutions are fixed by half a turn and R by a quarter turn.

#![forbid(unsafe_code)]

use crate::error::{Error, checked};

/// Attacked rows, columns and diagonals by number, of a board on which whole orbits of queens are placed.
#[derive(Clone, Copy, Default)]
struct Lines {
    rows: u32,
    columns: u32,
    /// By row + column.
    rising: u64,
    /// By n - row + column.
    falling: u64,
}

impl Lines {
    /// The lines of an empty board. A board with a middle square has a queen there, since any other square of the
    /// middle row has an image in the same row.
    fn new(n: u32) -> Lines {
        let nothing = Lines::default();
        if n.is_multiple_of(2) {
            nothing
        } else {
            nothing.with(n, n / 2, n / 2)
        }
    }

    /// With one more queen.
    fn with(mut self, n: u32, row: u32, column: u32) -> Lines {
        self.rows |= 1 << row;
        self.columns |= 1 << column;
        self.rising |= 1 << (row + column);
        self.falling |= 1 << (n - row + column);
        self
    }

    /// Columns of a row that no queen attacks, without those on the two longest diagonals: the images of a queen there
    /// are on the same diagonals.
    fn free(self, n: u32, row: u32) -> u32 {
        let attacked = u64::from(self.columns) | self.rising >> row | self.falling >> (n - row);
        let board = (1u64 << n) - 1;
        let longest = 1 << row | 1 << (n - 1 - row);
        (board & !attacked & !longest) as u32
    }

    /// Ways to fill the rows from `row` to the middle, each with the images of its queens by half a turn.
    fn halves(self, n: u32, row: u32) -> u128 {
        if row == n / 2 {
            return 1;
        }
        let last = n - 1;
        let ways = bits(self.free(n, row)).map(|column| {
            let both = self.with(n, row, column).with(n, last - row, last - column);
            both.halves(n, row + 1)
        });
        ways.sum()
    }

    /// Ways to fill the empty rows, each with the images of its queens by quarter turns.
    fn quarters(self, n: u32) -> u128 {
        let row = self.rows.trailing_ones();
        if row >= n {
            return 1;
        }
        let last = n - 1;
        // A square and its images are in four rows and four columns; two of these are this row and this column.
        let taken = |at: u32| (self.rows >> at | self.columns >> at) & 1 != 0;
        let ways = bits(self.free(n, row)).map(|column| {
            if taken(column) || taken(last - column) {
                return 0;
            }
            let orbit = [
                (row, column),
                (column, last - row),
                (last - row, last - column),
                (last - column, row),
            ];
            let whole = orbit.iter().try_fold(self, |lines, &(row, column)| {
                let unattacked = lines.free(n, row) >> column & 1 != 0;
                unattacked.then(|| lines.with(n, row, column))
            });
            whole.map_or(0, |lines| lines.quarters(n))
        });
        ways.sum()
    }
}

/// The numbers of the bits that are 1.
fn bits(mut of: u32) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let lowest = (of != 0).then(|| of.trailing_zeros());
        of &= of.wrapping_sub(1);
        lowest
    })
}

/// Solutions that half a turn maps to themselves: P, OEIS A032522. It takes a moment up to `n` = 22, and 3 to 4 times
/// as long for each further row.
///
/// # Errors
/// [`Error::TooLarge`]
pub fn half_turn(n: u32) -> Result<u128, Error> {
    let lines = Lines::new(checked(n)?);
    if n < 2 {
        return Ok(1);
    }
    // The mirror image of such a solution is another one.
    let first = bits(lines.free(n, 0)).take_while(|&column| column < n / 2);
    let ways = first.map(|column| {
        lines
            .with(n, 0, column)
            .with(n, n - 1, n - 1 - column)
            .halves(n, 1)
    });
    Ok(2 * ways.sum::<u128>())
}

/// Solutions that a quarter turn maps to themselves: R, OEIS A033148.
///
/// # Errors
/// [`Error::TooLarge`]
pub fn quarter_turn(n: u32) -> Result<u128, Error> {
    Ok(Lines::new(checked(n)?).quarters(n))
}

/// The number of fundamental solutions (none is an image of another under rotation or reflection), OEIS A002562, from
/// the number of all.
///
/// # Errors
/// [`Error::TooLarge`]
pub fn fundamental(n: u32, total: u128) -> Result<u128, Error> {
    let (half, quarter) = (half_turn(n)?, quarter_turn(n)?);
    if n <= 1 {
        return Ok(total);
    }
    Ok((total + half + 2 * quarter) / 8)
}
