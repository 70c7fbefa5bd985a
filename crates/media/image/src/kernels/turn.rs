//! Blocks whose rows become columns, and rows backwards, for codes of either size.

use bytemuck::Pod;
use evener_runtime::Simd;

use crate::for_each_level;

/// A code: one or two bytes.
pub trait Code: Pod {
    /// Rows and columns of the blocks that are turned in registers.
    const SIDE: usize;

    /// `from` backwards into `to`, of equal length.
    fn reverse(simd: Simd, from: &[Self], to: &mut [Self]);

    /// Turns a block of [`Code::SIDE`] rows and columns.
    fn turned(block: [[u8; 16]; 16]) -> [[u8; 16]; 16];
}

/// A block to turn: output row i is column i of the inputs.
#[derive(Clone, Copy)]
pub struct Block {
    /// Of the output.
    pub columns: usize,
    /// Of the output.
    pub rows: usize,
    /// Output row 0 is the last column instead.
    pub upwards: bool,
}

/// Writes the block at the beginning of `to`. `input` has output column i as a row.
#[inline]
pub fn turn<'a, T: Code>(
    block: Block,
    input: impl Fn(usize) -> &'a [T],
    to: &mut [T],
    stride: usize,
) {
    let output_row = |i: usize| match block.upwards {
        true => block.rows - 1 - i,
        false => i,
    };
    if (block.columns, block.rows) != (T::SIDE, T::SIDE) {
        for x in 0..block.columns {
            for (i, code) in input(x).iter().enumerate() {
                to[output_row(i) * stride + x] = *code;
            }
        }
        return;
    }
    let mut rows = [[0; 16]; 16];
    for (i, row) in rows.iter_mut().enumerate().take(T::SIDE) {
        row.copy_from_slice(bytemuck::cast_slice(input(i)));
    }
    for (i, row) in T::turned(rows).iter().enumerate().take(T::SIDE) {
        let at = output_row(i) * stride;
        bytemuck::cast_slice_mut(&mut to[at..at + T::SIDE]).copy_from_slice(row);
    }
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
        let side = T::SIDE;
        for (columns, rows) in [(side, side), (side, 3), (5, side), (1, 1)] {
            let from: Vec<Vec<T>> = (0..columns)
                .map(|x| (0..rows).map(|y| code(100 * x + y)).collect())
                .collect();
            for upwards in [false, true] {
                let stride = columns + 3;
                let mut to = vec![code(9); stride * rows];
                let block = Block {
                    columns,
                    rows,
                    upwards,
                };
                turn(block, |i| &from[i], &mut to, stride);
                for y in 0..rows {
                    let column = if upwards { rows - 1 - y } else { y };
                    for x in 0..columns {
                        assert_eq!(to[y * stride + x], from[x][column], "{x}, {y}");
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
