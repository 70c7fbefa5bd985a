//! Intra prediction of 4x4 and 8x8 luma (clauses 8.3.1.2 and 8.3.2.2).
//!
//! All directional modes read the neighbours as one line, from the bottom of the left column over the corner to the
//! right end of the row above. A predicted sample is a sample of that line, filtered by two or three taps. The
//! formulas of 4x4 are those of 8x8 with another size.

use super::super::bounds::check;
use super::super::neighbours::intra_4x4::*;
use super::super::neighbours::{Neighbours4x4, Neighbours8x8};
use super::intra::{above, beside, mean};

/// (a + b + 1) / 2.
fn two([a, b]: [u8; 2]) -> u8 {
    ((u32::from(a) + u32::from(b) + 1) >> 1) as u8
}

/// (a + 2b + c + 2) / 4.
fn three([a, b, c]: [u8; 3]) -> u8 {
    ((u32::from(a) + 2 * u32::from(b) + u32::from(c) + 2) >> 2) as u8
}

/// A line of neighbours, and where in it the corner is; the row above begins behind it, the left column goes
/// backwards before it.
struct Line<const LEN: usize> {
    samples: [u8; LEN],
    corner: usize,
}

impl<const LEN: usize> Line<LEN> {
    /// The mean of a sample and the next.
    fn two(&self, i: usize) -> u8 {
        two([self.samples[i], self.samples[i + 1]])
    }

    /// A sample weighted with its neighbours.
    fn three(&self, i: usize) -> u8 {
        three([self.samples[i - 1], self.samples[i], self.samples[i + 1]])
    }
}

/// Fills `N` by `N` samples with `value` of column and row.
fn fill<const N: usize>(dst: &mut [u8], stride: usize, value: impl Fn(usize, usize) -> u8) {
    for y in 0..N {
        for (x, sample) in dst[y * stride..][..N].iter_mut().enumerate() {
            *sample = value(x, y);
        }
    }
}

/// Predicts by a mode, `N` being 4 or 8, `N2` twice that, and `LEN` more than `3 * N + 1`.
fn predict<const N: usize, const N2: usize, const LEN: usize>(
    mode: u8,
    top: Option<[u8; N2]>,
    left: Option<[u8; N]>,
    corner: impl Fn() -> u8,
    dst: &mut [u8],
    stride: usize,
) {
    let downwards_left = || {
        let top = above(top);
        let mut samples = [top[N2 - 1]; LEN];
        samples[1..=N2].copy_from_slice(&top);
        Line::<LEN> { samples, corner: 0 }
    };
    let downwards_right = || {
        let (top, left) = (above(top), beside(left));
        let mut samples = [0; LEN];
        for (sample, left) in samples.iter_mut().zip(left.into_iter().rev()) {
            *sample = left;
        }
        samples[N] = corner();
        samples[N + 1..][..N2].copy_from_slice(&top);
        Line::<LEN> { samples, corner: N }
    };
    match mode {
        VERTICAL => {
            let top = above(top);
            fill::<N>(dst, stride, |x, _| top[x]);
        }
        HORIZONTAL => {
            let left = beside(left);
            fill::<N>(dst, stride, |_, y| left[y]);
        }
        DC => {
            let top = top.map(|top| std::array::from_fn(|x| top[x]));
            let mean = mean(top.as_ref(), left.as_ref());
            fill::<N>(dst, stride, |_, _| mean);
        }
        DIAGONAL_DOWN_LEFT => {
            let line = downwards_left();
            fill::<N>(dst, stride, |x, y| line.three(2 + x + y));
        }
        DIAGONAL_DOWN_RIGHT => {
            let line = downwards_right();
            fill::<N>(dst, stride, |x, y| line.three(line.corner + x - y));
        }
        VERTICAL_RIGHT => {
            let line = downwards_right();
            fill::<N>(dst, stride, |x, y| match (2 * x).checked_sub(y) {
                Some(z) if z % 2 == 0 => line.two(line.corner + z / 2),
                Some(z) => line.three(line.corner + z.div_ceil(2)),
                None => line.three(line.corner + 1 + 2 * x - y),
            });
        }
        HORIZONTAL_DOWN => {
            let line = downwards_right();
            fill::<N>(dst, stride, |x, y| match (2 * y).checked_sub(x) {
                Some(z) if z % 2 == 0 => line.two(line.corner - 1 - z / 2),
                Some(z) => line.three(line.corner - z.div_ceil(2)),
                None => line.three(line.corner - 1 + x - 2 * y),
            });
        }
        VERTICAL_LEFT => {
            let line = downwards_left();
            fill::<N>(dst, stride, |x, y| match y % 2 {
                0 => line.two(1 + x + y / 2),
                _ => line.three(2 + x + y / 2),
            });
        }
        HORIZONTAL_UP => {
            let left = beside(left);
            let mut samples = [left[N - 1]; LEN];
            samples[..N].copy_from_slice(&left);
            let line = Line { samples, corner: 0 };
            fill::<N>(dst, stride, |x, y| match x % 2 {
                0 => line.two(y + x / 2),
                _ => line.three(y + x / 2 + 1),
            });
        }
        _ => panic!("intra mode {mode} of {N}x{N} samples"),
    }
}

pub fn intra_4x4(mode: u8, neighbours: &Neighbours4x4, dst: &mut [u8], stride: usize) {
    check(dst, stride, 4, 4);
    let Neighbours4x4 { top, left, corner } = *neighbours;
    predict::<4, 8, 14>(mode, top, left, || corner, dst, stride);
}

pub fn intra_8x8(mode: u8, neighbours: &Neighbours8x8, dst: &mut [u8], stride: usize) {
    check(dst, stride, 8, 8);
    let Neighbours8x8 { top, left, corner } = *neighbours;
    let corner = || corner.expect("the mode needs the sample above the left column");
    predict::<8, 16, 26>(mode, top, left, corner, dst, stride);
}
