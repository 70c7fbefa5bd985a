//! The machine changes in mid-stream.

use crate::figures::{Figure, SEEDS, figures};
use crate::frames::frames;
use crate::host::Bursts;
use crate::rng::Rng;
use crate::sim::run;
use crate::table::check;

/// Another process takes one of two cores for the middle third of the stream and goes again. `stalls` is what waiting
/// for the scheduler adds: with much of it, one worker is the best plan meanwhile.
#[test]
fn back_soon_when_a_core_is_taken_and_given_back() {
    for (name, units, unit_s, rows) in [
        ("1080p 0.2 ms", 15_000, 0.2e-3, 1080),
        ("1080p 1 ms", 6000, 1e-3, 1080),
        ("1080p 8 ms", 1500, 8e-3, 1080),
        ("CIF 20 us", 60_000, 20e-6, 288),
    ] {
        for stalls in [0.0, 0.3, 0.9] {
            let (mut taken, mut given_back) = (Figure::default(), Figure::default());
            for seed in 0..2 * SEEDS {
                let mut world = frames(2, units, unit_s, rows, 0.3, &mut Rng::new(seed));
                world.load = Some((units / 3, units * 2 / 3));
                world.load_stalls = stalls;
                let run = run(&world, seed + 1000);
                taken.push(run.recovered(&world, units / 3, units * 2 / 3));
                given_back.push(run.recovered(&world, units * 2 / 3, units));
            }
            let name = format!("{name}, stalls {stalls}");
            println!("{name:24} taken: {taken}   given back: {given_back}");
            check(&name, "taken", taken.mean());
            check(&name, "given back", given_back.mean());
        }
    }
}

/// The other process has a processor to itself for some dozen milliseconds, and shares one with a worker for others:
/// all workers are no better than one then, and half as fast again in between.
#[test]
fn all_workers_stay_where_they_are_better_now_and_then() {
    // Long units run with each worker on a processor of its own, which no fixed plan does.
    for (name, units, unit_s) in [
        ("0.02 ms", 240_000, 0.02e-3),
        ("0.05 ms", 96_000, 0.05e-3),
        ("0.4 ms", 12_000, 0.4e-3),
        ("0.8 ms", 6000, 0.8e-3),
    ] {
        let (mut taken, mut given_back) = (Figure::default(), Figure::default());
        for seed in 0..SEEDS {
            let mut world = frames(2, units, unit_s, 1080, 0.3, &mut Rng::new(seed));
            world.load = Some((units / 3, units * 2 / 3));
            world.load_wanders = Some((60e-3 / unit_s) as u64);
            let run = run(&world, seed + 1000);
            taken.push(run.recovered(&world, units / 3, units * 2 / 3));
            given_back.push(run.recovered(&world, units * 2 / 3, units));
        }
        let name = format!("wanders, {name}");
        println!("{name}: taken: {taken}   given back: {given_back}");
        check(&name, "taken", taken.mean());
        check(&name, "given back", given_back.mean());
    }
}

/// The processors are far apart, so that what one needs of the other's takes more than twice as long, and another
/// structure is best on both. Where a process takes one of them, the best is the same that had lost, on one worker.
#[test]
fn what_suffers_from_other_workers_is_found_on_one() {
    let (mut taken, mut given_back) = (Figure::default(), Figure::default());
    for seed in 0..SEEDS {
        let units = 60_000;
        let mut world = frames(2, units, 36e-6, 288, 0.1, &mut Rng::new(seed));
        for truth in &mut world.truths {
            truth.work_s = 200e-6;
            match truth.structure.name {
                "tiled" => truth.work_s = 72e-6,
                "backward" => {
                    truth.work_s = 50e-6;
                    truth.apart = 1.6;
                    truth.predicted = 1.5;
                }
                _ => {}
            }
        }
        world.load = Some((units / 3, units * 2 / 3));
        world.load_stalls = 0.5;
        let run = run(&world, seed + 1000);
        taken.push(run.recovered(&world, units / 3, units * 2 / 3));
        given_back.push(run.recovered(&world, units * 2 / 3, units));
    }
    println!("apart: taken: {taken}   given back: {given_back}");
    check("apart", "taken", taken.mean());
    check("apart", "given back", given_back.mean());
}

/// Some containers count fewer frames than they have.
#[test]
fn a_stream_that_is_longer_than_it_said_is_still_watched() {
    let mut recovered = Figure::default();
    for seed in 0..SEEDS {
        let units = 6000;
        let mut world = frames(2, units, 1e-3, 1080, 0.3, &mut Rng::new(seed));
        world.told = Some(units / 6);
        world.load = Some((units / 3, units));
        world.load_stalls = 0.9;
        let run = run(&world, seed + 1000);
        recovered.push(run.recovered(&world, units / 3, units));
    }
    check("longer than it said", "recovered", recovered.mean());
}

/// A machine that is slow for as long as it is fast, again and again: what was found out is worth as little as it
/// lasts, so it is not searched all the time.
#[test]
fn a_restless_machine_is_not_searched_all_the_time() {
    for (unit_s, rows) in [(1.6e-3, 1080), (0.1e-3, 288)] {
        let name = format!("restless, {} ms", unit_s * 1e3);
        let units = (5.0 / unit_s) as u64;
        figures(&name, |rng| {
            let mut world = frames(2, units, unit_s, rows, 0.3, rng);
            world.bursts = Some(Bursts {
                apart_s: 0.06,
                length_s: (0.04, 0.1),
                factor: (2.0, 2.5),
            });
            world
        });
    }
}

/// All plans get slower alike, by and by: that is no reason to search.
#[test]
fn a_machine_that_gets_warm_is_followed() {
    figures("1080p 3000 x 1 ms, 30 % slower", |rng| {
        let mut world = frames(2, 3000, 1e-3, 1080, 0.2, rng);
        world.drift = 1.3;
        world
    });
}

#[test]
fn spikes_alone_never_reopen_the_search() {
    let mut drifts = 0;
    for seed in 0..SEEDS / 2 {
        let mut world = frames(2, 6000, 1e-3, 1080, 0.2, &mut Rng::new(seed));
        world.spikes = 0.04;
        drifts += run(&world, seed).tuner.summary().drifts;
    }
    assert!(drifts <= 2, "{drifts} in {} streams", SEEDS / 2);
}

#[test]
fn a_noisy_machine_is_tuned_all_the_same() {
    figures("1080p 300 x 1 ms, noise 12 %", |rng| {
        let mut world = frames(2, 300, 1e-3, 1080, 0.2, rng);
        world.noise = 0.12;
        world.spikes = 0.05;
        world
    });
}
