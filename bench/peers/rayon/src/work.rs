//! Work that takes so long.
use std::hint::black_box;

/// Some nanoseconds of work that cannot be left out or done several at a time.
#[inline(always)]
pub fn work(x: u64, steps: u32) -> u64 {
    (0..steps).fold(x, |x, _| {
        x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1)
    })
}

/// Steps that take so many nanoseconds here.
pub fn steps(ns: f64) -> u32 {
    let start = std::time::Instant::now();
    black_box(work(black_box(1), 10_000_000));
    let step = start.elapsed().as_nanos() as f64 / 1e7;
    ((ns / step).round() as u32).max(1)
}
