//! What pictures cost, as far as that is known before they are decided.

use crate::estimate::Estimate;

/// The costs of a picture's macroblocks, summed up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Complexity {
    /// Predicted from itself.
    pub intra: u64,
    /// Each macroblock predicted from the picture before or from its own, whichever costs less. Of the first picture the
    /// same as `intra`.
    pub inter: u64,
    /// How many macroblocks there are.
    pub macroblocks: u64,
}

impl Complexity {
    /// Adds a macroblock.
    pub fn add(&mut self, estimate: Estimate) {
        self.intra += u64::from(estimate.intra);
        self.inter += u64::from(estimate.inter);
        self.macroblocks += 1;
    }
}

/// The costs of recent pictures, of which older ones count less: half as much with each picture.
#[derive(Clone, Copy, Debug, Default)]
pub struct Recent {
    sum: f64,
    count: f64,
}

impl Recent {
    /// Adds the costs of a macroblock of a picture.
    pub fn add(&mut self, cost: f64) {
        self.sum = 0.5 * self.sum + cost;
        self.count = 0.5 * self.count + 1.0;
    }

    /// Their mean, if there are any.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0.0).then(|| self.sum / self.count)
    }
}
