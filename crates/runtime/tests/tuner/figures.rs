//! Figures over many seeds.

use crate::sim::{Rng, World, run};

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
}

/// Runs a scenario over all seeds and prints what came out.
pub fn figures(name: &str, world: impl Fn(&mut Rng) -> World) -> Figures {
    let mut all = Figures::default();
    for seed in 0..SEEDS {
        let world = world(&mut Rng::new(seed));
        let run = run(&world, seed + 1000);
        all.whole.push(run.efficiency(&world, 0, world.units));
        all.last_quarter
            .push(run.efficiency(&world, world.units * 3 / 4, world.units));
    }
    println!(
        "{name:34} whole: {}   last quarter: {}",
        all.whole, all.last_quarter
    );
    all
}
