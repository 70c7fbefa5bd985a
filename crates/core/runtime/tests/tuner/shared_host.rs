//! Streams on a machine that other guests of the same host slow down again and again: what plan they end on.

use crate::figures::{Figure, Figures};
use crate::frames::frames;
use crate::host::Bursts;
use crate::rng::Rng;
use crate::sim::run;
use crate::structures::{SEQUENTIAL, TILED};
use crate::table::check;
use crate::world::World;

/// Streams of each scenario: a share of few percent is to be told from another.
const SEEDS: u64 = 200;

/// Units, seconds of a unit, rows.
const STREAMS: [(&str, u64, f64, u32); 6] = [
    ("CIF 3000 x 50 us", 3000, 50e-6, 288),
    ("CIF 3000 x 100 us", 3000, 100e-6, 288),
    ("CIF 3000 x 200 us", 3000, 200e-6, 288),
    ("1080p 300 x 0.5 ms", 300, 0.5e-3, 1080),
    ("1080p 300 x 1.2 ms", 300, 1.2e-3, 1080),
    ("1080p 300 x 3 ms", 300, 3e-3, 1080),
];

const BURSTS: Bursts = Bursts {
    apart_s: 0.1,
    length_s: (1e-3, 50e-3),
    factor: (2.0, 5.0),
};

fn shared(mut world: World, noise: f64) -> World {
    world.noise = noise;
    world.spikes = 0.005;
    world.bursts = Some(BURSTS);
    world
}

fn ends(name: &str, world: impl Fn(&mut Rng) -> World) {
    let mut figures = Figures::default();
    let mut regret = Figure::default();
    let mut worse = 0.0;
    for seed in 0..SEEDS {
        let world = world(&mut Rng::new(seed));
        let run = run(&world, seed + 1000);
        let last = world.units - 1;
        let (best, least) = world.best(0, world.units);
        let plan = run.tuner.incumbent();
        let beyond = world.cost(&plan, last) / least - 1.0;
        if beyond > 0.03 {
            worse += 1.0 / SEEDS as f64;
            // `WRONG_TURNS=1 cargo test --test tuner shared_host -- --nocapture` prints the logs of these.
            if std::env::var_os("WRONG_TURNS").is_some() {
                println!(
                    "{name}, seed {seed}: {plan} is {:.1} % worse than {best} ({:.1} us)\n{}",
                    100.0 * beyond,
                    1e6 * least,
                    run.log()
                );
            }
        }
        regret.push(beyond);
        figures.push(&world, &run);
    }
    figures.check(name);
    println!(
        "{name}: {:.1} % end > 3 % worse, p95 {:.3}",
        100.0 * worse,
        regret.quantile(0.95)
    );
    check(name, "ends well", 1.0 - worse);
}

#[test]
fn bursts_seldom_lead_to_a_worse_plan() {
    for (name, units, unit_s, rows) in STREAMS {
        for noise in [0.05, 0.1] {
            let name = format!("{name}, noise {noise}");
            ends(&name, |rng| {
                shared(frames(2, units, unit_s, rows, 0.3, rng), noise)
            });
        }
    }
}

/// First units that pay for page faults and a thread that must wake: five times their time and more.
#[test]
fn cold_starts_do_not_decide() {
    for (name, units, unit_s, rows) in STREAMS {
        let name = format!("{name}, cold starts");
        ends(&name, |rng| {
            let mut world = shared(frames(2, units, unit_s, rows, 0.3, rng), 0.05);
            for t in &mut world.truths {
                t.cold = rng.between(1.0, 12.0);
            }
            world
        });
    }
}

/// The very first unit, under the best structure, which is predicted as such, takes thirty times as long.
#[test]
fn a_cold_first_unit_does_not_rule_out_the_best_structure() {
    for (name, units, unit_s, rows) in STREAMS {
        let name = format!("{name}, first unit cut off");
        ends(&name, |rng| {
            let mut world = frames(2, units, unit_s, rows, 0.1, rng);
            world
                .truths
                .retain(|t| [&SEQUENTIAL, &TILED].contains(&t.structure));
            for t in &mut world.truths {
                if t.structure == &TILED {
                    t.cold = 30.0;
                }
            }
            world
        });
    }
}
