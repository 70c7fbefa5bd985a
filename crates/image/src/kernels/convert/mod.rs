//! Codes to values and back: v = code / maximum, code = round-half-to-even(clamp(v, 0, 1) x maximum).

#[cfg(target_arch = "x86_64")]
mod avx2;

use evener_runtime::Simd;

use crate::for_each_level;

/// code / 255 as the sum of code / 256 and code / (255 x 256): right to the last bit for every code, and faster than a
/// division.
#[inline(always)]
fn load_u8_body(codes: &[u8], values: &mut [f32]) {
    for (v, &c) in values.iter_mut().zip(codes) {
        let c = f32::from(c);
        *v = c * (1.0 / 256.0) + c * (1.0 / 65280.0);
    }
}

#[inline(always)]
fn load_u10_body(codes: &[u16], values: &mut [f32]) {
    for (v, &c) in values.iter_mut().zip(codes) {
        *v = f32::from(c) / 1023.0;
    }
}

/// Adding and taking away 1.5 x 2²³ rounds a small value to the nearest integer, ties to even, and leaves that
/// integer in the low bits of the sum: two operations where a rounding and a conversion would be more.
const ROUND: f32 = 12_582_912.0;

#[inline(always)]
#[expect(clippy::manual_clamp, reason = "clamp keeps a NaN")]
fn code(value: f32, maximum: f32) -> u32 {
    // `max` first, so that a NaN becomes 0.
    let scaled = value.max(0.0).min(1.0) * maximum;
    (scaled + ROUND).to_bits() & 0xffff
}

#[inline(always)]
fn store_u8_body(values: &[f32], codes: &mut [u8]) {
    for (c, &v) in codes.iter_mut().zip(values) {
        *c = code(v, 255.0) as u8;
    }
}

#[inline(always)]
fn store_u10_body(values: &[f32], codes: &mut [u16]) {
    for (c, &v) in codes.iter_mut().zip(values) {
        *c = code(v, 1023.0) as u16;
    }
}

for_each_level! {
    /// 8-bit codes to values; stops at the shorter slice.
    pub fn load_u8(codes: &[u8], values: &mut [f32]) = load_u8_body;
}
for_each_level! {
    /// 10-bit codes to values; stops at the shorter slice.
    pub fn load_u10(codes: &[u16], values: &mut [f32]) = load_u10_body;
}
/// Values to 8-bit codes; stops at the shorter slice.
pub fn store_u8(simd: Simd, values: &[f32], codes: &mut [u8]) {
    let done = 0;
    #[cfg(target_arch = "x86_64")]
    let done = match crate::kernels::has_avx2(simd) {
        // SAFETY: the processor has AVX2.
        true => unsafe { avx2::store_u8(values, codes) },
        false => done,
    };
    let _ = simd;
    store_u8_body(&values[done..], &mut codes[done..]);
}
for_each_level! {
    /// Values to 10-bit codes; stops at the shorter slice.
    pub fn store_u10(values: &[f32], codes: &mut [u16]) = store_u10_body;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_survives_and_halves_round_to_even() {
        for simd in Simd::levels() {
            let codes: Vec<u8> = (0..=255).collect();
            let mut values = vec![0.0; 256];
            load_u8(simd, &codes, &mut values);
            let divided: Vec<f32> = codes.iter().map(|&c| f32::from(c) / 255.0).collect();
            assert_eq!(values, divided);
            let mut back = vec![1; 256];
            store_u8(simd, &values, &mut back);
            assert_eq!(back, codes);

            let codes: Vec<u16> = (0..1024).collect();
            let mut values = vec![0.0; 1024];
            load_u10(simd, &codes, &mut values);
            let mut back = vec![1; 1024];
            store_u10(simd, &values, &mut back);
            assert_eq!(back, codes);

            let values = [
                -1.0,
                2.0,
                f32::NAN,
                f32::INFINITY,
                f32::NEG_INFINITY,
                0.5,
                1.5 / 255.0,
                2.5 / 255.0,
                -1e-9,
                1e20,
                -1e20,
            ];
            let expected = [0, 255, 0, 255, 0, 128, 2, 2, 0, 255, 0];
            // In every lane of a register, and behind the last one.
            let values = values.repeat(7);
            let mut codes = vec![9; values.len()];
            store_u8(simd, &values, &mut codes);
            assert_eq!(codes, expected.repeat(7));
        }
    }

    #[test]
    fn what_lies_between_codes_goes_to_the_nearest_at_every_level() {
        let values: Vec<f32> = (0..100_000).map(|i| i as f32 / 99_990.0).collect();
        let mut plain = vec![0; values.len()];
        store_u8(Simd::Scalar, &values, &mut plain);
        for simd in Simd::levels() {
            let mut codes = vec![0; values.len()];
            store_u8(simd, &values, &mut codes);
            assert!(codes == plain);
        }
    }
}
