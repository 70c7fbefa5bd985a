//! Intra prediction of 16x16 luma and of chroma (clauses 8.3.3 and 8.3.4).

use super::super::bounds::check;
use super::super::neighbours::{Neighbours16x16, NeighboursChroma, intra_16x16, intra_chroma};

/// The row above, which a mode needs.
#[inline(always)]
pub fn above<T>(top: Option<T>) -> T {
    top.expect("the mode needs samples above")
}

/// The column to the left, which a mode needs.
#[inline(always)]
pub fn beside<T>(left: Option<T>) -> T {
    left.expect("the mode needs samples to the left")
}

/// The mean of the samples of all sides that are there, 128 if none is.
pub fn mean<const N: usize>(top: Option<&[u8; N]>, left: Option<&[u8; N]>) -> u8 {
    let sum = |side: &[u8; N]| side.iter().map(|&s| u32::from(s)).sum::<u32>();
    let n = N as u32;
    let mean = match (top, left) {
        (Some(top), Some(left)) => (sum(top) + sum(left) + n) / (2 * n),
        (Some(side), None) | (None, Some(side)) => (sum(side) + n / 2) / n,
        (None, None) => 128,
    };
    mean as u8
}

/// The plane of a mode: `value + right * x + down * y`, before it is rounded, shifted by 5 and clipped.
#[derive(Clone, Copy)]
pub struct Plane {
    pub value: i32,
    pub right: i32,
    pub down: i32,
}

impl Plane {
    /// That of 16x16 samples (equations 8-118 to 8-122).
    pub fn luma(neighbours: &Neighbours16x16) -> Plane {
        let (top, left) = (above(neighbours.top), beside(neighbours.left));
        let slope = |side: &[u8; 16]| {
            let before = |i: usize| match i {
                8 => neighbours.corner,
                _ => side[7 - i],
            };
            (1..=8)
                .map(|i| i as i32 * (i32::from(side[7 + i]) - i32::from(before(i))))
                .sum::<i32>()
        };
        let right = (5 * slope(&top) + 32) >> 6;
        let down = (5 * slope(&left) + 32) >> 6;
        let value = 16 * (i32::from(top[15]) + i32::from(left[15]));
        Plane {
            value: value - 7 * (right + down),
            right,
            down,
        }
    }

    /// That of 8x8 samples of component `c` (equations 8-142 to 8-148).
    pub fn chroma(neighbours: &NeighboursChroma, c: usize) -> Plane {
        let (top, left) = (above(neighbours.top), beside(neighbours.left));
        let slope = |side: &[u8; 16]| {
            let before = |i: usize| match i {
                4 => neighbours.corner[c],
                _ => side[2 * (3 - i) + c],
            };
            (1..=4)
                .map(|i| i as i32 * (i32::from(side[2 * (3 + i) + c]) - i32::from(before(i))))
                .sum::<i32>()
        };
        let right = (34 * slope(&top) + 32) >> 6;
        let down = (34 * slope(&left) + 32) >> 6;
        let value = 16 * (i32::from(top[14 + c]) + i32::from(left[14 + c]));
        Plane {
            value: value - 3 * (right + down),
            right,
            down,
        }
    }

    fn at(self, x: usize, y: usize) -> u8 {
        let value = self.value + self.right * x as i32 + self.down * y as i32;
        ((value + 16) >> 5).clamp(0, 255) as u8
    }
}

/// The means of the blocks of component `c` of chroma, each by a rule of its own (equations 8-132 to 8-141).
pub fn chroma_means(neighbours: &NeighboursChroma, c: usize) -> [u8; 4] {
    let part = |side: Option<[u8; 16]>, first: usize| {
        side.map(|side| [0, 1, 2, 3].map(|i| side[2 * (first + i) + c]))
    };
    let (top, left) = (neighbours.top, neighbours.left);
    let both = |x, y| mean(part(top, x).as_ref(), part(left, y).as_ref());
    let only_top = |x| mean(part(top, x).as_ref(), None);
    let only_left = |y| mean(None, part(left, y).as_ref());
    [
        both(0, 0),
        if top.is_some() {
            only_top(4)
        } else {
            only_left(0)
        },
        if left.is_some() {
            only_left(4)
        } else {
            only_top(0)
        },
        both(4, 4),
    ]
}

pub fn intra_16x16(mode: u8, neighbours: &Neighbours16x16, dst: &mut [u8], stride: usize) {
    check(dst, stride, 16, 16);
    let rows = dst.chunks_mut(stride).take(16).map(|row| &mut row[..16]);
    match mode {
        intra_16x16::VERTICAL => {
            let top = above(neighbours.top);
            rows.for_each(|row| row.copy_from_slice(&top));
        }
        intra_16x16::HORIZONTAL => {
            let left = beside(neighbours.left);
            rows.zip(left).for_each(|(row, left)| row.fill(left));
        }
        intra_16x16::DC => {
            let mean = mean(neighbours.top.as_ref(), neighbours.left.as_ref());
            rows.for_each(|row| row.fill(mean));
        }
        intra_16x16::PLANE => {
            let plane = Plane::luma(neighbours);
            for (y, row) in rows.enumerate() {
                for (x, sample) in row.iter_mut().enumerate() {
                    *sample = plane.at(x, y);
                }
            }
        }
        _ => panic!("intra mode {mode} of 16x16 samples"),
    }
}

pub fn intra_chroma(mode: u8, neighbours: &NeighboursChroma, dst: &mut [u8], stride: usize) {
    check(dst, stride, 16, 8);
    let rows = dst.chunks_mut(stride).take(8).map(|row| &mut row[..16]);
    match mode {
        intra_chroma::DC => {
            let means = [0, 1].map(|c| chroma_means(neighbours, c));
            for (y, row) in rows.enumerate() {
                for (x, sample) in row.iter_mut().enumerate() {
                    *sample = means[x % 2][y / 4 * 2 + x / 8];
                }
            }
        }
        intra_chroma::HORIZONTAL => {
            let left = beside(neighbours.left);
            for (row, left) in rows.zip(left.chunks(2)) {
                row.chunks_mut(2)
                    .for_each(|pair| pair.copy_from_slice(left));
            }
        }
        intra_chroma::VERTICAL => {
            let top = above(neighbours.top);
            rows.for_each(|row| row.copy_from_slice(&top));
        }
        intra_chroma::PLANE => {
            let planes = [0, 1].map(|c| Plane::chroma(neighbours, c));
            for (y, row) in rows.enumerate() {
                for (x, sample) in row.iter_mut().enumerate() {
                    *sample = planes[x % 2].at(x / 2, y);
                }
            }
        }
        _ => panic!("intra mode {mode} of chroma"),
    }
}
