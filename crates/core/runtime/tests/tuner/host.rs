//! What others do to a machine: other guests of its host take time, other structures fill its outer cache.

use evener_runtime::Plan;

use crate::rng::Rng;
use crate::world::World;

/// Time that the host gives to others: stretches in which everything takes longer.
#[derive(Clone, Copy, Debug)]
pub struct Bursts {
    /// Mean time from the end of one to the begin of the next.
    pub apart_s: f64,
    pub length_s: (f64, f64),
    pub factor: (f64, f64),
}

/// Where the stream is between two bursts.
pub struct Host {
    bursts: Bursts,
    rng: Rng,
    now: f64,
    from: f64,
    to: f64,
    factor: f64,
    /// Units whose time has gone by.
    pub seen: usize,
}

impl Host {
    pub fn new(bursts: Bursts, seed: u64) -> Host {
        let mut host = Host {
            bursts,
            rng: Rng::new(seed ^ 0xb00),
            now: 0.0,
            from: 0.0,
            to: 0.0,
            factor: 1.0,
            seen: 0,
        };
        host.burst();
        host
    }

    /// The next burst: exponential distances, lengths spread evenly over their logarithms.
    fn burst(&mut self) {
        let Bursts {
            apart_s,
            length_s: (short, long),
            factor,
        } = self.bursts;
        self.from = self.to - apart_s * (1.0 - self.rng.uniform()).ln();
        self.to = self.from + short * (long / short).powf(self.rng.uniform());
        self.factor = self.rng.between(factor.0, factor.1);
    }

    /// How many times longer `work` seconds take that begin after the units `gone`.
    pub fn slowdown<'a>(&mut self, gone: impl Iterator<Item = &'a f64>, work: f64) -> f64 {
        self.now += gone.sum::<f64>();
        while self.to <= self.now {
            self.burst();
        }
        let before = (self.from - self.now).max(0.0);
        if work <= before {
            return 1.0;
        }
        let within = (self.to - self.now.max(self.from)) / self.factor;
        let slow = (work - before).min(within);
        (work + slow * (self.factor - 1.0)) / work
    }
}

/// What share of the outer cache each structure finds as it needs it.
pub struct Cache(pub Vec<f64>);

impl Cache {
    /// How many times longer the next unit takes.
    pub fn slowdown(&mut self, world: &World, plan: &Plan) -> f64 {
        let mut chill = 0.0;
        for (truth, held) in world.truths.iter().zip(&mut self.0) {
            let own = truth.structure == plan.structure;
            if own {
                chill = truth.chill * (1.0 - *held);
            }
            *held += (f64::from(u8::from(own)) - *held) / world.refill;
        }
        1.0 + chill
    }
}
