//! Planes between samples.
//!
//! Sums down columns are in words of 16 bits: from -2550 to 10710. Those of six of them are not, but their sixteenth
//! is computed without them: for sums a, b, c of the outer, next and inner two,
//! `⌊(a - 5b + 20c) / 16⌋ = ⌊(⌊(a - b) / 4⌋ - b + c) / 4⌋ + c`. Where adding `c` leaves the range of words, the sample is 0
//! or 255 in any case.

use super::vector::Vector;
use crate::kernels::samples::scalar;

/// Columns that are made at once. Rows of common pictures are not divided: memory is written in order.
const STRIP: usize = 4096;
/// Columns at the ends of a strip that are not made.
const LEFT: usize = 2;
const RIGHT: usize = 3;

/// # Safety
/// The processor has the instructions of `V`.
#[inline(always)]
pub unsafe fn half_pel<V: Vector>(mut planes: [&mut [u8]; 3], samples: &[u8], stride: usize) {
    let ends = LEFT + RIGHT;
    if stride < V::BYTES + ends {
        return scalar::half_pel(planes, samples, stride);
    }
    let rows = scalar::rows_of(&planes, samples, stride);
    let strips = (stride - ends).div_ceil(STRIP - ends);
    let width = (stride - ends).div_ceil(strips) + ends;
    let [right, down, both] = &mut planes;
    let (right, down, both) = (right.as_mut_ptr(), down.as_mut_ptr(), both.as_mut_ptr());
    for strip in 0..strips {
        let from = (strip * (width - ends)).min(stride - width);
        let mut sums = [0; STRIP];
        for y in 0..rows {
            let at = y * stride + from;
            // SAFETY: there are `rows` rows of `stride` bytes in the planes and 5 more of samples, and the strip ends
            // within a row; the caller's promise.
            unsafe {
                let samples = samples.as_ptr().add(at);
                columns::<V>(samples, stride, width, down.add(at), &mut sums);
                let samples = samples.add(2 * stride);
                row::<V>(samples, &sums[..width], right.add(at), both.add(at));
            }
        }
    }
    let [right, _, both] = planes;
    for plane in [right, both] {
        for row in plane.chunks_exact_mut(stride) {
            let (left, right) = (row[LEFT], row[stride - RIGHT - 1]);
            row[..LEFT].fill(left);
            row[stride - RIGHT..].fill(right);
        }
    }
}

/// Half a sample down, and the sums.
///
/// # Safety
/// Six rows of samples at `stride` and `down` have `width` bytes, at least those of a vector and at most [`STRIP`]. The
/// processor has the instructions of `V`.
#[inline(always)]
unsafe fn columns<V: Vector>(
    samples: *const u8,
    stride: usize,
    width: usize,
    down: *mut u8,
    sums: &mut [i16; STRIP],
) {
    let last = width - V::BYTES;
    let mut x = 0;
    loop {
        // SAFETY: `x` is at most `last`; the caller's promise.
        unsafe {
            let mut rows = [V::words(0); 6];
            for (y, row) in rows.iter_mut().enumerate() {
                *row = V::load(samples.add(y * stride + x));
            }
            let (low, high) = six_taps(rows);
            rounded(low, high).store(down.add(x));
            let (first, second) = V::ordered(low, high);
            let to = sums.as_mut_ptr().add(x).cast::<u8>();
            first.store(to);
            second.store(to.add(V::BYTES));
        }
        if x == last {
            return;
        }
        x = (x + V::BYTES).min(last);
    }
}

/// Half a sample to the right, and both, but for the ends of the strip.
///
/// # Safety
/// `samples`, `right` and `both` have as many bytes as there are sums, at least those of a vector and the ends. The
/// processor has the instructions of `V`.
#[inline(always)]
unsafe fn row<V: Vector>(samples: *const u8, sums: &[i16], right: *mut u8, both: *mut u8) {
    let last = sums.len() - RIGHT - V::BYTES;
    let mut x = LEFT;
    loop {
        // SAFETY: `x` is from 2 to `last`, so what is read ends with the strip; the caller's promise.
        unsafe {
            let mut taps = [V::words(0); 6];
            for (k, tap) in taps.iter_mut().enumerate() {
                *tap = V::load(samples.add(x - LEFT + k));
            }
            let (low, high) = six_taps(taps);
            rounded(low, high).store(right.add(x));
            let first = six_sums::<V>(sums.as_ptr().add(x - LEFT));
            let second = six_sums::<V>(sums.as_ptr().add(x - LEFT + V::BYTES / 2));
            first.pack_ordered(second).store(both.add(x));
        }
        if x == last {
            return;
        }
        x = (x + V::BYTES).min(last);
    }
}

/// Weighted sums of samples, of lower and upper halves of lanes.
///
/// # Safety
/// The processor has the instructions of `V`.
#[inline(always)]
unsafe fn six_taps<V: Vector>([e, f, g, h, i, j]: [V; 6]) -> (V, V) {
    // SAFETY: the caller's promise.
    let (first, middle, last) = unsafe { (V::bytes(1, -5), V::bytes(20, 20), V::bytes(-5, 1)) };
    let ends = e.zip_low(f).dot_bytes(first);
    let low = ends.add_words(i.zip_low(j).dot_bytes(last));
    let ends = e.zip_high(f).dot_bytes(first);
    let high = ends.add_words(i.zip_high(j).dot_bytes(last));
    (
        low.add_words(g.zip_low(h).dot_bytes(middle)),
        high.add_words(g.zip_high(h).dot_bytes(middle)),
    )
}

/// Samples from sums.
///
/// # Safety
/// As of [`six_taps`].
#[inline(always)]
unsafe fn rounded<V: Vector>(low: V, high: V) -> V {
    // SAFETY: the caller's promise.
    let half = unsafe { V::words(16) };
    let (low, high) = (low.add_words(half).by_32(), high.add_words(half).by_32());
    low.pack(high)
}

/// Samples from six sums each, as words.
///
/// # Safety
/// Five more words than a vector has are at `sums`, and the processor has the instructions of `V`.
#[inline(always)]
unsafe fn six_sums<V: Vector>(sums: *const i16) -> V {
    // SAFETY: the caller's promise.
    unsafe {
        let at = |k: usize| V::load(sums.add(k).cast());
        let a = at(0).add_words(at(5));
        let b = at(1).add_words(at(4));
        let c = at(2).add_words(at(3));
        let quarter = a.sub_words(b).quarter().sub_words(b);
        let sixteenth = quarter.add_saturating(c).quarter().add_words(c);
        sixteenth.add_words(V::words(32)).by_64()
    }
}
