//! The queens of the first and last row and column, which are placed before all others.
//!
//! Every solution has one queen in each of these four lines (a queen in a corner is in two). The eight symmetries of
//! the square take borders to borders, so all borders that are images of one another have equally many solutions:
//! one of them is searched, and it *weighs* as many as there are. Which one is free to choose, and the trees below
//! them differ by much: the one taken is the one that leaves the least choice in the rows that are searched first.

#![forbid(unsafe_code)]

use crate::inner::{Inner, Row};

/// Queens in the outermost lines of a board.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Border {
    /// Column of the queen in the first row.
    pub top: u8,
    /// Column of the queen in the last row.
    pub bottom: u8,
    /// Row of the queen in the first column.
    pub left: u8,
    /// Row of the queen in the last column.
    pub right: u8,
}

impl Border {
    /// One border of each class under rotation and reflection, with the size of the class: 8, 4, 2, or 1 where the
    /// board has at most one square. Sorted by the smallest border of each class.
    pub fn classes(n: u32) -> Vec<(Border, u8)> {
        // With no queen to place, one way.
        let nothing = [Border {
            top: 0,
            bottom: 0,
            left: 0,
            right: 0,
        }];
        if n == 0 {
            return nothing.map(|border| (border, 1)).to_vec();
        }
        let n = u8::try_from(n).expect("boards are small");
        let mut classes = Vec::new();
        // Images have each of the four numbers for their top, or the last row's number less it: the smallest border of
        // a class has the smallest of all these.
        for top in 0..n.div_ceil(2) {
            let others = top..n - top;
            for bottom in others.clone() {
                for left in others.clone() {
                    for right in others.clone() {
                        let border = Border {
                            top,
                            bottom,
                            left,
                            right,
                        };
                        if border.is_possible(n) && border.images(n).iter().all(|b| border <= *b) {
                            classes.push(border.chosen(n));
                        }
                    }
                }
            }
        }
        classes
    }

    /// The image to search, and the size of the class.
    fn chosen(self, n: u8) -> (Border, u8) {
        let mut images = self.images(n);
        images.sort_unstable();
        let different = 1 + images.windows(2).filter(|pair| pair[0] != pair[1]).count();
        // Mirror images have mirrored trees.
        let turns = self.images(n).into_iter().step_by(2);
        let least = turns.min_by_key(|border| (border.inner(n.into()).choice(), *border));
        (least.expect("there are four"), different as u8)
    }

    /// What the eight symmetries of a board of `n` rows make of the border.
    pub fn images(self, n: u8) -> [Border; 8] {
        let last = n - 1;
        let turned = |b: Border| Border {
            top: last - b.left,
            bottom: last - b.right,
            left: b.bottom,
            right: b.top,
        };
        let mirrored = |b: Border| Border {
            top: last - b.top,
            bottom: last - b.bottom,
            left: b.right,
            right: b.left,
        };
        let mut turn = self;
        let mut images = [self; 8];
        for pair in images.as_chunks_mut::<2>().0 {
            *pair = [turn, mirrored(turn)];
            turn = turned(turn);
        }
        images
    }

    /// Row and column of each queen, one in a corner once; none for `n` = 0.
    pub fn queens(self, n: u32) -> Vec<(u8, u8)> {
        let Some(last) = n.checked_sub(1) else {
            return Vec::new();
        };
        let last = last as u8;
        let mut queens = vec![
            (0, self.top),
            (last, self.bottom),
            (self.left, 0),
            (self.right, last),
        ];
        queens.sort_unstable();
        queens.dedup();
        queens
    }

    /// Whether no queen attacks another, and corners are agreed on.
    fn is_possible(self, n: u8) -> bool {
        let queens = self.queens(n.into());
        queens.iter().enumerate().all(|(i, &(row, column))| {
            queens[..i]
                .iter()
                .all(|&(r, c)| r != row && c != column && r.abs_diff(row) != c.abs_diff(column))
        })
    }

    /// What is left to search: the rows and columns between.
    pub fn inner(self, n: u32) -> Inner {
        let queens = self.queens(n);
        let width = n.saturating_sub(2);
        let columns = (1u32 << width) - 1;
        let mut rows = Vec::new();
        let mut before = None;
        for row in 1..=width {
            if queens.iter().any(|&(r, _)| u32::from(r) == row) {
                continue;
            }
            let mut blocked = 0u64;
            for &(r, c) in &queens {
                let away = row.abs_diff(r.into());
                let column = u32::from(c);
                blocked |= 1 << column | 1 << (column + away);
                blocked |= column.checked_sub(away).map_or(0, |left| 1 << left);
            }
            rows.push(Row {
                row: row as u8,
                shift: before.map_or(0, |before| (row - before) as u8),
                blocked: (blocked >> 1) as u32 | !columns,
            });
            before = Some(row);
        }
        Inner { rows }
    }
}
