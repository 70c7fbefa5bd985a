//! The belief about a plan's cost, and the necessary statistics.

use std::f64::consts::{PI, SQRT_2};

/// A normal distribution of the logarithm of a plan's cost, as a multiple of the incumbent's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Belief {
    pub(super) mu: f64,
    pub(super) sigma: f64,
}

impl Belief {
    /// That of the incumbent, which costs itself.
    pub(super) const CERTAIN: Belief = Belief {
        mu: 0.0,
        sigma: 0.01,
    };

    pub(super) fn new(mu: f64, sigma: f64) -> Belief {
        Belief { mu, sigma }
    }

    /// Both pieces of evidence together.
    pub(super) fn and(self, other: Belief) -> Belief {
        let (a, b) = (self.sigma.powi(-2), other.sigma.powi(-2));
        Belief::new((self.mu * a + other.mu * b) / (a + b), (a + b).powf(-0.5))
    }

    /// The same with more doubt.
    pub(super) fn wider(self, sigma: f64) -> Belief {
        Belief::new(self.mu, self.sigma.hypot(sigma))
    }

    /// What is saved of the incumbent's cost of 1 by taking the better of both: `E[max(0, 1 - X)]`.
    pub(super) fn improvement(self) -> f64 {
        let Belief { mu, sigma } = self;
        let d = -mu / sigma;
        let mean = (mu + 0.5 * sigma * sigma).exp();
        (normal_cdf(d) - mean * normal_cdf(d - sigma)).max(0.0)
    }

    /// What a unit is expected to cost beyond the incumbent's 1, where one that takes `cutoff` is given up:
    /// `E[max(0, min(X, cutoff) - 1)]`.
    pub(super) fn excess(self, cutoff: f64) -> f64 {
        let beyond = |limit: f64| {
            let scaled = Belief::new(self.mu - limit.ln(), self.sigma);
            let mean = (scaled.mu + 0.5 * scaled.sigma * scaled.sigma).exp();
            limit * (mean - 1.0 + scaled.improvement()).max(0.0)
        };
        (beyond(1.0) - beyond(cutoff)).max(0.0)
    }

    /// How likely the cost is above a multiple of the incumbent's.
    pub(super) fn chance_above(self, ratio: f64) -> f64 {
        normal_cdf((self.mu - ratio.ln()) / self.sigma)
    }

    /// The density at a logarithm.
    pub(super) fn density(self, x: f64) -> f64 {
        let z = (x - self.mu) / self.sigma;
        (-0.5 * z * z).exp() / (self.sigma * (2.0 * PI).sqrt())
    }
}

/// The standard normal distribution function, to 1e-7: Abramowitz and Stegun, Handbook of Mathematical Functions,
/// formula 7.1.26 for the error function.
fn normal_cdf(x: f64) -> f64 {
    let z = x.abs() / SQRT_2;
    let t = 1.0 / (1.0 + 0.327_591_1 * z);
    let poly = t
        * (0.254_829_592
            + t * (-0.284_496_736
                + t * (1.421_413_741 + t * (-1.453_152_027 + t * 1.061_405_429))));
    let tail = 0.5 * poly * (-z * z).exp();
    if x >= 0.0 { 1.0 - tail } else { tail }
}

/// The logarithm of the mean of `costs` without the slowest eighth, of fewer than four the lower middle one: what
/// disturbs a unit makes it slower. They change places. `None` when there are none.
pub(super) fn trimmed(costs: &mut [f64]) -> Option<f64> {
    costs.sort_unstable_by(f64::total_cmp);
    let kept = match costs.len() {
        0 => return None,
        few @ 1..4 => &costs[(few - 1) / 2..=(few - 1) / 2],
        many => &costs[..many - many.div_ceil(8)],
    };
    Some((kept.iter().sum::<f64>() / kept.len() as f64).ln())
}

/// The median of `values`, the lower one of two, which change places. `None` when there are none.
pub(super) fn median(values: &mut [f64]) -> Option<f64> {
    let middle = values.len().checked_sub(1)? / 2;
    Some(*values.select_nth_unstable_by(middle, f64::total_cmp).1)
}

#[cfg(test)]
mod tests {
    use super::*;

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

    /// The closed forms against the integrals they stand for.
    #[test]
    fn improvement_and_excess_are_the_integrals() {
        for (mu, sigma) in [(0.3, 0.6), (-0.2, 0.1), (1.2, 0.8)] {
            let belief = Belief::new(mu, sigma);
            let (mut less, mut more) = (0.0, 0.0);
            let h = 1e-3;
            for step in -8000..8000 {
                let z = f64::from(step) * h;
                let x = (mu + sigma * z).exp();
                let density = Belief::new(0.0, 1.0).density(z) * h;
                less += (1.0 - x).max(0.0) * density;
                more += (x.min(2.0) - 1.0).max(0.0) * density;
            }
            assert!((less - belief.improvement()).abs() < 1e-4, "{mu} {sigma}");
            assert!((more - belief.excess(2.0)).abs() < 1e-4, "{mu} {sigma}");
        }
    }

    #[test]
    fn a_spike_among_many_is_left_out_and_of_few_the_lower_middle_counts() {
        let of = |costs: &[f64]| trimmed(&mut costs.to_vec()).map(f64::exp);
        assert_eq!(of(&[]), None);
        assert!((of(&[9.0, 1.0]).unwrap() - 1.0).abs() < 1e-12);
        assert!((of(&[9.0, 2.0, 1.0]).unwrap() - 2.0).abs() < 1e-12);
        assert!((of(&[1.0, 9.0, 1.0, 1.0]).unwrap() - 1.0).abs() < 1e-12);
        assert_eq!(median(&mut [3.0, 1.0, 2.0, 4.0]), Some(2.0));
        assert_eq!(median(&mut []), None);
    }
}
