//! The queens of the first and last row and column, which are placed before all others.
//!
//! Every solution has one queen in each of these four lines (a queen in a corner is in two). The eight symmetries of
//! the square map borders to borders, so all borders that are images of one another have equally many solutions. One of
//! them is searched, and its *weight* is how many there are. The trees below them differ much in size, so the one with
//! the least [branching](Inner::branching) in the rows that are searched first is chosen.

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

/// An equivalence class: borders that are images of one another.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Class {
    /// The border that is searched.
    pub(crate) border: Border,
    /// How many borders there are: 8, 4, 2, or 1 if the board has at most one square.
    pub(crate) weight: u8,
    /// The rows that are left to search.
    pub(crate) inner: Inner,
    /// About how much work these are, in a unit that is the same for all borders of a board.
    pub(crate) work: f64,
}

/// Rows that are searched first: 60 % of all.
fn upper(rows: usize) -> usize {
    (rows * 6).div_ceil(10)
}

impl Border {
    /// All classes under rotation and reflection, sorted by the smallest border of each.
    pub(crate) fn classes(n: u32) -> Vec<Class> {
        if n == 0 {
            // There is one way to place no queen.
            let border = Border {
                top: 0,
                bottom: 0,
                left: 0,
                right: 0,
            };
            return vec![border.class([border; 8], n)];
        }
        let n = u8::try_from(n).expect("boards are small");
        let mut classes = Vec::new();
        // The `top` of an image is one of the four numbers, or the last row's number minus one of them. The smallest
        // border of a class has the smallest of these.
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
                        let images = border.images(n);
                        if images.iter().all(|b| border <= *b) && border.is_possible(n) {
                            classes.push(border.class(images, n.into()));
                        }
                    }
                }
            }
        }
        classes
    }

    /// The class that has these images.
    fn class(self, images: [Border; 8], n: u32) -> Class {
        let mut sorted = images;
        sorted.sort_unstable();
        let different = 1 + sorted.windows(2).filter(|pair| pair[0] != pair[1]).count();
        // Mirror images have mirrored trees.
        let turns = images.into_iter().step_by(2).map(|border| {
            let inner = border.inner(n);
            (inner.branching(upper(inner.rows.len())), border, inner)
        });
        let order = |a: &(f64, Border, Inner), b: &(f64, Border, Inner)| {
            let by_branching = a.0.total_cmp(&b.0);
            by_branching.then(a.1.cmp(&b.1))
        };
        let (_, border, inner) = turns.min_by(order).expect("there are four");
        Class {
            border,
            weight: different as u8,
            // A border with a queen in a corner leaves a row more, which says nothing about how large its tree is.
            work: 1.0 + inner.branching(upper((n as usize).saturating_sub(4))),
            inner,
        }
    }

    /// The images of the border under the eight symmetries of a board of `n` rows.
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

    /// Row and column of each queen. A queen in a corner is listed once. There are none for `n` = 0.
    pub fn queens(self, n: u32) -> Vec<(u8, u8)> {
        let Some(last) = n.checked_sub(1) else {
            return Vec::new();
        };
        let mut queens = self.by_line(last as u8).to_vec();
        queens.sort_unstable();
        queens.dedup();
        queens
    }

    /// The queens line by line. A queen in a corner is listed twice.
    fn by_line(self, last: u8) -> [(u8, u8); 4] {
        [
            (0, self.top),
            (last, self.bottom),
            (self.left, 0),
            (self.right, last),
        ]
    }

    /// Whether no queen attacks another, and both lines of each corner agree.
    fn is_possible(self, n: u8) -> bool {
        let queens = self.by_line(n - 1);
        queens.iter().enumerate().all(|(i, &(row, column))| {
            queens[..i].iter().all(|&(r, c)| {
                let apart = (r.abs_diff(row), c.abs_diff(column));
                apart == (0, 0) || apart.0 != 0 && apart.1 != 0 && apart.0 != apart.1
            })
        })
    }

    /// The rows that are left to search.
    pub(crate) fn inner(self, n: u32) -> Inner {
        let width = n.saturating_sub(2);
        let columns = (1u32 << width) - 1;
        let queens = self.by_line(n.saturating_sub(1) as u8);
        let mut rows = Vec::with_capacity(width as usize);
        let mut before = None;
        for row in 1..=width as u8 {
            if row == self.left || row == self.right {
                continue;
            }
            let attacked = queens.iter().fold(0u64, |attacked, &(r, column)| {
                let (queen, away) = (1 << column, row.abs_diff(r));
                attacked | queen | queen << away | queen >> away
            });
            rows.push(Row {
                row,
                shift: before.map_or(0, |before| row - before),
                blocked: (attacked >> 1) as u32 | !columns,
            });
            before = Some(row);
        }
        Inner { rows }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Borders by trying every four squares, without symmetry.
    fn all_borders(n: u8) -> BTreeSet<Vec<(u8, u8)>> {
        let last = n - 1;
        let mut found = BTreeSet::new();
        for code in 0..u32::from(n).pow(4) {
            let digit = |place: u32| (code / u32::from(n).pow(place) % u32::from(n)) as u8;
            let queens: BTreeSet<(u8, u8)> = [
                (0, digit(0)),
                (last, digit(1)),
                (digit(2), 0),
                (digit(3), last),
            ]
            .into();
            let attacked = queens.iter().any(|a| {
                queens.iter().any(|b| {
                    a != b && (a.0 == b.0 || a.1 == b.1 || a.0.abs_diff(b.0) == a.1.abs_diff(b.1))
                })
            });
            if !attacked {
                found.insert(queens.into_iter().collect());
            }
        }
        found
    }

    #[test]
    fn classes_of_borders_are_all_borders() {
        for n in 1..=10u8 {
            let mut all = all_borders(n);
            for Class { border, weight, .. } in Border::classes(n.into()) {
                let images: BTreeSet<_> =
                    border.images(n).map(|image| image.queens(n.into())).into();
                assert_eq!(images.len(), usize::from(weight), "n {n}, {border:?}");
                for image in images {
                    assert!(
                        all.remove(&image),
                        "n {n}, {border:?}: {image:?} is no border, or in two classes"
                    );
                }
            }
            assert!(all.is_empty(), "n {n}: missing {all:?}");
        }
    }
}
