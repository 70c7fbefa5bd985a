//! The log of decisions in a few scenarios, as `--explain` prints it.

use crate::frames::frames;
use crate::rng::Rng;
use crate::sim::run;
use crate::structures::{BACKWARD, SEQUENTIAL, TILED};
use crate::world::World;

fn quiet(mut world: World) -> World {
    world.noise = 0.02;
    world.spikes = 0.0;
    world
}

#[test]
fn a_short_stream() {
    let world = quiet(frames(2, 54, 1e-3, 1080, 0.2, &mut Rng::new(5)));
    insta::assert_snapshot!(run(&world, 1).log());
}

#[test]
fn three_hundred_frames() {
    let world = quiet(frames(2, 300, 1e-3, 1080, 0.2, &mut Rng::new(5)));
    insta::assert_snapshot!(run(&world, 1).log());
}

#[test]
fn the_model_likes_a_hopeless_structure_best() {
    let mut world = quiet(frames(2, 300, 1e-3, 1080, 0.2, &mut Rng::new(8)));
    let bad = world.truths.iter_mut().find(|t| t.structure == &BACKWARD);
    let bad = bad.expect("backward is on offer");
    (bad.work_s, bad.predicted) = (0.2, 0.005);
    insta::assert_snapshot!(run(&world, 1).log());
}

#[test]
fn a_core_is_taken_and_given_back() {
    let mut world = quiet(frames(2, 3000, 1e-3, 1080, 0.2, &mut Rng::new(5)));
    world
        .truths
        .retain(|t| [&SEQUENTIAL, &TILED].contains(&t.structure));
    world.load = Some((1000, 2000));
    world.load_stalls = 0.9;
    insta::assert_snapshot!(run(&world, 1).log());
}

#[test]
fn a_remembered_plan() {
    let mut world = quiet(frames(2, 300, 1e-3, 1080, 0.2, &mut Rng::new(5)));
    world.remembered = Some(world.best(0, 300).0);
    insta::assert_snapshot!(run(&world, 1).log());
}
