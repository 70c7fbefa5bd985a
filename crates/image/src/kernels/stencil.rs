//! 3x3 neighbourhoods and separable kernels, a row at a time.
//!
//! Every one of them is a vertical combination of rows into a temporary row with its edges repeated,
//! then a horizontal combination of that. The definitions in the filters add in the same order.

use crate::geometry::Rect;
use crate::lines::Lines;

use crate::for_each_level;

/// Runs `vertical` over the columns that outputs `x0..x0 + n` with `radius` need, into the rows `temps`, with the edge
/// samples repeated beyond the plane, which is `plane_width` wide. Gives the first `n + 2 * radius` samples of each row,
/// the first at column x0 - radius.
pub fn padded<'t, const N: usize>(
    lines: &Lines<'_>,
    plane_width: i32,
    x0: i32,
    n: usize,
    radius: usize,
    temps: [&'t mut [f32]; N],
    vertical: impl FnOnce(std::ops::Range<usize>, [&mut [f32]; N]),
) -> [&'t mut [f32]; N] {
    let (r, last) = (radius as i32, plane_width - 1);
    let (from, to) = ((x0 - r).max(0), (x0 + n as i32 - 1 + r).min(last));
    let origin = lines.rect().x0;
    let left = (from - (x0 - r)) as usize;
    let count = (to - from + 1) as usize;
    let mut temps = temps.map(|temp| &mut temp[..n + 2 * radius]);
    let columns = (from - origin) as usize..(to - origin + 1) as usize;
    vertical(
        columns,
        temps.each_mut().map(|temp| &mut temp[left..left + count]),
    );
    for temp in &mut temps {
        let (first, end) = (temp[left], temp[left + count - 1]);
        temp[..left].fill(first);
        temp[left + count..].fill(end);
    }
    temps
}

/// The three rows around `y`, the edge rows repeated in a plane of height `height`.
pub fn three<'a>(lines: &Lines<'a>, height: i32, y: i32) -> [&'a [f32]; 3] {
    [
        lines.row((y - 1).max(0)),
        lines.row(y),
        lines.row((y + 1).min(height - 1)),
    ]
}

/// The region a (2 dx + 1) x (2 dy + 1) neighbourhood reads.
pub fn around(out: Rect, dx: i32, dy: i32) -> Rect {
    out.grow(dx, dy)
}

/// a + 2b + c, the outer two added first. Doubling is exact, so it is the same whether rounded by itself or not.
#[inline(always)]
pub fn smooth(a: f32, b: f32, c: f32) -> f32 {
    (a + c) + (b + b)
}

#[inline(always)]
fn smooth_rows_body(a: &[f32], b: &[f32], c: &[f32], out: &mut [f32]) {
    for (((o, &a), &b), &c) in out.iter_mut().zip(a).zip(b).zip(c) {
        *o = smooth(a, b, c);
    }
}

#[inline(always)]
fn sobel_rows_body(a: &[f32], b: &[f32], c: &[f32], sums: &mut [f32], differences: &mut [f32]) {
    let n = sums.len();
    let (a, b, c, differences) = (&a[..n], &b[..n], &c[..n], &mut differences[..n]);
    for i in 0..n {
        sums[i] = smooth(a[i], b[i], c[i]);
        differences[i] = c[i] - a[i];
    }
}

for_each_level! {
    /// a + 2b + c and c - a of three rows.
    pub fn sobel_rows(
        a: &[f32],
        b: &[f32],
        c: &[f32],
        sums: &mut [f32],
        differences: &mut [f32],
    ) = sobel_rows_body;
}

#[inline(always)]
fn difference_rows_body(a: &[f32], c: &[f32], out: &mut [f32]) {
    for ((o, &a), &c) in out.iter_mut().zip(a).zip(c) {
        *o = c - a;
    }
}

#[inline(always)]
fn blur_columns_body(t: &[f32], out: &mut [f32]) {
    let n = out.len();
    let (l, m, r) = (&t[..n], &t[1..n + 1], &t[2..n + 2]);
    for i in 0..n {
        out[i] = smooth(l[i], m[i], r[i]) * (1.0 / 16.0);
    }
}

#[inline(always)]
fn difference_columns_body(t: &[f32], out: &mut [f32]) {
    let n = out.len();
    let (l, r) = (&t[..n], &t[2..n + 2]);
    for i in 0..n {
        out[i] = r[i] - l[i];
    }
}

#[inline(always)]
fn smooth_columns_body(t: &[f32], out: &mut [f32]) {
    let n = out.len();
    let (l, m, r) = (&t[..n], &t[1..n + 1], &t[2..n + 2]);
    for i in 0..n {
        out[i] = smooth(l[i], m[i], r[i]);
    }
}

/// sqrt(gx² + gy²)
#[inline(always)]
pub fn magnitude(gx: f32, gy: f32) -> f32 {
    gx.mul_add(gx, gy * gy).sqrt()
}

#[inline(always)]
fn magnitude_body(gx: &[f32], gy: &[f32], out: &mut [f32]) {
    for ((o, &gx), &gy) in out.iter_mut().zip(gx).zip(gy) {
        *o = magnitude(gx, gy);
    }
}

/// `s` holds the vertically smoothed rows, `d` their vertical difference, both with one column more on either side.
#[inline(always)]
fn sobel_columns_body(s: &[f32], d: &[f32], out: &mut [f32]) {
    let n = out.len();
    let (sl, sr) = (&s[..n], &s[2..n + 2]);
    let (dl, dm, dr) = (&d[..n], &d[1..n + 1], &d[2..n + 2]);
    for i in 0..n {
        out[i] = magnitude(sr[i] - sl[i], smooth(dl[i], dm[i], dr[i]));
    }
}

/// The nine taps of a 3x3 neighbourhood, row after row, one run after the other.
#[inline(always)]
fn nine(s: &[f32], n: usize) -> [&[f32]; 9] {
    std::array::from_fn(|k| &s[k * n..][..n])
}

#[inline(always)]
fn blur_taps_body(s: &[f32], out: &mut [f32]) {
    let n = out.len();
    let t = nine(s, n);
    for i in 0..n {
        let column = |c: usize| smooth(t[c][i], t[c + 3][i], t[c + 6][i]);
        out[i] = smooth(column(0), column(1), column(2)) * (1.0 / 16.0);
    }
}

#[inline(always)]
fn sobel_x_taps_body(s: &[f32], out: &mut [f32]) {
    let n = out.len();
    let t = nine(s, n);
    for i in 0..n {
        let column = |c: usize| smooth(t[c][i], t[c + 3][i], t[c + 6][i]);
        out[i] = column(2) - column(0);
    }
}

#[inline(always)]
fn sobel_y_taps_body(s: &[f32], out: &mut [f32]) {
    let n = out.len();
    let t = nine(s, n);
    for i in 0..n {
        let column = |c: usize| t[c + 6][i] - t[c][i];
        out[i] = smooth(column(0), column(1), column(2));
    }
}

#[inline(always)]
fn sobel_above_columns_body(s: &[f32], d: &[f32], t: f32, out: &mut [f32]) {
    let n = out.len();
    let (sl, sr) = (&s[..n], &s[2..n + 2]);
    let (dl, dm, dr) = (&d[..n], &d[1..n + 1], &d[2..n + 2]);
    for i in 0..n {
        let length = magnitude(sr[i] - sl[i], smooth(dl[i], dm[i], dr[i]));
        out[i] = if length > t { length } else { 0.0 };
    }
}

for_each_level! {
    /// Sobel magnitude along rows two longer than `out`; lengths that are not above `t` become 0.
    pub fn sobel_above_columns(s: &[f32], d: &[f32], t: f32, out: &mut [f32]) =
        sobel_above_columns_body;
}
for_each_level! {
    /// The blur of a run whose nine taps lie one run after the other in `s`.
    pub fn blur_taps(s: &[f32], out: &mut [f32]) = blur_taps_body;
}
for_each_level! {
    /// The horizontal gradient of a run whose nine taps lie one run after the other in `s`.
    pub fn sobel_x_taps(s: &[f32], out: &mut [f32]) = sobel_x_taps_body;
}
for_each_level! {
    /// The vertical gradient of a run whose nine taps lie one run after the other in `s`.
    pub fn sobel_y_taps(s: &[f32], out: &mut [f32]) = sobel_y_taps_body;
}
for_each_level! {
    /// a + 2b + c of three rows.
    pub fn smooth_rows(a: &[f32], b: &[f32], c: &[f32], out: &mut [f32]) = smooth_rows_body;
}
for_each_level! {
    /// c - a of two rows.
    pub fn difference_rows(a: &[f32], c: &[f32], out: &mut [f32]) = difference_rows_body;
}
for_each_level! {
    /// (l + 2m + r) / 16 along a row two longer than `out`.
    pub fn blur_columns(t: &[f32], out: &mut [f32]) = blur_columns_body;
}
for_each_level! {
    /// r - l along a row two longer than `out`.
    pub fn difference_columns(t: &[f32], out: &mut [f32]) = difference_columns_body;
}
for_each_level! {
    /// l + 2m + r along a row two longer than `out`.
    pub fn smooth_columns(t: &[f32], out: &mut [f32]) = smooth_columns_body;
}
for_each_level! {
    /// sqrt(gx² + gy²) of two rows.
    pub fn magnitudes(gx: &[f32], gy: &[f32], out: &mut [f32]) = magnitude_body;
}
for_each_level! {
    /// Sobel magnitude along rows two longer than `out`.
    pub fn sobel_columns(s: &[f32], d: &[f32], out: &mut [f32]) = sobel_columns_body;
}
