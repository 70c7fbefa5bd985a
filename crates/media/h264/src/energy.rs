//! How busy macroblocks are, and by how much coarser a busy one may be quantised.
//!
//! The eye sees less of an error where there is more texture. So the quantisation parameter follows the logarithm of a
//! macroblock's variance: as many bits go into flat parts as a constant parameter takes from busy ones. The scale is that of
//! x264's `--aq-mode 1 --aq-strength 1`, so that rate factors mean the same.

use crate::kernels::Energy;
use crate::rate::log2;

/// Units of a step of the quantisation parameter.
pub const STEP: i32 = 256;
/// Steps for each doubling of the energy.
const STRENGTH: f64 = 1.04;
/// The logarithm of the energy at which the offset is zero: that of usual macroblocks.
const USUAL: f64 = 14.4;

/// The offset of a macroblock's quantisation parameter, in units of 1/[`STEP`]: from the sums of its samples and of their
/// squares, 256 of luma, 64 of Cb and of Cr.
pub fn offset(luma: Energy, chroma: [Energy; 2]) -> i16 {
    // The sum of squared differences from the mean.
    let of = |energy: Energy, count: u64| {
        let sum = u64::from(energy.sum);
        energy.squares - (sum * sum / count) as u32
    };
    let [cb, cr] = chroma;
    let total = of(luma, 256) + of(cb, 64) + of(cr, 64);
    let steps = STRENGTH * (log2(f64::from(total.max(1))) - USUAL);
    (steps * f64::from(STEP)).round() as i16
}

#[cfg(test)]
mod tests {
    use evener_runtime::Simd;

    use super::*;
    use crate::kernels::Samples;

    fn of(sample: impl Fn(usize, usize) -> u8) -> i16 {
        let samples: Vec<u8> = (0..256).map(|i| sample(i % 16, i / 16)).collect();
        let kernels = Samples::at(Simd::detect());
        let grey = (kernels.energy_chroma)(&[128; 128], 16);
        offset((kernels.energy_16x16)(&samples, 16), grey)
    }

    #[test]
    fn flat_parts_are_finer_and_busy_ones_coarser() {
        let flat = of(|_, _| 90);
        let dim = of(|x, _| 90 + (x % 2) as u8);
        let usual = of(|x, y| 90 + ((x + y) % 2 * 18) as u8);
        let busy = of(|x, y| ((x + y) % 2 * 255) as u8);
        assert!(flat < dim && dim < usual && usual < busy);
        assert_eq!(flat, (-14.4 * 1.04 * 256.0f64).round() as i16);
        // 256 samples that are 9 away from the mean: 2 to the power of 14.34.
        assert!(usual.abs() < 30, "{usual}");
        // Twice the amplitude is four times the energy.
        let twice = of(|x, y| 90 + ((x + y) % 2 * 36) as u8);
        assert!((twice - usual - 532).abs() <= 1, "{}", twice - usual);
    }
}
