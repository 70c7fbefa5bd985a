//! A stream in virtual time: a tuner is asked for epochs and told what a made-up machine takes for them.

use std::time::Duration;

use evener_runtime::tuner::{Epoch, Measured, Tuner};
use evener_runtime::{Plan, Structure};

use crate::host::{Cache, Host};
use crate::rng::Rng;
use crate::world::World;

/// One epoch as it went.
#[derive(Clone, Debug)]
pub struct Ran {
    pub first_unit: u64,
}

/// A stream that went to its end.
pub struct Run {
    pub tuner: Tuner,
    pub epochs: Vec<Ran>,
    /// Seconds of each unit, cut-off attempts included.
    pub units: Vec<f64>,
    /// Noise of each unit.
    pub luck: Vec<f64>,
}

impl Run {
    /// Throughput over `from..to` relative to the best fixed plan, which has the same luck.
    pub fn efficiency(&self, world: &World, from: u64, to: u64) -> f64 {
        let (plan, _) = world.best(from, to);
        let range = from as usize..to as usize;
        let best: f64 = range
            .clone()
            .map(|u| world.cost(&plan, u as u64) * self.luck[u])
            .sum();
        best / self.units[range].iter().sum::<f64>()
    }

    /// Efficiency from 50 ms after unit `from`, 20 units at least, to unit `to`.
    pub fn recovered(&self, world: &World, from: u64, to: u64) -> f64 {
        let mut seconds = 0.0;
        let found = |unit: &f64| {
            seconds += unit;
            seconds > 50e-3
        };
        let units = self.units[from as usize..].iter().position(found);
        let after = from + units.map_or(to, |units| units.max(20) as u64);
        let (plan, _) = world.best(from, to);
        let range = after as usize..to as usize;
        let best: f64 = range
            .clone()
            .map(|u| world.cost(&plan, u as u64) * self.luck[u])
            .sum();
        best / self.units[range].iter().sum::<f64>()
    }

    pub fn log(&self) -> String {
        self.tuner
            .decisions()
            .iter()
            .map(|d| format!("{d}\n"))
            .collect()
    }
}

/// Runs a stream through a tuner.
pub fn run(world: &World, seed: u64) -> Run {
    let mut stream = Stream::new(world, seed);
    while (stream.run.units.len() as u64) < world.units {
        stream.epoch();
    }
    stream.run
}

/// What the machine remembers of the plans that ran.
struct Stream<'w> {
    world: &'w World,
    rng: Rng,
    structures: Vec<&'static Structure>,
    plans: Vec<Plan>,
    last: Option<Plan>,
    cache: Cache,
    host: Option<Host>,
    buffers: u32,
    run: Run,
}

impl<'w> Stream<'w> {
    fn new(world: &'w World, seed: u64) -> Stream<'w> {
        let mut tuner = Tuner::new(world.setup()).expect("a setup that can run");
        tuner.buffers(Duration::from_secs_f64(world.buffer_s), world.buffers);
        Stream {
            world,
            rng: Rng::new(seed),
            structures: Vec::new(),
            plans: Vec::new(),
            last: None,
            cache: Cache(vec![0.0; world.truths.len()]),
            host: world.bursts.map(|bursts| Host::new(bursts, seed)),
            buffers: world.buffers,
            run: Run {
                tuner,
                epochs: Vec::new(),
                units: Vec::with_capacity(world.units as usize),
                luck: Vec::with_capacity(world.units as usize),
            },
        }
    }

    fn epoch(&mut self) {
        let epoch = self.run.tuner.next();
        let first_unit = self.run.units.len() as u64;
        let truth = self.world.truth(&epoch.plan);
        let made = self.make_memory(&epoch.plan);
        let left = (self.world.units - first_unit).min(u64::from(epoch.units));
        let mut costs = Vec::new();
        let mut cut = None;
        let mut begun = 0;
        while begun < left && cut.is_none() {
            let many = u64::from(truth.group).min(left - begun) as u32;
            cut = self.units(&epoch, first_unit + begun, many, &mut costs);
            begun += u64::from(many);
        }
        if let Some(first) = self.run.units.get_mut(first_unit as usize) {
            *first += made;
        }
        if truth.flows() {
            if self.world.farm_means {
                let mean = costs.iter().sum::<f64>() / costs.len().max(1) as f64;
                costs.fill(mean);
            }
            if cut.is_some() {
                costs.clear();
            }
        }
        let done: Vec<Duration> = costs.iter().map(|&c| Duration::from_secs_f64(c)).collect();
        match cut {
            None => self.run.tuner.record(Measured::Units { costs: &done }),
            Some((after, redo)) => self.run.tuner.record(Measured::CutOff {
                done: &done,
                after: Duration::from_secs_f64(after),
                redo: Duration::from_secs_f64(redo),
            }),
        }
        self.run.epochs.push(Ran { first_unit });
    }

    /// Seconds to make what a plan needs and no plan before it did.
    fn make_memory(&mut self, plan: &Plan) -> f64 {
        let truth = self.world.truth(plan);
        let mut made = 0.0;
        if !self.structures.contains(&plan.structure) {
            made += truth.fresh_s;
        }
        let more = truth.in_work(plan).saturating_sub(self.buffers);
        self.buffers += more;
        made += f64::from(more) * self.world.buffer_s;
        if made > 0.0 {
            self.run.tuner.prepared(Duration::from_secs_f64(made));
        }
        made
    }

    /// Runs a unit, or `many` that run together; what a cutoff came to.
    fn units(
        &mut self,
        epoch: &Epoch,
        unit: u64,
        many: u32,
        costs: &mut Vec<f64>,
    ) -> Option<(f64, f64)> {
        let (world, plan) = (self.world, epoch.plan);
        let truth = world.truth(&plan);
        let mut luck = luck(world, &mut self.rng);
        if let Some(host) = &mut self.host {
            let work = world.cost(&plan, unit) * f64::from(many);
            luck *= host.slowdown(self.run.units.iter().skip(host.seen), work);
            host.seen = self.run.units.len();
        }
        let mut cost = world.cost_placed(&plan, unit, epoch.pin_workers) * luck;
        // A group that the end of the stream cuts short takes as long for its way as any other.
        cost += truth.latency_s / f64::from(many) - truth.latency_s / f64::from(truth.group);
        if !self.structures.contains(&plan.structure) {
            self.structures.push(plan.structure);
            cost *= 1.0 + truth.cold;
        }
        if !self.plans.contains(&plan) {
            self.plans.push(plan);
            cost *= 1.0 + world.cold_plan;
        }
        if self.last != Some(plan) {
            cost *= 1.0 + world.cold_switch;
            self.last = Some(plan);
        }
        cost *= self.cache.slowdown(world, &plan);
        let begin = self.run.luck.len();
        self.run.luck.extend((0..many).map(|_| luck));
        let limit = epoch.cutoff.map_or(f64::INFINITY, |c| c.as_secs_f64());
        let alone = cost * f64::from(truth.in_work(&plan));
        // Of units side by side one at least is not disturbed, and none is given up once one was in time.
        let least = if truth.flows() {
            alone / luck.max(1.0)
        } else {
            alone
        };
        if least <= limit {
            self.run.units.extend((0..many).map(|_| cost));
            costs.extend((0..many).map(|_| cost));
            return None;
        }
        let jobs: f64 = truth
            .passes
            .iter()
            .map(|&i| f64::from(i.div_ceil(plan.grain)))
            .sum();
        let jobs = match plan.structure.name {
            // A unit on one worker is computed in pieces, between which it can be given up.
            "farm" => 32.0,
            "pipeline" => 1.0,
            _ => (jobs / f64::from(plan.workers)).max(1.0),
        };
        let after = (limit + alone / jobs * self.rng.uniform()).min(alone);
        // The best plan shares the luck of the second attempt, or to cut off a spike would be a gain.
        let luck = self::luck(world, &mut self.rng);
        self.run.luck[begin..].fill(luck);
        let redo = world.cost(&epoch.fallback, unit) * luck;
        if truth.flows() {
            // Those that were in work on other workers are given up as well.
            let others = (plan.workers - 1) as usize;
            self.run.units.push(after + redo * (others + 1) as f64);
            return Some((after, redo));
        }
        let share = after / f64::from(many) + redo;
        self.run.units.extend((0..many).map(|_| share));
        Some((after, redo))
    }
}

fn luck(world: &World, rng: &mut Rng) -> f64 {
    let usual = (world.noise * rng.normal()).exp();
    if rng.uniform() < world.spikes {
        usual * rng.between(2.0, 10.0)
    } else {
        usual
    }
}
