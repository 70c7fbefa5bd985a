//! Powers by arithmetic alone, so that they have the same bits at every SIMD level.

use std::f32::consts::{LN_2, LOG2_E};

/// v to the power p, within 1e-5 of it for v from 1e-4 to 2 and p from 0.1 to 10; 0 where v is
/// not above 0, or hardly.
#[inline(always)]
pub fn power(v: f32, p: f32) -> f32 {
    let positive = v >= f32::MIN_POSITIVE;
    // v = m · 2^e, m from √½ to √2.
    let bits = if positive { v } else { 1.0 }.to_bits() as i32;
    let e = bits.wrapping_sub(0x3f35_04f3) >> 23;
    let m = f32::from_bits(bits.wrapping_sub(e << 23) as u32);
    // log2 m = 2 log2(e) artanh s.
    let s = (m - 1.0) / (m + 1.0);
    let u = s * s;
    let series = 1.0 + u * (1.0 / 3.0 + u * (1.0 / 5.0 + u * (1.0 / 7.0 + u * (1.0 / 9.0))));
    let log = e as f32 + 2.0 * LOG2_E * s * series;
    // 2^y = 2^n · e^(r ln 2), n whole and r from -½ to ½.
    let y = log * p;
    let y = if y < -126.0 { -126.0 } else { y };
    let y = if y > 126.0 { 126.0 } else { y };
    const WHOLE: f32 = 12_582_912.0;
    let shifted = y + WHOLE;
    let r = (y - (shifted - WHOLE)) * LN_2;
    let tail = 1.0 / 6.0 + r * (1.0 / 24.0 + r * (1.0 / 120.0 + r * (1.0 / 720.0)));
    let fraction = 1.0 + r * (1.0 + r * (0.5 + r * tail));
    // The lowest bits of `shifted` are n, which becomes the exponent.
    let scale = f32::from_bits((shifted.to_bits() << 23).wrapping_add(127 << 23));
    if positive { fraction * scale } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_are_those_of_the_standard_library() {
        for p in [0.1, 0.3, 1.0 / 2.2, 0.5, 1.0, 2.2, 3.0, 10.0] {
            for i in 1..20_000 {
                let v = i as f32 / 10_000.0;
                let exact = f64::from(v).powf(f64::from(p));
                let apart = (f64::from(power(v, p)) - exact).abs() / exact.max(1.0);
                assert!(apart < 1e-5, "{v}^{p}: {apart}");
            }
        }
        for v in [0.0, -0.0, -1.0, f32::MIN, f32::NAN] {
            assert_eq!(power(v, 2.0), 0.0);
        }
    }
}
