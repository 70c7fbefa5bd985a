//! How busy macroblocks are, and by how much coarser a busy one may be quantised.
//!
//! The eye sees less of an error where there is more texture. So the quantisation parameter follows the logarithm of a
//! macroblock's variance: as many bits go into flat parts as a constant parameter takes from busy ones. The scale is that of
//! x264's `--aq-mode 1 --aq-strength 1`, so that rate factors mean the same.

use crate::rate::log2;

/// Units of a step of the quantisation parameter.
pub const STEP: i32 = 256;
/// Steps for each doubling of the energy.
const STRENGTH: f64 = 1.04;
/// The logarithm of the energy at which the offset is zero: that of usual macroblocks.
const USUAL: f64 = 14.4;

/// The sum of squared differences from the mean, of `samples` rows.
fn energy<'a>(rows: impl Iterator<Item = &'a [u8]>, step: usize, of: usize) -> u32 {
    let (mut sum, mut squares, mut count) = (0u32, 0u32, 0u32);
    for row in rows {
        for &sample in row[of..].iter().step_by(step) {
            sum += u32::from(sample);
            squares += u32::from(sample) * u32::from(sample);
        }
        count += (row.len() / step) as u32;
    }
    squares - (u64::from(sum) * u64::from(sum) / u64::from(count)) as u32
}

/// The offset of a macroblock's quantisation parameter, in units of 1/[`STEP`]: from its 16 rows of 16 samples of luma
/// and its 8 rows of 8 pairs of chroma.
pub fn offset<'a>(
    luma: impl Iterator<Item = &'a [u8]>,
    chroma: impl Iterator<Item = &'a [u8]> + Clone,
) -> i16 {
    let total = energy(luma, 1, 0) + energy(chroma.clone(), 2, 0) + energy(chroma, 2, 1);
    let steps = STRENGTH * (log2(f64::from(total.max(1))) - USUAL);
    (steps * f64::from(STEP)).round() as i16
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(sample: impl Fn(usize, usize) -> u8) -> i16 {
        let rows: Vec<Vec<u8>> = (0..16)
            .map(|y| (0..16).map(|x| sample(x, y)).collect())
            .collect();
        let grey = [[128u8; 16]; 8];
        offset(rows.iter().map(Vec::as_slice), grey.iter().map(|r| &r[..]))
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
