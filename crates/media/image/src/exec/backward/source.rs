//! Reading the source: rows as they lie, samples here and there, and boxes as values.

use evener_runtime::Simd;

use super::super::access::Source;
use super::run::{Run, sized};
use crate::format::Size;
use crate::geometry::Rect;
use crate::kernels::convert::Scale;
use crate::row_view::RowView;

/// The samples of a run.
pub(super) fn read(simd: Simd, source: &Source<'_>, run: Run<'_>, out: &mut [f32]) {
    let (xs, ys) = match run {
        Run::Row { x0, y, .. } => return source.load(simd, y, x0, out),
        Run::List { xs, ys } => (xs, ys),
    };
    let stride = source.stride();
    match source {
        Source::U8(rows, _, scale) => {
            let (rows, values) = (&rows[..], of_8_bits(*scale));
            list(stride, xs, ys, out, |at| values[usize::from(rows[at])]);
        }
        Source::U16(rows, _, scale) => {
            let (rows, values) = (&rows[..], scale.table());
            list(stride, xs, ys, out, |at| {
                of_more_bits(*scale, values, rows[at])
            });
        }
        Source::F32(rows, _) => {
            let rows = &rows[..];
            list(stride, xs, ys, out, |at| rows[at]);
        }
    }
}

/// The values of codes of 8 bits, as many as there are such codes.
fn of_8_bits(scale: Scale) -> &'static [f32; 256] {
    scale.table().try_into().expect("256 codes of 8 bits")
}

/// Codes above the maximum have values above those of the table.
#[inline(always)]
fn of_more_bits(scale: Scale, values: &[f32], code: u16) -> f32 {
    let value = values.get(usize::from(code)).copied();
    value.unwrap_or_else(|| scale.value(f32::from(code)))
}

#[inline(always)]
fn list(stride: usize, xs: &[i32], ys: &[i32], out: &mut [f32], value: impl Fn(usize) -> f32) {
    let n = out.len();
    let (xs, ys) = (&xs[..n], &ys[..n]);
    for i in 0..n {
        out[i] = value(ys[i] as usize * stride + xs[i] as usize);
    }
}

/// The 2 x 2 samples whose upper left ones are (`xs[i]`, `ys[i]`): a run of each, one after the other.
pub(super) fn quads(source: &Source<'_>, xs: &[i32], ys: &[i32], out: &mut [f32]) {
    let shape = (source.size(), source.stride());
    match source {
        Source::U8(rows, _, scale) => {
            let values = of_8_bits(*scale);
            each_quad(rows, shape, xs, ys, out, |code| values[usize::from(code)]);
        }
        Source::U16(rows, _, scale) => {
            let values = scale.table();
            let value = |code| of_more_bits(*scale, values, code);
            each_quad(rows, shape, xs, ys, out, value);
        }
        Source::F32(rows, _) => each_quad(rows, shape, xs, ys, out, |value| value),
    }
}

#[inline(always)]
fn each_quad<T: Copy>(
    rows: &[T],
    (size, stride): (Size, usize),
    xs: &[i32],
    ys: &[i32],
    out: &mut [f32],
    value: impl Fn(T) -> f32,
) {
    let n = xs.len();
    let ys = &ys[..n];
    let (upper, lower) = out[..4 * n].split_at_mut(2 * n);
    let (a, b) = upper.split_at_mut(n);
    let (c, d) = lower.split_at_mut(n);
    if size.w > 1 && size.h > 1 {
        for i in 0..n {
            let at = ys[i] as usize * stride + xs[i] as usize;
            let (u, l) = (&rows[at..at + 2], &rows[at + stride..at + stride + 2]);
            (a[i], b[i], c[i], d[i]) = (value(u[0]), value(u[1]), value(l[0]), value(l[1]));
        }
        return;
    }
    // One column or one row: the edge sample is its own neighbour.
    let right = usize::from(size.w > 1);
    let down = if size.h > 1 { stride } else { 0 };
    for i in 0..n {
        let at = ys[i] as usize * stride + xs[i] as usize;
        let value = |at: usize| value(rows[at]);
        (a[i], b[i]) = (value(at), value(at + right));
        (c[i], d[i]) = (value(at + down), value(at + down + right));
    }
}

/// The samples of `rect`, inside the plane, as values that a row kernel reads.
pub(super) fn load_box<'m>(
    simd: Simd,
    source: &Source<'_>,
    rect: Rect,
    memory: &'m mut Vec<f32>,
) -> RowView<'m> {
    let stride = rect.width();
    let rows = rect.height().next_power_of_two();
    let memory = sized(memory, rows * stride);
    for (y, row) in (rect.y0..rect.y1).zip(memory.chunks_exact_mut(stride)) {
        source.load(simd, y, rect.x0, row);
    }
    RowView::ring(memory, stride, rect, rect.y0)
}
