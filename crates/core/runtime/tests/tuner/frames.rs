//! Frames through filter graphs: five structures, three dispatches, grains, one or two workers.

use evener_runtime::Plan;

use crate::figures::figures;
use crate::rng::Rng;
use crate::sim::run;
use crate::structures::{BACKWARD, BACKWARD_CACHED, FARM, SEQUENTIAL, TILED};
use crate::world::{Truth, World};

/// A filter graph on frames whose true costs and predictions vary from seed to seed. `unit_s` is about what the best
/// plan takes on all workers; `error` is the deviation of the logarithm of each prediction's error.
pub fn frames(
    workers: u32,
    units: u64,
    unit_s: f64,
    rows: u32,
    error: f64,
    rng: &mut Rng,
) -> World {
    let one = unit_s * f64::from(workers);
    let default_grain = (rows / 32).max(2);
    let mut truth = |structure, factor: (f64, f64), passes: Vec<u32>, halo: f64, cold: f64| Truth {
        structure,
        work_s: one * rng.between(factor.0, factor.1),
        memory_s: 0.0,
        default_grain: if passes == [1] { 1 } else { default_grain },
        min_grain: if passes == [1] {
            1
        } else {
            (default_grain / 4).max(1)
        },
        passes,
        dispatch: [
            1.0,
            1.0 + rng.between(-0.02, 0.03),
            1.0 + rng.between(-0.03, 0.02),
        ],
        halo,
        cold,
        chill: 0.0,
        apart: 0.0,
        cache_grain: f64::from(default_grain) * rng.between(0.5, 4.0),
        cache_factor: rng.between(0.0, 0.2),
        predicted: (error * rng.normal()).exp(),
        ..Truth::plain(structure, 0.0, 1)
    };
    let mut truths = vec![
        truth(&SEQUENTIAL, (1.2, 2.4), vec![rows; 3], 0.0, 1.0),
        truth(&BACKWARD, (0.9, 5.0), vec![rows], 0.0, 0.1),
        truth(&BACKWARD_CACHED, (1.1, 3.0), vec![rows], 0.3, 0.5),
        truth(&TILED, (0.8, 1.2), vec![rows], 1.0, 0.2),
        truth(&FARM, (0.9, 1.3), vec![1], 0.0, 0.2),
    ];
    // A farm's units are run by the tiled kernels, each on one worker, and predicted the same way.
    truths[4].dispatch = [1.0; 3];
    truths[4].work_s = truths[3].work_s * rng.between(0.92, 1.08);
    truths[4].predicted = truths[3].predicted * truths[3].work_s / truths[4].work_s;
    World::new(workers, units, truths)
}

/// Streams as the acceptance test has them: 300 large frames, 3,000 small ones, learning included.
const STREAMS: [(&str, u64, f64, u32); 6] = [
    ("1080p 300 x 0.2 ms", 300, 0.2e-3, 1080),
    ("1080p 300 x 1 ms", 300, 1e-3, 1080),
    ("1080p 300 x 8 ms", 300, 8e-3, 1080),
    ("CIF 3000 x 20 us", 3000, 20e-6, 288),
    ("CIF 3000 x 60 us", 3000, 60e-6, 288),
    ("CIF 3000 x 200 us", 3000, 200e-6, 288),
];

#[test]
fn auto_comes_close_to_the_best_fixed_plan() {
    for (name, units, unit_s, rows) in STREAMS {
        for error in [0.1, 0.3] {
            let name = format!("{name}, model +-{error}");
            figures(&name, |rng| frames(2, units, unit_s, rows, error, rng));
        }
    }
}

/// Where the model puts structures in quite the wrong order, a third and more of them off by 2x.
#[test]
fn a_model_that_is_wrong_costs_little_in_most_streams() {
    for (name, units, unit_s, rows) in STREAMS {
        let name = format!("{name}, model +-0.6");
        figures(&name, |rng| frames(2, units, unit_s, rows, 0.6, rng));
    }
}

/// The best structure is predicted three times as slow as another that is really twice as slow.
#[test]
fn an_order_wrong_by_three_is_found_out() {
    for (name, units, unit_s, rows) in STREAMS {
        let name = format!("{name}, order wrong by 3");
        figures(&name, |rng| {
            let mut world = frames(2, units, unit_s, rows, 0.0, rng);
            for t in &mut world.truths {
                match t.structure.name {
                    "tiled" | "farm" => t.predicted = 1.7,
                    "sequential" => {
                        t.work_s = 4.0 * unit_s;
                        t.predicted = 0.3;
                    }
                    _ => {}
                }
            }
            world
        });
    }
}

/// The stream knows only the mean of a farm's epoch: spikes cannot be told from slowness, and it takes more of them.
#[test]
fn means_of_a_farm_cost_some_precision() {
    for (name, units, unit_s, rows) in [STREAMS[1], STREAMS[3]] {
        let name = format!("{name}, means");
        figures(&name, |rng| {
            let mut world = frames(2, units, unit_s, rows, 0.3, rng);
            world.farm_means = true;
            world
        });
    }
}

/// 54 frames: nothing may be tried that cannot pay within them.
#[test]
fn a_short_stream_explores_only_what_pays_within_it() {
    figures("1080p 54 x 1 ms", |rng| frames(2, 54, 1e-3, 1080, 0.2, rng));
}

#[test]
fn a_stream_of_unknown_length_does_as_well() {
    figures("1080p 300 x 1 ms, length unknown", |rng| {
        let mut world = frames(2, 300, 1e-3, 1080, 0.2, rng);
        world.known_length = false;
        world
    });
}

/// A plan that won an earlier time saves the search; one that was right for another machine does no harm.
#[test]
fn a_remembered_plan_is_used_and_verified() {
    figures("1080p 300 x 1 ms, remembered", |rng| {
        let mut world = frames(2, 300, 1e-3, 1080, 0.3, rng);
        world.remembered = Some(world.best(0, 300).0);
        world
    });
    figures("1080p 300 x 1 ms, remembered wrong", |rng| {
        let mut world = frames(2, 300, 1e-3, 1080, 0.2, rng);
        world.remembered = world
            .plans()
            .into_iter()
            .find(|p: &Plan| p.structure == &SEQUENTIAL && p.workers == 1);
        world
    });
}

/// Frames that the outer cache can hold a few of. What fills it with others is fast from the first unit; what reuses
/// the same is faster, but only when the cache has been filled again.
#[test]
fn a_plan_that_has_to_warm_up_is_not_judged_before_it_has() {
    for (units, unit_s) in [(300, 0.6e-3), (3000, 0.6e-3)] {
        let name = format!("1080p {units} x 0.6 ms, a cache to fill");
        figures(&name, |rng| {
            let mut world = frames(2, units, unit_s, 1080, 0.2, rng);
            (world.outer_cache, world.traffic) = (Some(10_000_000), 5e6);
            for t in &mut world.truths {
                match t.structure.name {
                    "tiled" => {
                        t.work_s = 2.0 * unit_s;
                        t.chill = 0.6;
                    }
                    "farm" => t.work_s = 2.5 * unit_s,
                    _ => t.chill = 0.3,
                }
            }
            world
        });
    }
}

/// Short frames: the workers of a farm take a dozen each until their caches hold what they use again, which is longer
/// than a trial, and a farm is the best all the same.
#[test]
fn a_farm_of_short_units_is_not_judged_before_its_workers_are_warm() {
    for (chill, slower) in [(0.4, 1.25), (1.5, 1.25), (1.5, 1.12)] {
        let name = format!("CIF 3000 x 10 us, farm cold by {chill}, best by {slower}");
        figures(&name, |rng| {
            let mut world = frames(2, 3000, 10e-6, 288, 0.1, rng);
            let farm = 20e-6;
            for t in &mut world.truths {
                match t.structure.name {
                    "tiled" => t.work_s = farm * slower,
                    "farm" => (t.work_s, t.chill) = (farm, chill),
                    _ => {}
                }
            }
            world
        });
    }
}

/// Each end of an epoch costs some microseconds in which workers wait.
#[test]
fn a_stream_of_short_units_does_not_end_in_many_epochs() {
    let mut epochs = 0;
    for seed in 0..20 {
        let world = frames(2, 3000, 10e-6, 288, 0.1, &mut Rng::new(seed));
        let run = run(&world, seed + 1000);
        epochs += run.epochs.iter().filter(|e| e.first_unit >= 2400).count();
    }
    assert!(epochs <= 20 * 16, "{}", f64::from(epochs as u32) / 20.0);
}
