//! The result of a plane in integers, output by output, with which its kernels are compared.

use super::{Integer, Quantised};
use crate::format::Size;

/// The codes of a plane of `size`, from those of a source of `width` samples a row. `fill` is the code of outputs that come
/// from no sample.
pub fn plane(integer: &Integer, source: &[u16], width: usize, size: Size, fill: u16) -> Vec<u16> {
    let filtered = filtered(integer, source, width);
    let (wide, then) = (integer.size.w as i32, &integer.then);
    let outputs = (0..size.h as i32).flat_map(|y| (0..size.w as i32).map(move |x| (x, y)));
    let of = |(x, y): (i32, i32)| {
        let inside = |(rect, _): (crate::geometry::Rect, f32)| {
            (rect.x0..rect.x1).contains(&x) && (rect.y0..rect.y1).contains(&y)
        };
        if !then.inside.is_none_or(inside) {
            return fill;
        }
        let (along, across) = if then.turned { (y, x) } else { (x, y) };
        let column = then.column.0 + then.column.1 * along;
        let row = then.row.0 + then.row.1 * across;
        filtered[(row * wide + column) as usize]
    };
    outputs.map(of).collect()
}

/// The result of the filter.
fn filtered(integer: &Integer, source: &[u16], width: usize) -> Vec<u16> {
    let Integer {
        across, down, view, ..
    } = integer;
    let half = i64::from(integer.half());
    let most = (1 << integer.bits) - 1;
    let sample = |x: usize, y: usize| {
        let at = (view.y0 as usize + y) * width + view.x0 as usize + x;
        i64::from(source[at]).min(most) - half
    };
    let (columns, rows) = (view.width(), view.height());
    let (lines, shift) = match &integer.coarse {
        None => {
            let line = |y| (0..columns).map(|x| sample(x, y)).collect();
            let lines: Vec<Vec<i64>> = (0..rows).map(line).collect();
            (lines, across.bits() - integer.fraction)
        }
        Some(coarse) => {
            let sums = (0..coarse.rows).map(|position| {
                let line = (0..columns).map(|x| {
                    let weights = coarse.weights.iter().chain(coarse.weights.iter().rev());
                    let rows = weights.zip(coarse.reads(position));
                    let sum = rows.map(|(&w, y)| i64::from(w) * sample(x, y));
                    rounded(sum.sum(), coarse.bits - integer.fraction)
                });
                let line: Vec<i64> = line.collect();
                let column = |x| rounded(window(&coarse.across, x, &line), coarse.across.bits());
                (0..coarse.across.outputs()).map(column).collect()
            });
            (sums.collect(), across.bits())
        }
    };
    let rows: Vec<Vec<i64>> = lines
        .iter()
        .map(|line| {
            let column = |x| rounded(window(across, x, line), shift);
            (0..across.outputs()).map(column).collect()
        })
        .collect();
    let code = |x: usize, y: usize| {
        let weights = down.weights(y).iter().zip(down.first(y)..);
        let products = weights.map(|(&w, y)| i64::from(w) * rows[y][x]);
        let sum: i64 = match integer.bits {
            8 => products.map(|product| rounded(product, 15)).sum(),
            _ => products.sum(),
        };
        let code = half + rounded(sum, integer.sum_fraction);
        code.clamp(0, most) as u16
    };
    let outputs = (0..down.outputs()).flat_map(|y| (0..across.outputs()).map(move |x| (x, y)));
    outputs.map(|(x, y)| code(x, y)).collect()
}

/// `v` without its last `bits` bits, to the nearest.
fn rounded(v: i64, bits: u32) -> i64 {
    (v + (1 << bits >> 1)) >> bits
}

/// The sum of an output's window of a line.
fn window(sums: &Quantised, out: usize, line: &[i64]) -> i64 {
    let samples = line[sums.first(out)..].iter();
    let weights = sums.weights(out).iter().zip(samples);
    weights.map(|(&w, v)| i64::from(w) * v).sum()
}
