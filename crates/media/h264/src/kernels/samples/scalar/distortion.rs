//! Absolute differences, transformed or not.

use super::prediction::averaged;
use crate::kernels::residual::bounds::check;

fn sad_8x8(a: &[u8], a_stride: usize, b: &[u8], b_stride: usize) -> u32 {
    check(a, a_stride, 8, 8);
    check(b, b_stride, 8, 8);
    let mut sum = 0;
    for y in 0..8 {
        let a = &a[y * a_stride..][..8];
        let b = &b[y * b_stride..][..8];
        for (a, b) in a.iter().zip(b) {
            sum += u32::from(a.abs_diff(*b));
        }
    }
    sum
}

pub fn sad_quads_x4(
    a: &[u8],
    a_stride: usize,
    b: &[u8],
    b_stride: usize,
    offsets: [usize; 4],
) -> [[u32; 4]; 4] {
    check(a, a_stride, 16, 16);
    offsets.map(|offset| {
        let b = &b[offset..];
        check(b, b_stride, 16, 16);
        std::array::from_fn(|q| {
            let (x, y) = (q % 2 * 8, q / 2 * 8);
            let (a, b) = (&a[y * a_stride + x..], &b[y * b_stride + x..]);
            sad_8x8(a, a_stride, b, b_stride)
        })
    })
}

pub fn sad_8x8_x8(a: &[u8], a_stride: usize, b: &[u8], b_stride: usize) -> [u16; 8] {
    check(b, b_stride, 16, 8);
    std::array::from_fn(|x| sad_8x8(a, a_stride, &b[x..], b_stride) as u16)
}

pub fn satd<const W: usize, const H: usize>(
    a: &[u8],
    a_stride: usize,
    b: &[u8],
    b_stride: usize,
) -> u32 {
    check(a, a_stride, W, H);
    check(b, b_stride, W, H);
    let mut sum = 0;
    for y in (0..H).step_by(4) {
        for x in (0..W).step_by(4) {
            let (a, b) = (&a[y * a_stride + x..], &b[y * b_stride + x..]);
            let differences = std::array::from_fn(|y| {
                std::array::from_fn(|x| {
                    i32::from(a[y * a_stride + x]) - i32::from(b[y * b_stride + x])
                })
            });
            sum += hadamard(differences);
        }
    }
    sum
}

pub fn satd_average<const W: usize, const H: usize>(
    a: &[u8],
    a_stride: usize,
    b: &[u8],
    b_stride: usize,
    c: &[u8],
    c_stride: usize,
) -> u32 {
    let mut mean = [0; 256];
    averaged(&mut mean, 16, b, b_stride, c, c_stride, W, H);
    satd::<W, H>(a, a_stride, &mean, 16)
}

/// Half the sum of the absolute values of a transform.
fn hadamard(rows: [[i32; 4]; 4]) -> u32 {
    let columns = transposed(rows.map(transformed));
    let all = columns.map(transformed);
    let sum: u32 = all.as_flattened().iter().map(|v| v.unsigned_abs()).sum();
    sum / 2
}

fn transformed([a, b, c, d]: [i32; 4]) -> [i32; 4] {
    let (s, t, u, v) = (a + b, a - b, c + d, c - d);
    [s + u, t + v, s - u, t - v]
}

fn transposed(rows: [[i32; 4]; 4]) -> [[i32; 4]; 4] {
    std::array::from_fn(|x| rows.map(|row| row[x]))
}
