//! The search behind [`Choice::Auto`](crate::plan::Choice::Auto): it chooses the next epoch.

mod outcome;
mod price;

use std::time::Duration;

use self::price::Ledger;
use super::Totals;
use super::api::{Epoch, Gain, Purpose, SetupError, Summary, TunerSetup};
use super::arm::Arm;
use super::belief::Belief;
use super::candidates::{STRUCTURE_SIGMA, add_devices, add_neighbours, add_structures};
use super::decision::{Log, Time};
use super::drift::Drift;
use super::level::Level;
use super::model::Model;
use crate::plan::{Choice, Plan};
use crate::structure::SEQUENTIAL;

/// Seconds a block takes at least, and the most units for that.
const BLOCK_S: f64 = 0.2e-3;
const BLOCK_UNITS: f64 = 16.0;
/// Seconds that an epoch of a settled plan grows to.
const LONG_EPOCH_S: f64 = 0.05;
/// Seconds that blocks grow to.
const LONG_BLOCK_S: f64 = 4e-3;
/// A plan that takes so many times the incumbent's cost, and so much (seconds) beyond it, is given up in the middle of a
/// unit: less could be a timer interrupt or fresh memory.
const CUTOFF: f64 = 2.2;
const CUTOFF_LEAST_S: f64 = 100e-6;

/// The incumbent, another plan, the incumbent again.
#[derive(Clone, Copy, Debug)]
struct Experiment {
    arm: usize,
    /// Units of each block that count.
    units: u32,
    /// The logarithm of what the incumbent cost before.
    before: f64,
    /// That of what the other plan cost, and the measurements that it is the mean of, once it ran.
    other: Option<(f64, usize)>,
}

/// The search and what it knows.
#[derive(Debug)]
pub(super) struct Search {
    model: Model,
    /// There is but one plan, which the user named.
    fixed: bool,
    /// Units of the stream, if known.
    length: Option<u64>,
    /// Every plan that is considered. Their beliefs are about costs as multiples of the incumbent's.
    arms: Vec<Arm>,
    incumbent: usize,
    level: Level,
    drift: Drift,
    /// Units of the incumbent that do not make a window of the drift test yet.
    watched: Vec<f64>,
    experiment: Option<Experiment>,
    /// What the incumbent's latest block cost (log), and its units, unless another plan ran since.
    latest: Option<(f64, u32)>,
    /// Another structure ran since the incumbent.
    away: bool,
    ledger: Ledger,
    /// Seconds to make the buffers of one more unit, and units that can be in work with those there are.
    pair_s: f64,
    buffers: u32,
    /// Seconds that leaving a plan with devices took last, or a unit of theirs.
    drain_s: f64,
    /// Units of the incumbent's next epoch.
    units: u32,
    /// Seconds of the first unit, and by how much it took longer than those after it, once some were run.
    first: f64,
    cold_s: f64,
    /// Units after the first have been run, so that there is a cost to compare with.
    started: bool,
    /// The machine has become slower than it was.
    slowed: bool,
    /// Seconds of the stream when the machine changed.
    changed: f64,
    tried: u32,
    switches: u32,
    drifts: u32,
    /// That nothing else is worth its price is in the log.
    settled: bool,
}

impl Search {
    pub(super) fn new(setup: &TunerSetup, log: &mut Log) -> Result<Search, SetupError> {
        let model = Model::new(setup)?;
        let (start, text) = match &setup.choice {
            Choice::Fixed {
                structure,
                dispatch,
                grain,
            } => {
                let plan = model.fixed(structure, *dispatch, *grain)?;
                (plan, format!("{plan}, as asked for"))
            }
            Choice::Auto => {
                let best = model.safest().ok_or(SetupError::NoShape)?;
                // Devices are not open yet.
                let remembered = setup.remembered.map(|plan| Plan { devices: 0, ..plan });
                match remembered {
                    Some(plan) if model.allows(&plan) => (
                        plan,
                        format!("{plan}, which won before; {best} by prediction"),
                    ),
                    Some(plan) => (
                        best,
                        format!("{best}; {plan}, which won before, does not fit"),
                    ),
                    None => {
                        let predicted = Time(model.seconds(&best));
                        (best, format!("{best}, predicted {predicted}"))
                    }
                }
            }
        };
        log.push(0, text);
        let mut arms = vec![Arm::new(start, false, true, Belief::CERTAIN)];
        let fixed = setup.choice != Choice::Auto;
        if !fixed {
            add_structures(&mut arms, &model);
        }
        Ok(Search {
            model,
            fixed,
            length: setup.units,
            arms,
            incumbent: 0,
            level: Level::default(),
            drift: Drift::default(),
            watched: Vec::new(),
            experiment: None,
            latest: None,
            away: false,
            ledger: Ledger::default(),
            pair_s: 0.0,
            buffers: 1,
            drain_s: 0.0,
            units: 1,
            first: 0.0,
            cold_s: 0.0,
            started: false,
            slowed: false,
            changed: 0.0,
            tried: 0,
            switches: 0,
            drifts: 0,
            settled: false,
        })
    }

    /// Takes how many devices there are from now on, and how many units a second they compute, if known.
    pub(super) fn devices(
        &mut self,
        (devices, rate): (u32, Option<f64>),
        totals: &Totals,
        log: &mut Log,
    ) {
        if self.fixed {
            return;
        }
        self.model.devices = devices;
        let incumbent = &mut self.arms[self.incumbent].plan;
        incumbent.devices = incumbent.devices.min(devices);
        self.experiment = None;
        let gone = |arm: &&mut Arm| arm.plan.devices > devices;
        self.arms.iter_mut().filter(gone).for_each(Arm::retire);
        let known = rate.filter(|&rate| rate > 0.0).zip(self.cost());
        add_devices(&mut self.arms, &mut self.model, known);
        if let Some((rate, cost)) = known {
            self.drain_s = f64::from(devices) / rate;
            for arm in self.arms.iter().filter(|arm| arm.plan.devices == devices) {
                let (plan, with) = (arm.plan, Time(cost * arm.belief.mu.exp()));
                let text = format!("{plan} predicted {with}, incumbent {}", Time(cost));
                log.push(totals.epochs, text);
            }
        }
    }

    /// Takes what leaving a plan with devices took. Where that was an experiment, its units had it in their cost.
    pub(super) fn drained(&mut self, seconds: f64) {
        self.drain_s = seconds;
        if self.incumbent().devices > 0 {
            self.ledger.lose(seconds);
        }
    }

    /// Takes what a pair of buffers costs to make, and how many units can be in work with those there are.
    pub(super) fn buffers(&mut self, pair_s: f64, units: u32) {
        (self.pair_s, self.buffers) = (pair_s, units.max(1));
    }

    /// Takes what making memory took for the epoch that runs.
    pub(super) fn prepared(&mut self, seconds: f64) {
        if !self.fixed {
            self.ledger.total += seconds;
        }
    }

    pub(super) fn incumbent(&self) -> Plan {
        self.arms[self.incumbent].plan
    }

    /// What the next epoch does: a block of the experiment that runs, else the first block of the one that is most
    /// worth its price, else the incumbent for as long as twice before.
    pub(super) fn next(&mut self, number: u64, totals: &Totals, log: &mut Log) -> Epoch {
        let Some(cost) = self.cost() else {
            // The first unit warms caches and touches memory. What it takes decides nothing.
            return self.stay(number, 1);
        };
        let block = block_units(cost);
        if let Some(experiment) = self.experiment {
            // The incumbent's turn, after the other plan.
            return self.stay(number, experiment.units + self.warmup(self.incumbent));
        }
        if !self.started || self.level.len() < 2.max(block as usize / 2) {
            return self.stay(number, block);
        }
        let Some(arm) = self.pick(totals) else {
            if !self.fixed && !std::mem::replace(&mut self.settled, true) {
                let (plan, tried) = (self.incumbent(), self.tried);
                let text = format!("settled on {plan} at {}, {tried} plans tried", Time(cost));
                log.push(number - 1, text);
            }
            return self.stay(number, self.units.max(block));
        };
        let units = self.block(arm);
        match self.latest {
            Some((before, counted)) if counted >= units => {
                self.experiment = Some(Experiment {
                    arm,
                    units,
                    before,
                    other: None,
                });
                self.measure(number, arm, units, cost)
            }
            // The incumbent's turn, before the other plan.
            _ => self.stay(number, units + self.warmup(self.incumbent)),
        }
    }

    /// An epoch of the incumbent.
    fn stay(&self, number: u64, units: u32) -> Epoch {
        let arm = &self.arms[self.incumbent];
        Epoch {
            number,
            plan: arm.plan,
            units: self.model.footprint(&arm.plan).round(units),
            cutoff: None,
            fallback: arm.plan,
            pin_workers: arm.pinned,
            purpose: if self.fixed {
                Purpose::Fixed
            } else {
                Purpose::Incumbent
            },
        }
    }

    /// An epoch of the other plan of an experiment. Only a structure that was never run to the end of a unit has a
    /// limit: what another plan of a known one costs is known well enough, and a spike is no reason to give up. A device
    /// cannot be told to give up.
    fn measure(&self, number: u64, index: usize, units: u32, cost: f64) -> Epoch {
        let arm = &self.arms[index];
        let usual = cost * self.in_work(&arm.plan);
        let limit = (CUTOFF * usual).max(usual + CUTOFF_LEAST_S);
        let limited = self.is_new(index) && arm.plan.devices == 0;
        let footprint = self.model.footprint(&arm.plan);
        Epoch {
            plan: arm.plan,
            units: footprint.round(units + self.warmup(index)),
            cutoff: limited.then(|| Duration::from_secs_f64(limit)),
            pin_workers: arm.pinned,
            purpose: Purpose::Trial,
            ..self.stay(number, 1)
        }
    }

    /// No plan of this arm's structure, with devices or without as it is, was ever run to the end of a unit.
    fn is_new(&self, index: usize) -> bool {
        let plan = self.arms[index].plan;
        let same =
            |of: Plan| of.structure == plan.structure && (of.devices > 0) == (plan.devices > 0);
        !self.arms.iter().any(|arm| arm.ran && same(arm.plan))
    }

    /// An arm's structure is not the incumbent's.
    fn is_away(&self, index: usize) -> bool {
        self.arms[index].plan.structure != self.incumbent().structure
    }

    /// Units of an arm's next epoch that do not count.
    fn warmup(&self, index: usize) -> u32 {
        let arm = &self.arms[index];
        let is_cold = match index == self.incumbent {
            true => self.away,
            false => self.is_away(index) || !arm.ran,
        };
        if is_cold {
            self.model.footprint(&arm.plan).warmup
        } else {
            0
        }
    }

    fn in_work(&self, plan: &Plan) -> f64 {
        f64::from(self.model.footprint(plan).in_work)
    }

    /// The incumbent's cost of the moment, in seconds.
    fn cost(&self) -> Option<f64> {
        let few = self.level.log(5)?.exp();
        let window = (2 * block_units(few) as usize).clamp(5, 32);
        self.level.log(window).map(f64::exp)
    }

    fn neighbours(&mut self, index: usize) {
        if self.fixed {
            return;
        }
        add_neighbours(&mut self.arms, &self.model, index, self.slowed);
    }

    /// Corrects the model by what structures took, and with it what is believed of those that were never run.
    fn calibrate(&mut self) {
        let Some(level) = self.cost().map(f64::ln) else {
            return;
        };
        let incumbent = self.incumbent;
        let known = |index: usize, arm: &Arm| index == incumbent || arm.measured;
        let leads = self.arms.iter().enumerate().filter(|(_, arm)| arm.leads);
        let measured: Vec<(Plan, f64)> = leads
            .filter(|&(index, arm)| known(index, arm))
            .map(|(_, arm)| (arm.plan, (level + arm.belief.mu).exp()))
            .collect();
        self.model.fit(&measured);
        for (index, arm) in self.arms.iter_mut().enumerate() {
            if arm.leads && !arm.tried && !known(index, arm) {
                let mu = self.model.seconds(&arm.plan).ln() - level;
                arm.belief = Belief::new(mu, STRUCTURE_SIGMA);
            }
        }
    }

    /// The result so far.
    pub(super) fn summary(&self, totals: &Totals) -> Summary {
        let cost = self.cost().map(Duration::from_secs_f64);
        Summary {
            plan: self.incumbent(),
            cost,
            gain: cost.filter(|_| !self.fixed).and_then(|_| self.gain()),
            epochs: totals.epochs,
            units: totals.units,
            elapsed: Duration::from_secs_f64(totals.seconds),
            exploring: Duration::from_secs_f64(self.ledger.total),
            plans_tried: self.tried,
            switches: self.switches,
            drifts: self.drifts,
        }
    }

    /// How much faster the incumbent is than `sequential`.
    fn gain(&self) -> Option<Gain> {
        let plain = self.model.shape(&SEQUENTIAL)?.structure;
        let gain = |factor, measured| Some(Gain { factor, measured });
        if self.incumbent().structure == plain {
            return gain(1.0, true);
        }
        let of_plain = self.arms.iter().filter(|arm| arm.plan.structure == plain);
        let least = |arms: &mut dyn Iterator<Item = &Arm>| {
            arms.map(|arm| arm.belief.mu).min_by(f64::total_cmp)
        };
        if let Some(mu) = least(&mut of_plain.clone().filter(|arm| arm.measured)) {
            return gain(mu.exp(), true);
        }
        // Less than 1, or more than there are cpus, would have to be seen to be believed.
        let factor = least(&mut of_plain.into_iter())?.exp();
        (factor >= 1.0).then(|| gain(factor.min(self.model.cpus), false))?
    }
}

/// Units of the shortest block of a plan that costs so much.
fn block_units(cost: f64) -> u32 {
    (BLOCK_S / cost.max(1e-9)).clamp(1.0, BLOCK_UNITS) as u32
}

/// The length of the next epoch of a plan that stays: twice the last, up to [`LONG_EPOCH_S`].
fn grown(units: u32, cost: f64) -> u32 {
    let most = (LONG_EPOCH_S / cost.max(1e-9)).clamp(1.0, 65_536.0) as u32;
    units.saturating_mul(2).clamp(1, most)
}
