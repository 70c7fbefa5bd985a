//! Copies, averages, and chroma between samples.

use crate::kernels::residual::bounds::check;
use crate::kernels::samples::BlockSize;

pub fn copy(to: &mut [u8], to_stride: usize, from: &[u8], from_stride: usize, size: BlockSize) {
    match size.width() {
        16 => rows::<16>(to, to_stride, from, from_stride, size.height()),
        _ => rows::<8>(to, to_stride, from, from_stride, size.height()),
    }
}

fn rows<const W: usize>(
    to: &mut [u8],
    to_stride: usize,
    from: &[u8],
    from_stride: usize,
    height: usize,
) {
    check(to, to_stride, W, height);
    check(from, from_stride, W, height);
    for y in 0..height {
        let row = &from[y * from_stride..][..W];
        to[y * to_stride..][..W].copy_from_slice(row);
    }
}

pub fn average(
    to: &mut [u8],
    to_stride: usize,
    a: &[u8],
    a_stride: usize,
    b: &[u8],
    b_stride: usize,
    size: BlockSize,
) {
    averaged(
        to,
        to_stride,
        a,
        a_stride,
        b,
        b_stride,
        size.width(),
        size.height(),
    );
}

#[allow(clippy::too_many_arguments)]
pub fn averaged(
    to: &mut [u8],
    to_stride: usize,
    a: &[u8],
    a_stride: usize,
    b: &[u8],
    b_stride: usize,
    width: usize,
    height: usize,
) {
    check(to, to_stride, width, height);
    check(a, a_stride, width, height);
    check(b, b_stride, width, height);
    for y in 0..height {
        for x in 0..width {
            let sum = u16::from(a[y * a_stride + x]) + u16::from(b[y * b_stride + x]);
            to[y * to_stride + x] = ((sum + 1) >> 1) as u8;
        }
    }
}

#[allow(clippy::too_many_arguments)]
pub fn chroma(
    to: &mut [u8],
    to_stride: usize,
    from: &[u8],
    from_stride: usize,
    dx: u32,
    dy: u32,
    pairs: usize,
    height: usize,
) {
    assert!(dx < 8 && dy < 8, "{dx}, {dy} eighths");
    assert!(
        (pairs == 4 || pairs == 8) && (height == 4 || height == 8),
        "{height} rows of {pairs} pairs"
    );
    check(to, to_stride, 2 * pairs, height);
    check(from, from_stride, 2 * pairs + 2, height + 1);
    for y in 0..height {
        for x in 0..2 * pairs {
            let at = |right: usize, down: usize| {
                u32::from(from[(y + down) * from_stride + x + 2 * right])
            };
            let above = (8 - dx) * at(0, 0) + dx * at(1, 0);
            let below = (8 - dx) * at(0, 1) + dx * at(1, 1);
            to[y * to_stride + x] = (((8 - dy) * above + dy * below + 32) >> 6) as u8;
        }
    }
}
