//! How a board lies in the lanes of registers, and what placing a queen does to it.
//!
//! Beside the lines of its queens a board has the columns that are **barred** in its row: attacked, or already tried.
//! The lowest free column is the lowest 0 among them, which adding 1 finds.
//!
//! - [`Narrow`], for up to 16 columns: two words, diagonals in the halves of one, columns and barred in the other. Stores
//!   limit the search, and this layout halves them.
//! - [`Wide`], for up to 32 columns: four words.
//!
//! A lane whose words are all ones is empty: it has no free column and no child.

use super::lanes::Lanes;
use crate::inner::{Row, State};

/// Boards of `W` words in registers of `S`.
pub trait Layout<S: Lanes, const W: usize>: Copy {
    /// What placing a queen needs of the row below.
    type Below: Copy;

    /// What placing a queen needs of `row`, which is below.
    fn below(s: S, row: Row) -> Self::Below;
    /// A board at `row`, with no column tried.
    fn pack(state: State, row: Row) -> [u32; W];
    /// A queen on the lowest free column of each lane: the children in the row below, and the lanes with that column
    /// barred.
    fn place(s: S, below: Self::Below, board: [S::V; W]) -> ([S::V; W], [S::V; W]);
    /// A bit for each lane with no free column.
    fn barred(s: S, board: [S::V; W]) -> u32;
    /// A bit for each lane with no free column in the row below, even before a queen is placed.
    fn barred_below(s: S, below: Self::Below, board: [S::V; W]) -> u32;
}

/// Word 0: rising diagonals low, falling ones high. Word 1: columns low, barred high.
#[derive(Clone, Copy)]
pub struct Narrow;

impl<S: Lanes> Layout<S, 2> for Narrow {
    type Below = (S::Shift, S::V);

    #[inline(always)]
    fn below(s: S, row: Row) -> Self::Below {
        (s.shift(row.shift), s.splat(row.blocked << 16))
    }

    fn pack(state: State, row: Row) -> [u32; 2] {
        let barred = !state.free(row);
        [
            state.rising & 0xffff | state.falling << 16,
            state.columns & 0xffff | barred << 16,
        ]
    }

    #[inline(always)]
    fn place(s: S, below: Self::Below, [lines, own]: [S::V; 2]) -> ([S::V; 2], [S::V; 2]) {
        let next = s.add(own, s.splat(0x1_0000));
        let bit = s.and_not(own, next);
        let low = s.high_as_low(bit);
        let [rising, falling] = s.both_ways(s.or3(lines, bit, low), below.0);
        let columns = s.or(own, low);
        let child = [
            s.halves(rising, falling),
            s.halves(columns, barred_high(s, below.1, columns, rising, falling)),
        ];
        (child, [lines, s.or(own, next)])
    }

    #[inline(always)]
    fn barred(s: S, [_, own]: [S::V; 2]) -> u32 {
        s.high_full(own)
    }

    #[inline(always)]
    fn barred_below(s: S, below: Self::Below, [lines, own]: [S::V; 2]) -> u32 {
        let [rising, falling] = s.both_ways(lines, below.0);
        s.high_full(barred_high(s, below.1, own, rising, falling))
    }
}

/// Barred columns in the high half, from what the low halves of `columns` and `rising` and the high one of `falling`
/// say. The low half is undefined.
#[inline(always)]
fn barred_high<S: Lanes>(s: S, blocked: S::V, columns: S::V, rising: S::V, falling: S::V) -> S::V {
    s.or3(s.low_as_high(s.or(columns, rising)), falling, blocked)
}

/// Rising diagonals, falling diagonals, columns, barred.
#[derive(Clone, Copy)]
pub struct Wide;

impl<S: Lanes> Layout<S, 4> for Wide {
    type Below = (S::Shift, S::V);

    #[inline(always)]
    fn below(s: S, row: Row) -> Self::Below {
        (s.shift(row.shift), s.splat(row.blocked))
    }

    fn pack(state: State, row: Row) -> [u32; 4] {
        [state.rising, state.falling, state.columns, !state.free(row)]
    }

    #[inline(always)]
    fn place(s: S, below: Self::Below, board: [S::V; 4]) -> ([S::V; 4], [S::V; 4]) {
        let [rising, falling, columns, barred] = board;
        let next = s.add(barred, s.splat(1));
        let bit = s.and_not(barred, next);
        let rising_below = s.left(s.or(rising, bit), below.0);
        let falling_below = s.right(s.or(falling, bit), below.0);
        let with = s.or(columns, bit);
        let barred_below = s.or(s.or3(rising_below, falling_below, with), below.1);
        (
            [rising_below, falling_below, with, barred_below],
            [rising, falling, columns, s.or(barred, next)],
        )
    }

    #[inline(always)]
    fn barred(s: S, [_, _, _, barred]: [S::V; 4]) -> u32 {
        s.full(barred)
    }

    #[inline(always)]
    fn barred_below(s: S, below: Self::Below, [rising, falling, columns, _]: [S::V; 4]) -> u32 {
        let lines = s.or3(s.left(rising, below.0), s.right(falling, below.0), columns);
        s.full(s.or(lines, below.1))
    }
}
