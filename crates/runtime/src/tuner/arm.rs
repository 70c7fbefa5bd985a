//! What is believed about one plan, and from which measurements.
//!
//! Costs are compared as logarithms of ratios to the incumbent, so that what the whole machine does cancels. All arms
//! count from one zero, the first incumbent's cost; a later incumbent carries its own distance from it.

use crate::plan::Plan;

use super::math::median;

/// Measurements kept of one arm.
const KEPT: usize = 16;

/// The share of epochs that something else makes slower, by a factor of up to e to the power of [`FLUKE_MOST`], and
/// from where on (log) it can be told from noise.
const FLUKES: f64 = 0.05;
const FLUKE_LEAST: f64 = 0.2;
const FLUKE_MOST: f64 = 2.5;
/// What a unit that was cut off cold says about the cost of a warm one: how many times the incumbent's counts at most,
/// how far beyond (log) it is believed to be, and the deviation.
const COLD_CUT_MOST: f64 = 4.0;
const COLD_CUT_BEYOND: f64 = 1.0;
const COLD_CUT_SIGMA: f64 = 0.9;
/// Two samples that differ by more (log) are one and a fluke.
const DISAGREE: f64 = 0.3;

/// A normal distribution of the logarithm of a plan's cost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Belief {
    pub(super) mu: f64,
    pub(super) sigma: f64,
}

impl Belief {
    /// Both pieces of evidence together.
    pub(super) fn and(self, other: Belief) -> Belief {
        let (a, b) = (self.sigma.powi(-2), other.sigma.powi(-2));
        Belief {
            mu: (self.mu * a + other.mu * b) / (a + b),
            sigma: (a + b).powf(-0.5),
        }
    }
}

/// Deviations of logarithms of times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Noise {
    /// Of a single unit.
    pub(super) unit: f64,
    /// Of a sample from others of the same arm, of however many units it is.
    pub(super) sample: f64,
}

/// In which direction a plan lies from the one it was derived from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Where the search began.
    Start,
    /// Another structure.
    Structure,
    /// Another dispatch.
    Dispatch,
    /// Another grain.
    Grain,
    /// Another number of workers.
    Workers,
}

/// One plan and what is known of it.
#[derive(Clone, Debug)]
pub(super) struct Arm {
    pub(super) plan: Plan,
    pub(super) step: Step,
    /// What was believed before the samples below.
    pub(super) prior: Belief,
    /// What being cut off says.
    cuts: Option<Belief>,
    samples: [f64; KEPT],
    weights: [u32; KEPT],
    len: usize,
    at: usize,
    /// It was measured at some time.
    pub(super) known: bool,
    /// Units ever run, those that do not count included.
    pub(super) runs: u64,
    /// The structure went through its probe, and took this much longer than the incumbent.
    pub(super) probed: Option<f64>,
    /// Its first units on end, which are cold, were faster than the incumbent's before them.
    pub(super) ahead: bool,
    /// Samples taken since the search was last opened.
    pub(super) round: u32,
    /// Epoch of the latest measurement.
    pub(super) seen: u64,
    /// Its rejection is already in the log.
    pub(super) rejected: bool,
    /// Its first trial since the search was last opened is already in the log.
    pub(super) announced: bool,
}

impl Arm {
    pub(super) fn new(plan: Plan, step: Step, prior: Belief) -> Arm {
        Arm {
            plan,
            step,
            prior,
            cuts: None,
            known: false,
            samples: [0.0; KEPT],
            weights: [0; KEPT],
            len: 0,
            at: 0,
            runs: 0,
            probed: None,
            ahead: false,
            round: 0,
            seen: 0,
            rejected: false,
            announced: false,
        }
    }

    /// How far a value is from the middle of what was measured, in deviations of a sample that have the length 1.
    pub(super) fn apart(&self, value: f64) -> Option<f64> {
        let both = (1.0 + 1.0 / self.len.max(1) as f64).sqrt();
        Some((value - self.middle()?).abs() / both)
    }

    /// Adds the median of an epoch of `units` units, or with 0 units the mean of one.
    pub(super) fn sample(&mut self, value: f64, units: u32) {
        self.samples[self.at] = value;
        self.weights[self.at] = units;
        self.at = (self.at + 1) % KEPT;
        self.len = (self.len + 1).min(KEPT);
        self.round += 1;
        self.known = true;
    }

    /// Epochs measured.
    pub(super) fn measured(&self) -> usize {
        self.len
    }

    /// The middle of what was measured. Of two that disagree it is the lower one: what disturbs makes slower.
    pub(super) fn middle(&self) -> Option<f64> {
        let mut sorted = self.samples;
        let middle = median(&mut sorted[..self.len]);
        if self.disagree() {
            Some(sorted[0].min(sorted[1]))
        } else {
            middle
        }
    }

    fn disagree(&self) -> bool {
        self.len == 2 && (self.samples[0] - self.samples[1]).abs() > DISAGREE
    }

    /// How likely it is that the only sample, slower than what was believed before, met with something else: what
    /// share flukes have in the density of such a sample.
    pub(super) fn fluke(&self, noise: f64) -> f64 {
        let beyond = self.samples[0] - self.prior.mu;
        if self.len != 1 || !(FLUKE_LEAST..FLUKE_MOST).contains(&beyond) {
            return 0.0;
        }
        let sigma = self.prior.sigma.hypot(noise).hypot(0.05);
        let usual =
            (-0.5 * (beyond / sigma).powi(2)).exp() / (sigma * (2.0 * std::f64::consts::PI).sqrt());
        let fluke = FLUKES / (FLUKE_MOST - FLUKE_LEAST);
        fluke / (fluke + (1.0 - FLUKES) * usual)
    }

    /// What is believed now.
    pub(super) fn belief(&self, noise: Noise) -> Belief {
        let before = self.cuts.map_or(self.prior, |cuts| self.prior.and(cuts));
        let Some(mu) = self.middle() else {
            return before;
        };
        let units: u32 = self.weights[..self.len].iter().sum();
        // The variance of a median is about 1.57 times that of a mean, and that of the incumbent's two sides together
        // is half of it; what pairs leave of drift does not average out. Units of an epoch are not independent of one
        // another where another process has their processor for some of them.
        let of_units = 1.5 * 1.57 * noise.unit.powi(2) / f64::from(units.max(1));
        let of_samples = 1.57 * noise.sample.powi(2) / self.len as f64;
        let spread = of_units.max(of_samples) + 0.008 * 0.008;
        // One or two epochs of few units can be nothing but a spike, and a mean has any spike in it.
        let agreeing = if self.disagree() { 1 } else { self.len };
        let doubt = match (agreeing, units) {
            (1, 0) => 0.35,
            (2, 0) => 0.20,
            (_, 0) => 0.06,
            (1, 1..4) => 0.20,
            (1, _) => 0.08,
            (2, 1..8) => 0.08,
            (2, _) => 0.03,
            _ => 0.0,
        };
        Belief {
            mu,
            sigma: (spread + doubt * doubt).sqrt(),
        }
        .and(before)
    }

    /// Forgets the samples but not what they said: the machine has changed, and the plan moved by `shift` (log) give
    /// or take `sigma`.
    pub(super) fn age(&mut self, noise: Noise, shift: f64, sigma: f64) {
        let now = self.belief(noise);
        self.cuts = None;
        self.prior = Belief {
            mu: now.mu + shift,
            sigma: (now.sigma.powi(2) + sigma.powi(2)).sqrt(),
        };
        self.forget();
        self.round = 0;
        self.rejected = false;
        self.announced = false;
    }

    /// Forgets the samples: something better is known.
    pub(super) fn forget(&mut self) {
        self.ahead = false;
        self.len = 0;
        self.at = 0;
    }

    /// A unit was abandoned when it had taken as long as `value` says: the cost is above that, nobody knows how far.
    pub(super) fn cut(&mut self, value: f64, sigma: f64) {
        self.evidence(Belief {
            mu: value + 0.7,
            sigma,
        });
    }

    /// The first unit of a structure was abandoned: most of its time may have gone into what no later one pays for, so
    /// that it took very long says no more than that it took long.
    pub(super) fn cut_cold(&mut self, ratio: f64, offset: f64) {
        self.evidence(Belief {
            mu: offset + ratio.clamp(1.0, COLD_CUT_MOST).ln() + COLD_CUT_BEYOND,
            sigma: COLD_CUT_SIGMA,
        });
    }

    fn evidence(&mut self, cut: Belief) {
        self.cuts = Some(self.cuts.map_or(cut, |cuts| cuts.and(cut)));
        self.round += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Dispatch;
    use crate::structure::fixtures::TILED;

    const QUIET: Noise = Noise {
        unit: 0.05,
        sample: 0.0,
    };

    fn arm() -> Arm {
        let plan = Plan {
            structure: &TILED,
            dispatch: Dispatch::Fifo,
            grain: 8,
            workers: 2,
        };
        Arm::new(
            plan,
            Step::Structure,
            Belief {
                mu: 0.0,
                sigma: 0.7,
            },
        )
    }

    #[test]
    fn a_spike_among_samples_does_not_move_the_belief() {
        let mut a = arm();
        for v in [-0.2, -0.21, 1.9, -0.19, -0.2] {
            a.sample(v, 1);
        }
        let b = a.belief(QUIET);
        assert!((b.mu + 0.2).abs() < 0.02, "{b:?}");
        assert!(b.sigma < 0.04, "{b:?}");
    }

    #[test]
    fn one_sample_leaves_doubt() {
        let mut a = arm();
        a.sample(-0.2, 1);
        assert!(a.belief(QUIET).sigma > 0.15);
        a.sample(-0.2, 1);
        a.sample(-0.2, 1);
        assert!(a.belief(QUIET).sigma < 0.05);
    }

    #[test]
    fn samples_that_scatter_leave_doubt_however_many_units_they_have() {
        let mut a = arm();
        for v in [-0.3, -0.1, -0.2] {
            a.sample(v, 16);
        }
        let scattered = Noise {
            sample: 0.3,
            ..QUIET
        };
        assert!(a.belief(QUIET).sigma < 0.02);
        assert!(a.belief(scattered).sigma > 0.15);
        assert!((a.apart(-0.5).unwrap() - 0.3 / (4.0_f64 / 3.0).sqrt()).abs() < 1e-9);
        assert_eq!(arm().apart(0.0), None);
    }

    #[test]
    fn a_plan_cut_off_twice_is_believed_slow() {
        let mut a = arm();
        a.cut(0.9, 0.7);
        a.cut(0.9, 0.7);
        let b = a.belief(QUIET);
        assert!(b.mu > 0.9 && b.sigma < 0.5, "{b:?}");
    }

    #[test]
    fn ageing_keeps_the_cost_and_adds_doubt() {
        let mut a = arm();
        for _ in 0..5 {
            a.sample(0.3, 4);
        }
        a.age(QUIET, 0.0, 0.4);
        let b = a.belief(QUIET);
        assert!((b.mu - 0.3).abs() < 0.02 && b.sigma > 0.39, "{b:?}");
        assert_eq!(a.measured(), 0);
    }
}
