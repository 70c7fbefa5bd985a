//! A made-up machine: what plans really cost there, and what the model is told.

use evener_runtime::tuner::TunerSetup;
use evener_runtime::{Choice, Dispatch, Plan, Rates, Shape, Structure, Work};

use crate::host::Bursts;
use crate::rng::Rng;

/// What a structure really costs.
#[derive(Clone, Debug)]
pub struct Truth {
    pub structure: &'static Structure,
    /// Seconds of a unit's work on one worker.
    pub work_s: f64,
    /// Bytes of a unit over the machine's memory rate, in seconds.
    pub memory_s: f64,
    pub passes: Vec<u32>,
    pub default_grain: u32,
    pub min_grain: u32,
    /// Relative cost of each dispatch, in the order of `Dispatch::ALL`.
    pub dispatch: [f64; 3],
    /// Work repeated at the edge of each job, in items.
    pub halo: f64,
    /// Grain from which a job no longer fits the private cache, and what that costs.
    pub cache_grain: f64,
    pub cache_factor: f64,
    /// Extra time of the structure's first unit, as a share.
    pub cold: f64,
    /// Extra time of a unit while the outer cache holds what other structures left there, as a share.
    pub chill: f64,
    /// Extra time on several workers, for what they need from one another's caches, as a share.
    pub apart: f64,
    /// The cost model's error: predicted work over true work.
    pub predicted: f64,
    /// Units that run together and end together; 1 if each runs by itself.
    pub group: u32,
    /// Seconds that a group takes beside its work: a device's way there and back.
    pub latency_s: f64,
    /// Seconds to make the memory that the structure needs, once, and how wrong the prediction of that is.
    pub fresh_s: f64,
    pub fresh_predicted: f64,
}

impl Truth {
    /// A structure whose passes have so many items, without peculiarities.
    pub fn plain(structure: &'static Structure, work_s: f64, items: u32) -> Truth {
        Truth {
            structure,
            work_s,
            memory_s: 0.0,
            passes: vec![items],
            default_grain: (items / 64).max(1),
            min_grain: (items / 256).max(1),
            dispatch: [1.0, 1.02, 0.98],
            halo: 0.0,
            cold: 0.2,
            chill: 0.0,
            apart: 0.0,
            cache_grain: f64::from(items),
            cache_factor: 0.0,
            predicted: 1.0,
            group: 1,
            latency_s: 0.0,
            fresh_s: 0.0,
            fresh_predicted: 1.0,
        }
    }

    pub fn flows(&self) -> bool {
        self.structure.flows()
    }

    /// Units in work at once.
    pub fn in_work(&self, plan: &Plan) -> u32 {
        if self.flows() {
            plan.workers
        } else {
            self.group
        }
    }
}

/// A machine with a load on it, and the stream that runs there.
#[derive(Clone, Debug)]
pub struct World {
    pub workers: u32,
    pub units: u64,
    pub truths: Vec<Truth>,
    pub job_s: f64,
    pub pass_s: f64,
    /// Relative speed lost by each worker beyond the first (contention).
    pub contention: f64,
    /// Deviation of the logarithm of a unit's time.
    pub noise: f64,
    /// Probability of a spike of 2x to 10x.
    pub spikes: f64,
    /// Extra time of the first unit under a plan, as a share.
    pub cold_plan: f64,
    /// Extra time of the first unit after any change of plan.
    pub cold_switch: f64,
    /// Bytes of the outer cache, and of a unit's traffic.
    pub outer_cache: Option<usize>,
    pub traffic: f64,
    /// Units under a structure until most of the outer cache holds what it needs.
    pub refill: f64,
    /// Another process: from unit .. to unit it takes one core.
    pub load: Option<(u64, u64)>,
    /// What waiting for the scheduler adds to plans on all workers then, as a share.
    pub load_stalls: f64,
    /// Every so many units it is decided anew whether it has a processor to itself, and all workers what is left.
    pub load_wanders: Option<u64>,
    /// The whole machine gets slower by this factor over the stream.
    pub drift: f64,
    /// The stream reports an epoch of overlapping units by its mean only.
    pub farm_means: bool,
    /// Another guest of the same host takes the machine now and then.
    pub bursts: Option<Bursts>,
    /// The tuner knows the length.
    pub known_length: bool,
    /// It is told another one.
    pub told: Option<u64>,
    pub remembered: Option<Plan>,
    /// Seconds to make the buffers of one more unit in work, and units that can be without.
    pub buffer_s: f64,
    pub buffers: u32,
}

pub const JOB_S: f64 = 0.4e-6;
pub const PASS_S: f64 = 2.0e-6;
const FRESH_BYTES_PER_S: f64 = 3e9;

impl World {
    pub fn new(workers: u32, units: u64, truths: Vec<Truth>) -> World {
        World {
            workers,
            units,
            truths,
            job_s: JOB_S,
            pass_s: PASS_S,
            contention: 0.02,
            noise: 0.04,
            spikes: 0.015,
            cold_plan: 0.1,
            cold_switch: 0.03,
            outer_cache: None,
            traffic: 0.0,
            refill: 6.0,
            load: None,
            load_stalls: 0.0,
            load_wanders: None,
            drift: 1.0,
            farm_means: false,
            bursts: None,
            known_length: true,
            told: None,
            remembered: None,
            buffer_s: 0.0,
            buffers: 2,
        }
    }

    pub fn truth(&self, plan: &Plan) -> &Truth {
        self.truths
            .iter()
            .find(|t| t.structure == plan.structure)
            .expect("a structure on offer")
    }

    /// Seconds of unit number `unit` under `plan`, without noise, where the system places workers.
    pub fn cost(&self, plan: &Plan, unit: u64) -> f64 {
        self.cost_placed(plan, unit, false)
    }

    /// The same where each worker may keep to a processor of its own.
    pub fn cost_placed(&self, plan: &Plan, unit: u64, spread: bool) -> f64 {
        let t = self.truth(plan);
        let w = f64::from(plan.workers);
        let grain = f64::from(plan.grain);
        let jobs: f64 = t
            .passes
            .iter()
            .map(|&i| f64::from(i.div_ceil(plan.grain)))
            .sum();
        let apart = plan.structure.flows();
        let even: f64 = t.passes.iter().map(|&i| f64::from(i) / w).sum();
        let uneven: f64 = t
            .passes
            .iter()
            .map(|&i| {
                let rounds = i.div_ceil(plan.grain).div_ceil(plan.workers) * plan.grain;
                f64::from(rounds.min(i)).max(f64::from(i) / w)
            })
            .sum();
        let uneven = if apart { 1.0 } else { uneven / even };
        let edge = 1.0 + t.halo / grain;
        let cache = 1.0 + t.cache_factor * (grain / t.cache_grain - 1.0).clamp(0.0, 1.0);
        let busy = 1.0 + self.contention * (w - 1.0);
        let mut compute = t.work_s / w * uneven * edge * cache * busy;
        let d = Dispatch::ALL
            .iter()
            .position(|&d| d == plan.dispatch)
            .unwrap_or(0);
        let mut hand_out = (self.job_s * jobs / w + t.latency_s) / f64::from(t.group);
        if plan.workers > 1 {
            compute *= t.dispatch[d] * (1.0 + t.apart);
            hand_out *= 1.0 + 4.0 * (t.dispatch[d] - 1.0);
            if !apart {
                hand_out += self.pass_s * t.passes.len() as f64 / f64::from(t.group);
            }
        }
        let memory = t.memory_s * (1.0 + 0.5 * self.contention * (w - 1.0)) * cache;
        let mut cost = compute.max(memory) + hand_out;
        if let Some((from, to)) = self.load
            && (from..to).contains(&unit)
            && plan.workers == self.workers
        {
            // The worker on the shared core gets half of it. Small jobs let the others take over; large ones, and
            // jobs placed in equal shares, wait for it.
            let shared = if plan.dispatch == Dispatch::Mailbox {
                2.0
            } else {
                w / (w - 0.5)
            };
            let tail = if apart {
                0.0
            } else {
                1.0 / (jobs / w).max(1.0)
            };
            let wanders = self.load_wanders.filter(|_| !spread);
            let alone =
                wanders.is_some_and(|every| Rng::new((unit - from) / every).uniform() < 0.5);
            let share = match alone {
                true => w / (w - 1.0),
                false => shared + tail,
            };
            cost *= share + self.load_stalls;
        }
        cost * self.drift.powf(unit as f64 / self.units as f64)
    }

    pub fn shapes(&self) -> Vec<Shape> {
        self.truths
            .iter()
            .map(|t| Shape {
                structure: t.structure,
                passes: t.passes.clone(),
                steps: Vec::new(),
                lines: Vec::new(),
                pass_names: Vec::new(),
                default_grain: t.default_grain,
                min_grain: t.min_grain,
                units: t.group,
                device_pass: None,
                // One operation a nanosecond, ten bytes a nanosecond.
                work: Work {
                    ops: t.work_s * t.predicted * 1e9,
                    bytes: (t.memory_s * t.predicted * 1e10).max(self.traffic),
                    fresh: t.fresh_s * t.fresh_predicted * FRESH_BYTES_PER_S,
                },
            })
            .collect()
    }

    pub fn setup(&self) -> TunerSetup {
        TunerSetup {
            shapes: self.shapes(),
            rates: Rates {
                ops_per_s: 1e9,
                bytes_per_s: 1e10,
                bytes_per_s_together: 1e10,
                fresh_bytes_per_s: FRESH_BYTES_PER_S,
                job_s: JOB_S,
                pass_s: PASS_S,
            },
            workers: self.workers,
            cpus: f64::from(self.workers),
            outer_cache: self.outer_cache,
            dispatches: Dispatch::ALL.to_vec(),
            units: self.known_length.then_some(self.told.unwrap_or(self.units)),
            live: false,
            remembered: self.remembered,
            choice: Choice::Auto,
            fixed_workers: None,
            devices: 0,
            crowded: false,
        }
    }

    /// Every plan a user could have fixed: all structures and dispatches, grains in steps of two, all workers.
    pub fn plans(&self) -> Vec<Plan> {
        let mut plans = Vec::new();
        for t in &self.truths {
            let items = t.passes.iter().copied().max().unwrap_or(1);
            let mut workers = vec![1, 2, self.workers / 2, self.workers - 1, self.workers];
            workers.extend((1..self.workers).filter(|w| w.is_power_of_two()));
            workers.retain(|&w| w >= 1 && w <= self.workers);
            workers.sort_unstable();
            workers.dedup();
            for workers in workers {
                let most = items.div_ceil(workers).max(t.min_grain);
                let mut grains = vec![t.min_grain, t.default_grain.min(most), most];
                let mut up = t.default_grain;
                while up < most {
                    grains.push(up);
                    up *= 2;
                }
                let mut down = t.default_grain.min(most);
                while down > t.min_grain {
                    grains.push(down);
                    down /= 2;
                }
                grains.sort_unstable();
                grains.dedup();
                for grain in grains {
                    for dispatch in Dispatch::ALL {
                        plans.push(Plan {
                            structure: t.structure,
                            dispatch,
                            grain,
                            workers,
                            devices: 0,
                        });
                    }
                }
            }
        }
        plans
    }

    /// The cheapest plan for the units `from..to`, had one known, and its cost for each of them on average.
    pub fn best(&self, from: u64, to: u64) -> (Plan, f64) {
        let step = ((to - from) / 64).max(1) as usize;
        let mean = |plan: &Plan| {
            let units = (from..to).step_by(step);
            let count = units.clone().count() as f64;
            units.map(|u| self.cost(plan, u)).sum::<f64>() / count
        };
        self.plans()
            .into_iter()
            .map(|p| (p, mean(&p)))
            .min_by(|a, b| a.1.total_cmp(&b.1))
            .expect("a plan")
    }
}
