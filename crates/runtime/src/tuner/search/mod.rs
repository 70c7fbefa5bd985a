//! The search behind [`Choice::Auto`](crate::plan::Choice::Auto): what the next epoch does.

mod outcome;
mod price;

use std::time::Duration;

use self::price::{Ledger, MemoryCost};
use super::Totals;
use super::api::{Epoch, Gain, Purpose, SetupError, Summary, TunerSetup};
use super::arm::Arm;
use super::belief::Belief;
use super::candidates::{STRUCTURE_SIGMA, add_devices, add_neighbours, add_structures, probe_plan};
use super::decision::{Log, Reason};
use super::drift::Drift;
use super::level::Level;
use super::model::Model;
use crate::plan::Plan;

/// Seconds a block takes at least, and the most units for that.
const BLOCK_S: f64 = 0.2e-3;
const BLOCK_UNITS: f64 = 16.0;
/// Seconds that blocks grow to, and that the last epochs of a stream may take.
const LONG_BLOCK_S: f64 = 4e-3;
/// A cutoff is so many times the incumbent's cost, and so much (seconds) beyond it at least: below, a timer interrupt
/// or fresh memory would look like a hopeless plan.
const CUTOFF: f64 = 2.2;
const CUTOFF_LEAST_S: f64 = 100e-6;
/// The very first unit may take this many times the predicted cost, and so much (seconds) at least.
const FIRST_CUTOFF: f64 = 5.0;
const FIRST_CUTOFF_LEAST_S: f64 = 0.5e-3;

/// Which block of an experiment runs.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Side {
    Before,
    /// Few units of a structure that was never run, in small jobs, so that a hopeless one is soon given up.
    Probe,
    Other,
    After,
}

/// The incumbent, another plan, the incumbent again.
#[derive(Clone, Copy, Debug)]
struct Experiment {
    arm: usize,
    side: Side,
    /// Units of each block that count.
    units: u32,
    /// Logarithms of what the blocks cost.
    before: f64,
    other: f64,
    /// Measurements that the other's cost is the mean of.
    counted: usize,
    /// The other plan may still become faster.
    warming: bool,
}

/// The search and what it knows.
#[derive(Debug)]
pub(super) struct Search {
    model: Model,
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
    memory: MemoryCost,
    /// Seconds that leaving a plan with devices took last.
    drain_s: f64,
    fallback: Plan,
    /// Units of the incumbent's next epoch.
    units: u32,
    started: bool,
    /// The machine has become slower than it was.
    slowed: bool,
    /// Seconds of the stream when the machine changed, and for how long it stays as it is, once it has.
    changed: f64,
    stays: Option<f64>,
    tried: u32,
    switches: u32,
    drifts: u32,
}

impl Search {
    pub(super) fn new(
        model: Model,
        setup: &TunerSetup,
        log: &mut Log,
    ) -> Result<Search, SetupError> {
        let best = model.safest().ok_or(SetupError::NoShape)?;
        // Devices are not there yet.
        let remembered = setup.remembered.map(|plan| Plan { devices: 0, ..plan });
        let remembered = remembered.filter(|plan| model.allows(plan));
        let predicted = model.seconds(&best);
        match (setup.remembered, remembered) {
            (_, Some(plan)) => log.push(0, Reason::Remembered { plan, model: best }),
            (Some(plan), None) => log.push(0, Reason::Forgotten { plan }),
            (None, None) => {}
        }
        if remembered.is_none() {
            log.push(
                0,
                Reason::Start {
                    plan: best,
                    predicted,
                },
            );
        }
        let start = remembered.unwrap_or(best);
        let mut arms = vec![Arm::new(start, false, true, Belief::new(0.0, 0.01))];
        add_structures(&mut arms, &model);
        let others = arms
            .iter()
            .filter(|arm| arm.plan.structure != start.structure && !arm.plan.structure.overlaps());
        let fallback = others.min_by(|a, b| a.belief.mu.total_cmp(&b.belief.mu));
        Ok(Search {
            fallback: fallback.map_or(start, |arm| arm.plan),
            model,
            length: setup.units,
            arms,
            incumbent: 0,
            level: Level::new(),
            drift: Drift::new(),
            watched: Vec::new(),
            experiment: None,
            latest: None,
            away: false,
            ledger: Ledger::default(),
            memory: MemoryCost::new(),
            drain_s: 0.0,
            units: 1,
            started: false,
            slowed: false,
            changed: 0.0,
            stays: None,
            tried: 0,
            switches: 0,
            drifts: 0,
        })
    }

    /// Takes how many devices there are from now on.
    pub(super) fn devices(&mut self, devices: u32) {
        self.model.set_devices(devices);
        let incumbent = &mut self.arms[self.incumbent].plan;
        incumbent.devices = incumbent.devices.min(devices);
        self.experiment = None;
        let gone = |arm: &mut Arm| arm.plan.devices > devices;
        for arm in self
            .arms
            .iter_mut()
            .filter_map(|arm| gone(arm).then_some(arm))
        {
            arm.retire();
        }
        add_devices(&mut self.arms, &self.model);
    }

    /// Takes what leaving a plan with devices took. Where that was an experiment, its units had it in their cost.
    pub(super) fn drained(&mut self, seconds: f64) {
        self.drain_s = seconds;
        if self.incumbent().devices > 0 {
            self.ledger.lose(seconds);
        }
    }

    pub(super) fn incumbent(&self) -> Plan {
        self.arms[self.incumbent].plan
    }

    /// What the next epoch does: a block of the experiment that runs, else the first block of the one that is most
    /// worth its price, else the incumbent for as long as twice before.
    pub(super) fn next(&mut self, number: u64, totals: &Totals, log: &mut Log) -> Epoch {
        if totals.units == 0 {
            return self.first(number);
        }
        let Some(cost) = self.cost() else {
            return self.stay(number, 1);
        };
        if !self.started && self.level.len() > 1 {
            self.started = true;
            self.neighbours(self.incumbent);
            self.calibrate();
        }
        let block = block_units(cost);
        if self.experiment.is_none() && self.level.len() < 2.max(block as usize / 2) {
            return self.stay(number, block);
        }
        if self.experiment.is_none() && !self.drift.suspects() {
            self.begin(number, totals, log);
        }
        match self.experiment {
            Some(experiment) if matches!(experiment.side, Side::Before | Side::After) => {
                self.stay(number, experiment.units + self.warmup(self.incumbent))
            }
            Some(experiment) => self.measure(number, &experiment, cost),
            None => {
                let (plan, tried) = (self.incumbent(), self.tried);
                log.settled(number - 1, Reason::Settled { plan, cost, tried });
                // The end of a stream is never far for a plan that went wrong in the middle of an epoch.
                let most = (self.remaining(totals) / 8.0)
                    .max(LONG_BLOCK_S / cost)
                    .max(1.0);
                self.stay(number, self.units.min(most as u32).max(block))
            }
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
            purpose: Purpose::Incumbent,
        }
    }

    /// The first unit of all is cold and nothing is known. It is run in small jobs, and given up if it takes far longer
    /// than predicted.
    fn first(&self, number: u64) -> Epoch {
        let plan = self.incumbent();
        let mut epoch = self.stay(number, 1);
        epoch.plan = probe_plan(&self.model, plan);
        epoch.purpose = Purpose::Trial;
        if self.fallback != plan {
            let limit = FIRST_CUTOFF * self.model.seconds(&plan) * self.in_work(&plan);
            epoch.cutoff = Some(Duration::from_secs_f64(
                limit.clamp(FIRST_CUTOFF_LEAST_S, 1e6),
            ));
            epoch.fallback = self.fallback;
        }
        epoch
    }

    /// Begins the experiment that is most worth its price, if one is.
    fn begin(&mut self, number: u64, totals: &Totals, log: &mut Log) {
        let Some((index, worth)) = self.pick(totals) else {
            return;
        };
        let units = self.block(index, totals);
        let side = self.other_side(index);
        let arm = &mut self.arms[index];
        if !std::mem::replace(&mut arm.announced, true) {
            let reason = Reason::Try {
                plan: arm.plan,
                pinned: arm.pinned,
                expected: arm.belief.mu.exp(),
                known: arm.tried,
                gain_units: worth.gain,
            };
            log.push(number - 1, reason);
        }
        let before = self.latest.filter(|&(_, counted)| counted >= units);
        self.experiment = Some(Experiment {
            arm: index,
            side: if before.is_some() { side } else { Side::Before },
            units,
            before: before.map_or(0.0, |(cost, _)| cost),
            other: 0.0,
            counted: 0,
            warming: false,
        });
    }

    /// The first block of another plan.
    fn other_side(&self, index: usize) -> Side {
        match self.is_new(index) {
            true => Side::Probe,
            false => Side::Other,
        }
    }

    /// An epoch of the other plan of an experiment. Only a structure that was never run to the end of a unit has a
    /// limit: what another plan of a known one costs is known well enough, and a spike is no reason to give up.
    fn measure(&self, number: u64, experiment: &Experiment, cost: f64) -> Epoch {
        let arm = &self.arms[experiment.arm];
        let mut epoch = self.stay(number, 1);
        let footprint = self.model.footprint(&arm.plan);
        epoch.purpose = Purpose::Trial;
        epoch.plan = arm.plan;
        epoch.pin_workers = arm.pinned;
        epoch.units = footprint.round(experiment.units + self.warmup(experiment.arm));
        if experiment.side == Side::Probe {
            epoch.plan = probe_plan(&self.model, arm.plan);
            epoch.units = footprint.round(1);
        }
        // A device cannot be told to give up.
        if self.is_new(experiment.arm) && arm.plan.devices == 0 {
            let usual = cost * self.in_work(&arm.plan);
            let limit = (CUTOFF * usual).max(usual + CUTOFF_LEAST_S);
            epoch.cutoff = Some(Duration::from_secs_f64(limit));
        }
        epoch
    }

    /// No plan of this arm's structure, with devices or without as it is, was ever run to the end of a unit.
    fn is_new(&self, index: usize) -> bool {
        let plan = self.arms[index].plan;
        let same =
            |of: Plan| of.structure == plan.structure && (of.devices > 0) == (plan.devices > 0);
        let ran = |arm: &Arm| same(arm.plan) && arm.ran;
        !self.arms.iter().any(ran)
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
        match is_cold {
            true => self.model.footprint(&arm.plan).warmup,
            false => 0,
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
        add_neighbours(&mut self.arms, &self.model, index, self.slowed);
    }

    /// Corrects the predictions for structures that were never measured by how wrong those for the others were: by
    /// their mean error, to which one prediction that is right counts as well, because the search starts where the
    /// model erred low.
    fn calibrate(&mut self) {
        let Some(level) = self.cost().map(f64::ln) else {
            return;
        };
        let predicted = |arm: &Arm| self.model.seconds(&arm.plan).ln() - level;
        let measured =
            |&(index, arm): &(usize, &Arm)| arm.leads && (index == self.incumbent || arm.measured);
        let known = self.arms.iter().enumerate().filter(measured);
        let errors: Vec<f64> = known
            .map(|(_, arm)| arm.belief.mu - predicted(arm))
            .collect();
        let count = errors.len() as f64;
        let sum: f64 = errors.iter().sum();
        let squares: f64 = errors
            .iter()
            .map(|error| (error - sum / count).powi(2))
            .sum();
        let variance = (2.0 * STRUCTURE_SIGMA.powi(2) + squares) / (1.0 + count);
        let sigma = variance.sqrt().min(STRUCTURE_SIGMA);
        let incumbent = self.incumbent;
        let unknown = |&(index, ref arm): &(usize, &mut Arm)| {
            arm.leads && !arm.measured && index != incumbent
        };
        for (_, arm) in self.arms.iter_mut().enumerate().filter(unknown) {
            let mu = self.model.seconds(&arm.plan).ln() - level + sum / (count + 1.0);
            arm.predict(Belief::new(mu, sigma));
        }
    }

    /// Fills in what `Tuner::summary` cannot know.
    pub(super) fn summarise(&self, summary: &mut Summary) {
        let cost = self.cost();
        summary.cost = cost.map(Duration::from_secs_f64);
        summary.exploring = Duration::from_secs_f64(self.ledger.total);
        summary.plans_tried = self.tried;
        summary.switches = self.switches;
        summary.drifts = self.drifts;
        summary.gain = cost.and_then(|_| self.gain());
    }

    fn gain(&self) -> Option<Gain> {
        let plain = self.model.plainest()?;
        let gain = |factor, measured| Some(Gain { factor, measured });
        if self.incumbent().structure == plain {
            return gain(1.0, true);
        }
        let of_plain = self.arms.iter().filter(|arm| arm.plan.structure == plain);
        let measured = of_plain.filter(|arm| arm.measured).map(|arm| arm.belief.mu);
        if let Some(mu) = measured.min_by(f64::total_cmp) {
            return gain(mu.exp(), true);
        }
        let predicted = self.model.seconds(&self.model.best_plan(plain));
        let factor = predicted / self.model.seconds(&self.incumbent());
        // A speed-up of more than there are cpus would have to be seen to be believed.
        gain(factor.min(self.model.cpus()), false)
    }
}

/// Units of the shortest block of a plan that costs so much.
fn block_units(cost: f64) -> u32 {
    (BLOCK_S / cost.max(1e-9)).clamp(1.0, BLOCK_UNITS) as u32
}
