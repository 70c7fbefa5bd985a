//! Blocks whose rows become columns, and rows backwards, for codes of either size.

use std::ops::Range;

use bytemuck::Pod;
use evener_runtime::Simd;

use crate::for_each_level;
use crate::geometry::Rect;
#[cfg(target_arch = "x86_64")]
use crate::kernels::has_avx2;

/// A code: one or two bytes.
pub trait Code: Pod {
    /// Rows and columns of the blocks that are turned in registers.
    const SIDE: usize;

    /// `from` backwards into `to`, of equal length.
    fn reverse(simd: Simd, from: &[Self], to: &mut [Self]);

    /// Turns a block of [`Code::SIDE`] rows and columns.
    fn turned(block: [[u8; 16]; 16]) -> [[u8; 16]; 16];

    /// Turns two blocks, whose rows lie beside each other before and after.
    ///
    /// # Safety
    /// The processor has AVX2.
    #[cfg(target_arch = "x86_64")]
    unsafe fn turned_twice(blocks: [[[u8; 16]; 2]; 16]) -> [[u8; 32]; 16];
}

/// Rows of the output that are made at once: as columns their codes fill lines of the cache.
const BAND: i32 = 64;

/// A part of a plane whose rows become columns.
#[derive(Clone, Copy)]
pub struct Turn {
    /// The column of the input: the first number, and the second, which is 1 or -1, times the row of the output.
    pub column: (i32, i32),
    /// The row of the input, likewise of the column of the output.
    pub row: (i32, i32),
    /// The outputs to write.
    pub inside: Rect,
}

impl Turn {
    /// The first of the columns that are output rows `y`.
    #[inline(always)]
    fn leftmost(&self, y: &Range<i32>) -> usize {
        let (at, step) = self.column;
        (at + if step == 1 { y.start } else { 1 - y.end }) as usize
    }
}

/// Codes, and how many there are from the beginning of a row to that of the next.
pub type Plane<'a, T> = (&'a [T], usize);
/// The same for writing.
pub type PlaneMut<'a, T> = (&'a mut [T], usize);

/// Writes outputs, from the first row of the part on.
pub fn turn<T: Code>(simd: Simd, turn: Turn, from: Plane<'_, T>, to: PlaneMut<'_, T>) {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx2")]
        fn avx2<T: Code>(turn: Turn, from: Plane<'_, T>, to: PlaneMut<'_, T>) {
            turn_body::<T, true>(turn, from, to);
        }
        if has_avx2(simd) {
            // SAFETY: the processor has AVX2.
            return unsafe { avx2(turn, from, to) };
        }
    }
    let _ = simd;
    turn_body::<T, false>(turn, from, to);
}

/// With `TWICE`, blocks are turned two at a time, for which the processor has AVX2.
#[inline(always)]
fn turn_body<T: Code, const TWICE: bool>(
    turn: Turn,
    from: Plane<'_, T>,
    (to, stride): PlaneMut<'_, T>,
) {
    let Rect { x0, y0, x1, y1 } = turn.inside;
    let width = if TWICE { 2 * T::SIDE } else { T::SIDE };
    for band in (y0..y1).step_by(BAND as usize) {
        for x in blocks(x0..x1, width) {
            for y in blocks(band..y1.min(band + BAND), T::SIDE) {
                let at = (y.start - y0) as usize * stride + x.start as usize;
                block::<T, TWICE>(turn, from, x.clone(), y, (&mut to[at..], stride));
            }
        }
    }
}

/// Ranges of `side` that together are `all`; the last two may overlap. One that is shorter if all of it is.
#[inline(always)]
fn blocks(all: Range<i32>, side: usize) -> impl Iterator<Item = Range<i32>> {
    let side = side as i32;
    all.clone().step_by(side as usize).map(move |at| {
        let at = at.min(all.end - side).max(all.start);
        at..all.end.min(at + side)
    })
}

/// Outputs of columns `x` and rows `y`.
#[inline(always)]
fn block<T: Code, const TWICE: bool>(
    turn: Turn,
    (from, from_stride): Plane<'_, T>,
    x: Range<i32>,
    y: Range<i32>,
    (to, stride): PlaneMut<'_, T>,
) {
    let upwards = turn.column.1 == -1;
    let leftmost = turn.leftmost(&y);
    let input = |i: usize| {
        let row = turn.row.0 + turn.row.1 * (x.start + i as i32);
        &from[row as usize * from_stride + leftmost..]
    };
    let rows = y.len();
    let output_row = |i: usize| stride * if upwards { rows - 1 - i } else { i };
    // Arrays: a call that copies 16 bytes takes longer than they do.
    let load = |i: usize| -> [u8; 16] {
        let codes: &[u8] = bytemuck::cast_slice(input(i));
        *codes.first_chunk().expect("a row has a block's columns")
    };
    #[cfg(target_arch = "x86_64")]
    if TWICE && (x.len(), rows) == (2 * T::SIDE, T::SIDE) {
        let mut blocks = [[[0; 16]; 2]; 16];
        for (i, row) in blocks.iter_mut().enumerate().take(T::SIDE) {
            *row = [load(i), load(i + T::SIDE)];
        }
        // SAFETY: promised by the caller.
        let turned = unsafe { T::turned_twice(blocks) };
        for (i, row) in turned.iter().enumerate().take(T::SIDE) {
            store(&mut to[output_row(i)..], row);
        }
        return;
    }
    if (x.len(), rows) != (T::SIDE, T::SIDE) {
        for x in 0..x.len() {
            for (i, code) in input(x)[..rows].iter().enumerate() {
                to[output_row(i) + x] = *code;
            }
        }
        return;
    }
    let mut block = [[0; 16]; 16];
    for (i, row) in block.iter_mut().enumerate().take(T::SIDE) {
        *row = load(i);
    }
    for (i, row) in T::turned(block).iter().enumerate().take(T::SIDE) {
        store(&mut to[output_row(i)..], row);
    }
}

#[inline(always)]
fn store<T: Code, const N: usize>(to: &mut [T], row: &[u8; N]) {
    let codes: &mut [u8] = bytemuck::cast_slice_mut(to);
    *codes
        .first_chunk_mut()
        .expect("a row has a block's columns") = *row;
}

#[inline(always)]
fn reverse_body<T: Copy>(from: &[T], to: &mut [T]) {
    let n = to.len();
    let from = &from[..n];
    for i in 0..n {
        to[i] = from[n - 1 - i];
    }
}

for_each_level! {
    fn reverse<T: Copy>(from: &[T], to: &mut [T]) = reverse_body;
}

impl Code for u8 {
    const SIDE: usize = 16;

    fn reverse(simd: Simd, from: &[u8], to: &mut [u8]) {
        reverse(simd, from, to);
    }

    #[cfg(target_arch = "x86_64")]
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn turned_twice(blocks: [[[u8; 16]; 2]; 16]) -> [[u8; 32]; 16] {
        use std::arch::x86_64::{
            __m256i, _mm256_unpackhi_epi8 as high, _mm256_unpacklo_epi8 as low,
        };

        let mut rows = bytemuck::cast::<_, [__m256i; 16]>(blocks);
        for _ in 0..4 {
            let before = rows;
            for i in 0..8 {
                rows[2 * i] = low(before[i], before[i + 8]);
                rows[2 * i + 1] = high(before[i], before[i + 8]);
            }
        }
        bytemuck::cast(rows)
    }

    #[inline(always)]
    fn turned(block: [[u8; 16]; 16]) -> [[u8; 16]; 16] {
        #[cfg(target_arch = "x86_64")]
        {
            use std::arch::x86_64::{_mm_unpackhi_epi8 as high, _mm_unpacklo_epi8 as low};

            let mut rows = bytemuck::cast::<_, [std::arch::x86_64::__m128i; 16]>(block);
            // Four times rows i and i + 8 are shuffled into each other, as cards are: the index of a code is rotated by one
            // bit each time, and after four times its two halves have changed places.
            for _ in 0..4 {
                let before = rows;
                for i in 0..8 {
                    // SAFETY: all processors of this architecture have SSE2.
                    unsafe {
                        rows[2 * i] = low(before[i], before[i + 8]);
                        rows[2 * i + 1] = high(before[i], before[i + 8]);
                    }
                }
            }
            bytemuck::cast(rows)
        }
        #[cfg(not(target_arch = "x86_64"))]
        std::array::from_fn(|i| std::array::from_fn(|j| block[j][i]))
    }
}

impl Code for u16 {
    const SIDE: usize = 8;

    fn reverse(simd: Simd, from: &[u16], to: &mut [u16]) {
        reverse(simd, from, to);
    }

    #[cfg(target_arch = "x86_64")]
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn turned_twice(blocks: [[[u8; 16]; 2]; 16]) -> [[u8; 32]; 16] {
        use std::arch::x86_64::{
            __m256i, _mm256_unpackhi_epi16 as high, _mm256_unpacklo_epi16 as low,
        };

        let mut rows = bytemuck::cast::<_, [__m256i; 16]>(blocks);
        for _ in 0..3 {
            let before = rows;
            for i in 0..4 {
                rows[2 * i] = low(before[i], before[i + 4]);
                rows[2 * i + 1] = high(before[i], before[i + 4]);
            }
        }
        bytemuck::cast(rows)
    }

    #[inline(always)]
    fn turned(block: [[u8; 16]; 16]) -> [[u8; 16]; 16] {
        #[cfg(target_arch = "x86_64")]
        {
            use std::arch::x86_64::{_mm_unpackhi_epi16 as high, _mm_unpacklo_epi16 as low};

            let mut rows = bytemuck::cast::<_, [std::arch::x86_64::__m128i; 16]>(block);
            for _ in 0..3 {
                let before = rows;
                for i in 0..4 {
                    // SAFETY: as above.
                    unsafe {
                        rows[2 * i] = low(before[i], before[i + 4]);
                        rows[2 * i + 1] = high(before[i], before[i + 4]);
                    }
                }
            }
            bytemuck::cast(rows)
        }
        #[cfg(not(target_arch = "x86_64"))]
        {
            let code = |i: usize, j: usize| [block[j][2 * i], block[j][2 * i + 1]];
            std::array::from_fn(|i| {
                std::array::from_fn(|byte| match i < 8 {
                    true => code(i, byte / 2)[byte % 2],
                    false => 0,
                })
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check<T: Code + PartialEq + std::fmt::Debug>(code: impl Fn(usize) -> T) {
        for (w, h) in [(100, 70), (16, 33), (16, 8), (17, 5), (3, 40), (1, 1)] {
            let from: Vec<T> = (0..w * h).map(&code).collect();
            for (column, row) in [((0, 1), (0, 1)), ((w as i32 - 1, -1), (h as i32 - 1, -1))] {
                // Without the first output column and row, where there are more.
                let inside = Rect {
                    x0: i32::from(h > 1),
                    y0: i32::from(w > 1),
                    x1: h as i32,
                    y1: w as i32,
                };
                let turned = Turn {
                    column,
                    row,
                    inside,
                };
                for simd in Simd::ALL {
                    let stride = h + 3;
                    let mut to = vec![code(9); stride * inside.height()];
                    turn(simd, turned, (&from, w), (&mut to, stride));
                    for y in inside.y0..inside.y1 {
                        for x in inside.x0..inside.x1 {
                            let at = (row.0 + row.1 * x) * w as i32 + column.0 + column.1 * y;
                            let to = to[(y - inside.y0) as usize * stride + x as usize];
                            assert_eq!(to, from[at as usize], "{w}x{h}: {x}, {y}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn blocks_are_turned() {
        check(|i| i as u8);
        check(|i| i as u16);
    }

    #[test]
    fn rows_are_reversed() {
        for simd in Simd::ALL {
            for n in [0, 1, 7, 31, 64, 100] {
                let from: Vec<u8> = (0..n).collect();
                let mut to = vec![0; n as usize];
                u8::reverse(simd, &from, &mut to);
                assert!(to.iter().eq(from.iter().rev()));
            }
        }
    }
}
