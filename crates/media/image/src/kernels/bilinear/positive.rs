//! Where a blend of four samples is above 0.
//!
//! In exact arithmetic it is above 0 if a sample with a weight is, however large the samples are. So a threshold before a
//! warp and `binary` after it could be a step before it. Rounding keeps that, with two exceptions: a product may be too small
//! for any number above 0, and of a sum of very unequal terms only the larger may remain.
//!
//! Along a row the weights are 1-f and f, and the blend is a + f(b-a), rounded twice. Let a and b be up to 1.25, each 0 or at
//! least [`LEAST`].
//! - If f < 1: rounding keeps order, so b-a is not below -a, and at least a(1-f) remains, which is not below 2⁻²⁴ a.
//! - If f = 1: the blend is above 0 if b is, since what b-a loses to rounding is less than b.
//! - If a = 0: the blend is fb.
//!
//! So the blend has the right sign if f is 0 or at least `SMALL`. The same holds between the two rows, but one of them may be
//! as small as f or 1-f makes it. If the weight of the lower one is 1, it must not vanish in the sum with the upper one, so no
//! f may be so near 0 or 1 that it would.

use evener_runtime::Simd;

use super::definition::{Border, Map};
use crate::for_each_width;
use crate::format::Size;
use crate::geometry::Rect;
use crate::kernels::lanes::Lanes;

/// The least sample above 0 for which [`keeps_positive`] holds. The largest is 1.25, more than any code means.
pub const LEAST: f32 = 1.0 / 1024.0;

/// Weights below this, but not 0, make products that may vanish.
const SMALL: f32 = 1e-15;

/// Weights nearer to 0 or 1 than this, but neither, make sums where one term may vanish.
const NEAR: f32 = 1.0 / 128.0;

/// Whether every output in `out` is certain to be above 0 exactly if it would be with a 1 for every sample above 0.
pub fn keeps_positive<M: Map>(
    simd: Simd,
    (map, border, plane): (&M, Border, Size),
    out: Rect,
) -> bool {
    let mut certain = true;
    look(simd, out.width(), map, border, plane, out, &mut certain);
    certain
}

for_each_width! {
    fn look<M: Map>(wide n, map: &M, border: Border, plane: Size, out: Rect, certain: &mut bool) = look_body;
}

#[inline(always)]
fn look_body<S: Lanes, M: Map>(
    s: S,
    map: &M,
    border: Border,
    plane: Size,
    out: Rect,
    certain: &mut bool,
) {
    const MOST: usize = 16;
    let (mut xs, mut ys) = ([0.0; MOST], [0.0; MOST]);
    let (right, bottom) = ((plane.w - 1) as f32, (plane.h - 1) as f32);
    let repeats = border == Border::Replicate;
    for y in out.y0..out.y1 {
        for x in (out.x0..out.x1).step_by(S::N) {
            let (sx, sy) = map.at(s, s.count(x as f32), s.splat(y as f32));
            // SAFETY: no register has more lanes.
            unsafe {
                s.store(sx, xs.as_mut_ptr());
                s.store(sy, ys.as_mut_ptr());
            }
            for i in 0..S::N {
                let (x, y) = (xs[i], ys[i]);
                let small = |v: f32| v > 0.0 && v < SMALL;
                let f = x - x.trunc();
                let near = f > 0.0 && !(NEAR..=1.0 - NEAR).contains(&f);
                let inside = x >= 0.0 && x <= right && y <= bottom;
                let last = y >= bottom && (repeats || inside);
                *certain &= !(small(x) | small(y) | (last & near));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::bilinear::blend;

    /// Every position is (x + a, y + b).
    #[derive(Debug)]
    struct Shift(f32, f32);

    impl Map for Shift {
        #[inline(always)]
        fn at<S: Lanes>(&self, s: S, x: S::V, y: S::V) -> (S::V, S::V) {
            (s.add(x, s.splat(self.0)), s.add(y, s.splat(self.1)))
        }
    }

    const PLANE: Size = Size { w: 40, h: 8 };

    fn certain_at(map: &Shift, border: Border, out: Rect) -> bool {
        let all: Vec<bool> = Simd::levels()
            .into_iter()
            .map(|simd| keeps_positive(simd, (map, border, PLANE), out))
            .collect();
        assert!(all.iter().all(|&c| c == all[0]), "{map:?}: {all:?}");
        all[0]
    }

    fn certain(map: &Shift, out: Rect) -> bool {
        certain_at(map, Border::Constant(0.0), out)
    }

    #[test]
    fn weights_that_lose_a_sample_are_found() {
        let inside = Rect {
            x0: 0,
            y0: 0,
            x1: 38,
            y1: 6,
        };
        assert!(certain(&Shift(0.25, 0.5), inside));
        assert!(certain(&Shift(0.0, 0.0), inside));
        assert!(!certain(&Shift(1e-20, 0.5), inside));
        assert!(!certain(&Shift(0.5, 1e-20), inside));
        let last = Rect { y1: 8, ..inside };
        assert!(certain(&Shift(0.25, 0.0), last));
        assert!(certain(&Shift(0.0, 0.0), last));
        assert!(!certain(&Shift(0.001, 0.0), last));
        assert!(!certain(&Shift(0.999, 0.0), last));
        assert!(certain(&Shift(0.001, 0.25), last));
        assert!(!certain_at(&Shift(0.001, 0.25), Border::Replicate, last));
        assert!(certain(&Shift(39.001, 0.0), last));
    }

    /// What the text above says, with the least and the largest samples and weights at every limit.
    #[test]
    fn blends_of_other_weights_are_above_0_as_they_should_be() {
        let least = LEAST.next_up();
        let samples = [0.0, least, 2.0 * least, 0.3, 1.0f32.next_down(), 1.0, 1.25];
        let below = 1.0f32.next_down();
        let weights = [0.0, SMALL, 1e-7, NEAR, 0.5, 1.0 - NEAR, below, 1.0];
        let of = |n: usize| (n / 343, n / 49 % 7, n / 7 % 7, n % 7);
        for (fx, fy) in weights
            .iter()
            .flat_map(|x| weights.iter().map(move |y| (*x, *y)))
        {
            if fy == 1.0 && fx > 0.0 && fx < 1.0 && !(NEAR..=1.0 - NEAR).contains(&fx) {
                continue;
            }
            for n in 0..7 * 343 {
                let (a, b, c, d) = of(n);
                let four = [samples[a], samples[b], samples[c], samples[d]];
                let ones = four.map(|v| if v > 0.0 { 1.0 } else { 0.0 });
                let above = |[a, b, c, d]: [f32; 4]| blend([a, b], [c, d], fx, fy) > 0.0;
                assert_eq!(above(four), above(ones), "{four:?}, {fx}, {fy}");
            }
        }
    }
}
