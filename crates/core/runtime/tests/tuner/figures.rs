//! Figures over many seeds.

use crate::rng::Rng;
use crate::sim::{Run, run};
use crate::table::check;
use crate::world::World;

/// Streams of each scenario.
pub const SEEDS: u64 = 60;

/// One figure of all seeds.
#[derive(Clone, Debug, Default)]
pub struct Figure(Vec<f64>);

impl Figure {
    pub fn push(&mut self, value: f64) {
        let at = self.0.partition_point(|&v| v < value);
        self.0.insert(at, value);
    }

    /// The value that a share `q` of the seeds does not exceed.
    pub fn quantile(&self, q: f64) -> f64 {
        self.0[((self.0.len() - 1) as f64 * q) as usize]
    }

    pub fn mean(&self) -> f64 {
        self.0.iter().sum::<f64>() / self.0.len() as f64
    }
}

impl std::fmt::Display for Figure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (p5, p50) = (self.quantile(0.05), self.quantile(0.5));
        write!(
            f,
            "mean {:.3} median {p50:.3} p5 {p5:.3} min {:.3}",
            self.mean(),
            self.quantile(0.0)
        )
    }
}

/// What a scenario came to: throughput relative to the best fixed plan.
#[derive(Clone, Debug, Default)]
pub struct Figures {
    pub whole: Figure,
    pub last_quarter: Figure,
    /// Time lost by exploring, as a share of all.
    pub lost: Figure,
}

impl Figures {
    /// Takes a stream. `TUNER_LOG=1` prints what was best and what the tuner decided.
    pub fn push(&mut self, world: &World, run: &Run) {
        if std::env::var_os("TUNER_LOG").is_some() {
            let (best, cost) = world.best(0, world.units);
            let whole = run.efficiency(world, 0, world.units);
            println!(
                "best {best} {:.1} us, whole {whole:.3}\n{}",
                cost * 1e6,
                run.log()
            );
        }
        self.whole.push(run.efficiency(world, 0, world.units));
        let last = run.efficiency(world, world.units * 3 / 4, world.units);
        self.last_quarter.push(last);
        let summary = run.tuner.summary();
        let lost = summary.exploring.as_secs_f64() / summary.elapsed.as_secs_f64();
        self.lost.push(lost);
    }

    /// Prints them and holds them against the table.
    pub fn check(&self, name: &str) {
        println!(
            "{name:34} whole: {}   last quarter: {}   lost: {:.3}",
            self.whole,
            self.last_quarter,
            self.lost.mean()
        );
        check(name, "whole", self.whole.mean());
        check(name, "last quarter", self.last_quarter.mean());
        check(name, "not lost", 1.0 - self.lost.mean());
    }
}

/// Runs a scenario over all seeds and prints what came out.
pub fn figures(name: &str, world: impl Fn(&mut Rng) -> World) -> Figures {
    let mut all = Figures::default();
    for seed in 0..SEEDS {
        let world = world(&mut Rng::new(seed));
        let run = run(&world, seed + 1000);
        all.push(&world, &run);
    }
    all.check(name);
    all
}
