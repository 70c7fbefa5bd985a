//! What size a picture will have: a model that learns from those before.

use super::maths::{exp2, log2};

/// The quantisation parameter at which a coefficient is the bits for a unit of cost.
const AT: f64 = 24.0;
/// What remains of the weight of older sizes with each new one.
const FADING: f64 = 0.7;

/// Bits of pictures of a kind: a coefficient times the cost, halved with each `6 / slope` steps of the parameter.
#[derive(Clone, Copy, Debug)]
pub struct Model {
    slope: f64,
    /// The sum of coefficients, and their weight.
    known: (f64, f64),
}

impl Model {
    /// Of key pictures. What it begins with are means of usual clips.
    pub const KEY: Model = Model {
        slope: 1.1,
        known: (0.17, 1.0),
    };
    /// Of P pictures.
    pub const P: Model = Model {
        slope: 1.5,
        known: (0.19, 1.0),
    };

    fn scale(&self, qp: f64) -> f64 {
        exp2(self.slope * (AT - qp) / 6.0)
    }

    fn coefficient(&self) -> f64 {
        self.known.0 / self.known.1
    }

    /// The bits to expect.
    pub fn bits(&self, cost: f64, qp: f64) -> f64 {
        self.coefficient() * cost * self.scale(qp)
    }

    /// The parameter at which so many bits are to be expected.
    pub fn qp(&self, cost: f64, bits: f64) -> f64 {
        AT + 6.0 / self.slope * log2((self.coefficient() * cost / bits).max(1e-9))
    }

    /// The parameter at which so many bits are to be expected, where `bits` were found at a parameter of 0.
    pub fn qp_from(&self, bits: f64, target: f64) -> f64 {
        6.0 / self.slope * log2(bits / target)
    }

    /// The bits that a picture would have had at a parameter that is lower by `less`.
    pub fn at_less(&self, bits: f64, less: f64) -> f64 {
        bits * exp2(self.slope * less / 6.0)
    }

    /// A picture has come out at so many bits.
    pub fn learn(&mut self, cost: f64, qp: f64, bits: f64) {
        let (sum, weight) = self.known;
        let new = bits / (cost * self.scale(qp));
        self.known = (FADING * sum + new, FADING * weight + 1.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_learnt() {
        let mut model = Model::P;
        for _ in 0..40 {
            model.learn(1000.0, 30.0, 500.0);
        }
        assert!((model.bits(1000.0, 30.0) - 500.0).abs() < 1.0);
        assert!((model.bits(2000.0, 34.0) - 500.0).abs() < 1.0);
        assert!((model.qp(2000.0, 500.0) - 34.0).abs() < 0.01);
        assert!((model.at_less(500.0, 4.0) - 1000.0).abs() < 1e-3);
    }
}
