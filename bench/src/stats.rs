//! The order of measurements, and figures that summarise them.

use std::collections::BTreeSet;

/// The median; 0 without values. Sorts the values.
pub(crate) fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => 0.0,
        n => (values[(n - 1) / 2] + values[n / 2]) / 2.0,
    }
}

/// The median of an iterator.
pub(crate) fn median_of(values: impl IntoIterator<Item = f64>) -> f64 {
    median(&mut values.into_iter().collect::<Vec<_>>())
}

/// The median over rounds of `above / below`. Both were measured in each round, so what slows a round down cancels.
pub(crate) fn paired_ratio(above: &[f64], below: &[f64]) -> f64 {
    median_of(above.iter().zip(below).map(|(a, b)| a / b))
}

/// Each value once, the smallest first.
pub(crate) fn distinct<T: Ord>(values: impl IntoIterator<Item = T>) -> Vec<T> {
    values
        .into_iter()
        .collect::<BTreeSet<T>>()
        .into_iter()
        .collect()
}

/// The numbers 0 to `count`, rotated by the round, so that each contestant is first in some round.
pub(crate) fn rotated(count: usize, round: u32) -> impl Iterator<Item = usize> {
    (0..count).map(move |i| (i + round as usize) % count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians() {
        assert_eq!(median(&mut [3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&mut [4.0, 1.0, 2.0, 3.0]), 2.5);
        assert_eq!(median(&mut []), 0.0);
    }

    #[test]
    fn a_slow_round_does_not_change_a_paired_ratio() {
        assert_eq!(paired_ratio(&[1.0, 9.0, 1.0], &[2.0, 18.0, 2.0]), 0.5);
        // The ratio of the medians would be 2.
        assert_eq!(paired_ratio(&[1.0, 4.0, 10.0], &[2.0, 1.0, 20.0]), 0.5);
    }

    #[test]
    fn each_contestant_is_first_in_some_round() {
        let first: Vec<usize> = (0..3)
            .filter_map(|round| rotated(3, round).next())
            .collect();
        assert_eq!(first, [0, 1, 2]);
        assert_eq!(distinct(rotated(5, 7)), [0, 1, 2, 3, 4]);
    }
}
