//! How far samples of one plan are from one another, whichever plan it is.
//!
//! The noise of a unit does not say it: another process that has a processor for some milliseconds slows all units
//! of an epoch, and none of the next.

/// Samples that the distance is a mean of.
const OF: f64 = 12.0;
/// A sample that is this many times as far off as they are usually, and so much (log), counts as no further.
const CLIP: (f64, f64) = (4.0, 0.05);

/// The mean distance of a sample from the middle of those before it, as a logarithm.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scatter(f64);

impl Scatter {
    pub(super) fn new() -> Scatter {
        Scatter(0.0)
    }

    /// Takes the distance of a sample, spikes clipped.
    pub(super) fn take(&mut self, distance: f64) {
        let distance = distance.min(CLIP.0 * self.0 + CLIP.1);
        self.0 += (distance - self.0) / OF;
    }

    /// The deviation of a sample.
    pub(super) fn deviation(self) -> f64 {
        1.25 * self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spikes_hardly_count_and_a_shared_processor_does() {
        let mut scatter = Scatter::new();
        for i in 0..200 {
            scatter.take(if i % 25 == 0 { 2.0 } else { 0.02 });
        }
        assert!(scatter.deviation() < 0.06, "{scatter:?}");
        for i in 0..40 {
            scatter.take(if i % 2 == 0 { 0.7 } else { 0.1 });
        }
        assert!(scatter.deviation() > 0.3, "{scatter:?}");
    }
}
