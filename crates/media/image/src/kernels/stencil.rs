//! 3x3 stencils, several rows at a time.
//!
//! Every input row is combined horizontally once, in registers, and serves the three output rows around it. Bound: three
//! loads and one store for a register of outputs, about as long as the arithmetic of a Sobel magnitude.

use std::fmt::Debug;

use crate::for_each_width;
use crate::kernels::STRIP;
use crate::kernels::lanes::{Lanes, Scalar};
use crate::row_view::RowView;

/// A function of a 3x3 neighbourhood: the samples of each row are combined, then the results of the three rows.
pub trait Stencil3x3: Copy + Debug + Send + Sync + 'static {
    /// Combines the left, middle and right samples of a row; mark it `#[inline(always)]`.
    fn horizontal<S: Lanes>(self, s: S, left: S::V, middle: S::V, right: S::V) -> [S::V; 2];

    /// Combines the results of the upper, middle and lower rows; mark it `#[inline(always)]`.
    fn vertical<S: Lanes>(
        self,
        s: S,
        upper: [S::V; 2],
        middle: [S::V; 2],
        lower: [S::V; 2],
    ) -> S::V;
}

/// The definition, for nine samples, row after row.
pub fn eval<K: Stencil3x3>(kernel: K, s: &[f32]) -> f32 {
    let row = |r: usize| kernel.horizontal(Scalar, s[3 * r], s[3 * r + 1], s[3 * r + 2]);
    kernel.vertical(Scalar, row(0), row(1), row(2))
}

/// Outputs (x0, y) and on, in a plane of `width` x `height`. The rows of `out`, at most [`STRIP`], have one length. Beyond
/// the plane the edge samples repeat.
///
/// # Panics
/// If `lines` lacks a sample that is read, or `out` has more rows.
pub fn rows<K: Stencil3x3>(
    simd: evener_runtime::Simd,
    kernel: K,
    lines: &RowView<'_>,
    (width, height): (i32, i32),
    (x0, y): (i32, i32),
    out: &mut [&mut [f32]],
) {
    let n = out.first().map_or(0, |row| row.len());
    if n == 0 {
        return;
    }
    let ends = Ends {
        left: x0 == 0,
        right: x0 + n as i32 == width,
    };
    let origin = lines.rect().x0;
    let from = (x0 - origin) as usize - usize::from(!ends.left);
    let to = (x0 - origin) as usize + n + usize::from(!ends.right);
    let mut input = [&[] as &[f32]; STRIP + 2];
    let input = &mut input[..out.len() + 2];
    for (row, y) in input.iter_mut().zip(y - 1..) {
        *row = &lines.row(y.clamp(0, height - 1))[from..to];
    }
    rows_of(simd, n, kernel, ends, input, out);
}

/// Which ends of a run are ends of the plane.
#[derive(Clone, Copy)]
struct Ends {
    left: bool,
    right: bool,
}

for_each_width! {
    /// Rows of outputs. `input` has two rows more than `out`. They are one sample longer on each side that is no end of the
    /// plane.
    fn rows_of<K: Stencil3x3>(wide n, kernel: K, ends: Ends, input: &[&[f32]], out: &mut [&mut [f32]]) = rows_body;
}

#[inline(always)]
fn rows_body<S: Lanes, K: Stencil3x3>(
    s: S,
    kernel: K,
    ends: Ends,
    input: &[&[f32]],
    out: &mut [&mut [f32]],
) {
    let n = out[0].len();
    let before = usize::from(!ends.left);
    let length = before + n + usize::from(!ends.right);
    assert!(n >= S::N && input.len() == out.len() + 2);
    assert!(out.iter().all(|row| row.len() == n) && input.iter().all(|row| row.len() == length));
    let last = n - S::N;
    let mut at = 0;
    loop {
        // SAFETY: rows are as long as `strip` asks, `at` is at most `n - N`, and ends are named.
        unsafe {
            let ends = (ends.left && at == 0, ends.right && at == last);
            strip::<S, K, 1>(s, kernel, input, before, at, ends, out);
        }
        if at == last {
            break;
        }
        at = (at + S::N).min(last);
        // Two registers at a time, for half the overhead.
        while at + 2 * S::N <= last {
            // SAFETY: as above; no end of the plane is in here.
            unsafe { strip::<S, K, 2>(s, kernel, input, before, at, (false, false), out) };
            at += 2 * S::N;
        }
    }
}

/// `U` registers of outputs from `at` on, in every row.
///
/// # Safety
/// `input` has two rows more than `out`. Outputs have `at + U * N` samples; inputs have `before` more, and one more
/// again on either side unless `ends` says that the plane ends there.
#[inline(always)]
unsafe fn strip<S: Lanes, K: Stencil3x3, const U: usize>(
    s: S,
    kernel: K,
    input: &[&[f32]],
    before: usize,
    at: usize,
    ends: (bool, bool),
    out: &mut [&mut [f32]],
) {
    // SAFETY: the caller's promise.
    unsafe {
        let first = input.get_unchecked(0).as_ptr().add(before + at);
        let second = input.get_unchecked(1).as_ptr().add(before + at);
        let mut upper = [combined(s, kernel, first, ends); U];
        let mut middle = [combined(s, kernel, second, ends); U];
        for u in 1..U {
            upper[u] = combined(s, kernel, first.add(u * S::N), ends);
            middle[u] = combined(s, kernel, second.add(u * S::N), ends);
        }
        for (row, out) in out.iter_mut().enumerate() {
            let from = input.get_unchecked(row + 2).as_ptr().add(before + at);
            let to = out.as_mut_ptr().add(at);
            for u in 0..U {
                let lower = combined(s, kernel, from.add(u * S::N), ends);
                let v = kernel.vertical(s, upper[u], middle[u], lower);
                s.store(v, to.add(u * S::N));
                (upper[u], middle[u]) = (middle[u], lower);
            }
        }
    }
}

/// The horizontal part of the kernel for the samples at `here`.
///
/// # Safety
/// `N` samples are there, and one before and after unless it ends there, which `left` and `right` say.
#[inline(always)]
unsafe fn combined<S: Lanes, K: Stencil3x3>(
    s: S,
    kernel: K,
    here: *const f32,
    (left, right): (bool, bool),
) -> [S::V; 2] {
    // SAFETY: the caller's promise.
    unsafe {
        let middle = s.load(here);
        let l = if left {
            s.before(middle)
        } else {
            s.load(here.sub(1))
        };
        let r = if right {
            s.after(middle)
        } else {
            s.load(here.add(1))
        };
        kernel.horizontal(s, l, middle, r)
    }
}

/// Outputs from runs of taps: tap after tap, row after row, each for all outputs.
pub fn eval_runs<K: Stencil3x3>(
    simd: evener_runtime::Simd,
    kernel: K,
    samples: &[f32],
    out: &mut [f32],
) {
    if !out.is_empty() {
        runs(simd, out.len(), kernel, samples, out);
    }
}

for_each_width! {
    fn runs<K: Stencil3x3>(wide n, kernel: K, samples: &[f32], out: &mut [f32]) = runs_body;
}

#[inline(always)]
fn runs_body<S: Lanes, K: Stencil3x3>(s: S, kernel: K, samples: &[f32], out: &mut [f32]) {
    let n = out.len();
    assert!(n >= S::N && samples.len() >= 9 * n);
    let last = n - S::N;
    let mut at = 0;
    loop {
        // SAFETY: tap k of the outputs is at `k * n`, and `at` is at most `n - N`.
        unsafe {
            let rows = samples.as_ptr().add(at);
            let upper = three(s, kernel, rows, n);
            let middle = three(s, kernel, rows.add(3 * n), n);
            let lower = three(s, kernel, rows.add(6 * n), n);
            let v = kernel.vertical(s, upper, middle, lower);
            s.store(v, out.as_mut_ptr().add(at));
        }
        if at == last {
            break;
        }
        at = (at + S::N).min(last);
    }
}

/// The horizontal part of the kernel for taps that are `n` samples apart.
///
/// # Safety
/// `N` samples at each of the three are inside one allocation.
#[inline(always)]
unsafe fn three<S: Lanes, K: Stencil3x3>(s: S, kernel: K, row: *const f32, n: usize) -> [S::V; 2] {
    // SAFETY: the caller's promise.
    unsafe {
        let (left, middle, right) = (s.load(row), s.load(row.add(n)), s.load(row.add(2 * n)));
        kernel.horizontal(s, left, middle, right)
    }
}
