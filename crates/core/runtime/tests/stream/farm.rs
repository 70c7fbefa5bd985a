//! Whole units on different workers.

use std::time::Duration;

use evener_runtime::{Dispatch, Plan, Structure};

use crate::structures::{FARM, TILED};
use crate::toy::*;

/// A spread of 0 to 3 ms that looks random.
fn ragged(unit: u64, _: &'static Structure) -> Duration {
    Duration::from_micros(unit.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32 & 0xBFF)
}

#[test]
fn order_is_kept_whatever_each_unit_takes() {
    for dispatch in Dispatch::ALL {
        for (inline, in_flight) in [(false, 0), (true, 0), (false, 1), (false, 2), (true, 1)] {
            within(move || {
                let sink = Keep {
                    inline,
                    ..Keep::default()
                };
                let toy = Toy {
                    delay: Some(ragged),
                    ..Toy::default()
                };
                let rt = runtime();
                let mut stream = rt
                    .stream(Numbers {
                        inline,
                        ..numbers(120)
                    })
                    .through(toy);
                if in_flight > 0 {
                    stream = stream.in_flight(in_flight);
                }
                let plan = plan(&FARM, dispatch, 1, 3);
                let report = stream
                    .scheduled_by(Script::new(&[(plan, 40), (plan, 1), (plan, 7)]))
                    .into(sink.clone())
                    .unwrap();
                assert_eq!(sink.kept().numbers, (0..120).collect::<Vec<_>>());
                let most = if in_flight > 0 { in_flight } else { 32 };
                assert!(report.memory.inputs <= most && report.memory.outputs <= most);
            });
        }
    }
}

#[test]
fn units_overlap_and_cost_is_a_share_of_their_time() {
    within(|| {
        let toy = Toy {
            delay: Some(|_, _| Duration::from_millis(6)),
            ..Toy::default()
        };
        let script = Script::new(&[(plan(&FARM, Dispatch::Fifo, 1, 3), 30)]);
        let log = script.log.clone();
        let rt = runtime();
        let report = rt
            .stream(numbers(30))
            .through(toy)
            .scheduled_by(script)
            .into(Keep::default())
            .unwrap();
        // Three at a time: 60 ms, not 180.
        assert!(report.wall_s < 0.15, "{}", report.wall_s);
        let log = log.lock().unwrap();
        let Recorded::Units(_, costs) = &log[0] else {
            panic!("{log:?}")
        };
        // Others were still in work when there were none left to take.
        assert!((27..=30).contains(&costs.len()), "{log:?}");
        assert_eq!(log.iter().map(Recorded::units).sum::<usize>(), 30);
        let mut costs = costs.clone();
        costs.sort_unstable();
        let (least, median) = (costs[0].as_secs_f64(), costs[15].as_secs_f64());
        assert!(least >= 2e-3 && median < 5e-3, "{costs:?}");
    });
}

/// Pairs of a long and a short unit: where each pair had to be complete, the stream would take the long ones' time.
#[test]
fn no_worker_waits_at_the_end_of_an_epoch_while_the_plan_stays() {
    within(|| {
        let toy = Toy {
            delay: Some(|unit, _| Duration::from_millis(if unit % 2 == 0 { 9 } else { 1 })),
            ..Toy::default()
        };
        let script = Script::new(&[(plan(&FARM, Dispatch::Fifo, 1, 2), 2)]);
        let log = script.log.clone();
        let sink = Keep::default();
        let rt = runtime();
        let report = rt
            .stream(numbers(40))
            .through(toy)
            .scheduled_by(script)
            .into(sink.clone())
            .unwrap();
        assert_eq!(sink.kept().numbers, (0..40).collect::<Vec<_>>());
        // 100 ms, not 180.
        assert!(report.wall_s < 0.17, "{}", report.wall_s);
        let log = log.lock().unwrap();
        assert_eq!(log.iter().map(Recorded::units).sum::<usize>(), 40);
        assert!(!log.iter().any(|r| matches!(r, Recorded::Late(_))));
    });
}

/// Of two workers one has a long unit, the other soon has no buffer for results that must wait for it.
#[test]
fn waiting_for_an_earlier_unit_is_part_of_the_cost() {
    within(|| {
        for inline in [false, true] {
            let toy = Toy {
                delay: Some(|unit, _| Duration::from_millis(if unit % 16 == 0 { 20 } else { 0 })),
                ..Toy::default()
            };
            let script = Script::new(&[(plan(&FARM, Dispatch::Fifo, 1, 2), 128)]);
            let log = script.log.clone();
            let sink = Keep {
                inline,
                ..Keep::default()
            };
            let rt = runtime();
            let report = rt
                .stream(numbers(128))
                .through(toy)
                .in_flight(6)
                .scheduled_by(script)
                .into(sink)
                .unwrap();
            let log = log.lock().unwrap();
            let costs = log.iter().flat_map(|recorded| match recorded {
                Recorded::Units(_, costs) => costs.clone(),
                _ => Vec::new(),
            });
            let told: f64 = costs.map(|cost| cost.as_secs_f64()).sum();
            let wall = report.wall_s;
            assert!(wall > 0.15, "{wall}");
            assert!((0.8..1.1).contains(&(told / wall)), "{told} of {wall}");
        }
    });
}

#[test]
fn units_in_work_when_the_plan_changes_are_told_late() {
    within(|| {
        let toy = Toy {
            delay: Some(|_, _| Duration::from_millis(2)),
            ..Toy::default()
        };
        let (farm, tiled) = (
            plan(&FARM, Dispatch::Fifo, 1, 2),
            plan(&TILED, Dispatch::Fifo, 1, 2),
        );
        let script = Script::new(&[(farm, 4), (farm, 3), (tiled, 2)]);
        let log = script.log.clone();
        let sink = Keep::default();
        let report = runtime()
            .stream(numbers(45))
            .through(toy)
            .scheduled_by(script)
            .into(sink.clone())
            .unwrap();
        assert_eq!(sink.kept().numbers, (0..45).collect::<Vec<_>>());
        let log = log.lock().unwrap();
        assert_eq!(log.iter().map(Recorded::units).sum::<usize>(), 45);
        assert!(
            log.iter().any(|r| matches!(r, Recorded::Late(_))),
            "{log:?}"
        );
        let of = |wanted: Plan| {
            let plans = report.plans.iter().filter(|p| p.plan == wanted);
            plans.map(|p| p.units).sum::<u64>()
        };
        assert_eq!((of(farm), of(tiled)), (35, 10));
    });
}

#[test]
fn waiting_for_the_source_or_the_sink_is_no_cost() {
    for slow_source in [true, false] {
        within(move || {
            let delay = Duration::from_millis(5);
            let toy = Toy {
                delay: Some(|_, _| Duration::from_millis(2)),
                ..Toy::default()
            };
            let script = Script::new(&[(plan(&FARM, Dispatch::Fifo, 1, 2), 40)]);
            let log = script.log.clone();
            let mut source = numbers(40);
            let mut sink = Keep::default();
            if slow_source {
                source.delay = delay;
            } else {
                sink.delay = delay;
            }
            let rt = runtime();
            let report = rt
                .stream(source)
                .through(toy)
                .scheduled_by(script)
                .into(sink)
                .unwrap();
            assert!(report.wall_s > 0.19, "{}", report.wall_s);
            let log = log.lock().unwrap();
            let Recorded::Units(_, costs) = &log[0] else {
                panic!("{log:?}")
            };
            // 2 ms on each of 2 workers is 1 ms a unit, and not the 5 ms between units.
            assert!(
                (0.9e-3..4e-3).contains(&costs[0].as_secs_f64()),
                "{:?}",
                costs[0]
            );
        });
    }
}

/// Nothing else can be done meanwhile, so plans differ in it.
#[test]
fn reading_in_line_is_a_cost() {
    for structure in [&FARM, &TILED] {
        within(move || {
            let script = Script::new(&[(plan(structure, Dispatch::Fifo, 8, 2), 20)]);
            let log = script.log.clone();
            let source = Numbers {
                delay: Duration::from_millis(4),
                inline: true,
                ..numbers(20)
            };
            let rt = runtime();
            rt.stream(source)
                .through(Toy::default())
                .scheduled_by(script)
                .into(Keep::default())
                .unwrap();
            let log = log.lock().unwrap();
            let Recorded::Units(_, costs) = &log[0] else {
                panic!("{log:?}")
            };
            let sum: Duration = costs.iter().sum();
            let mean = sum.as_secs_f64() / costs.len() as f64;
            assert!((3.5e-3..20e-3).contains(&mean), "{structure}: {mean}");
        });
    }
}

#[test]
fn an_end_in_mid_epoch_is_an_end() {
    within(|| {
        let script = Script::new(&[(plan(&FARM, Dispatch::Steal, 1, 3), 1000)]);
        let log = script.log.clone();
        let sink = Keep::default();
        let rt = runtime();
        rt.stream(numbers(10))
            .through(Toy::default())
            .scheduled_by(script)
            .into(sink.clone())
            .unwrap();
        assert_eq!(sink.kept().numbers, (0..10).collect::<Vec<_>>());
        assert!(
            matches!(&log.lock().unwrap()[..], [Recorded::Units(_, costs)] if costs.len() == 10)
        );
    });
}

#[test]
fn a_hopeless_farm_is_cut_off_and_loses_nothing() {
    within(|| {
        let farm = plan(&FARM, Dispatch::Fifo, 1, 2);
        let tiled = plan(&TILED, Dispatch::Fifo, 8, 2);
        let mut script = Script::new(&[(farm, 50), (tiled, 50)]);
        script.cutoff = Some(Duration::from_millis(50));
        script.fallback = Some(tiled);
        let log = script.log.clone();
        fn slow_farm(_: u64, structure: &'static Structure) -> Duration {
            Duration::from_millis(if structure == &FARM { 80 } else { 0 })
        }
        let toy = Toy {
            delay: Some(slow_farm),
            ..Toy::default()
        };
        let sink = Keep::default();
        let rt = runtime();
        rt.stream(numbers(40))
            .through(toy)
            .scheduled_by(script)
            .into(sink.clone())
            .unwrap();
        assert_eq!(sink.kept().numbers, (0..40).collect::<Vec<_>>());
        let log = log.lock().unwrap();
        match &log[0] {
            Recorded::CutOff { after, redo, .. } => {
                assert!(*after >= Duration::from_millis(80) && !redo.is_zero());
            }
            other => panic!("{other:?}"),
        }
        // Only the units that had begun took the slow way.
        let Recorded::Units(_, costs) = &log[1] else {
            panic!("{log:?}")
        };
        assert!(costs.len() >= 35, "{}", costs.len());
    });
}

/// A unit that takes far too long ends the epoch while it is in work: the other worker begins no more.
#[test]
fn no_unit_is_begun_once_one_exceeds_the_cutoff() {
    within(|| {
        let farm = plan(&FARM, Dispatch::Fifo, 1, 2);
        let mut script = Script::new(&[(farm, 1000)]);
        script.cutoff = Some(Duration::from_millis(100));
        let log = script.log.clone();
        let toy = Toy {
            delay: Some(|unit, _| {
                Duration::from_millis(match unit {
                    0 => 900,
                    1 => 150,
                    _ => 2,
                })
            }),
            ..Toy::default()
        };
        let rt = runtime();
        let sink = Keep::default();
        let units = 200;
        let stream = rt.stream(numbers(units)).through(toy);
        stream
            .in_flight(200)
            .scheduled_by(script)
            .into(sink.clone())
            .unwrap();
        assert_eq!(sink.kept().numbers, (0..units).collect::<Vec<_>>());
        let log = log.lock().unwrap();
        assert!(matches!(log[0], Recorded::CutOff { .. }), "{log:?}");
        let Recorded::Units(_, costs) = &log[1] else {
            panic!("{log:?}")
        };
        // In 900 ms the other worker could have computed more than half of them.
        assert!(costs.len() > 150, "{}", costs.len());
    });
}
