//! Prefetching of slanted reads.

use std::arch::x86_64::*;
use std::ops::Range;

use super::view::SourceView;
use crate::kernels::STRIP;
use crate::kernels::bilinear::definition::Map;
use crate::kernels::bilinear::taps8::RUN;
use crate::kernels::lanes::{Avx2, Lanes};

/// Outputs per row of the source from which on hardware prefetches in time.
const FLAT: u32 = 11;

/// The positions of a run of outputs, which are prefetched while the run before it is computed. They are prefetched a few at
/// a time, since few cache lines can be in flight at once.
pub(super) struct Prefetcher {
    places: [u32; RUN],
    /// Positions that have not been prefetched.
    left: Range<usize>,
    /// Positions to prefetch in a step.
    share: usize,
}

impl Prefetcher {
    pub(super) fn new() -> Self {
        Prefetcher {
            places: [0; RUN],
            left: 0..0,
            share: 0,
        }
    }

    /// Starts with the outputs from (x, y) on, if they read so many rows of the source that hardware does not prefetch them.
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    pub(super) fn run<M: Map>(
        &mut self,
        s: Avx2,
        map: &M,
        view: &SourceView<'_>,
        (x, y): (i32, i32),
    ) {
        let y = s.splat(y as f32);
        let clamp = |v, (low, high): (i32, i32)| {
            _mm256_max_ps(_mm256_min_ps(v, s.splat(high as f32)), s.splat(low as f32))
        };
        let place = |from: i32, step: i32| {
            let first = s.splat((x + from) as f32);
            let (sx, sy) = map.at(s, s.mul_add(s.count(0.0), s.splat(step as f32), first), y);
            (
                _mm256_cvttps_epi32(clamp(sx, view.x)),
                _mm256_cvttps_epi32(clamp(sy, view.y)),
            )
        };
        let (_, rows) = place(0, RUN as i32 / 8);
        let lines = _mm256_extract_epi32::<7>(rows) - _mm256_extract_epi32::<0>(rows);
        // One sample of every row, not of every output.
        let step = match RUN as u32 / lines.unsigned_abs().max(1) {
            FLAT.. => {
                self.left = 0..0;
                return;
            }
            4.. => 4,
            2.. => 2,
            _ => 1,
        };
        self.left = 0..RUN / step;
        self.share = self.left.len() / STRIP;
        for i in self.left.clone().step_by(8) {
            let (column, row) = place((i * step) as i32, step as i32);
            let row = _mm256_sub_epi32(row, _mm256_set1_epi32(view.y.0));
            let column = _mm256_sub_epi32(column, _mm256_set1_epi32(view.x.0));
            let row = _mm256_mullo_epi32(row, _mm256_set1_epi32(view.stride as i32));
            let at = &mut self.places[i..i + 8];
            // SAFETY: 32 bytes long.
            unsafe { _mm256_storeu_si256(at.as_mut_ptr().cast(), _mm256_add_epi32(row, column)) };
        }
    }

    /// Prefetches some positions; all of them after a strip of rows.
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    pub(super) fn step(&mut self, view: &SourceView<'_>) {
        let end = self.left.end.min(self.left.start + self.share);
        for &at in &self.places[self.left.start..end] {
            let sample = view.data.as_ptr().wrapping_add(at as usize);
            _mm_prefetch::<_MM_HINT_T0>(sample.cast());
        }
        self.left.start = end;
    }
}
