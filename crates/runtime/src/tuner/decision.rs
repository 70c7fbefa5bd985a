//! The log of decisions: every one with its reason, in a line a reader understands.

use std::fmt;

use crate::plan::Plan;

/// Entries kept; beyond, the middle is left out.
const MOST: usize = 400;
/// Entries at the beginning that always stay.
const FIRST: usize = 100;
/// Entries left out at a time.
const DROPPED: usize = 100;

/// One decision.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    /// The epoch it was taken after; 0 is before the first.
    pub epoch: u64,
    /// What was decided and why.
    pub reason: Reason,
}

/// What the tuner decided and why. Costs are seconds per unit.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Reason {
    /// The user named the plan.
    Fixed {
        /// That plan.
        plan: Plan,
    },
    /// The stream starts with the plan that the cost model likes best.
    Start {
        /// That plan.
        plan: Plan,
        /// Its predicted cost.
        predicted: f64,
    },
    /// The stream starts with the plan that won an earlier time.
    Remembered {
        /// That plan.
        plan: Plan,
        /// What the model would have chosen, to be measured against it.
        model: Plan,
    },
    /// A remembered plan does not fit this service or machine any more.
    Forgotten {
        /// That plan.
        plan: Plan,
    },
    /// A plan is tried for the first time since the search was opened.
    Try {
        /// That plan.
        plan: Plan,
        /// Each worker keeps to a processor of its own.
        pinned: bool,
        /// Its cost as a multiple of the incumbent's, as believed.
        expected: f64,
        /// That belief rests on measurements of this very plan.
        known: bool,
        /// Expected gain over the rest of the stream, in units of time the incumbent takes.
        gain_units: f64,
    },
    /// A unit of a plan under trial was abandoned.
    CutOff {
        /// That plan.
        plan: Plan,
        /// When it was abandoned; where units overlap, one's share of that.
        after: f64,
        /// The incumbent's cost.
        incumbent: f64,
    },
    /// The first plan of all was abandoned on its first unit.
    FirstCutOff {
        /// That plan.
        plan: Plan,
        /// When it was abandoned; where units overlap, one's share of that.
        after: f64,
        /// The plan that takes its place.
        fallback: Plan,
        /// The time of the same unit under it.
        redo: f64,
    },
    /// A plan was measured beside the incumbent, and becomes it or not.
    Compared {
        /// That plan.
        plan: Plan,
        /// Its cost.
        cost: f64,
        /// The incumbent's cost beside it.
        incumbent: f64,
        /// Experiments it was measured in.
        experiments: u32,
        /// It becomes the incumbent.
        switch: bool,
    },
    /// Nothing left is worth its price: the incumbent runs, with a look at the others now and then.
    Settled {
        /// The incumbent.
        plan: Plan,
        /// Its cost.
        cost: f64,
        /// Plans that were run so far.
        tried: u32,
    },
    /// The incumbent's cost changed for good; the search is open again.
    Drift {
        /// The incumbent.
        plan: Plan,
        /// Its cost before.
        from: f64,
        /// Its cost now.
        to: f64,
    },
    /// Entries of the log were dropped here.
    LeftOut {
        /// How many.
        count: u64,
    },
}

impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.reason {
            Reason::LeftOut { count } => write!(f, "({count} decisions left out)"),
            reason if self.epoch == 0 => write!(f, "start: {reason}"),
            reason => write!(f, "epoch {}: {reason}", self.epoch),
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Reason::Fixed { plan } => write!(f, "{plan}, as asked for"),
            Reason::Start { plan, predicted } => {
                write!(
                    f,
                    "{plan}, predicted {}, the least of all structures",
                    Time(predicted)
                )
            }
            Reason::Remembered { plan, model } if plan == model => {
                write!(f, "{plan}, which won before and is the model's choice too")
            }
            Reason::Remembered { plan, model } => {
                write!(
                    f,
                    "{plan}, which won before; to be verified against {model}"
                )
            }
            Reason::Forgotten { plan } => {
                write!(f, "{plan} won before but does not fit this stream: ignored")
            }
            Reason::Try {
                plan,
                pinned,
                expected,
                known,
                gain_units,
            } => {
                let pinned = if pinned {
                    " on processors of their own"
                } else {
                    ""
                };
                let expected_by = if known {
                    "last known at"
                } else {
                    "predicted at"
                };
                write!(
                    f,
                    "try {plan}{pinned}, {expected_by} {expected:.2}x the incumbent; may save {gain_units:.1} units \
                     of time"
                )
            }
            Reason::CutOff {
                plan,
                after,
                incumbent,
            } => write!(
                f,
                "{plan} cut off after {}, {:.1}x the incumbent's {}",
                Time(after),
                after / incumbent,
                Time(incumbent)
            ),
            Reason::FirstCutOff {
                plan,
                after,
                fallback,
                redo,
            } => write!(
                f,
                "{plan} cut off after {}, far beyond its prediction; {fallback} did the unit in {}: switch",
                Time(after),
                Time(redo)
            ),
            Reason::Compared {
                plan,
                cost,
                incumbent,
                experiments,
                switch,
            } => write!(
                f,
                "{plan} measured {}, incumbent {} over {}: {} ({}{})",
                Time(cost),
                Time(incumbent),
                Experiments(experiments),
                if switch {
                    "switch"
                } else {
                    "keep the incumbent"
                },
                Change(cost, incumbent),
                if !switch && cost < 0.995 * incumbent {
                    ", too little to be sure"
                } else {
                    ""
                }
            ),
            Reason::Settled { plan, cost, tried } => {
                write!(
                    f,
                    "settled on {plan} at {}, {tried} plans tried",
                    Time(cost)
                )
            }
            Reason::Drift { plan, from, to } => write!(
                f,
                "{plan} went from {} to {}: search again",
                Time(from),
                Time(to)
            ),
            Reason::LeftOut { count } => write!(f, "{count} decisions left out"),
        }
    }
}

/// Seconds in the unit a reader expects, three digits.
struct Time(f64);

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (value, unit) = match self.0 {
            s if s >= 0.9995 => (s, "s"),
            s if s >= 0.9995e-3 => (s * 1e3, "ms"),
            s => (s * 1e6, "\u{b5}s"),
        };
        let digits = match value {
            v if v >= 99.95 => 0,
            v if v >= 9.995 => 1,
            _ => 2,
        };
        write!(f, "{value:.digits$} {unit}")
    }
}

struct Experiments(u32);

impl fmt::Display for Experiments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            1 => f.write_str("1 experiment"),
            experiments => write!(f, "{experiments} experiments"),
        }
    }
}

/// How a cost compares with the incumbent's.
struct Change(f64, f64);

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = 100.0 * (self.0 / self.1 - 1.0);
        match percent {
            p if p <= -0.5 => write!(f, "{:.0} % faster", -p),
            p if p < 0.5 => write!(f, "no different"),
            p => write!(f, "{p:.0} % slower"),
        }
    }
}

/// The log itself.
#[derive(Clone, Debug)]
pub(super) struct Log {
    entries: Vec<Decision>,
}

impl Log {
    pub(super) fn new() -> Log {
        Log {
            entries: Vec::with_capacity(64),
        }
    }

    pub(super) fn entries(&self) -> &[Decision] {
        &self.entries
    }

    /// Adds a decision unless the same was the last of its kind.
    pub(super) fn settled(&mut self, epoch: u64, reason: Reason) {
        let plan = |reason: &Reason| match reason {
            Reason::Settled { plan, tried, .. } => Some((*plan, *tried)),
            _ => None,
        };
        let last = self.entries.iter().rev().find_map(|d| plan(&d.reason));
        if last != plan(&reason) {
            self.push(epoch, reason);
        }
    }

    pub(super) fn push(&mut self, epoch: u64, reason: Reason) {
        if self.entries.len() >= MOST {
            self.thin_out();
        }
        self.entries.push(Decision { epoch, reason });
    }

    /// Replaces entries after the first ones by one that counts them.
    fn thin_out(&mut self) {
        let dropped = self.entries.drain(FIRST..FIRST + DROPPED);
        let count = dropped
            .map(|d| match d.reason {
                Reason::LeftOut { count } => count,
                _ => 1,
            })
            .sum();
        self.entries.insert(
            FIRST,
            Decision {
                epoch: 0,
                reason: Reason::LeftOut { count },
            },
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Dispatch;
    use crate::structure::fixtures::TILED;

    const PLAN: Plan = Plan {
        structure: &TILED,
        dispatch: Dispatch::Steal,
        grain: 34,
        workers: 2,
        devices: 0,
    };

    #[test]
    fn a_switch_reads_as_a_sentence() {
        let reason = Reason::Compared {
            switch: true,
            plan: PLAN,
            cost: 1.21e-3,
            incumbent: 1.3e-3,
            experiments: 5,
        };
        assert_eq!(
            Decision { epoch: 7, reason }.to_string(),
            "epoch 7: tiled \u{b7} steal \u{b7} grain 34 \u{b7} 2 workers measured 1.21 ms, incumbent 1.30 ms over \
             5 experiments: switch (7 % faster)"
        );
    }

    #[test]
    fn times_have_three_digits() {
        for (s, text) in [
            (15.04e-6, "15.0 \u{b5}s"),
            (999.9e-6, "1.00 ms"),
            (0.0123, "12.3 ms"),
            (0.1234, "123 ms"),
            (2.5, "2.50 s"),
        ] {
            assert_eq!(Time(s).to_string(), text);
        }
    }

    #[test]
    fn a_long_log_keeps_its_ends_and_counts_the_rest() {
        let mut log = Log::new();
        for epoch in 1..=5000 {
            log.push(epoch, Reason::Fixed { plan: PLAN });
        }
        assert!(log.entries().len() <= MOST);
        assert_eq!(log.entries()[0].epoch, 1);
        assert_eq!(log.entries().last().unwrap().epoch, 5000);
        let left_out: u64 = log
            .entries()
            .iter()
            .map(|d| {
                if let Reason::LeftOut { count } = d.reason {
                    count
                } else {
                    0
                }
            })
            .sum();
        assert_eq!(left_out as usize + log.entries().len() - 1, 5000);
        assert!(
            log.entries()[FIRST]
                .to_string()
                .contains("decisions left out")
        );
    }
}
