//! Lines of steps of several units on different workers.

mod devices;
mod failures;
mod replays;
mod waves;

use std::sync::atomic::Ordering;
use std::time::Duration;

use evener_runtime::{Choice, Dispatch, Plan, Report, Runtime, StreamError, Trace};
use proptest::prelude::*;

use self::waves::*;
use crate::structures::{SEQUENTIAL, WAVEFRONT};
use crate::toy::{Fail, Recorded, Script, plan, within};

fn workers(workers: usize) -> Runtime {
    Runtime::builder().workers(workers).build().unwrap()
}

fn wave(grain: u32, workers: u32) -> Plan {
    plan(&WAVEFRONT, Dispatch::Fifo, grain, workers)
}

#[test]
fn a_unit_by_itself_is_as_if_it_were_alone_in_its_stream() {
    within(|| {
        let rt = workers(4);
        for geometry in [
            Geometry::default(),
            Geometry {
                ahead: 2,
                ..Geometry::default()
            },
            Geometry {
                rows: 1,
                columns: 1,
                units: 1,
                ..Geometry::default()
            },
        ] {
            let expected = geometry.expected(1);
            for count in 1..=4 {
                for grain in [1, 2, 3, 7, 100] {
                    let service = Waves::new(geometry, 1);
                    let (input, output) = (Numbered::default(), Written::default());
                    let plan = wave(grain, count);
                    rt.execute(&service, &plan, &input, &output).unwrap();
                    assert_eq!(output.value.load(Ordering::Relaxed), expected[0]);
                    service.check(1);
                }
            }
        }
    });
}

#[test]
fn a_unit_by_itself_can_fail() {
    within(|| {
        for fail in [Fail::Error, Fail::Panic] {
            for pass in [SEARCH, DECIDE, FILTER, WRITE] {
                let mut service = Waves::new(Geometry::default(), 1);
                let at = Step {
                    unit: 0,
                    pass,
                    line: 0,
                    step: 3,
                };
                service.fail = Some((at, fail));
                let (input, output) = (Numbered::default(), Written::default());
                let error = workers(3)
                    .execute(&service, &wave(2, 3), &input, &output)
                    .unwrap_err();
                let message = match fail {
                    Fail::Error => "unit 0 failed: the wave broke",
                    Fail::Panic => "unit 0 failed: panicked: the wave fell",
                };
                assert_eq!(error.to_string(), message);
            }
        }
    });
}

/// Runs a stream of `units` units, checks what comes out, and hands back the report.
fn stream(service: &Waves, units: Units, sink: &Kept, script: Script) -> Report {
    let total = units.units;
    let rt = workers(8);
    let report = rt
        .stream(units)
        .through(service.clone())
        .scheduled_by(script)
        .into(sink.clone())
        .unwrap();
    assert_eq!(report.units, total);
    service.check(total);
    assert_eq!(sink.values(), service.geometry.expected(total));
    assert!(sink.finished.load(Ordering::Relaxed));
    report
}

fn units(units: u64) -> Units {
    Units {
        units,
        ..Units::default()
    }
}

#[test]
fn units_are_the_same_for_any_number_of_workers_any_grain_and_any_units_in_work() {
    within(|| {
        for in_work in 1..=6 {
            for ahead in [0, 1, in_work - 1].into_iter().filter(|&a| a < in_work) {
                let geometry = Geometry {
                    units: in_work,
                    ahead: ahead.into(),
                    ..Geometry::default()
                };
                for (count, grain) in [(1, 1), (2, 3), (3, 1), (4, 2), (5, 100), (8, 1), (8, 4)] {
                    for inline in [false, true] {
                        let service = Waves::new(geometry, 20);
                        let sink = Kept {
                            inline,
                            ..Kept::default()
                        };
                        let units = Units {
                            inline,
                            ..units(20)
                        };
                        stream(
                            &service,
                            units,
                            &sink,
                            Script::new(&[(wave(grain, count), 6)]),
                        );
                    }
                }
            }
        }
    });
}

#[test]
fn short_streams_come_to_their_end() {
    within(|| {
        for ahead in [0, 2] {
            for total in 0..4 {
                let geometry = Geometry {
                    ahead,
                    ..Geometry::default()
                };
                let service = Waves::new(geometry, total);
                let script = Script::new(&[(wave(2, 3), 6)]);
                stream(&service, units(total), &Kept::default(), script);
            }
        }
    });
}

fn any_geometry() -> impl Strategy<Value = Geometry> {
    let sizes = (1..=6u32, 1..=8u32, 1..=6u32);
    let depends = (
        0..5u64,
        prop::option::of(0..4u32),
        any::<bool>(),
        any::<bool>(),
    );
    (sizes, depends).prop_map(
        |((rows, columns, units), (ahead, reach, in_turn, behind))| {
            let ahead = ahead.min(u64::from(units) - 1);
            Geometry {
                rows,
                columns,
                ahead,
                reach,
                in_turn,
                behind: behind && ahead == 0,
                units,
            }
        },
    )
}

/// Up to a quarter of a millisecond, in one step of eight.
fn ragged(at: Step) -> Duration {
    let number = at.unit * 1009 + at.pass as u64 * 211 + u64::from(at.line * 31 + at.step);
    let random = number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
    Duration::from_micros(if random.is_multiple_of(8) {
        random >> 8 & 0xFF
    } else {
        0
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    /// Plans change in mid-stream, and units in work stay in work.
    #[test]
    fn switching_plans_changes_nothing(
        geometry in any_geometry(),
        plans in prop::collection::vec((1..=9u32, 1..=8u32, 0..6u32), 1..6),
        total in 0..30u64,
        inline: (bool, bool),
        in_flight in prop::option::of(1..4usize),
        slow: bool,
    ) {
        within(move || {
            let mut service = Waves::new(geometry, total);
            service.delay = slow.then_some(ragged);
            let plans: Vec<(Plan, u32)> = plans
                .iter()
                .map(|&(grain, workers, units)| (wave(grain, workers), units))
                .collect();
            let sink = Kept { inline: inline.1, ..Kept::default() };
            let source = Units { inline: inline.0, ..units(total) };
            let rt = workers(8);
            let mut stream = rt.stream(source).through(service.clone());
            if let Some(in_flight) = in_flight {
                stream = stream.in_flight(in_flight);
            }
            let report = stream.scheduled_by(Script::new(&plans)).into(sink.clone()).unwrap();
            assert_eq!(report.units, total);
            service.check(total);
            assert_eq!(sink.values(), geometry.expected(total));
        });
    }
}

/// Lines of two units on four workers; each step takes a while and uses no processor.
#[test]
fn lines_run_beside_one_another() {
    within(|| {
        let geometry = Geometry {
            rows: 8,
            columns: 8,
            reach: None,
            in_turn: false,
            units: 4,
            ..Geometry::default()
        };
        let took = |count| {
            let mut service = Waves::new(geometry, 8);
            service.delay =
                Some(|at| Duration::from_micros(if at.pass == DECIDE { 400 } else { 0 }));
            let script = Script::new(&[(wave(1, count), 4)]);
            stream(&service, units(8), &Kept::default(), script).wall_s
        };
        let (one, four) = (took(1), took(4));
        // A quarter of it, on a machine that does nothing else.
        assert!(four < 0.75 * one, "{four} of {one}");
    });
}

/// A long line at the beginning of each unit and a short stream: with one unit in work, no other would begin meanwhile.
#[test]
fn units_begin_while_others_are_in_work() {
    within(|| {
        let took = |in_work| {
            let geometry = Geometry {
                rows: 1,
                columns: 1,
                reach: None,
                in_turn: false,
                units: in_work,
                ..Geometry::default()
            };
            let mut service = Waves::new(geometry, 12);
            service.delay = Some(|at| Duration::from_millis(if at.pass == SEARCH { 8 } else { 0 }));
            let script = Script::new(&[(wave(1, 4), 4)]);
            stream(&service, units(12), &Kept::default(), script).wall_s
        };
        let (one, four) = (took(1), took(4));
        assert!(one > 0.09 && four < 0.75 * one, "{four} of {one}");
    });
}

#[test]
fn waiting_for_the_source_or_the_sink_is_no_cost() {
    for slow_source in [true, false] {
        within(move || {
            let slow = Duration::from_millis(6);
            let mut service = Waves::new(
                Geometry {
                    rows: 1,
                    columns: 1,
                    ..Geometry::default()
                },
                40,
            );
            service.delay = Some(|at| Duration::from_millis(u64::from(at.pass == DECIDE)));
            let script = Script::new(&[(wave(1, 2), 4)]);
            let log = script.log.clone();
            let mut source = units(40);
            let mut sink = Kept::default();
            if slow_source {
                source.delay = slow;
            } else {
                sink.delay = slow;
            }
            let report = stream(&service, source, &sink, script);
            assert!(report.wall_s > 0.2, "{}", report.wall_s);
            let log = log.lock().unwrap();
            let costs = log.iter().map(|recorded| match recorded {
                Recorded::Units(_, costs) => costs[0],
                other => panic!("{other:?}"),
            });
            // A millisecond on one of two workers, and not the six between units. A busy machine makes some epochs
            // longer.
            let mut costs: Vec<Duration> = costs.collect();
            costs.sort_unstable();
            let third = costs[costs.len() / 3];
            let expected = Duration::from_micros(400)..Duration::from_micros(3000);
            assert!(expected.contains(&third), "{slow_source}: {costs:?}");
        });
    }
}

#[test]
fn every_unit_is_recorded_once() {
    within(|| {
        let service = Waves::new(Geometry::default(), 50);
        let script = Script::new(&[(wave(1, 2), 7), (wave(1, 2), 3), (wave(2, 3), 5)]);
        let log = script.log.clone();
        let report = stream(&service, units(50), &Kept::default(), script);
        let log = log.lock().unwrap();
        assert_eq!(
            log.iter().map(Recorded::units).sum::<usize>(),
            50,
            "{log:?}"
        );
        let of = |wanted: Plan| {
            let plans = report.plans.iter().filter(|p| p.plan == wanted);
            plans.map(|p| p.units).sum::<u64>()
        };
        assert_eq!(of(wave(1, 2)) + of(wave(2, 3)), 50);
        assert!(of(wave(1, 2)) > of(wave(2, 3)), "{:?}", report.plans);
    });
}

#[test]
fn a_wavefront_is_drained_before_another_structure_runs() {
    within(|| {
        let alone = plan(&SEQUENTIAL, Dispatch::Fifo, 1, 2);
        let geometry = Geometry::default();
        let mut service = Waves::new(geometry, 40);
        service.sequential = true;
        let script = Script::new(&[
            (wave(1, 3), 5),
            (alone, 2),
            (wave(2, 2), 3),
            (wave(1, 1), 1),
        ]);
        let report = stream(&service, units(40), &Kept::default(), script);
        assert!(report.plans.iter().any(|p| p.plan == alone));
    });
}

#[test]
fn the_tuner_runs_a_wavefront() {
    within(|| {
        let geometry = Geometry {
            ahead: 2,
            ..Geometry::default()
        };
        for choice in [Choice::Auto, "wavefront".parse().unwrap()] {
            let service = Waves::new(geometry, 200);
            let sink = Kept::default();
            let rt = workers(2);
            let stream = rt.stream(units(200)).through(service.clone());
            let report = stream.plan(choice).into(sink.clone()).unwrap();
            assert_eq!(sink.values(), geometry.expected(200));
            assert_eq!(report.plan.unwrap().structure, &WAVEFRONT);
            service.check(200);
        }
    });
}

#[test]
fn a_live_stream_may_be_a_wavefront_of_one_unit_at_a_time() {
    within(|| {
        let run = |in_work| {
            // Units that were dropped are never done.
            let geometry = Geometry {
                units: in_work,
                reach: None,
                in_turn: false,
                ..Geometry::default()
            };
            let mut service = Waves::new(geometry, 50);
            service.delay = Some(|at| Duration::from_millis(u64::from(at.pass == WRITE)));
            let source = Units {
                delay: Duration::from_millis(1),
                ..units(50)
            };
            let sink = Kept::default();
            let rt = workers(2);
            let stream = rt.stream(source).through(service).live(true);
            let plan = "wavefront".parse().unwrap();
            (stream.plan(plan).into(sink.clone()), sink)
        };
        let (report, sink) = run(1);
        let report = report.unwrap();
        assert_eq!(report.units + report.dropped, 50);
        assert!(report.dropped > 10, "{report}");
        assert_eq!(sink.values().len() as u64, report.units);
        let expected = Geometry {
            units: 1,
            reach: None,
            in_turn: false,
            ..Geometry::default()
        };
        let expected = expected.expected(50);
        let place = |value| expected.iter().position(|&v| v == value).unwrap();
        let places: Vec<usize> = sink.values().into_iter().map(place).collect();
        assert!(places.is_sorted() && places.ends_with(&[49]), "{places:?}");
        let (refused, _) = run(2);
        assert!(matches!(refused, Err(StreamError::Unsupported { .. })));
    });
}

/// Small steps of many units on more workers than there are processors.
#[test]
fn many_small_steps_on_many_workers() {
    within(|| {
        let geometry = Geometry {
            rows: 12,
            columns: 10,
            ahead: 3,
            units: 6,
            ..Geometry::default()
        };
        for grain in [1, 3] {
            let service = Waves::new(geometry, 60);
            let script = Script::new(&[(wave(grain, 8), 16), (wave(grain, 7), 9)]);
            stream(&service, units(60), &Kept::default(), script);
        }
    });
}

#[test]
fn a_trace_has_a_span_for_each_chunk_named_by_its_pass() {
    let trace = within(|| {
        let trace = Trace::on(2);
        let rt = Runtime::builder().workers(2).trace(trace.clone());
        let rt = rt.build().unwrap();
        let service = Waves::new(Geometry::default(), 4);
        let script = Script::new(&[(wave(3, 2), 4)]);
        let stream = rt.stream(units(4)).through(service).scheduled_by(script);
        stream.into(Kept::default()).unwrap();
        trace
    });
    let mut text = Vec::new();
    trace.write(&mut text).unwrap();
    let json: serde_json::Value = serde_json::from_slice(&text).unwrap();
    let events = json["traceEvents"].as_array().unwrap();
    let spans = |name: &str| events.iter().filter(|e| e["name"] == name).count();
    // Five rows of seven steps by three, and one of five; four units.
    assert_eq!(["search", "decide", "filter"].map(spans), [60; 3]);
    // The sink's spans are named so too.
    assert_eq!(spans("write"), 8 + 4);
}
