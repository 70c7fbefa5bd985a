//! Codes to values and back: v = (code − zero) / span, and the code nearest to v · span + zero.

#[cfg(target_arch = "x86_64")]
mod avx2;
mod scale;

pub use scale::Scale;

use evener_runtime::Simd;

use crate::for_each_level;

#[inline(always)]
fn load_u8_body(scale: &Scale, codes: &[u8], values: &mut [f32]) {
    let n = values.len().min(codes.len());
    let (values, codes) = (&mut values[..n], &codes[..n]);
    for i in 0..n {
        values[i] = scale.value(f32::from(codes[i]));
    }
}

#[inline(always)]
fn load_u16_body(scale: &Scale, codes: &[u16], values: &mut [f32]) {
    let n = values.len().min(codes.len());
    let (values, codes) = (&mut values[..n], &codes[..n]);
    for i in 0..n {
        values[i] = scale.value(f32::from(codes[i]));
    }
}

#[inline(always)]
fn store_u8_body(scale: &Scale, values: &[f32], codes: &mut [u8]) {
    let n = values.len().min(codes.len());
    let (values, codes) = (&values[..n], &mut codes[..n]);
    for i in 0..n {
        codes[i] = scale.code(values[i]) as u8;
    }
}

#[inline(always)]
fn store_u16_body(scale: &Scale, values: &[f32], codes: &mut [u16]) {
    let n = values.len().min(codes.len());
    let (values, codes) = (&values[..n], &mut codes[..n]);
    for i in 0..n {
        codes[i] = scale.code(values[i]) as u16;
    }
}

for_each_level! {
    /// 8-bit codes to values; stops at the shorter slice.
    pub fn load_u8(scale: &Scale, codes: &[u8], values: &mut [f32]) = load_u8_body;
}
for_each_level! {
    /// Codes of more than 8 bits to values; stops at the shorter slice.
    pub fn load_u16(scale: &Scale, codes: &[u16], values: &mut [f32]) = load_u16_body;
}
for_each_level! {
    fn store_u8_rest(scale: &Scale, values: &[f32], codes: &mut [u8]) = store_u8_body;
}
/// Values to 8-bit codes; stops at the shorter slice.
pub fn store_u8(simd: Simd, scale: &Scale, values: &[f32], codes: &mut [u8]) {
    let done = 0;
    #[cfg(target_arch = "x86_64")]
    let done = match crate::kernels::has_avx2(simd) {
        // SAFETY: the processor has AVX2 and FMA.
        true => unsafe { avx2::store_u8(scale, values, codes) },
        false => done,
    };
    store_u8_rest(simd, scale, &values[done..], &mut codes[done..]);
}
for_each_level! {
    /// Values to codes of more than 8 bits; stops at the shorter slice.
    pub fn store_u16(scale: &Scale, values: &[f32], codes: &mut [u16]) = store_u16_body;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::{Codes, ColourRange, Depth};

    fn scales() -> impl Iterator<Item = (Codes, Scale)> {
        let depths = [Depth::U8, Depth::U10, Depth::U12, Depth::U16].into_iter();
        let ranges = [ColourRange::Full, ColourRange::Limited];
        depths
            .flat_map(move |depth| ranges.map(|range| (depth, range)))
            .flat_map(|(depth, range)| [false, true].map(|chroma| (depth, range, chroma)))
            .map(|(depth, range, chroma)| Codes {
                depth,
                range,
                chroma,
            })
            .map(|codes| (codes, Scale::new(codes)))
    }

    /// Codes to values.
    fn load(simd: Simd, (of, scale): (Codes, Scale), codes: &[u16]) -> Vec<f32> {
        let mut values = vec![f32::NAN; codes.len()];
        match of.depth {
            Depth::U8 => {
                let codes: Vec<u8> = codes.iter().map(|&c| c as u8).collect();
                load_u8(simd, &scale, &codes, &mut values);
            }
            _ => load_u16(simd, &scale, codes, &mut values),
        }
        values
    }

    fn store(simd: Simd, (of, scale): (Codes, Scale), values: &[f32]) -> Vec<u16> {
        let mut codes = vec![9; values.len()];
        match of.depth {
            Depth::U8 => {
                let mut bytes = vec![9; values.len()];
                store_u8(simd, &scale, values, &mut bytes);
                codes = bytes.into_iter().map(u16::from).collect();
            }
            _ => store_u16(simd, &scale, values, &mut codes),
        }
        codes
    }

    #[test]
    fn ends_and_grey_have_the_codes_of_the_standards() {
        for ((of, scale), [black, grey, white]) in scales().zip([
            [0, 128, 255],
            [0, 128, 255],
            [16, 126, 235],
            [16, 128, 240],
            [0, 512, 1023],
            [0, 512, 1023],
            [64, 502, 940],
            [64, 512, 960],
            [0, 2048, 4095],
            [0, 2048, 4095],
            [256, 2008, 3760],
            [256, 2048, 3840],
            [0, 32768, 65535],
            [0, 32768, 65535],
            [4096, 32128, 60160],
            [4096, 32768, 61440],
        ]) {
            for simd in Simd::levels() {
                let codes = store(simd, (of, scale), &[0.0, 0.5, 1.0]);
                assert_eq!(codes, [black, grey, white], "{of:?}");
            }
            if of.range == ColourRange::Limited {
                assert_eq!(scale.value(f32::from(black)), 0.0);
                assert_eq!(scale.value(f32::from(white)), 1.0);
            }
        }
    }

    #[test]
    fn every_code_has_the_nearest_value_and_survives() {
        for (of, scale) in scales() {
            let last = of.depth.maximum().unwrap() as u16;
            let codes: Vec<u16> = (0..=last).collect();
            let divide = |c: f64| ((c - f64::from(of.zero())) / f64::from(of.span())) as f32;
            let divided: Vec<f32> = codes.iter().map(|&c| divide(f64::from(c))).collect();
            for simd in Simd::levels() {
                let values = load(simd, (of, scale), &codes);
                assert_eq!(values, divided, "{of:?}, {simd}");
                assert_eq!(values, scale.table());
                assert_eq!(store(simd, (of, scale), &values), codes, "{of:?}, {simd}");
            }
            // What a damaged file of 10 bits may hold.
            for code in 0..=u16::MAX {
                assert_eq!(scale.value(f32::from(code)), divide(f64::from(code)));
            }
        }
    }

    #[test]
    fn halves_round_to_even_and_what_is_beyond_goes_to_the_end() {
        let full = Codes {
            depth: Depth::U8,
            range: ColourRange::Full,
            chroma: false,
        };
        let limited = Codes {
            range: ColourRange::Limited,
            ..full
        };
        let beyond = [
            (-1.0, 0),
            (2.0, 255),
            (f32::NAN, 0),
            (f32::INFINITY, 255),
            (f32::NEG_INFINITY, 0),
            (1e20, 255),
            (-1e20, 0),
            (f32::MAX, 255),
            (f32::MIN, 0),
        ];
        let of_full = [(0.5, 128), (1.5 / 255.0, 2), (2.5 / 255.0, 2), (-1e-9, 0)];
        // 16 + 219 v: 16.5, 17.5, 15.5, and the room below and above.
        let of_limited = [
            (0.5 / 219.0, 16),
            (1.5 / 219.0, 18),
            (-0.5 / 219.0, 16),
            (-16.0 / 219.0, 0),
            (239.0 / 219.0, 255),
        ];
        for (of, own) in [(full, &of_full[..]), (limited, &of_limited[..])] {
            let (values, expected): (Vec<f32>, Vec<u16>) =
                beyond.iter().chain(own).copied().unzip();
            for simd in Simd::levels() {
                // In every lane of a register, and behind the last one.
                let codes = store(simd, (of, Scale::new(of)), &values.repeat(7));
                assert_eq!(codes, expected.repeat(7), "{simd}");
            }
        }
    }

    #[test]
    fn what_lies_between_codes_goes_to_the_nearest_at_every_level() {
        for (of, scale) in scales() {
            let values: Vec<f32> = (0..100_000)
                .map(|i| (i - 10_000) as f32 / 79_990.0)
                .collect();
            let nearest = |&v: &f32| {
                let code = v.mul_add(of.span(), of.zero()).round_ties_even();
                code.clamp(0.0, of.depth.maximum().unwrap() as f32) as u16
            };
            let expected: Vec<u16> = values.iter().map(nearest).collect();
            for simd in Simd::levels() {
                assert!(
                    store(simd, (of, scale), &values) == expected,
                    "{of:?}, {simd}"
                );
            }
        }
    }
}
