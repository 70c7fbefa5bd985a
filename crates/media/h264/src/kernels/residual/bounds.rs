//! Bounds of blocks in slices of samples.

/// Panics unless `height` rows of `width` bytes at a distance of `stride` lie in `samples`, and do not overlap.
#[inline(always)]
pub fn check(samples: &[u8], stride: usize, width: usize, height: usize) {
    let end = (height - 1).saturating_mul(stride).saturating_add(width);
    assert!(
        stride >= width && end <= samples.len(),
        "{height} rows of {width} bytes with stride {stride} in {} bytes",
        samples.len()
    );
}

/// Panics unless a vertical edge has `reach` bytes on both sides in each of `height` rows; `at` is the first behind it.
#[inline(always)]
pub fn check_vertical(samples: &[u8], at: usize, stride: usize, reach: usize, height: usize) {
    assert!(at >= reach && at <= samples.len(), "edge at {at}");
    check(&samples[at - reach..], stride, 2 * reach, height);
}

/// Panics unless a horizontal edge of `width` bytes has `reach` rows on both sides; `at` is the first below it.
#[inline(always)]
pub fn check_horizontal(samples: &[u8], at: usize, stride: usize, reach: usize, width: usize) {
    let above = reach.saturating_mul(stride);
    assert!(at >= above && at <= samples.len(), "edge at {at}");
    check(&samples[at - above..], stride, width, 2 * reach);
}
