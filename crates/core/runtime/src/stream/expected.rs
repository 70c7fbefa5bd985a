//! The predicted time of a stream, if it can be known in advance, and the preparations that pay for it.
//!
//! Measures that speed up a long stream delay its start: a few milliseconds for [`Rates::measure`], some tenths of a
//! millisecond for threads, remembered plans and huge pages. A short stream does without them.

use std::time::Duration;

use crate::rates::Rates;
use crate::service::Shape;

/// A stream that should take less is small. To start the threads of its ends and a worker, read the remembered plans
/// and clear huge pages takes about half of that.
const SMALL: Duration = Duration::from_millis(1);
/// From here on the rates of the machine are measured, which takes up to a tenth of that.
const MEASURED: Duration = Duration::from_millis(30);

/// What all units should take one worker. `None` where the number of units or their work is not known.
#[derive(Clone, Copy, Debug)]
pub(super) struct Expected(Option<Duration>);

impl Expected {
    /// For so many units, under the plainest of their shapes on a machine with [`Rates::typical`].
    pub(super) fn of(shapes: &[Shape], units: Option<u64>) -> Expected {
        let rates = Rates::typical();
        let seconds = |shape: &Shape| {
            let work = shape.work;
            work.ops / rates.ops_per_s
                + work.bytes / rates.bytes_per_s
                + work.fresh / rates.fresh_bytes_per_s
        };
        let unit = shapes.iter().map(seconds).reduce(f64::min);
        // A service that says nothing of its work predicts no time.
        let unit = unit.filter(|&seconds| seconds > 0.0 && seconds.is_finite());
        let all = unit.zip(units).map(|(unit, units)| unit * units as f64);
        Expected(all.map(|all| Duration::try_from_secs_f64(all).unwrap_or(Duration::MAX)))
    }

    /// One worker computes it, which reads and writes too where neither may wait; no plan is remembered, and buffers
    /// are mapped as they are used.
    pub(super) fn is_small(self) -> bool {
        self.0.is_some_and(|all| all < SMALL)
    }

    /// Whether it pays to measure the machine.
    pub(super) fn is_measured(self) -> bool {
        self.0.is_none_or(|all| all >= MEASURED)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::service::Work;
    use crate::structure::{FARM, SEQUENTIAL};

    fn shapes(bytes: f64) -> [Shape; 2] {
        let work = |bytes| Work {
            bytes,
            ..Work::default()
        };
        [
            Shape::new(&SEQUENTIAL, vec![8], 1, work(2.0 * bytes)),
            Shape::new(&FARM, vec![8], 1, work(bytes)),
        ]
    }

    #[test]
    fn a_stream_is_as_small_as_its_units_together() {
        let mib = shapes(2e6);
        let of = |units| Expected::of(&mib, Some(units));
        assert!(of(1).is_small() && !of(1).is_measured());
        assert!(!of(10).is_small() && !of(10).is_measured());
        assert!(!of(1000).is_small() && of(1000).is_measured());
        assert!(!of(u64::MAX).is_small() && of(u64::MAX).is_measured());
    }

    #[test]
    fn what_is_not_known_is_not_small() {
        for expected in [
            Expected::of(&shapes(1.0), None),
            Expected::of(&shapes(0.0), Some(1)),
            Expected::of(&[], Some(1)),
        ] {
            assert!(!expected.is_small() && expected.is_measured());
        }
    }
}
