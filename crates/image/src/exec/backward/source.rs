//! Reading the source: rows as they lie, samples here and there, and boxes as values.

use std::sync::LazyLock;

use evener_runtime::Simd;

use super::super::access::Source;
use super::pull::{Run, sized};
use crate::format::Size;
use crate::geometry::Rect;
use crate::lines::Lines;

/// The values of codes: a look-up is faster than a division where samples are read one by one.
static OF_8_BITS: LazyLock<[f32; 256]> =
    LazyLock::new(|| std::array::from_fn(|code| code as f32 / 255.0));
static OF_10_BITS: LazyLock<[f32; 1024]> =
    LazyLock::new(|| std::array::from_fn(|code| code as f32 / 1023.0));

/// The samples of a run.
pub(super) fn read(simd: Simd, source: &Source<'_>, run: Run<'_>, out: &mut [f32]) {
    let (xs, ys) = match run {
        Run::Row { x0, y, .. } => return source.load(simd, y, x0, out),
        Run::List { xs, ys } => (xs, ys),
    };
    let width = source.size().w as usize;
    match source {
        Source::U8(rows, _) => {
            let (rows, values) = (&rows[..], &*OF_8_BITS);
            list(width, xs, ys, out, |at| values[usize::from(rows[at])]);
        }
        Source::U10(rows, _) => {
            let (rows, values) = (&rows[..], &*OF_10_BITS);
            list(width, xs, ys, out, |at| of_10_bits(values, rows[at]));
        }
        Source::F32(rows, _) => {
            let rows = &rows[..];
            list(width, xs, ys, out, |at| rows[at]);
        }
    }
}

/// Codes above the maximum have values above 1, as in conversion by division.
#[inline(always)]
fn of_10_bits(values: &[f32; 1024], code: u16) -> f32 {
    values
        .get(usize::from(code))
        .copied()
        .unwrap_or_else(|| f32::from(code) / 1023.0)
}

#[inline(always)]
fn list(width: usize, xs: &[i32], ys: &[i32], out: &mut [f32], value: impl Fn(usize) -> f32) {
    for ((o, &x), &y) in out.iter_mut().zip(xs).zip(ys) {
        *o = value(y as usize * width + x as usize);
    }
}

/// The 2 x 2 samples whose upper left ones are (`xs[i]`, `ys[i]`): a run of each, one after the other.
pub(super) fn squares(source: &Source<'_>, xs: &[i32], ys: &[i32], out: &mut [f32]) {
    let size = source.size();
    match source {
        Source::U8(rows, _) => {
            let values = &*OF_8_BITS;
            each_square(rows, size, xs, ys, out, |code| values[usize::from(code)]);
        }
        Source::U10(rows, _) => {
            let values = &*OF_10_BITS;
            each_square(rows, size, xs, ys, out, |code| of_10_bits(values, code));
        }
        Source::F32(rows, _) => each_square(rows, size, xs, ys, out, |value| value),
    }
}

#[inline(always)]
fn each_square<T: Copy>(
    rows: &[T],
    size: Size,
    xs: &[i32],
    ys: &[i32],
    out: &mut [f32],
    value: impl Fn(T) -> f32,
) {
    let (n, width) = (xs.len(), size.w as usize);
    let ys = &ys[..n];
    let (upper, lower) = out[..4 * n].split_at_mut(2 * n);
    let (a, b) = upper.split_at_mut(n);
    let (c, d) = lower.split_at_mut(n);
    if size.w > 1 && size.h > 1 {
        for i in 0..n {
            let at = ys[i] as usize * width + xs[i] as usize;
            let (u, l) = (&rows[at..at + 2], &rows[at + width..at + width + 2]);
            (a[i], b[i], c[i], d[i]) = (value(u[0]), value(u[1]), value(l[0]), value(l[1]));
        }
        return;
    }
    // One column or one row: the edge sample is its own neighbour.
    let right = usize::from(size.w > 1);
    let down = if size.h > 1 { width } else { 0 };
    for i in 0..n {
        let at = ys[i] as usize * width + xs[i] as usize;
        let [u0, u1, l0, l1] = [at, at + right, at + down, at + down + right].map(|at| rows[at]);
        (a[i], b[i], c[i], d[i]) = (value(u0), value(u1), value(l0), value(l1));
    }
}

/// The samples of `rect`, inside the plane, as values that a row kernel reads.
pub(super) fn boxed<'m>(
    simd: Simd,
    source: &Source<'_>,
    rect: Rect,
    memory: &'m mut Vec<f32>,
) -> Lines<'m> {
    let stride = rect.width();
    let rows = rect.height().next_power_of_two();
    let memory = sized(memory, rows * stride);
    for (y, row) in (rect.y0..rect.y1).zip(memory.chunks_exact_mut(stride)) {
        source.load(simd, y, rect.x0, row);
    }
    Lines::ring(memory, stride, rect, rect.y0)
}
