//! Chooses the element for a unit while few are left: the one that will finish it first.
//!
//! While there are many units, every worker and every lane of a device takes the next one when it has finished its
//! last, so each has a share in proportion to its speed. At the end, a slow element must not take a unit that others
//! would finish sooner, and a device must not take a batch that cores wait for.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

/// An element refuses a unit if others would be done in less than this share of its own time. Equal cores differ by
/// noise.
const SOONER: f64 = 0.67;

/// A worker or a lane: what it has in work, and how fast it was.
#[derive(Debug, Default)]
pub(super) struct Element {
    /// When it began, in nanoseconds since the first epoch, and 1 more; 0 while it has nothing in work.
    begun: AtomicU64,
    /// Units that it has in work, and that it had last.
    units: AtomicU32,
    last_units: AtomicU32,
    /// Nanoseconds that so many take, 0 before the first: a mean in which one that was disturbed counts little.
    took: AtomicU64,
}

/// How fast an element was: units, and nanoseconds that they take together; 0 where that is not known.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pace {
    pub(super) units: u32,
    pub(super) took: u64,
}

/// How much the last measurement counts in the mean, and how many times the mean it counts at most.
const LAST: f64 = 0.25;
const MOST: f64 = 2.0;

impl Element {
    pub(super) fn begin(&self, since: Duration, units: u32) {
        self.units.store(units, Ordering::Relaxed);
        let begun = since.as_nanos() as u64 + 1;
        self.begun.store(begun, Ordering::Relaxed);
    }

    pub(super) fn end(&self, took: Option<Duration>) {
        self.begun.store(0, Ordering::Relaxed);
        if let Some(took) = took {
            let units = self.units.load(Ordering::Relaxed);
            let took = took.as_secs_f64();
            let took = match self.seconds(units) {
                Some(mean) => mean + LAST * (took.min(MOST * mean) - mean),
                None => took,
            };
            self.set_pace(Pace {
                units,
                took: ((took * 1e9) as u64).max(1),
            });
        }
    }

    pub(super) fn set_pace(&self, pace: Pace) {
        self.last_units.store(pace.units, Ordering::Relaxed);
        self.took.store(pace.took, Ordering::Relaxed);
    }

    pub(super) fn pace(&self) -> Pace {
        Pace {
            units: self.last_units.load(Ordering::Relaxed),
            took: self.took.load(Ordering::Relaxed),
        }
    }

    /// How long what it has in work has taken.
    pub(super) fn in_work(&self, since: Duration) -> Option<Duration> {
        let begun = self.begun.load(Ordering::Relaxed).checked_sub(1)?;
        Some(since.saturating_sub(Duration::from_nanos(begun)))
    }

    /// How much of what it has in work is done, in units, by what the last took.
    pub(super) fn progress(&self, since: Duration) -> f64 {
        let Some(in_work) = self.in_work(since) else {
            return 0.0;
        };
        let units = self.units.load(Ordering::Relaxed);
        match self.seconds(units) {
            Some(seconds) => f64::from(units) * (in_work.as_secs_f64() / seconds).min(1.0),
            None => 0.0,
        }
    }

    /// Seconds that so many units take: half of what a batch takes is taken to be the same for any number.
    fn seconds(&self, units: u32) -> Option<f64> {
        let took = self.took.load(Ordering::Relaxed) as f64 * 1e-9;
        let last = f64::from(self.last_units.load(Ordering::Relaxed).max(1));
        (took > 0.0).then(|| took * 0.5 * (1.0 + f64::from(units) / last))
    }

    /// Units a second.
    fn rate(&self) -> f64 {
        let took = self.took.load(Ordering::Relaxed) as f64 * 1e-9;
        match took > 0.0 {
            true => f64::from(self.last_units.load(Ordering::Relaxed)) / took,
            false => 0.0,
        }
    }
}

/// Whether element `own` should take a unit while `left` are left in the stream.
pub(super) fn takes(elements: &[Element], own: usize, left: u64) -> bool {
    let Some(seconds) = elements.get(own).and_then(|element| element.seconds(1)) else {
        return true;
    };
    // All together, but none sooner than the fastest has one.
    let together = left as f64 / rate(elements);
    let one = |element: &Element| element.seconds(1);
    let fastest = elements.iter().filter_map(one).fold(seconds, f64::min);
    SOONER * seconds <= together.max(fastest)
}

/// How many units element `own` should take at once while `left` are left: half of its share, at least one.
pub(super) fn batch(elements: &[Element], own: usize, left: u64) -> usize {
    let rate_of = |element: &Element| element.rate();
    let share = elements.get(own).map_or(0.0, rate_of) / rate(elements).max(f64::MIN_POSITIVE);
    ((0.5 * share * left as f64) as usize).max(1)
}

fn rate(elements: &[Element]) -> f64 {
    elements.iter().map(Element::rate).sum()
}

#[cfg(test)]
mod simulation;

#[cfg(test)]
mod tests {
    use super::*;

    /// Elements that take so many milliseconds for so many units.
    fn elements(of: &[(u64, u32)]) -> Vec<Element> {
        let element = |&(ms, units): &(u64, u32)| {
            let element = Element::default();
            element.begin(Duration::ZERO, units);
            element.end((ms > 0).then(|| Duration::from_millis(ms)));
            element
        };
        of.iter().map(element).collect()
    }

    #[test]
    fn a_slow_element_leaves_the_last_units_to_a_fast_one() {
        let two = elements(&[(10, 1), (20, 1)]);
        assert!(takes(&two, 1, 100));
        assert!(!takes(&two, 1, 1));
        assert!(takes(&two, 0, 1));
        // Cores that differ by noise share to the end.
        let equal = elements(&[(10, 1), (13, 1)]);
        assert!(takes(&equal, 1, 1));
    }

    #[test]
    fn what_is_not_known_takes_a_unit() {
        let elements = elements(&[(10, 1), (0, 1)]);
        assert!(takes(&elements, 1, 1));
        assert!(takes(&elements, 2, 1));
        assert_eq!(batch(&elements, 1, 100), 1);
    }

    #[test]
    fn batches_shrink_towards_the_end() {
        // A lane that is nine times as fast as a core.
        let elements = elements(&[(9, 1), (8, 8)]);
        assert_eq!(batch(&elements, 1, 1000), 450);
        assert_eq!(batch(&elements, 1, 10), 4);
        assert_eq!(batch(&elements, 1, 1), 1);
    }

    #[test]
    fn progress_is_by_what_the_last_took() {
        let elements = elements(&[(10, 4)]);
        let ms = Duration::from_millis;
        assert_eq!(elements[0].progress(ms(100)), 0.0);
        elements[0].begin(ms(100), 4);
        assert!((elements[0].progress(ms(105)) - 2.0).abs() < 1e-3);
        assert!((elements[0].progress(ms(150)) - 4.0).abs() < 1e-9);
    }
}
