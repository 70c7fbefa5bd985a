//! Stages of units on different workers.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use evener_runtime::{CancelToken, Dispatch, Plan, Runtime, Service, StreamError};

use crate::structures::{FARM, PIPELINE, SEQUENTIAL, TILED};
use crate::toy::*;

fn pipe(grain: u32, workers: u32) -> Plan {
    plan(&PIPELINE, Dispatch::Fifo, grain, workers)
}

fn toy() -> Toy {
    Toy {
        pipeline: true,
        ..Toy::default()
    }
}

/// A spread of 0 to 0.5 ms that looks random.
fn ragged(unit: u64, step: u32) -> Duration {
    let hash = (unit * 8 + u64::from(step)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    Duration::from_micros(hash >> 32 & 0x1FF)
}

fn all(units: u64) -> Vec<u64> {
    (0..units).collect()
}

#[test]
fn order_is_kept_whatever_each_step_takes() {
    for dispatch in Dispatch::ALL {
        for (inline, in_flight) in [(false, 0), (true, 0), (false, 1), (false, 2), (true, 1)] {
            for (grain, workers) in [(1, 5), (3, 2), (3, 5), (6, 2), (6, 1)] {
                within(move || {
                    let sink = Keep {
                        inline,
                        ..Keep::default()
                    };
                    let toy = Toy {
                        step: Some(ragged),
                        ..toy()
                    };
                    let rt = Runtime::builder().workers(5).build().unwrap();
                    let source = Numbers {
                        inline,
                        ..numbers(60)
                    };
                    let mut stream = rt.stream(source).through(toy);
                    if in_flight > 0 {
                        stream = stream.in_flight(in_flight);
                    }
                    let plan = plan(&PIPELINE, dispatch, grain, workers);
                    let report = stream
                        .scheduled_by(Script::new(&[(plan, 20), (plan, 1), (plan, 7)]))
                        .into(sink.clone())
                        .unwrap();
                    assert_eq!(sink.kept().numbers, all(60));
                    let most = if in_flight > 0 { in_flight } else { 32 };
                    assert!(report.memory.inputs <= most && report.memory.outputs <= most);
                });
            }
        }
    }
}

#[test]
fn stages_overlap_and_cost_is_the_time_between_units() {
    within(|| {
        let toy = Toy {
            step: Some(|_, _| Duration::from_millis(2)),
            ..toy()
        };
        let ran = toy.ran.clone();
        let script = Script::new(&[(pipe(1, 3), 40)]);
        let log = script.log.clone();
        let sink = Keep::default();
        let report = runtime()
            .stream(numbers(40))
            .through(toy)
            .scheduled_by(script)
            .into(sink.clone())
            .unwrap();
        assert_eq!(sink.kept().numbers, all(40));
        // Three stages of 4 ms: 160 ms and 8 to fill it, not 480.
        assert!(report.wall_s < 0.3, "{}", report.wall_s);
        let log = log.lock().unwrap();
        assert_eq!(log.iter().map(Recorded::units).sum::<usize>(), 40);
        let Recorded::Units(_, costs) = &log[0] else {
            panic!("{log:?}")
        };
        let mut costs = costs.clone();
        costs.sort_unstable();
        let median = costs[costs.len() / 2].as_secs_f64();
        assert!((3.9e-3..6e-3).contains(&median), "{costs:?}");
        // A stage stays with its worker.
        let mut threads = HashMap::new();
        for (_, steps, thread) in ran.lock().unwrap().iter() {
            *threads.entry((steps.clone(), *thread)).or_insert(0) += 1;
        }
        let steady = threads.values().filter(|&&units| units > 30).count();
        assert_eq!(steady, 3, "{threads:?}");
    });
}

#[test]
fn pipelines_side_by_side_share_the_units() {
    within(|| {
        let toy = Toy {
            step: Some(|_, _| Duration::from_millis(1)),
            ..toy()
        };
        let rt = Runtime::builder().workers(4).build().unwrap();
        let sink = Keep::default();
        let report = rt
            .stream(numbers(60))
            .through(toy)
            .scheduled_by(Script::new(&[(pipe(3, 4), 60)]))
            .into(sink.clone())
            .unwrap();
        assert_eq!(sink.kept().numbers, all(60));
        // Two pipelines of two stages of 3 ms: 90 ms, not 360, nor 180 with one.
        assert!(report.wall_s < 0.16, "{}", report.wall_s);
    });
}

#[test]
fn boundaries_move_to_where_the_time_goes() {
    within(|| {
        // Half of the time is in the last two of six steps.
        let toy = Toy {
            step: Some(|_, step| Duration::from_micros(if step < 4 { 500 } else { 1000 })),
            ..toy()
        };
        let ran = toy.ran.clone();
        let sink = Keep::default();
        // What was learnt outlasts another plan.
        let tiled = plan(&TILED, Dispatch::Fifo, 8, 2);
        let script = Script::new(&[(pipe(1, 2), 60), (pipe(1, 2), 60), (tiled, 2)]);
        runtime()
            .stream(numbers(200))
            .through(toy)
            .scheduled_by(script)
            .into(sink.clone())
            .unwrap();
        assert_eq!(sink.kept().numbers, all(200));
        let ran = ran.lock().unwrap();
        let first = |from: u64| {
            let stage = ran
                .iter()
                .find(|(unit, steps, _)| *unit >= from && steps.start == 0);
            stage.expect("a first stage").1.end
        };
        // Half of the steps, then half of the time.
        assert_eq!((first(0), first(100), first(130)), (3, 4, 4));
    });
}

#[test]
fn a_stage_that_fails_or_panics_fails_its_unit() {
    for fail in [Fail::Error, Fail::Panic] {
        for fail_step in [0, 2, 5] {
            for workers in [1, 2, 3, 5] {
                within(move || {
                    let toy = Toy {
                        fail: Some((30, fail)),
                        fail_step,
                        step: Some(|unit, _| Duration::from_micros(unit % 3 * 100)),
                        ..toy()
                    };
                    let sink = Keep::default();
                    let rt = Runtime::builder().workers(5).build().unwrap();
                    let stream = rt.stream(numbers(1000)).through(toy);
                    let stream = stream.scheduled_by(Script::new(&[(pipe(2, workers), 400)]));
                    let error = stream.into(sink.clone()).unwrap_err();
                    let text = error.to_string();
                    assert!(
                        matches!(error, StreamError::Unit { unit: 30, .. }),
                        "{text}"
                    );
                    let said = match fail {
                        Fail::Error => "the toy broke",
                        Fail::Panic => "panicked: the toy fell",
                    };
                    assert!(text.contains(said), "{text}");
                    // Those before it are written.
                    assert_eq!(sink.kept().numbers, all(30));
                    assert!(sink.kept().aborted);
                    // Workers live on.
                    let again = rt.stream(numbers(9)).through(self::toy());
                    let again = again.plan("pipeline".parse().unwrap());
                    assert_eq!(again.into(Keep::default()).unwrap().units, 9);
                });
            }
        }
    }
}

#[test]
fn sources_sinks_and_callbacks_that_fail_end_the_stream() {
    for inline in [false, true] {
        within(move || {
            let run = |source: Numbers, sink: Keep| {
                let stream = runtime_stream(source, inline);
                stream(sink)
            };
            let source = Numbers {
                fail: Some((20, Fail::Error)),
                ..numbers(100)
            };
            let sink = Keep::default();
            let error = run(source, sink.clone()).unwrap_err();
            assert!(
                matches!(error, StreamError::Source { unit: 20, .. }),
                "{error}"
            );
            assert_eq!(sink.kept().numbers, all(20));
            let sink = Keep {
                fail: Some((20, Fail::Error)),
                inline,
                ..Keep::default()
            };
            let error = run(numbers(100), sink.clone()).unwrap_err();
            assert!(
                matches!(error, StreamError::Sink { unit: Some(20), .. }),
                "{error}"
            );
            assert_eq!(sink.kept().numbers, all(20));
        });
    }
    within(|| {
        let rt = runtime();
        let slow = Toy {
            step: Some(|_, _| Duration::from_millis(5)),
            ..toy()
        };
        let stream = rt.stream(numbers(100)).through(slow);
        let stream = stream.scheduled_by(Script::new(&[(pipe(1, 3), 1000)]));
        let stream = stream.on_progress(|_| panic!("the watcher fell"));
        let error = stream.into(Keep::default()).unwrap_err();
        assert!(error.to_string().contains("the watcher fell"), "{error}");
    });
}

type Outcome = Result<evener_runtime::Report, StreamError>;

fn runtime_stream(source: Numbers, inline: bool) -> impl FnOnce(Keep) -> Outcome {
    move |sink| {
        let source = Numbers { inline, ..source };
        let rt = runtime();
        let stream = rt.stream(source).through(toy());
        stream
            .scheduled_by(Script::new(&[(pipe(1, 3), 1000)]))
            .into(sink)
    }
}

#[test]
fn cancelling_ends_it_with_what_was_begun() {
    within(|| {
        let cancel = CancelToken::new();
        let token = cancel.clone();
        let toy = Toy {
            step: Some(|_, _| Duration::from_micros(300)),
            ..toy()
        };
        let sink = Keep::default();
        std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(60));
            token.cancel();
        });
        let report = runtime()
            .stream(numbers(1_000_000))
            .through(toy)
            .cancel(cancel)
            .scheduled_by(Script::new(&[(pipe(1, 3), 1_000_000)]))
            .into(sink.clone())
            .unwrap();
        assert!(report.cancelled && report.units > 0);
        assert_eq!(sink.kept().numbers, all(report.units));
    });
}

#[test]
fn plans_change_in_mid_stream_and_nothing_is_lost() {
    within(|| {
        let toy = Toy {
            step: Some(|unit, _| Duration::from_micros(unit % 5 * 20)),
            ..toy()
        };
        let of = |structure, workers| plan(structure, Dispatch::Steal, 1, workers);
        let script = Script::new(&[
            (pipe(1, 3), 7),
            (of(&FARM, 2), 5),
            (pipe(3, 2), 4),
            (pipe(3, 2), 4),
            (of(&SEQUENTIAL, 3), 2),
            (pipe(6, 3), 9),
            (of(&TILED, 2), 1),
            (pipe(1, 1), 3),
        ]);
        let log = script.log.clone();
        let sink = Keep::default();
        let report = runtime()
            .stream(numbers(700))
            .through(toy)
            .scheduled_by(script)
            .into(sink.clone())
            .unwrap();
        assert_eq!(sink.kept().numbers, all(700));
        let log = log.lock().unwrap();
        assert_eq!(log.iter().map(Recorded::units).sum::<usize>(), 700);
        assert_eq!(report.plans.iter().map(|p| p.units).sum::<u64>(), 700);
    });
}

/// Seconds that a unit of six steps in two stages costs where the source or the sink takes 8 ms for each. The larger
/// stage takes 1.8 ms, and some for three calls of sleep.
fn cost_beside(slow_source: bool) -> f64 {
    within(move || {
        let delay = Duration::from_millis(8);
        let toy = Toy {
            step: Some(|_, step| Duration::from_micros(if step < 3 { 300 } else { 600 })),
            ..toy()
        };
        // The units are too few for boundaries to move.
        let script = Script::new(&[(pipe(3, 2), 11)]);
        let log: Arc<Mutex<Vec<Recorded>>> = script.log.clone();
        let mut source = numbers(11);
        let mut sink = Keep::default();
        match slow_source {
            true => source.delay = delay,
            false => sink.delay = delay,
        }
        let rt = runtime();
        let stream = rt.stream(source).through(toy).in_flight(3);
        stream.scheduled_by(script).into(sink).unwrap();
        let log = log.lock().unwrap();
        let Recorded::Units(_, costs) = &log[0] else {
            panic!("{log:?}")
        };
        costs.iter().sum::<Duration>().as_secs_f64() / costs.len() as f64
    })
}

#[test]
fn waiting_for_the_source_or_the_sink_is_no_cost() {
    for slow_source in [true, false] {
        // A busy machine adds to some runs, but waiting that counted would add to all.
        let costs: Vec<f64> = (0..5).map(|_| cost_beside(slow_source)).collect();
        let least = costs.iter().copied().fold(f64::INFINITY, f64::min);
        assert!((1.8e-3..4e-3).contains(&least), "{costs:?}");
    }
}

#[test]
fn a_hopeless_pipeline_is_ended_and_loses_nothing() {
    within(|| {
        let tiled = plan(&TILED, Dispatch::Fifo, 8, 2);
        let mut script = Script::new(&[(pipe(3, 2), 50), (tiled, 50)]);
        script.cutoff = Some(Duration::from_millis(30));
        script.fallback = Some(tiled);
        let log = script.log.clone();
        let toy = Toy {
            step: Some(|_, _| Duration::from_millis(8)),
            ..toy()
        };
        let sink = Keep::default();
        let rt = runtime();
        let stream = rt.stream(numbers(40)).through(toy);
        stream.scheduled_by(script).into(sink.clone()).unwrap();
        assert_eq!(sink.kept().numbers, all(40));
        let log = log.lock().unwrap();
        assert!(
            matches!(&log[0], Recorded::CutOff { after, redo, .. }
                if *after >= Duration::from_millis(30) && redo.is_zero()),
            "{log:?}"
        );
        let Recorded::Units(_, costs) = &log[1] else {
            panic!("{log:?}")
        };
        assert!(costs.len() > 30, "{}", costs.len());
    });
}

/// Two streams on one runtime: one of them gets no workers and has all stages to itself.
#[test]
fn streams_at_the_same_time_do_not_hang() {
    within(|| {
        let rt = runtime();
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    let sink = Keep::default();
                    let stream = rt.stream(numbers(300)).through(toy()).in_flight(1);
                    let stream = stream.scheduled_by(Script::new(&[(pipe(1, 3), 50)]));
                    stream.into(sink.clone()).unwrap();
                    assert_eq!(sink.kept().numbers, all(300));
                });
            }
        });
    });
}

#[test]
fn a_single_unit_and_the_tuner_run_it_too() {
    within(|| {
        let (toy, rt) = (toy(), runtime());
        for (grain, workers) in [(1, 1), (1, 3), (4, 2), (6, 3)] {
            let mut input = toy.input();
            input.number = 7;
            let made = |i: u32| {
                (7u32.rotate_left(7).wrapping_mul(0x9E37_79B9)) ^ i.wrapping_add(0x7F4A_7C15)
            };
            input.data = (0..ITEMS).map(made).collect();
            let output = toy.output();
            rt.execute(&toy, &pipe(grain, workers), &input, &output)
                .unwrap();
            let data = output.data.iter();
            let data: Vec<u32> = data
                .map(|v| v.load(std::sync::atomic::Ordering::Relaxed))
                .collect();
            assert_eq!(data, expected(7));
        }
        let sink = Keep::default();
        let report = rt
            .stream(numbers(3000))
            .through(toy)
            .into(sink.clone())
            .unwrap();
        assert_eq!(sink.kept().numbers, all(3000));
        assert_eq!(report.units, 3000);
    });
}
