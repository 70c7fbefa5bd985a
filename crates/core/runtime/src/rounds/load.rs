//! Rounds with about the same number of items, and their plan.

use std::fmt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::plan::Plan;
use crate::sync::lock;
use crate::tuner::{Epoch, Measured, SetupError, Tuner, TunerSetup};

/// Rounds of a load.
#[derive(Debug)]
pub(super) struct Load {
    least: u32,
    most: Option<u32>,
    /// What a round is thought to have where rounds differ.
    items: u32,
    rounds: AtomicU64,
    computed: AtomicU64,
    nanos: AtomicU64,
    mode: Mode,
}

#[derive(Debug)]
enum Mode {
    Fixed(Plan),
    Tuned(Box<Mutex<Search>>),
}

#[derive(Debug)]
struct Search {
    tuner: Tuner,
    epoch: Epoch,
    costs: Vec<Duration>,
}

/// The result for a load. `Display` prints one line.
#[derive(Clone, Debug)]
pub struct LoadReport {
    /// Minimum number of items in its rounds.
    pub least: u32,
    /// Maximum number of items in its rounds, if limited.
    pub most: Option<u32>,
    /// The number of rounds.
    pub rounds: u64,
    /// Average time of an item: the time of its round divided by the items of the round.
    pub item: Duration,
    /// The current plan.
    pub plan: Plan,
    /// The number of plans tried.
    pub tried: u32,
    /// Every decision with its reason, oldest first. A unit is a round with the maximum number of items.
    pub decisions: Vec<String>,
}

impl Load {
    pub(super) fn tuned(
        least: u32,
        most: Option<u32>,
        items: u32,
        setup: TunerSetup,
    ) -> Result<Load, SetupError> {
        let mut tuner = Tuner::new(setup)?;
        let epoch = tuner.next();
        let search = Search {
            tuner,
            epoch,
            costs: Vec::new(),
        };
        let mode = Mode::Tuned(Box::new(Mutex::new(search)));
        Ok(Load::with(least, most, items, mode))
    }

    pub(super) fn fixed(least: u32, most: Option<u32>, plan: Plan) -> Load {
        Load::with(least, most, least, Mode::Fixed(plan))
    }

    fn with(least: u32, most: Option<u32>, items: u32, mode: Mode) -> Load {
        Load {
            least,
            most,
            items,
            rounds: AtomicU64::new(0),
            computed: AtomicU64::new(0),
            nanos: AtomicU64::new(0),
            mode,
        }
    }

    /// The epoch, and its plan; for a round beside others, which tells nothing of a plan, the best one known.
    pub(super) fn plan(&self, alone: bool) -> (u64, Plan) {
        match &self.mode {
            Mode::Fixed(plan) => (0, *plan),
            Mode::Tuned(search) => {
                let search = lock(search);
                let epoch = &search.epoch;
                match alone {
                    true => (epoch.number, epoch.plan),
                    false => (epoch.number, search.tuner.incumbent()),
                }
            }
        }
    }

    /// A round of an epoch took so long; `alone` says that nobody else ran one meanwhile.
    pub(super) fn ran(&self, epoch: u64, items: u32, time: Duration, alone: bool) {
        self.rounds.fetch_add(1, Ordering::Relaxed);
        self.computed.fetch_add(items.into(), Ordering::Relaxed);
        let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        self.nanos.fetch_add(nanos, Ordering::Relaxed);
        if let Mode::Tuned(search) = &self.mode
            && alone
        {
            let mut search = lock(search);
            // One that began before the epoch was of another plan.
            if search.epoch.number == epoch {
                search.take(time.mul_f64(f64::from(self.items) / f64::from(items)));
            }
        }
    }

    pub(super) fn report(&self) -> Option<LoadReport> {
        let rounds = self.rounds.load(Ordering::Relaxed);
        let computed = self.computed.load(Ordering::Relaxed);
        let item = self.nanos.load(Ordering::Relaxed).checked_div(computed)?;
        let (plan, tried, decisions) = match &self.mode {
            Mode::Fixed(plan) => (*plan, 1, Vec::new()),
            Mode::Tuned(search) => {
                let tuner = &lock(search).tuner;
                let decisions = tuner.decisions().iter().map(ToString::to_string);
                let tried = tuner.summary().plans_tried;
                (tuner.incumbent(), tried, decisions.collect())
            }
        };
        Some(LoadReport {
            least: self.least,
            most: self.most,
            rounds,
            item: Duration::from_nanos(item),
            plan,
            tried,
            decisions,
        })
    }
}

impl Search {
    fn take(&mut self, cost: Duration) {
        self.costs.push(cost);
        if self.costs.len() >= self.epoch.units as usize {
            self.tuner.record(Measured::Units { costs: &self.costs });
            self.costs.clear();
            self.epoch = self.tuner.next();
        }
    }
}

impl LoadReport {
    /// The sizes of its rounds: `1`, `2 to 3`, `32 or more`.
    pub fn items(&self) -> String {
        match self.most {
            Some(most) if most == self.least => most.to_string(),
            Some(most) => format!("{} to {most}", self.least),
            None => format!("{} or more", self.least),
        }
    }
}

impl fmt::Display for LoadReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let micros = self.item.as_secs_f64() * 1e6;
        let (items, rounds, tried) = (self.items(), self.rounds, self.tried);
        write!(
            f,
            "{items}: {rounds} rounds, {micros:.1} us an item, {}",
            self.plan
        )?;
        match tried {
            0 | 1 => Ok(()),
            _ => write!(f, ", best of {tried} plans"),
        }
    }
}
