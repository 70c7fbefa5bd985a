//! One candidate a hundred times slower than the best, although the model predicts it as best or as equal.

use evener_runtime::Structure;

use crate::figures::{Figure, SEEDS};
use crate::frames::frames;
use crate::sim::{Rng, World, run};
use crate::structures::{BACKWARD, FARM, SEQUENTIAL, TILED};
use crate::table::check;

/// Makes `bad` hopeless, and has the model predict `predicted` times the best prediction for it.
fn poison(world: &mut World, bad: &'static Structure, unit_s: f64, predicted: f64) {
    let of = |t: &crate::sim::Truth| t.work_s * t.predicted;
    let least = world.truths.iter().map(of).fold(f64::MAX, f64::min);
    let Some(t) = world.truths.iter_mut().find(|t| t.structure == bad) else {
        return;
    };
    t.work_s = 100.0 * unit_s * f64::from(world.workers);
    t.predicted = predicted * least / t.work_s;
}

#[test]
fn a_hopeless_structure_costs_at_most_five_percent() {
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
                    if std::env::var_os("TUNER_LOG").is_some() {
                        println!("best {bad} {predicted} {one:.3}\n{}", ran.log());
                    }
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
