//! Units that run together, memory and buffers that are made late, and a device beside the cores.

use crate::figures::figures;
use crate::frames::frames;
use crate::rng::Rng;
use crate::structures::{BACKWARD_CACHED, FARM, GROUPED};
use crate::world::{Truth, World};

/// Units, seconds of a unit, rows, units of a group.
const STREAMS: [(&str, u64, f64, u32, u32); 5] = [
    ("1080p 300 x 1 ms", 300, 1e-3, 1080, 16),
    ("1080p 1200 x 1 ms", 1200, 1e-3, 1080, 16),
    ("CIF 3000 x 20 us", 3000, 20e-6, 288, 16),
    ("CIF 3000 x 200 us", 3000, 200e-6, 288, 16),
    ("CIF 30000 x 60 us", 30_000, 60e-6, 288, 16),
];

fn grouped(world: &mut World, truth: Truth) {
    world.truths.retain(|t| t.structure != &BACKWARD_CACHED);
    world.truths.push(truth);
}

/// Groups that are half as fast again as the best of the others, or as slow, once the memory for them is made and the
/// cache holds it. A third of that memory is not foreseen.
#[test]
fn groups_are_found_where_they_pay() {
    for (name, units, unit_s, rows, group) in STREAMS {
        for factor in [0.5, 0.8, 1.5] {
            let world = |rng: &mut Rng| {
                let mut world = frames(2, units, unit_s, rows, 0.2, rng);
                let own = Truth {
                    group,
                    chill: 0.4,
                    cold: 0.5,
                    fresh_s: 6.0 * unit_s,
                    fresh_predicted: 0.7,
                    predicted: (0.2 * rng.normal()).exp(),
                    ..Truth::plain(&GROUPED, 2.0 * factor * unit_s, rows)
                };
                grouped(&mut world, own);
                (world.buffer_s, world.buffers) = (0.3 * unit_s, 3);
                world
            };
            figures(&format!("{name}, groups at {factor}"), world);
        }
    }
}

/// What a farm needs to have in work is made when it is tried first, and takes a unit's time for each.
#[test]
fn buffers_that_are_made_late_are_weighed() {
    for (name, units, unit_s, rows, _) in STREAMS {
        for farm in [0.7, 1.2] {
            let world = |rng: &mut Rng| {
                let mut world = frames(8, units, unit_s, rows, 0.2, rng);
                for truth in &mut world.truths {
                    if truth.structure == &FARM {
                        truth.work_s = 8.0 * farm * unit_s;
                        truth.fresh_s = 2.0 * unit_s;
                    }
                }
                (world.buffer_s, world.buffers) = (unit_s, 2);
                world
            };
            figures(&format!("{name}, late buffers, farm at {farm}"), world);
        }
    }
}

/// A device is twenty times as fast as a core and 200 us away. Whether the model knows the way or not.
#[test]
fn a_device_is_used_where_units_are_worth_the_way() {
    for (name, units, unit_s, rows, group) in STREAMS {
        for knows in [true, false] {
            let world = |rng: &mut Rng| {
                let mut world = frames(2, units, unit_s, rows, 0.2, rng);
                let work_s = 2.0 * unit_s / 20.0;
                let way = 200e-6 / f64::from(group);
                let own = Truth {
                    group,
                    latency_s: 200e-6,
                    fresh_s: 4.0 * unit_s,
                    dispatch: [1.0; 3],
                    default_grain: 1,
                    min_grain: 1,
                    predicted: (0.2 * rng.normal()).exp()
                        * if knows { 1.0 + way / work_s } else { 1.0 },
                    ..Truth::plain(&GROUPED, work_s, 1)
                };
                grouped(&mut world, own);
                (world.buffer_s, world.buffers) = (0.3 * unit_s, 3);
                world
            };
            let knows = if knows { "known" } else { "unknown" };
            figures(&format!("{name}, device, way {knows}"), world);
        }
    }
}
