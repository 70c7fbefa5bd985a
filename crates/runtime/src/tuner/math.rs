//! The little statistics the tuner needs.

/// The median of `values`, which change places. `None` when there are none.
pub(super) fn median(values: &mut [f64]) -> Option<f64> {
    if values.is_empty() {
        return None;
    }
    let odd = values.len() % 2 == 1;
    let middle = values.len() / 2;
    let (below, &mut upper, _) = values.select_nth_unstable_by(middle, f64::total_cmp);
    let lower = below.iter().copied().max_by(f64::total_cmp);
    Some(match lower.filter(|_| !odd) {
        None => upper,
        Some(lower) => 0.5 * (lower + upper),
    })
}

/// Values whose median is taken without an allocation.
const FEW: usize = 32;

/// The logarithm's median of the first values, at most [`FEW`].
pub(super) fn log_median(values: &[f64]) -> Option<f64> {
    let mut logs = [0.0; FEW];
    let count = values.len().min(FEW);
    for (log, value) in logs.iter_mut().zip(values) {
        *log = value.ln();
    }
    median(&mut logs[..count])
}

/// The standard normal distribution function, to 1e-7: Abramowitz and Stegun, Handbook of Mathematical Functions,
/// formula 7.1.26 for the error function.
pub(super) fn normal_cdf(x: f64) -> f64 {
    let z = x.abs() / std::f64::consts::SQRT_2;
    let t = 1.0 / (1.0 + 0.327_591_1 * z);
    let poly = t
        * (0.254_829_592
            + t * (-0.284_496_736
                + t * (1.421_413_741 + t * (-1.453_152_027 + t * 1.061_405_429))));
    let tail = 0.5 * poly * (-z * z).exp();
    if x >= 0.0 { 1.0 - tail } else { tail }
}

/// How much a candidate is expected to improve on an incumbent of cost 1, `E[max(0, 1 - X)]`, when the logarithm of
/// its cost X is normal with mean `mu` and deviation `sigma`.
pub(super) fn expected_improvement(mu: f64, sigma: f64) -> f64 {
    if sigma < 1e-9 {
        return (1.0 - mu.exp()).max(0.0);
    }
    let d = -mu / sigma;
    let mean = (mu + 0.5 * sigma * sigma).exp();
    (normal_cdf(d) - mean * normal_cdf(d - sigma)).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn median_of_odd_even_and_none() {
        assert_eq!(median(&mut [3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&mut [4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!(median(&mut []), None);
    }

    #[test]
    fn normal_cdf_at_known_points() {
        for (x, p) in [
            (0.0, 0.5),
            (1.0, 0.841_344_7),
            (-1.96, 0.024_997_9),
            (3.0, 0.998_650_1),
        ] {
            assert!((normal_cdf(x) - p).abs() < 1e-6, "{x}");
        }
    }

    #[test]
    fn improvement_grows_with_doubt_and_falls_with_cost() {
        let certain = expected_improvement(-0.1, 0.0);
        assert!((certain - (1.0 - (-0.1f64).exp())).abs() < 1e-12);
        assert!(expected_improvement(0.5, 0.7) > expected_improvement(0.5, 0.3));
        assert!(expected_improvement(0.2, 0.5) > expected_improvement(0.9, 0.5));
        assert!(expected_improvement(3.0, 0.2) < 1e-6);
    }

    /// The closed form against the integral it stands for.
    #[test]
    fn improvement_is_the_integral() {
        for (mu, sigma) in [(0.3, 0.6), (-0.2, 0.1), (1.2, 0.8)] {
            let mut sum = 0.0;
            let h = 1e-3;
            let mut z = -8.0;
            while z < 8.0 {
                let density = (-0.5f64 * z * z).exp() / (2.0 * std::f64::consts::PI).sqrt();
                sum += (1.0 - (mu + sigma * z).exp()).max(0.0) * density * h;
                z += h;
            }
            assert!(
                (sum - expected_improvement(mu, sigma)).abs() < 1e-4,
                "{mu} {sigma}"
            );
        }
    }
}
