//! Deblocking against the equations of clause 8.7.2, one line across an edge at a time.

use evener_h264::kernels::residual::filter_tables::{ALPHA, BETA, TC0};

use super::reference;
use crate::Rng;

/// p0 to p3, q0 to q3.
type Line = ([i32; 4], [i32; 4]);

/// Clauses 8.7.2.3 (with `tc0`) and 8.7.2.4 (without): the filtered line.
fn filtered((p, q): Line, alpha: i32, beta: i32, tc0: Option<i32>, luma: bool) -> Line {
    let step = |a: i32, b: i32| (a - b).abs();
    let samples = step(p[0], q[0]) < alpha && step(p[1], p[0]) < beta && step(q[1], q[0]) < beta;
    if !samples || tc0 == Some(-1) {
        return (p, q);
    }
    let (ap, aq) = (step(p[2], p[0]), step(q[2], q[0]));
    let (mut p_new, mut q_new) = (p, q);
    if let Some(tc0) = tc0 {
        let tc = match luma {
            true => tc0 + i32::from(ap < beta) + i32::from(aq < beta),
            false => tc0 + 1,
        };
        let delta = ((((q[0] - p[0]) << 2) + (p[1] - q[1]) + 4) >> 3).clamp(-tc, tc);
        p_new[0] = (p[0] + delta).clamp(0, 255);
        q_new[0] = (q[0] - delta).clamp(0, 255);
        let second = |a: [i32; 4]| {
            a[1] + ((a[2] + ((p[0] + q[0] + 1) >> 1) - (a[1] << 1)) >> 1).clamp(-tc0, tc0)
        };
        if luma && ap < beta {
            p_new[1] = second(p);
        }
        if luma && aq < beta {
            q_new[1] = second(q);
        }
    } else {
        let side = |a: [i32; 4], b: [i32; 4], smooth: i32| match luma
            && smooth < beta
            && step(p[0], q[0]) < ((alpha >> 2) + 2)
        {
            true => [
                (a[2] + 2 * a[1] + 2 * a[0] + 2 * b[0] + b[1] + 4) >> 3,
                (a[2] + a[1] + a[0] + b[0] + 2) >> 2,
                (2 * a[3] + 3 * a[2] + a[1] + a[0] + b[0] + 4) >> 3,
                a[3],
            ],
            false => [(2 * a[1] + a[0] + b[1] + 2) >> 2, a[1], a[2], a[3]],
        };
        p_new = side(p, q, ap);
        q_new = side(q, p, aq);
    }
    (p_new, q_new)
}

const STRIDE: usize = 24;

/// Samples on both sides of an edge at column 8 or row 8, of the kind that is filtered, mostly.
pub fn edge_samples(rng: &mut Rng) -> [u8; 24 * STRIDE] {
    let mut samples = [0; 24 * STRIDE];
    if rng.below(3) == 0 {
        rng.samples(&mut samples);
        return samples;
    }
    let level = rng.below(256) as i32;
    let step = [rng.below(64) as i32 - 32, rng.below(64) as i32 - 32];
    let noise = 1 + rng.below(16);
    for (i, sample) in samples.iter_mut().enumerate() {
        let sides = step[0] * i32::from(i % STRIDE >= 8) + step[1] * i32::from(i / STRIDE >= 8);
        *sample = (level + sides + rng.below(noise) as i32).clamp(0, 255) as u8;
    }
    samples
}

/// Indices of α and β, and what the strengths of four quarters make of `tC0`.
pub fn parameters(rng: &mut Rng) -> (u8, u8, [i8; 4]) {
    let (a, b) = (rng.below(52), rng.below(52));
    let tc0 = std::array::from_fn(|_| match rng.below(4) {
        0 => -1,
        strength => TC0[a][strength - 1],
    });
    (ALPHA[a], BETA[b], tc0)
}

/// The samples after an edge is filtered line by line: `place` gives where q0 of line `i` is, `step` leads to q1.
fn expected(
    mut samples: [u8; 24 * STRIDE],
    place: impl Fn(usize) -> usize,
    step: usize,
    luma: bool,
    (alpha, beta, tc0): (u8, u8, Option<[i8; 4]>),
) -> [u8; 24 * STRIDE] {
    let depth = if luma { 4 } else { 2 };
    for i in 0..16 {
        let at = place(i);
        let (mut p, mut q) = ([0; 4], [0; 4]);
        for k in 0..depth {
            p[k] = samples[at - (k + 1) * step].into();
            q[k] = samples[at + k * step].into();
        }
        let tc0 = tc0.map(|tc0| tc0[i / 4].into());
        let (p, q) = filtered((p, q), alpha.into(), beta.into(), tc0, luma);
        for k in 0..depth {
            samples[at - (k + 1) * step] = p[k] as u8;
            samples[at + k * step] = q[k] as u8;
        }
    }
    samples
}

#[test]
fn edges_follow_the_equations() {
    let mut rng = Rng(31);
    let r = reference();
    let mut changed = 0;
    for _ in 0..5000 {
        let samples = edge_samples(&mut rng);
        let (alpha, beta, tc0) = parameters(&mut rng);
        // Vertical edges begin at row 4, horizontal ones at column 4, of luma and of pairs.
        let (vertical, horizontal) = (4 * STRIDE + 8, 8 * STRIDE + 4);
        for (weak, strong, at, luma, upright) in [
            (
                r.luma_vertical_edge,
                r.luma_vertical_strong,
                vertical,
                true,
                true,
            ),
            (
                r.luma_horizontal_edge,
                r.luma_horizontal_strong,
                horizontal,
                true,
                false,
            ),
            (
                r.chroma_vertical_edge,
                r.chroma_vertical_strong,
                vertical,
                false,
                true,
            ),
            (
                r.chroma_horizontal_edge,
                r.chroma_horizontal_strong,
                horizontal,
                false,
                false,
            ),
        ] {
            let place = |i: usize| match (luma, upright) {
                (true, true) => at + i * STRIDE,
                (false, true) => at + i / 2 * STRIDE + i % 2,
                (_, false) => at + i,
            };
            let step = match (luma, upright) {
                (true, true) => 1,
                (false, true) => 2,
                (_, false) => STRIDE,
            };
            let by = (alpha, beta, Some(tc0));
            let mut got = samples;
            weak(&mut got, at, STRIDE, alpha, beta, &tc0);
            assert_eq!(
                got,
                expected(samples, place, step, luma, by),
                "{by:?} {luma} {upright}"
            );
            changed += i32::from(got != samples);
            let mut got = samples;
            strong(&mut got, at, STRIDE, alpha, beta);
            let by = (alpha, beta, None);
            assert_eq!(
                got,
                expected(samples, place, step, luma, by),
                "{by:?} {luma} {upright}"
            );
            changed += i32::from(got != samples);
        }
    }
    assert!(changed > 10_000, "{changed}");
}

/// Worked out by hand: a step from 100 to 104.
#[test]
fn a_step_becomes_a_slope() {
    let mut rows = [[100, 100, 100, 100, 104, 104, 104, 104]; 16].concat();
    (reference().luma_vertical_edge)(&mut rows, 4, 8, 20, 6, &[1, 2, 0, -1]);
    assert_eq!(rows[..8], [100, 100, 101, 102, 102, 103, 104, 104]);
    assert_eq!(rows[32..40], [100, 100, 101, 102, 102, 103, 104, 104]);
    assert_eq!(rows[64..72], [100, 100, 100, 102, 102, 104, 104, 104]);
    assert_eq!(rows[96..104], [100, 100, 100, 100, 104, 104, 104, 104]);
    let mut rows = [[100, 100, 100, 100, 104, 104, 104, 104]; 16].concat();
    (reference().luma_vertical_strong)(&mut rows, 4, 8, 20, 6);
    assert_eq!(rows[..8], [100, 101, 101, 102, 103, 103, 104, 104]);
    // A step of α is the picture's own.
    (reference().luma_vertical_strong)(&mut rows, 4, 8, 1, 6);
    assert_eq!(rows[..8], [100, 101, 101, 102, 103, 103, 104, 104]);
}
