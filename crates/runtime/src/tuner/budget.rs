//! How much time exploring may lose.
//!
//! Only what is *lost* counts: the time of explored units beyond what the incumbent would have taken for them. A share
//! of the stream still to come is there when a search is opened, because what is learnt early pays longest; a smaller
//! share of the time gone by comes on top and is what a long stream lives on. A lasting change of the machine opens
//! the search again with a fresh budget.

/// Share of the stream that may be lost on a search, and on one when the machine has changed: most of what is known
/// then still holds.
const SEARCH_SHARE: f64 = 0.025;
const AGAIN_SHARE: f64 = 0.015;
/// Most that the search share comes to, in seconds, however long the stream is.
const SEARCH_MOST_S: f64 = 0.5;
/// Least, in units: enough to cut off one hopeless plan. Of a machine that changes again and again, the share of the
/// units before the next change.
const SEARCH_LEAST_UNITS: f64 = 3.0;
const SEARCH_LEAST_SHARE: f64 = 0.03;
/// Share of the time gone by that may be lost on looking again.
const KEEP_SHARE: f64 = 0.01;

/// Time lost, in seconds, and since when it counts.
#[derive(Clone, Debug, Default)]
pub(super) struct Budget {
    lost: f64,
    lost_before: f64,
    opened: f64,
    reopened: bool,
}

impl Budget {
    /// Time was lost.
    pub(super) fn lose(&mut self, seconds: f64) {
        self.lost += seconds.max(0.0);
    }

    /// A new search begins at `elapsed` seconds of the stream.
    pub(super) fn reopen(&mut self, elapsed: f64) {
        self.lost_before = self.lost;
        self.opened = elapsed;
        self.reopened = true;
    }

    /// What may still be lost, when `remaining` units of `cost` seconds are expected.
    pub(super) fn left(&self, cost: f64, remaining: f64, elapsed: f64) -> f64 {
        let since = (elapsed - self.opened).max(0.0);
        let (share, least) = match self.reopened {
            true => {
                let least = SEARCH_LEAST_UNITS.min(SEARCH_LEAST_SHARE * remaining);
                (AGAIN_SHARE, least)
            }
            false => (SEARCH_SHARE, SEARCH_LEAST_UNITS),
        };
        let search = (share * (since + remaining * cost))
            .min(SEARCH_MOST_S)
            .max(least * cost);
        search + KEEP_SHARE * since - (self.lost - self.lost_before)
    }

    /// Lost so far.
    pub(super) fn lost(&self) -> f64 {
        self.lost
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_of_300_units_may_lose_few_percent_in_all() {
        let mut budget = Budget::default();
        let first = budget.left(1e-3, 300.0, 0.0);
        assert!((first - 7.5e-3).abs() < 1e-9);
        budget.lose(first);
        assert!(budget.left(1e-3, 200.0, 0.1) < 1.1e-3);
        assert!(budget.left(1e-3, 0.0, 0.3) < 3.1e-3);
    }

    #[test]
    fn an_endless_stream_spends_a_bounded_sum_on_a_search() {
        let budget = Budget::default();
        assert!(budget.left(1e-3, 1e9, 0.0) <= SEARCH_MOST_S);
    }

    #[test]
    fn opening_the_search_again_forgives_what_was_lost() {
        let mut budget = Budget::default();
        budget.lose(1.0);
        assert!(budget.left(1e-3, 300.0, 0.3) < 0.0);
        budget.reopen(0.3);
        // A smaller one than the first.
        assert!((budget.left(1e-3, 300.0, 0.3) - 4.5e-3).abs() < 1e-9);
        assert!((budget.lost() - 1.0).abs() < 1e-12);
    }
}
