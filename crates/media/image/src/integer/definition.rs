//! The result of a plane in integers, output by output, with which its kernels are compared.

use super::Integer;
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
    let rounded = |v: i64, bits: u32| (v + (1 << bits >> 1)) >> bits;
    let row = |x: usize, y: usize| {
        let weights = across.weights(x).iter().zip(across.first(x)..);
        let sum = weights.map(|(&w, x)| i64::from(w) * sample(x, y));
        rounded(sum.sum(), across.bits() - integer.fraction)
    };
    let mut rows: Vec<Vec<i64>> = Vec::new();
    for y in 0..view.height() {
        rows.push((0..across.outputs()).map(|x| row(x, y)).collect());
    }
    let mut out = Vec::new();
    for y in 0..down.outputs() {
        for x in 0..across.outputs() {
            let weights = down.weights(y).iter().zip(down.first(y)..);
            let products = weights.map(|(&w, y)| i64::from(w) * rows[y][x]);
            let sum: i64 = match integer.bits {
                8 => products.map(|product| rounded(product, 15)).sum(),
                _ => products.sum(),
            };
            let code = half + rounded(sum, integer.sum_fraction);
            out.push(code.clamp(0, most) as u16);
        }
    }
    out
}
