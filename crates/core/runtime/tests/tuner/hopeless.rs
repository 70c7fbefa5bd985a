//! One candidate a hundred times slower than the best, although the model predicts it as best or as equal.

use std::time::Duration;

use evener_runtime::Structure;
use evener_runtime::tuner::{Measured, Tuner};

use crate::figures::{Figure, SEEDS};
use crate::frames::frames;
use crate::rng::Rng;
use crate::sim::run;
use crate::structures::{BACKWARD, FARM, SEQUENTIAL, TILED};
use crate::table::check;
use crate::world::World;

/// Makes `bad` hopeless, and has the model predict `predicted` times the best prediction for it.
fn poison(world: &mut World, bad: &'static Structure, unit_s: f64, predicted: f64) {
    let of = |t: &crate::world::Truth| t.work_s * t.predicted;
    let least = world.truths.iter().map(of).fold(f64::MAX, f64::min);
    let Some(t) = world.truths.iter_mut().find(|t| t.structure == bad) else {
        return;
    };
    t.work_s = 10.0 * unit_s * f64::from(world.workers);
    t.predicted = predicted * least / t.work_s;
}

#[test]
fn a_hopeless_structure_costs_little() {
    for (units, unit_s, rows) in [(300, 1e-3, 1080), (300, 0.2e-3, 1080), (3000, 20e-6, 288)] {
        for bad in [&SEQUENTIAL, &BACKWARD, &TILED] {
            for predicted in [0.5, 1.0] {
                let mut with = Figure::default();
                let mut extra = Figure::default();
                for seed in 0..SEEDS {
                    let world = |rng: &mut Rng| frames(2, units, unit_s, rows, 0.2, rng);
                    let mut poisoned = world(&mut Rng::new(seed));
                    poison(&mut poisoned, bad, unit_s, predicted);
                    let mut without = world(&mut Rng::new(seed));
                    without.truths.retain(|t| t.structure != bad);
                    let ran = run(&poisoned, seed + 1000);
                    let one = ran.efficiency(&poisoned, 0, units);
                    with.push(one);
                    extra.push(run(&without, seed + 1000).efficiency(&without, 0, units) - one);
                }
                let name = format!(
                    "{units} x {:.0} us, {bad} predicted {predicted}",
                    unit_s * 1e6
                );
                println!(
                    "{name:44} whole: {with}   lost by it: mean {:.3} p95 {:.3}",
                    extra.mean(),
                    extra.quantile(0.95)
                );
                check(&name, "whole", with.mean());
                check(&name, "p5", with.quantile(0.05));
            }
        }
    }
}

/// Whatever it really costs: there are better uses of a stream's time.
#[test]
fn what_is_predicted_at_ten_times_the_best_is_not_tried() {
    for seed in 0..SEEDS {
        let mut world = frames(2, 3000, 1e-3, 1080, 0.2, &mut Rng::new(seed));
        let far = world.truths.iter_mut().find(|t| t.structure == &BACKWARD);
        far.expect("backward is on offer").predicted = 12.0;
        let log = run(&world, seed + 1000).log();
        assert!(!log.contains("backward ·"), "{log}");
    }
}

/// A farm's units are one job each and cannot be cut off: in a short stream a farm that promises too much, or much
/// less than others, is left alone.
#[test]
fn a_farm_that_promises_too_much_is_not_tried_in_a_short_stream() {
    let mut whole = Figure::default();
    for seed in 0..SEEDS {
        let mut world = frames(2, 300, 1e-3, 1080, 0.1, &mut Rng::new(seed));
        poison(&mut world, &FARM, 1e-3, 0.3);
        whole.push(run(&world, seed + 1000).efficiency(&world, 0, 300));
    }
    println!("300 x 1000 us, farm predicted 0.3: {whole}");
    check("300 x 1000 us, farm predicted 0.3", "whole", whole.mean());
}

/// Its units are given up each time, and the fallback takes long for one unit by itself, as one that has groups does.
#[test]
fn a_structure_that_is_given_up_is_not_tried_for_ever() {
    let world = frames(2, 3000, 50e-6, 288, 0.1, &mut Rng::new(5));
    let mut tuner = Tuner::new(world.setup()).expect("a setup that can run");
    let cost = Duration::from_micros(50);
    let (mut units, mut given_up) = (0, 0);
    while units < world.units {
        let epoch = tuner.next();
        if let Some(cutoff) = epoch.cutoff.filter(|_| epoch.plan.structure == &FARM) {
            given_up += 1;
            units += 1;
            tuner.record(Measured::CutOff {
                done: &[],
                after: cutoff.mul_f64(1.05),
                redo: 40 * cost,
            });
        } else {
            units += u64::from(epoch.units);
            let costs = vec![cost; epoch.units as usize];
            tuner.record(Measured::Units { costs: &costs });
        }
    }
    assert!((1..=3).contains(&given_up), "{given_up}");
}
