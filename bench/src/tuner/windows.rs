//! The epochs after a change, and how many of them plan auto takes to recover.

use std::ops::Range;

use super::stream::EpochRun;

/// The part of an epoch that lies after a change.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Window {
    pub(super) units: usize,
    pub(super) seconds: f64,
}

/// Epochs over which a cost is averaged. One epoch of a search is as short as a time slice of the operating system.
const SPAN: usize = 5;

/// The epochs of the units `range`. The first and the last one are cut to the range.
pub(super) fn windows(epochs: &[EpochRun], seconds: &[f64], range: Range<usize>) -> Vec<Window> {
    let cut = |epoch: &EpochRun| {
        let first = epoch.first.max(range.start);
        first..(epoch.first + epoch.units).min(range.end).max(first)
    };
    let window = |units: Range<usize>| Window {
        units: units.len(),
        seconds: seconds[units].iter().sum(),
    };
    let inside = epochs.iter().map(cut).filter(|units| !units.is_empty());
    inside.map(window).collect()
}

/// Mean seconds of a unit; infinite without units.
fn mean(windows: &[Window]) -> f64 {
    match windows.iter().map(|w| w.units).sum::<usize>() {
        0 => f64::INFINITY,
        units => windows.iter().map(|w| w.seconds).sum::<f64>() / units as f64,
    }
}

/// The number of epochs after which a unit costs at most `limit` seconds, over the next [`SPAN`] epochs and over all
/// that follow. `None` if it never does.
pub(super) fn recovered(windows: &[Window], limit: f64) -> Option<usize> {
    (0..windows.len()).find(|&passed| {
        let rest = &windows[passed..];
        mean(&rest[..SPAN.min(rest.len())]) <= limit && mean(rest) <= limit
    })
}

/// Speed from epoch `passed` on relative to `best` seconds a unit. `None` if no epoch is left.
pub(super) fn speed_after(windows: &[Window], passed: usize, best: f64) -> Option<f64> {
    let rest = windows.get(passed..).filter(|rest| !rest.is_empty())?;
    Some(best / mean(rest))
}

#[cfg(test)]
mod tests {
    use evener_image::structures::TILED;
    use evener_runtime::{Dispatch, Plan};

    use super::*;

    /// Epochs of one unit each.
    fn of(costs: &[f64]) -> Vec<Window> {
        let window = |&seconds| Window { units: 1, seconds };
        costs.iter().map(window).collect()
    }

    #[test]
    fn epochs_are_cut_to_the_range() {
        let ran = |first, units| EpochRun {
            first,
            units,
            plan: Plan {
                structure: &TILED,
                dispatch: Dispatch::Fifo,
                grain: 1,
                workers: 1,
                devices: 0,
            },
        };
        let epochs = [ran(0, 2), ran(2, 4), ran(6, 1), ran(7, 5)];
        let seconds: Vec<f64> = (0..12).map(f64::from).collect();
        let window = |units, seconds| Window { units, seconds };
        let found = windows(&epochs, &seconds, 4..8);
        assert_eq!(found, [window(2, 9.0), window(1, 6.0), window(1, 7.0)]);
        assert_eq!(windows(&epochs, &seconds, 12..12), []);
    }

    #[test]
    fn recovery_is_counted_from_the_change() {
        let costs = [9.0, 9.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
        assert_eq!(recovered(&of(&costs), 1.05), Some(2));
        assert_eq!(recovered(&of(&costs[2..]), 1.05), Some(0));
        assert_eq!(recovered(&of(&[2.0; 30]), 1.05), None);
        assert_eq!(recovered(&[], 1.05), None);
    }

    #[test]
    fn a_lucky_moment_is_no_recovery() {
        let mut costs = vec![1.0; 6];
        costs.extend([3.0; 10]);
        costs.extend([1.0; 20]);
        assert_eq!(recovered(&of(&costs), 1.05), Some(16));
    }

    #[test]
    fn one_slow_epoch_in_a_span_delays_recovery() {
        let costs = [9.0, 1.0, 1.0, 4.0, 1.0, 1.0, 1.0, 1.0, 1.0];
        assert_eq!(recovered(&of(&costs), 1.05), Some(4));
    }

    #[test]
    fn long_epochs_weigh_more() {
        let short = Window {
            units: 1,
            seconds: 4.0,
        };
        let long = Window {
            units: 99,
            seconds: 99.0,
        };
        assert_eq!(recovered(&[short, long], 1.05), Some(0));
        assert_eq!(speed_after(&[short, long], 1, 0.5), Some(0.5));
        assert_eq!(speed_after(&[short, long], 2, 0.5), None);
    }
}
