//! Streams that are over soon, on machines that are slower than the model was told, or that others use.

use crate::figures::figures;
use crate::frames::frames;
use crate::host::Bursts;
use crate::rng::Rng;
use crate::world::World;

/// Units, seconds of a unit, rows.
const STREAMS: [(&str, u64, f64, u32); 4] = [
    ("1080p 30 x 0.3 ms", 30, 0.3e-3, 1080),
    ("1080p 30 x 1 ms", 30, 1e-3, 1080),
    ("720p 60 x 0.2 ms", 60, 0.2e-3, 720),
    ("CIF 100 x 50 us", 100, 50e-6, 288),
];

/// Every prediction is too low by the same factor, and the first units under each plan pay for memory.
fn optimistic(world: &mut World, factor: f64, rng: &mut Rng) {
    for truth in &mut world.truths {
        truth.predicted /= factor;
        truth.cold = rng.between(1.0, 6.0);
    }
}

#[test]
fn a_rate_that_is_wrong_makes_no_plan_look_better_than_another() {
    for (name, units, unit_s, rows) in STREAMS {
        for factor in [3.0, 10.0] {
            figures(&format!("{name}, rates wrong by {factor}"), |rng| {
                let mut world = frames(2, units, unit_s, rows, 0.3, rng);
                optimistic(&mut world, factor, rng);
                world
            });
        }
    }
}

/// Other processes have the processors half of the time, a time slice at once.
#[test]
fn a_busy_machine_is_no_reason_to_leave_a_plan() {
    for (name, units, unit_s, rows) in STREAMS {
        figures(&format!("{name}, busy"), |rng| {
            let mut world = frames(2, units, unit_s, rows, 0.3, rng);
            optimistic(&mut world, 3.0, rng);
            world.noise = 0.1;
            world.bursts = Some(Bursts {
                apart_s: 4e-3,
                length_s: (1e-3, 10e-3),
                factor: (2.0, 6.0),
            });
            world
        });
    }
}
