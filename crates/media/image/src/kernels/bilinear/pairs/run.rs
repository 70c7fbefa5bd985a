//! The positions of a run of outputs.

use std::arch::x86_64::*;

use super::view::SourceView;
use crate::kernels::bilinear::definition::Map;
use crate::kernels::bilinear::taps8::RUN;
use crate::kernels::lanes::{Avx2, Lanes};

/// The positions and weights of a run of outputs, eight by eight.
#[repr(align(64))]
pub(super) struct Run {
    /// Offsets of the upper left samples.
    pub at: [i32; RUN],
    /// Weights of the right and lower samples.
    pub fx: [f32; RUN],
    pub fy: [f32; RUN],
}

impl Run {
    #[inline]
    pub(super) fn new() -> Self {
        Run {
            at: [0; RUN],
            fx: [0.0; RUN],
            fy: [0.0; RUN],
        }
    }
}

/// Computes positions and weights of the outputs (x, y) to (x + n, y), eight by eight, the last eight from x + n - 8 on.
/// Returns whether each has its four samples in the view.
#[inline]
#[target_feature(enable = "avx2,fma")]
pub(super) fn locate<M: Map>(
    s: Avx2,
    map: &M,
    view: &SourceView<'_>,
    (x, y): (i32, i32),
    n: usize,
    run: &mut Run,
) -> bool {
    let mut most = (_mm256_setzero_si256(), _mm256_setzero_si256());
    let y = s.splat(y as f32);
    let whole = n & !7;
    let mut xs = s.count(x as f32);
    for i in (0..whole).step_by(8) {
        // SAFETY: a run is a multiple of eight, and `i` less than one.
        most = unsafe { eight(s, map, view, (xs, y), run, i, most) };
        xs = s.add(xs, s.splat(8.0));
    }
    if whole < n {
        let xs = s.count((x + n as i32 - 8) as f32);
        // SAFETY: as before.
        most = unsafe { eight(s, map, view, (xs, y), run, whole, most) };
    }
    at_most(most.0, view.x) && at_most(most.1, view.y)
}

/// How far a position is beyond `first`, in the order of bits, which is that of numbers from 0 on. Positions below `first`,
/// below 0 or that are no numbers come after all that are in the view.
#[inline]
#[target_feature(enable = "avx2")]
fn beyond(v: __m256, first: i32) -> __m256i {
    _mm256_sub_epi32(_mm256_castps_si256(v), _mm256_set1_epi32(bits(first)))
}

#[inline]
fn bits(v: i32) -> i32 {
    (v as f32).to_bits() as i32
}

/// Whether positions that are `beyond` the first of a range are less than 1 beyond the last.
#[inline]
#[target_feature(enable = "avx2")]
fn at_most(beyond: __m256i, (first, last): (i32, i32)) -> bool {
    let most = _mm256_set1_epi32(bits(last + 1) - 1 - bits(first));
    _mm256_movemask_epi8(_mm256_cmpeq_epi32(_mm256_max_epu32(beyond, most), most)) == -1
}

/// Computes positions and weights of eight outputs as those from `i` on of the run. Returns the maxima of `most` and of how
/// far their columns and rows are beyond the first ones of the view.
///
/// # Safety
/// Eight from `i` on are in a run.
#[inline]
#[target_feature(enable = "avx2,fma")]
unsafe fn eight<M: Map>(
    s: Avx2,
    map: &M,
    view: &SourceView<'_>,
    (x, y): (__m256, __m256),
    run: &mut Run,
    i: usize,
    most: (__m256i, __m256i),
) -> (__m256i, __m256i) {
    let (sx, sy) = map.at(s, x, y);
    let (column, row) = (_mm256_cvttps_epi32(sx), _mm256_cvttps_epi32(sy));
    let most = (
        _mm256_max_epu32(most.0, beyond(sx, view.x.0)),
        _mm256_max_epu32(most.1, beyond(sy, view.y.0)),
    );
    let place = _mm256_mullo_epi32(row, _mm256_set1_epi32(view.stride as i32));
    let origin = view
        .y
        .0
        .wrapping_mul(view.stride as i32)
        .wrapping_add(view.x.0);
    let place = _mm256_sub_epi32(_mm256_add_epi32(place, column), _mm256_set1_epi32(origin));
    // SAFETY: the caller's promise.
    unsafe {
        s.store(
            s.sub(sx, _mm256_cvtepi32_ps(column)),
            run.fx.as_mut_ptr().add(i),
        );
        s.store(
            s.sub(sy, _mm256_cvtepi32_ps(row)),
            run.fy.as_mut_ptr().add(i),
        );
        _mm256_storeu_si256(run.at.as_mut_ptr().add(i).cast(), place);
    }
    most
}

#[cfg(test)]
mod tests {
    use evener_runtime::Simd;

    use super::*;

    /// All outputs read one place, but the one in column 5 another.
    #[derive(Debug)]
    struct Odd((f32, f32), (f32, f32));

    impl Map for Odd {
        #[inline(always)]
        fn at<S: Lanes>(&self, s: S, x: S::V, _y: S::V) -> (S::V, S::V) {
            let fifth = s.sub(
                s.keep_above(s.splat(1.0), x, s.splat(4.5)),
                s.keep_above(s.splat(1.0), x, s.splat(5.5)),
            );
            let of = |all: f32, odd: f32| {
                let rest = s.keep_above(s.splat(all), s.splat(1.0), fifth);
                s.add(s.keep_above(s.splat(odd), fifth, s.splat(0.0)), rest)
            };
            (of(self.0.0, self.1.0), of(self.0.1, self.1.1))
        }
    }

    #[test]
    fn a_run_is_located_if_every_place_has_its_four_samples() {
        let Some(s) = Avx2::new(Simd::detect()) else {
            evener_testing::skip("no AVX2");
            return;
        };
        let data = [0.0; 9 * 40];
        for (x, y) in [
            ((0, 29), (0, 7)),
            ((100, 129), (3, 10)),
            ((1 << 23, (1 << 23) + 3), (1, 2)),
        ] {
            let view = SourceView {
                data: &data,
                stride: 40,
                x,
                y,
            };
            let inside =
                |v: f32, (first, last): (i32, i32)| v >= first as f32 && v < (last + 1) as f32;
            let near = |(first, last): (i32, i32)| {
                let ends = [first as f32, (last + 1) as f32];
                let mut all: Vec<f32> = ends
                    .iter()
                    .flat_map(|v| [v.next_down(), *v, v.next_up()])
                    .collect();
                all.extend([
                    0.0,
                    -0.5,
                    -7.0,
                    3e9,
                    -3e9,
                    f32::NAN,
                    -f32::NAN,
                    f32::INFINITY,
                ]);
                all
            };
            let middle = (x.0 as f32 + 1.0, y.0 as f32 + 0.5);
            let odd = near(x).into_iter().map(|v| (v, middle.1));
            let odd = odd.chain(near(y).into_iter().map(|v| (middle.0, v)));
            for odd in odd {
                let mut run = Run::new();
                // SAFETY: `s` exists, so the processor has the instructions.
                let located = unsafe { locate(s, &Odd(middle, odd), &view, (0, 0), 13, &mut run) };
                assert_eq!(
                    located,
                    inside(odd.0, x) && inside(odd.1, y),
                    "{odd:?} in {x:?}, {y:?}"
                );
                if located {
                    let (column, row) = (odd.0 as i32, odd.1 as i32);
                    assert_eq!(run.at[5], (row - y.0) * 40 + column - x.0);
                    assert_eq!((run.fx[5], run.fy[5]), (odd.0.fract(), odd.1.fract()));
                }
            }
        }
    }
}
