//! Intra prediction against the formulas of clause 8.3.

use evener_h264::kernels::residual::neighbours::{
    Neighbours4x4, Neighbours8x8, Neighbours16x16, NeighboursChroma,
};

use super::reference;
use crate::Rng;

/// The samples around a block: `p(x, -1)` above, `p(-1, y)` to the left, `p(-1, -1)` the corner.
struct Around<'a> {
    top: Option<&'a [u8]>,
    left: Option<&'a [u8]>,
    corner: u8,
}

impl Around<'_> {
    fn p(&self, x: i32, y: i32) -> i32 {
        match (x, y) {
            (-1, -1) => self.corner.into(),
            (_, -1) => self.top.unwrap()[x as usize].into(),
            _ => self.left.unwrap()[y as usize].into(),
        }
    }

    fn two(&self, a: (i32, i32), b: (i32, i32)) -> i32 {
        (self.p(a.0, a.1) + self.p(b.0, b.1) + 1) >> 1
    }

    fn three(&self, a: (i32, i32), b: (i32, i32), c: (i32, i32)) -> i32 {
        (self.p(a.0, a.1) + 2 * self.p(b.0, b.1) + self.p(c.0, c.1) + 2) >> 2
    }

    fn dc(&self, n: i32) -> i32 {
        let shift = n.ilog2();
        let top = || (0..n).map(|x| self.p(x, -1)).sum::<i32>();
        let left = || (0..n).map(|y| self.p(-1, y)).sum::<i32>();
        match (self.top.is_some(), self.left.is_some()) {
            (true, true) => (top() + left() + n) >> (shift + 1),
            (true, false) => (top() + n / 2) >> shift,
            (false, true) => (left() + n / 2) >> shift,
            (false, false) => 128,
        }
    }

    /// Clauses 8.3.1.2.1 to 8.3.1.2.9 with `n` 4, 8.3.2.2.2 to 8.3.2.2.10 with `n` 8.
    fn predicted(&self, mode: u8, n: i32, x: i32, y: i32) -> i32 {
        match mode {
            0 => self.p(x, -1),
            1 => self.p(-1, y),
            2 => self.dc(n),
            3 if x == n - 1 && y == n - 1 => {
                (self.p(2 * n - 2, -1) + 3 * self.p(2 * n - 1, -1) + 2) >> 2
            }
            3 => self.three((x + y, -1), (x + y + 1, -1), (x + y + 2, -1)),
            4 if x > y => self.three((x - y - 2, -1), (x - y - 1, -1), (x - y, -1)),
            4 if x < y => self.three((-1, y - x - 2), (-1, y - x - 1), (-1, y - x)),
            4 => self.three((0, -1), (-1, -1), (-1, 0)),
            5 => {
                let (z, i) = (2 * x - y, x - (y >> 1));
                match z {
                    0.. if z % 2 == 0 => self.two((i - 1, -1), (i, -1)),
                    0.. => self.three((i - 2, -1), (i - 1, -1), (i, -1)),
                    -1 => self.three((-1, 0), (-1, -1), (0, -1)),
                    _ => {
                        let i = y - 2 * x;
                        self.three((-1, i - 1), (-1, i - 2), (-1, i - 3))
                    }
                }
            }
            6 => {
                let (z, i) = (2 * y - x, y - (x >> 1));
                match z {
                    0.. if z % 2 == 0 => self.two((-1, i - 1), (-1, i)),
                    0.. => self.three((-1, i - 2), (-1, i - 1), (-1, i)),
                    -1 => self.three((-1, 0), (-1, -1), (0, -1)),
                    _ => {
                        let i = x - 2 * y;
                        self.three((i - 1, -1), (i - 2, -1), (i - 3, -1))
                    }
                }
            }
            7 => {
                let i = x + (y >> 1);
                match y % 2 {
                    0 => self.two((i, -1), (i + 1, -1)),
                    _ => self.three((i, -1), (i + 1, -1), (i + 2, -1)),
                }
            }
            _ => {
                let (z, i) = (x + 2 * y, y + (x >> 1));
                if z > 2 * n - 3 {
                    self.p(-1, n - 1)
                } else if z == 2 * n - 3 {
                    (self.p(-1, n - 2) + 3 * self.p(-1, n - 1) + 2) >> 2
                } else if z % 2 == 0 {
                    self.two((-1, i), (-1, i + 1))
                } else {
                    self.three((-1, i), (-1, i + 1), (-1, i + 2))
                }
            }
        }
    }

    /// Clauses 8.3.3.4 (`n` 16) and 8.3.4.4 (`n` 8, as for 4:2:0).
    fn plane(&self, n: i32, x: i32, y: i32) -> i32 {
        let half = n / 2;
        let slope = |p: &dyn Fn(i32) -> i32| {
            (0..half)
                .map(|i| (i + 1) * (p(half + i) - p(half - 2 - i)))
                .sum::<i32>()
        };
        let (h, v) = (slope(&|i| self.p(i, -1)), slope(&|i| self.p(-1, i)));
        let factor = if n == 16 { 5 } else { 34 };
        let (b, c) = ((factor * h + 32) >> 6, (factor * v + 32) >> 6);
        let a = 16 * (self.p(-1, n - 1) + self.p(n - 1, -1));
        ((a + b * (x - half + 1) + c * (y - half + 1) + 16) >> 5).clamp(0, 255)
    }
}

fn array<const N: usize>(rng: &mut Rng) -> [u8; N] {
    let mut samples = [0; N];
    rng.samples(&mut samples);
    samples
}

/// Which sides a mode of 4x4 and 8x8 needs: above, to the left.
const NEEDS: [(bool, bool); 9] = [
    (true, false),
    (false, true),
    (false, false),
    (true, false),
    (true, true),
    (true, true),
    (true, true),
    (true, false),
    (false, true),
];

#[test]
fn small_blocks_follow_the_formulas() {
    let mut rng = Rng(21);
    for i in 0..20_000 {
        let mode = (i % 9) as u8;
        let (top, left) = NEEDS[i % 9];
        let (top, left) = (top || rng.below(2) == 0, left || rng.below(2) == 0);
        let corner = rng.next() as u8;
        let (top8, left4): ([u8; 8], [u8; 4]) = (array(&mut rng), array(&mut rng));
        let (top16, left8): ([u8; 16], [u8; 8]) = (array(&mut rng), array(&mut rng));

        let n4 = Neighbours4x4 {
            top: top.then_some(top8),
            left: left.then_some(left4),
            corner,
        };
        let around = Around {
            top: n4.top.as_ref().map(|t| &t[..]),
            left: n4.left.as_ref().map(|l| &l[..]),
            corner,
        };
        let mut dst = [0; 16];
        (reference().intra_4x4)(mode, &n4, &mut dst, 4);
        for (i, &got) in dst.iter().enumerate() {
            let expected = around.predicted(mode, 4, i as i32 % 4, i as i32 / 4);
            assert_eq!(i32::from(got), expected, "4x4 mode {mode} at {i} of {n4:?}");
        }

        let n8 = Neighbours8x8 {
            top: top.then_some(top16),
            left: left.then_some(left8),
            corner: (top && left).then_some(corner),
        };
        let around = Around {
            top: n8.top.as_ref().map(|t| &t[..]),
            left: n8.left.as_ref().map(|l| &l[..]),
            corner,
        };
        let mut dst = [0; 64];
        (reference().intra_8x8)(mode, &n8, &mut dst, 8);
        for (i, &got) in dst.iter().enumerate() {
            let expected = around.predicted(mode, 8, i as i32 % 8, i as i32 / 8);
            assert_eq!(i32::from(got), expected, "8x8 mode {mode} at {i} of {n8:?}");
        }
    }
}

/// Clause 8.3.2.2.1 written as a line of samples whose ends, and gaps, repeat the nearest one.
#[test]
fn neighbours_of_8x8_are_smoothed() {
    let mut rng = Rng(22);
    for i in 0..4000 {
        let (top, left): ([u8; 16], [u8; 8]) = (array(&mut rng), array(&mut rng));
        let corner = rng.next() as u8;
        let n = Neighbours8x8 {
            top: (i & 1 != 0).then_some(top),
            left: (i & 2 != 0).then_some(left),
            corner: (i & 4 != 0).then_some(corner),
        };
        let line: Vec<Option<u8>> = (left.iter().rev().map(|&l| n.left.map(|_| l)))
            .chain([n.corner])
            .chain(top.iter().map(|&t| n.top.map(|_| t)))
            .collect();
        let filtered: Vec<Option<u8>> = (0..25)
            .map(|i| {
                let middle = u32::from(line[i]?);
                let beside = |j: usize| line.get(j).copied().flatten().map_or(middle, u32::from);
                Some(((beside(i.wrapping_sub(1)) + 2 * middle + beside(i + 1) + 2) >> 2) as u8)
            })
            .collect();
        let got = n.filtered();
        assert_eq!(got.corner, filtered[8], "{n:?}");
        assert_eq!(got.top.is_some(), n.top.is_some());
        assert_eq!(got.left.is_some(), n.left.is_some());
        for (x, sample) in got.top.iter().flatten().enumerate() {
            assert_eq!(Some(*sample), filtered[9 + x], "{x} above of {n:?}");
        }
        for (y, sample) in got.left.iter().flatten().enumerate() {
            assert_eq!(Some(*sample), filtered[7 - y], "{y} beside {n:?}");
        }
    }
}

#[test]
fn macroblocks_follow_the_formulas() {
    let mut rng = Rng(23);
    for i in 0..8000 {
        let mode = (i % 4) as u8;
        let (top, left): ([u8; 16], [u8; 16]) = (array(&mut rng), array(&mut rng));
        let corner = rng.next() as u8;
        let has = |needed: bool, rng: &mut Rng| needed || rng.below(2) == 0;
        let n = Neighbours16x16 {
            top: has(mode == 0 || mode == 3, &mut rng).then_some(top),
            left: has(mode == 1 || mode == 3, &mut rng).then_some(left),
            corner,
        };
        let around = Around {
            top: n.top.as_ref().map(|t| &t[..]),
            left: n.left.as_ref().map(|l| &l[..]),
            corner,
        };
        let mut dst = [0; 256];
        (reference().intra_16x16)(mode, &n, &mut dst, 16);
        for (i, &got) in dst.iter().enumerate() {
            let (x, y) = (i as i32 % 16, i as i32 / 16);
            let expected = match mode {
                3 => around.plane(16, x, y),
                _ => around.predicted(mode, 16, x, y),
            };
            assert_eq!(i32::from(got), expected, "mode {mode} at {x} {y} of {n:?}");
        }

        let n = NeighboursChroma {
            top: has(mode >= 2, &mut rng).then_some(top),
            left: has(mode % 2 == 1, &mut rng).then_some(left),
            corner: [corner, !corner],
        };
        let mut dst = [0; 128];
        (reference().intra_chroma)(mode, &n, &mut dst, 16);
        for c in 0..2 {
            let every = |side: Option<[u8; 16]>| {
                side.map(|side| side.iter().copied().skip(c).step_by(2).collect::<Vec<u8>>())
            };
            let (top, left) = (every(n.top), every(n.left));
            let around = Around {
                top: top.as_deref(),
                left: left.as_deref(),
                corner: n.corner[c],
            };
            for i in 0..64 {
                let (x, y) = (i as i32 % 8, i as i32 / 8);
                let expected = match mode {
                    0 => chroma_dc(&around, x / 4 * 4, y / 4 * 4),
                    1 => around.p(-1, y),
                    2 => around.p(x, -1),
                    _ => around.plane(8, x, y),
                };
                let got = i32::from(dst[i / 8 * 16 + i % 8 * 2 + c]);
                assert_eq!(got, expected, "chroma {c} mode {mode} at {x} {y} of {n:?}");
            }
        }
    }
}

/// Equations 8-132 to 8-141, of the block at (`x0`, `y0`).
fn chroma_dc(around: &Around, x0: i32, y0: i32) -> i32 {
    let top = around
        .top
        .map(|_| (0..4).map(|x| around.p(x + x0, -1)).sum::<i32>());
    let left = around
        .left
        .map(|_| (0..4).map(|y| around.p(-1, y + y0)).sum::<i32>());
    match ((x0, y0), top, left) {
        ((0, 0) | (4, 4), Some(top), Some(left)) => (top + left + 4) >> 3,
        ((4, 0), Some(top), _) => (top + 2) >> 2,
        ((0, 4), _, Some(left)) => (left + 2) >> 2,
        (_, Some(one), None) | (_, None, Some(one)) => (one + 2) >> 2,
        _ => 128,
    }
}

#[test]
#[should_panic(expected = "needs samples above")]
fn a_mode_without_its_neighbours_is_an_error() {
    (reference().intra_16x16)(0, &Neighbours16x16::default(), &mut [0; 256], 16);
}
