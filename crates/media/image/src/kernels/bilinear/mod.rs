//! Bilinear sampling at computed positions: the kernel of every warp.
//!
//! Bound: per output sample one 64-bit load in each of two rows, and a load of their position. That is 24 loads for 8
//! samples: 12 cycles on a core with two load ports, 8 on one with three. About 37 vector operations go with them, 13 cycles
//! on three units. A gather would load each of the four taps by itself.

pub mod batched;
mod definition;
#[cfg(target_arch = "x86_64")]
mod pairs;
pub mod positive;
#[cfg(target_arch = "x86_64")]
mod spans;
#[cfg(target_arch = "x86_64")]
mod taps8;

pub use definition::{Border, Map, Sampling, Tap, blend, tap};

use evener_runtime::Simd;

use crate::geometry::Rect;
use crate::kernels::lanes::Scalar;
use crate::kernels::pointwise::Pointwise;
use crate::row_view::RowView;

/// Rows y, y + 1 and on of outputs, all from column x0 on and of one length. `lines` covers every tap that is not fill, and
/// no sample outside the plane.
pub fn rows<M: Map, B: Pointwise, A: Pointwise>(
    simd: Simd,
    sampling: &Sampling<'_, M, B, A>,
    lines: &RowView<'_>,
    (x0, y): (i32, i32),
    out: &mut [&mut [f32]],
) {
    debug_assert!(Rect::of(sampling.plane).union(&lines.rect()) == Rect::of(sampling.plane));
    if lines.rect().is_empty() {
        let fill = sampling.after.of(Scalar, sampling.border.fill());
        return out.iter_mut().for_each(|row| row.fill(fill));
    }
    #[cfg(target_arch = "x86_64")]
    if pairs::rows(simd, sampling, lines, (x0, y), out) {
        return;
    }
    let _ = simd;
    for (out, y) in out.iter_mut().zip(y..) {
        row_reference(sampling, lines, (x0, y), out);
    }
}

fn row_reference<M: Map, B: Pointwise, A: Pointwise>(
    sampling: &Sampling<'_, M, B, A>,
    lines: &RowView<'_>,
    (x0, y): (i32, i32),
    out: &mut [f32],
) {
    let &Sampling {
        map,
        border,
        plane,
        before,
        after,
    } = sampling;
    let fill = border.fill();
    let (right, bottom) = (plane.w as i32 - 1, plane.h as i32 - 1);
    let at = |x, y| before.of(Scalar, lines.at(x, y));
    for (i, o) in out.iter_mut().enumerate() {
        let (sx, sy) = map.at(Scalar, (x0 + i as i32) as f32, y as f32);
        let v = tap(sx, sy, plane, border).map_or(fill, |t| {
            let (x1, y1) = ((t.x + 1).min(right), (t.y + 1).min(bottom));
            let upper = [at(t.x, t.y), at(x1, t.y)];
            let lower = [at(t.x, y1), at(x1, y1)];
            blend(upper, lower, t.fx, t.fy)
        });
        *o = after.of(Scalar, v);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::Size;
    use crate::kernels::lanes::Lanes;
    use crate::kernels::pointwise::Same;

    /// A turn by some degrees about a point.
    #[derive(Debug)]
    struct Turn;

    impl Map for Turn {
        #[inline(always)]
        fn at<S: Lanes>(&self, s: S, x: S::V, y: S::V) -> (S::V, S::V) {
            let of = |a, b, c| {
                let row = s.mul_add(s.splat(b), y, s.splat(c));
                s.mul_add(s.splat(a), x, row)
            };
            (of(0.8, -0.6, 190.0), of(0.6, 0.8, -240.0))
        }

        fn monotonic(&self) -> Option<(bool, bool)> {
            Some((true, true))
        }
    }

    #[test]
    fn rows_of_a_plane_that_no_private_cache_holds_are_those_of_the_definition() {
        let plane = Size { w: 1100, h: 260 };
        let samples: Vec<f32> = (0..plane.w * plane.h)
            .map(|i| (i.wrapping_mul(2_654_435_761) >> 8) as f32)
            .collect();
        let lines = RowView::plane(&samples, plane.w as usize, Rect::of(plane));
        for border in [Border::Constant(0.5), Border::Replicate] {
            let sampling = Sampling {
                map: &Turn,
                border,
                plane,
                before: Same,
                after: Same,
            };
            for (x0, y0, n, count) in [(0, 0, 1100, 6), (3, 101, 700, 19), (517, 200, 65, 1)] {
                let mut expected = vec![vec![f32::NAN; n]; count];
                for (row, y) in expected.iter_mut().zip(y0..) {
                    row_reference(&sampling, &lines, (x0, y), row);
                }
                for simd in Simd::levels() {
                    let mut got = vec![vec![f32::NAN; n]; count];
                    let mut out: Vec<&mut [f32]> = got.iter_mut().map(|row| &mut row[..]).collect();
                    rows(simd, &sampling, &lines, (x0, y0), &mut out);
                    assert!(got == expected, "{simd}, {border:?}, from {x0}, {y0}");
                }
            }
        }
    }

    #[test]
    fn what_reads_nothing_is_fill() {
        let sampling = Sampling {
            map: &Turn,
            border: Border::Constant(0.25),
            plane: Size { w: 9, h: 9 },
            before: Same,
            after: Same,
        };
        let mut row = [f32::NAN; 20];
        rows(
            Simd::Scalar,
            &sampling,
            &RowView::empty(),
            (0, 0),
            &mut [&mut row],
        );
        assert_eq!(row, [0.25; 20]);
    }
}
