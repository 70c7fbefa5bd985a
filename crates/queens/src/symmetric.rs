//! Solutions that a turn of the board leaves as they are, and what follows for the number of different ones.
//!
//! No solution on more than one square is its own mirror image, so by Burnside's lemma the eight symmetries leave
//! (total + P + 2 R) / 8 classes, with P solutions that half a turn leaves alone, and R that a quarter turn does.

#![forbid(unsafe_code)]

use crate::error::{Error, checked};

/// Attacked columns, and diagonals by number, of a board on which whole orbits of queens are placed.
#[derive(Clone, Copy, Default)]
struct Lines {
    rows: u32,
    columns: u32,
    rising: u64,
    falling: u64,
}

impl Lines {
    /// With one more queen, unless it is attacked.
    fn with(mut self, n: u32, row: u32, column: u32) -> Option<Lines> {
        let (in_row, in_column) = (1 << row, 1 << column);
        let (rising, falling) = (1u64 << (row + column), 1u64 << (n + row - column));
        let attacked = self.rows & in_row | self.columns & in_column;
        if attacked != 0 || self.rising & rising != 0 || self.falling & falling != 0 {
            return None;
        }
        self.rows |= in_row;
        self.columns |= in_column;
        self.rising |= rising;
        self.falling |= falling;
        Some(self)
    }

    /// With the queens of all images of a square under turns: by half of the board, or a quarter.
    fn with_orbit(self, n: u32, row: u32, column: u32, quarter: bool) -> Option<Lines> {
        let last = n - 1;
        let mut orbit = vec![(row, column), (last - row, last - column)];
        if quarter {
            orbit.extend([(column, last - row), (last - column, row)]);
        }
        orbit.sort_unstable();
        orbit.dedup();
        orbit
            .into_iter()
            .try_fold(self, |lines, (row, column)| lines.with(n, row, column))
    }

    /// Ways to fill the rows that are empty.
    fn count(self, n: u32, quarter: bool) -> u128 {
        let row = self.rows.trailing_ones();
        if row >= n {
            return 1;
        }
        let columns = (0..n).filter(|column| self.columns >> column & 1 == 0);
        columns
            .filter_map(|column| self.with_orbit(n, row, column, quarter))
            .map(|lines| lines.count(n, quarter))
            .sum()
    }
}

/// Solutions that half a turn leaves as they are: P, OEIS A032522.
///
/// # Errors
/// [`Error::TooLarge`]
pub fn half_turn(n: u32) -> Result<u128, Error> {
    Ok(Lines::default().count(checked(n)?, false))
}

/// Solutions that a quarter turn leaves as they are: R, OEIS A033148.
///
/// # Errors
/// [`Error::TooLarge`]
pub fn quarter_turn(n: u32) -> Result<u128, Error> {
    Ok(Lines::default().count(checked(n)?, true))
}

/// Solutions of which none is another's image under rotation or reflection, OEIS A002562, from the number of all.
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
