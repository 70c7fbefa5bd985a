//! Quantisation parameters for a bit rate on average (`--bitrate`).

use super::sizes::Model;

/// What remains of the weight of older pictures with each new one.
const FADING: f64 = 0.94;
/// Seconds in which a deviation is to be made up for, and how much longer with each second of the stream: early
/// deviations would be a large part of a short stream.
const HORIZON: f64 = 1.0;
const LONGER: f64 = 0.02;
/// The least and the most bits of a picture, as parts of those it has on average, that make up for a deviation.
const LIMITS: (f64, f64) = (0.25, 2.0);

/// Finds the rate factor at which pictures have the size that is asked for.
#[derive(Clone, Copy, Debug)]
pub struct Average {
    /// Bits per second.
    bitrate: f64,
    /// Bits that P pictures would have had at a rate factor of 0, and their weight.
    finest: (f64, f64),
}

impl Average {
    /// For so many bits per second.
    pub fn new(bitrate: u64) -> Average {
        Average {
            bitrate: bitrate as f64,
            finest: (0.0, 0.0),
        }
    }

    /// Bits that the next picture should have, `seconds` into the stream, where each lasts `duration` seconds and the
    /// stream has so many bits.
    pub fn target(&self, bits: f64, seconds: f64, duration: f64) -> f64 {
        let excess = bits - seconds * self.bitrate;
        let horizon = HORIZON + LONGER * seconds;
        let part = 1.0 - excess / (horizon * self.bitrate);
        self.bitrate * duration * part.clamp(LIMITS.0, LIMITS.1)
    }

    /// The rate factor at which P pictures have `target` bits, if there were any.
    pub fn factor(&self, model: &Model, target: f64) -> Option<f64> {
        let (sum, weight) = self.finest;
        (weight > 0.0).then(|| model.qp_from(sum / weight, target))
    }

    /// A P picture has come out at so many bits; its parameter was `qp`, higher than the rate factor by `compensation`.
    pub fn learn(&mut self, model: &Model, bits: f64, qp: f64, compensation: f64) {
        let (sum, weight) = self.finest;
        let finest = model.at_less(bits, qp - compensation);
        self.finest = (FADING * sum + finest, FADING * weight + 1.0);
    }
}
