//! Other machines and other work than frames on two cores.

use evener_runtime::tuner::{Measured, Tuner};
use evener_runtime::{Choice, Dispatch, Structure};
use std::time::Duration;

use crate::figures::figures;
use crate::frames::frames;
use crate::rng::Rng;
use crate::sim::run;
use crate::structures::{FARM, PIPELINE, SEQUENTIAL, TILED};
use crate::world::{Truth, World};

fn plain(structure: &'static Structure, work_s: f64, memory_s: f64, items: u32) -> Truth {
    Truth {
        memory_s,
        ..Truth::plain(structure, work_s, items)
    }
}

/// What cannot be divided any other way runs in stages, on as many workers as there are. The stream is long, because a
/// pipeline that were a hundred times slower could not be cut off.
#[test]
fn a_pipeline_is_found_where_nothing_else_uses_all_workers() {
    for seed in 0..30 {
        let mut truths = vec![
            plain(&SEQUENTIAL, 2e-3, 0.0, 1),
            plain(&PIPELINE, 2e-3, 0.0, 64),
        ];
        truths[1].predicted = Rng::new(seed).between(0.7, 1.4);
        let world = World::new(4, 12_000, truths);
        let ran = run(&world, seed);
        let plan = ran.tuner.incumbent();
        let full = (plan.structure, plan.workers) == (&PIPELINE, 4);
        assert!(full, "{plan}\n{}", ran.log());
        assert!(ran.efficiency(&world, 0, 12_000) > 0.85, "{}", ran.log());
        assert!((1..=32).contains(&plan.grain), "{plan}");
    }
}

/// A farm of equal speed is as good, and the tuner stays with one of the two.
#[test]
fn a_pipeline_and_a_farm_compete() {
    for (factor, best) in [(1.3, &FARM), (0.7, &PIPELINE)] {
        for seed in 0..20 {
            let mut truths = vec![
                plain(&SEQUENTIAL, 2e-3, 0.0, 64),
                plain(&FARM, 1.5e-3, 0.0, 1),
                plain(&PIPELINE, 1.5e-3 * factor, 0.0, 64),
            ];
            truths[2].predicted = 1.0 / factor;
            let world = World::new(2, 4000, truths);
            let ran = run(&world, seed);
            assert_eq!(ran.tuner.incumbent().structure, best, "{}", ran.log());
        }
    }
}

/// Memory is the limit from the second worker on, and every further worker makes it worse.
#[test]
fn sixteen_workers_are_too_many_where_memory_is_the_limit() {
    figures("16 workers, memory-bound, 2000", |rng| {
        let mut truths = vec![
            plain(&SEQUENTIAL, 3e-3, 2.0e-3, 4096),
            plain(&TILED, 3e-3, 1e-3 * rng.between(0.9, 1.1), 4096),
        ];
        truths[0].passes = vec![4096; 3];
        let mut world = World::new(16, 2000, truths);
        world.contention = 0.06;
        world
    });
}

#[test]
fn sixteen_workers_are_used_where_arithmetic_is_the_limit() {
    figures("16 workers, 1080p 300 x 1 ms", |rng| {
        frames(16, 300, 1e-3, 1080, 0.2, rng)
    });
}

/// Handing out jobs takes longer than doing them, and the rates were measured too low to predict it.
#[test]
fn one_worker_wins_on_tiny_units() {
    figures("8 workers, 20000 x 4 us", |_| {
        let mut world = World::new(8, 20_000, vec![plain(&TILED, 4e-6, 0.0, 64)]);
        world.pass_s = 6e-6;
        world.job_s = 1e-6;
        world
    });
    let mut world = World::new(8, 20_000, vec![plain(&TILED, 4e-6, 0.0, 64)]);
    world.pass_s = 6e-6;
    assert_eq!(run(&world, 7).tuner.incumbent().workers, 1);
}

#[test]
fn what_the_user_pinned_stays_pinned() {
    let world = frames(4, 300, 1e-3, 1080, 0.2, &mut Rng::new(3));
    let mut setup = world.setup();
    setup.fixed_workers = Some(2);
    setup.live = true;
    setup.dispatches = vec![Dispatch::Steal];
    let mut tuner = Tuner::new(setup).expect("a setup that can run");
    for _ in 0..300 {
        let epoch = tuner.next();
        assert_eq!(
            (epoch.plan.workers, epoch.plan.dispatch),
            (2, Dispatch::Steal)
        );
        assert_ne!(epoch.plan.structure, &FARM);
        let costs = vec![Duration::from_micros(500); epoch.units as usize];
        tuner.record(Measured::Units { costs: &costs });
    }
}

/// What the end line says about `sequential`.
#[test]
fn a_gain_is_measured_if_sequential_ran_and_no_more_than_the_cpus_if_not() {
    let mut predicted = 0;
    for seed in 0..60 {
        let mut world = frames(2, 3000, 1e-3, 1080, 0.2, &mut Rng::new(seed));
        world
            .truths
            .retain(|t| [&SEQUENTIAL, &TILED].contains(&t.structure));
        // After the machine has changed, what was measured before counts as measured still.
        world.load = Some((1000, 2000));
        for t in &mut world.truths {
            t.predicted = if t.structure == &SEQUENTIAL && seed % 2 == 0 {
                9.0
            } else {
                1.0
            };
        }
        let tuner = run(&world, seed).tuner;
        let gain = tuner.summary().gain.expect("units ran");
        let ran = tuner.decisions().iter().any(|d| {
            let text = d.to_string();
            text.contains(": sequential") && text.contains(" measured ")
        });
        assert!(gain.measured || !ran, "{gain:?}");
        if !gain.measured {
            predicted += 1;
            assert!(gain.factor <= 2.0, "{gain:?}");
        }
    }
    assert!((1..60).contains(&predicted), "{predicted}");
}

#[test]
fn a_fixed_plan_runs_in_long_epochs_and_nothing_else_runs() {
    let world = frames(2, 300, 1e-3, 1080, 0.2, &mut Rng::new(3));
    let mut setup = world.setup();
    setup.choice = "sequential/mailbox/7".parse().expect("a plan");
    let mut tuner = Tuner::new(setup.clone()).expect("a setup that can run");
    let (mut units, mut epochs) = (0, 0);
    while units < 10_000 {
        let epoch = tuner.next();
        assert_eq!(
            epoch.plan.to_string(),
            "sequential \u{b7} mailbox \u{b7} grain 7 \u{b7} 2 workers"
        );
        assert_eq!(epoch.cutoff, None);
        units += epoch.units;
        epochs += 1;
        tuner.record(Measured::Units {
            costs: &vec![Duration::from_millis(1); epoch.units as usize],
        });
    }
    assert!(epochs < 220, "{epochs}");
    setup.choice = Choice::Fixed {
        structure: "pipeline".into(),
        dispatch: None,
        grain: None,
    };
    assert!(Tuner::new(setup).is_err());
}

/// Whatever a stream does, no call panics and every epoch can be run.
#[test]
fn odd_outcomes_are_survived() {
    for seed in 0..300 {
        let mut rng = Rng::new(seed);
        let world = frames(1 + (seed % 5) as u32, 300, 1e-3, 1080, 0.5, &mut rng);
        let mut setup = world.setup();
        if seed % 3 == 0 {
            setup.shapes.truncate(1 + (seed % 4) as usize);
            setup.rates.ops_per_s = f64::NAN;
            setup.units = Some(10);
        }
        let mut tuner = Tuner::new(setup.clone()).expect("a setup that can run");
        for _ in 0..400 {
            let epoch = tuner.next();
            assert_eq!(epoch, tuner.next());
            assert!(epoch.units > 0 && epoch.plan.workers > 0 && epoch.plan.grain > 0);
            assert!(epoch.plan.workers <= setup.workers);
            assert!(
                epoch
                    .cutoff
                    .is_none_or(|_| epoch.fallback.structure != &FARM
                        || epoch.plan.structure == &FARM
                        || setup.shapes.len() == 1
                        || tuner.incumbent().structure == &FARM)
            );
            let wild = |rng: &mut Rng| Duration::from_secs_f64(10f64.powf(rng.between(-9.0, 1.0)));
            let count = (rng.bits() % (u64::from(epoch.units) + 1)) as usize;
            let costs: Vec<Duration> = (0..count.min(50)).map(|_| wild(&mut rng)).collect();
            match rng.bits() % 8 {
                0 => tuner.record(Measured::CutOff {
                    done: &costs,
                    after: wild(&mut rng),
                    redo: wild(&mut rng),
                }),
                1 => tuner.record(Measured::CutOff {
                    done: &[],
                    after: Duration::ZERO,
                    redo: Duration::ZERO,
                }),
                2 => tuner.record(Measured::Units {
                    costs: &vec![Duration::ZERO; count.min(50)],
                }),
                _ => tuner.record(Measured::Units { costs: &costs }),
            }
            assert!(tuner.decisions().len() <= 401);
        }
        let summary = tuner.summary();
        assert!(summary.cost.is_none_or(|c| c <= Duration::from_secs(20)));
    }
}
