//! Plans that change in mid-stream.

use std::time::Duration;

use evener_runtime::{Choice, Dispatch, Plan, Structure};
use proptest::prelude::*;

use crate::structures::{BACKWARD, FARM, GROUPED, PIPELINE, SEQUENTIAL, TILED};
use crate::toy::*;

fn any_plan() -> impl Strategy<Value = Plan> {
    let structures = [&SEQUENTIAL, &BACKWARD, &TILED, &FARM, &GROUPED];
    (
        prop::sample::select(structures.to_vec()),
        prop::sample::select(Dispatch::ALL.to_vec()),
        1..=ITEMS + 3,
        1..=3u32,
    )
        .prop_map(|(structure, dispatch, grain, workers)| plan(structure, dispatch, grain, workers))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// `Keep` compares every unit with what it should be.
    #[test]
    fn switching_loses_repeats_reorders_and_changes_nothing(
        plans in prop::collection::vec((any_plan(), 0..20u32), 1..30),
        units in 0..400u64,
        read_inline: bool,
        write_inline: bool,
        in_flight in prop::option::of(1..8usize),
        grouped in 1..=5u32,
        cutoff in prop::option::of((0..200u64, any_plan())),
    ) {
        let kept = within(move || {
            let sink = Keep { inline: write_inline, ..Keep::default() };
            let rt = runtime();
            let source = Numbers { inline: read_inline, ..numbers(units) };
            let toy = Toy { grouped, ..Toy::default() };
            let mut stream = rt.stream(source).through(toy);
            if let Some(n) = in_flight {
                stream = stream.in_flight(n);
            }
            let mut script = Script::new(&plans);
            if let Some((cutoff, fallback)) = cutoff {
                script.cutoff = Some(Duration::from_micros(cutoff));
                script.fallback = Some(fallback);
            }
            let report = stream.scheduled_by(script).into(sink.clone()).unwrap();
            assert_eq!(report.units, units);
            sink.kept()
        });
        prop_assert_eq!(kept.numbers, (0..units).collect::<Vec<_>>());
    }
}

#[test]
fn the_time_that_memory_takes_is_told_once_for_each_plan_that_needs_some() {
    within(|| {
        let plans = [
            (plan(&TILED, Dispatch::Fifo, 8, 2), 2),
            (plan(&FARM, Dispatch::Fifo, 1, 3), 9),
        ];
        let script = Script::new(&plans);
        let memory = script.memory.clone();
        let pause = Duration::from_millis(3);
        let toy = Toy {
            prepare: pause,
            ..Toy::default()
        };
        let rt = runtime();
        let stream = rt.stream(numbers(60)).through(toy);
        stream.scheduled_by(script).into(Keep::default()).unwrap();
        let memory = memory.lock().unwrap();
        assert_eq!(memory.buffers.len(), 1);
        assert!(memory.buffers[0].1 >= 1);
        let told: Vec<_> = memory.prepared.iter().map(|(plan, _)| *plan).collect();
        assert_eq!(told, [plans[0].0, plans[1].0]);
        assert!(memory.prepared.iter().all(|(_, time)| *time >= pause));
    });
}

#[test]
fn every_epoch_is_recorded_with_the_cost_of_each_unit() {
    within(|| {
        let plans = [
            (plan(&TILED, Dispatch::Fifo, 8, 2), 5),
            (plan(&SEQUENTIAL, Dispatch::Steal, 20, 3), 3),
        ];
        let script = Script::new(&plans);
        let log = script.log.clone();
        let toy = Toy {
            delay: Some(|_, _| Duration::from_millis(2)),
            ..Toy::default()
        };
        let source = Numbers {
            delay: Duration::from_millis(25),
            ..numbers(18)
        };
        let rt = runtime();
        let report = rt
            .stream(source)
            .through(toy)
            .scheduled_by(script)
            .into(Keep::default());
        let report = report.unwrap();
        let log = log.lock().unwrap();
        let lengths: Vec<(Plan, usize)> = log
            .iter()
            .map(|r| match r {
                Recorded::Units(plan, costs) => (*plan, costs.len()),
                other => panic!("{other:?}"),
            })
            .collect();
        let [(tiled, _), (sequential, _)] = plans;
        assert_eq!(
            lengths,
            [
                (tiled, 5),
                (sequential, 3),
                (tiled, 5),
                (sequential, 3),
                (tiled, 2)
            ]
        );
        for recorded in log.iter() {
            let Recorded::Units(plan, costs) = recorded else {
                unreachable!()
            };
            // `sequential` has two passes, each with the delay. Reading takes 25 ms and must not be in it.
            let passes = if *plan == tiled { 1 } else { 2 };
            let least = Duration::from_millis(2) * passes;
            let mut costs = costs.clone();
            costs.sort_unstable();
            let median = costs[costs.len() / 2];
            assert!(costs[0] >= least, "{plan}: {costs:?}");
            assert!(
                median < least + Duration::from_millis(12),
                "{plan}: {costs:?}"
            );
        }
        assert_eq!(report.plans.len(), 2);
        assert_eq!((report.plans[0].plan, report.plans[0].units), (tiled, 12));
        assert_eq!(
            (report.plans[1].plan, report.plans[1].units),
            (sequential, 6)
        );
        assert!(report.plans[0].median_s < report.plans[1].median_s);
    });
}

#[test]
fn a_structure_is_prepared_once_and_that_is_no_units_cost() {
    within(|| {
        let plans = [
            (plan(&TILED, Dispatch::Fifo, 8, 2), 3),
            (plan(&TILED, Dispatch::Steal, 8, 2), 3),
            (plan(&FARM, Dispatch::Fifo, 1, 2), 4),
        ];
        let script = Script::new(&plans);
        let log = script.log.clone();
        let toy = Toy {
            prepare: Duration::from_millis(60),
            ..Toy::default()
        };
        let prepared = toy.prepared.clone();
        let rt = runtime();
        let stream = rt.stream(numbers(30)).through(toy).scheduled_by(script);
        stream.into(Keep::default()).unwrap();
        assert_eq!(*prepared.lock().unwrap(), [&TILED, &FARM]);
        for recorded in log.lock().unwrap().iter() {
            let (Recorded::Units(_, costs) | Recorded::Late(costs)) = recorded else {
                panic!("{recorded:?}")
            };
            assert!(
                costs.iter().all(|cost| *cost < Duration::from_millis(50)),
                "{recorded:?}"
            );
        }
    });
}

#[test]
fn a_unit_that_takes_too_long_is_redone_under_the_fallback() {
    fn slow_backward(_: u64, structure: &'static Structure) -> Duration {
        Duration::from_millis(if structure == &BACKWARD { 30 } else { 0 })
    }
    for dispatch in Dispatch::ALL {
        for workers in [1, 3] {
            within(move || {
                let slow = plan(&BACKWARD, dispatch, 1, workers);
                let good = plan(&TILED, dispatch, 8, workers);
                let mut script = Script::new(&[(good, 4), (slow, 4)]);
                script.cutoff = Some(Duration::from_millis(10));
                script.fallback = Some(good);
                let log = script.log.clone();
                let toy = Toy {
                    delay: Some(slow_backward),
                    ..Toy::default()
                };
                let sink = Keep::default();
                let rt = runtime();
                let stream = rt.stream(numbers(20)).through(toy).scheduled_by(script);
                let report = stream.into(sink.clone()).unwrap();
                assert_eq!(sink.kept().numbers, (0..20).collect::<Vec<_>>());
                let log = log.lock().unwrap();
                // Several workers can begin all jobs while the first one sleeps; then nothing is cut off.
                let cuts = log
                    .iter()
                    .filter(|r| matches!(r, Recorded::CutOff { plan, .. } if *plan == slow))
                    .count();
                if workers == 1 {
                    assert_eq!(cuts, 4, "{log:?}");
                    // A redone unit counts for the plan that computed it.
                    assert_eq!(report.plans.len(), 1, "{log:?}");
                }
                for recorded in log.iter() {
                    if let Recorded::CutOff {
                        plan,
                        done,
                        after,
                        redo,
                    } = recorded
                    {
                        // A busy machine makes any plan slow.
                        if *plan == good {
                            continue;
                        }
                        assert_eq!((*plan, *done), (slow, 0));
                        assert!(*after >= Duration::from_millis(30), "{after:?}");
                        assert!(*redo < Duration::from_millis(20), "{redo:?}");
                    }
                }
            });
        }
    }
}

/// Alone on one of the workers of a farm, it takes longer than a farm takes for a unit.
#[test]
fn what_a_farm_takes_to_redo_a_unit_is_shared_by_its_workers() {
    fn slow_backward(_: u64, structure: &'static Structure) -> Duration {
        Duration::from_millis(if structure == &BACKWARD { 90 } else { 60 })
    }
    within(|| {
        let slow = plan(&BACKWARD, Dispatch::Fifo, 1, 1);
        let farm = plan(&FARM, Dispatch::Fifo, 1, 3);
        let mut script = Script::new(&[(farm, 6), (slow, 1)]);
        script.cutoff = Some(Duration::from_millis(80));
        script.fallback = Some(farm);
        let log = script.log.clone();
        let toy = Toy {
            delay: Some(slow_backward),
            ..Toy::default()
        };
        let rt = runtime();
        let stream = rt.stream(numbers(7)).through(toy);
        stream.scheduled_by(script).into(Keep::default()).unwrap();
        let log = log.lock().unwrap();
        let redone = log.iter().find_map(|recorded| match recorded {
            Recorded::CutOff { plan, redo, .. } if *plan == slow => Some(*redo),
            _ => None,
        });
        let redone = redone.unwrap();
        let share = Duration::from_millis(20);
        assert!(redone >= share && redone < share * 2, "{redone:?}");
    });
}

#[test]
fn the_tuner_settles_and_says_why() {
    let report = within(|| {
        let toy = Toy {
            delay: Some(|_, s| Duration::from_millis(cost(s))),
            ..Toy::default()
        };
        runtime()
            .stream(numbers(400))
            .through(toy)
            .into(Keep::default())
            .unwrap()
    });
    fn cost(structure: &'static Structure) -> u64 {
        match structure.name {
            "tiled" => 1,
            _ => 20,
        }
    }
    assert_eq!(
        report.plan.unwrap().structure,
        &TILED,
        "{:#?}",
        report.decisions
    );
    assert_eq!(
        report.plans[0].plan.structure, &TILED,
        "{:#?}",
        report.plans
    );
    assert!(
        report.gain.is_none_or(|g| g.factor > 1.0),
        "{:?} {:#?}",
        report.gain,
        report.decisions
    );
    assert!(
        report
            .search
            .is_some_and(|s| s.plans_tried >= 2 && s.epochs >= 2)
    );
    assert!(report.last_quarter.median_s < 10e-3);
}

/// Units so long that an epoch has one of them.
#[test]
fn long_units_overlap_under_a_fixed_plan() {
    for (structure, most) in [(&FARM, 0.5), (&PIPELINE, 0.6)] {
        within(move || {
            let toy = Toy {
                pipeline: true,
                delay: Some(|_, _| Duration::from_millis(60)),
                step: Some(|_, _| Duration::from_millis(10)),
                ..Toy::default()
            };
            let choice = Choice::Fixed {
                structure: structure.to_string(),
                dispatch: None,
                grain: None,
            };
            let rt = runtime();
            let stream = rt.stream(numbers(12)).through(toy).plan(choice);
            let report = stream.into(Keep::default()).unwrap();
            // 240 ms on three workers in a farm, 280 in stages; 720 one after the other.
            assert!(report.wall_s < most, "{structure}: {}", report.wall_s);
        });
    }
}

/// As on a machine where memory is touched for the first time, or another process has the processor.
#[test]
fn a_first_unit_that_takes_long_is_no_reason_to_leave_its_plan() {
    let report = within(|| {
        let toy = Toy {
            delay: Some(|unit, structure| match (unit, structure.name) {
                (0, _) => Duration::from_millis(100),
                (_, "backward") => Duration::from_millis(1),
                _ => Duration::from_millis(20),
            }),
            ..Toy::default()
        };
        let runtime = runtime();
        let stream = runtime.stream(numbers(12)).through(toy);
        stream.into(Keep::default()).unwrap()
    });
    assert_eq!(report.plans.len(), 1, "{:#?}", report.decisions);
    assert_eq!(report.search.map(|search| search.switches), Some(0));
}
