//! Several units at once, side by side.

use std::sync::atomic::Ordering;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use evener_runtime::stream::{CancelToken, Executor};
use evener_runtime::{Choice, Dispatch, Plan, Service, StreamError};

use crate::failures::fixed;
use crate::structures::{GROUPED, TILED};
use crate::toy::*;

mod cutoffs;
mod failures;

/// Threads at neither end, at one of them, at both.
const ENDS: [(bool, bool); 4] = [(false, false), (false, true), (true, false), (true, true)];
const BOTH: [(bool, bool); 2] = [(false, false), (true, true)];

/// Groups of four. A group takes long enough for a thread that reads to be ahead, also of the first one.
fn unhurried() -> Toy {
    Toy {
        delay: Some(|_, _| Duration::from_millis(2)),
        prepare: Duration::from_millis(20),
        ..four()
    }
}

fn four() -> Toy {
    Toy {
        grouped: 4,
        ..Toy::default()
    }
}

fn grouped(dispatch: Dispatch, workers: u32) -> Plan {
    plan(&GROUPED, dispatch, 8, workers)
}

fn choice() -> Choice {
    fixed(&GROUPED, Dispatch::Fifo)
}

fn source(units: u64, inline: bool) -> Numbers {
    Numbers {
        inline,
        ..numbers(units)
    }
}

fn sink(inline: bool) -> Keep {
    Keep {
        inline,
        ..Keep::default()
    }
}

fn each_dispatch(
    ends: &'static [(bool, bool)],
    f: impl Fn(Dispatch, (bool, bool)) + Send + 'static,
) {
    within(move || {
        for dispatch in Dispatch::ALL {
            for &ends in ends {
                f(dispatch, ends);
            }
        }
    });
}

#[test]
fn order_is_kept_and_groups_are_full() {
    each_dispatch(&ENDS, |dispatch, (read_inline, write_inline)| {
        let plan = grouped(dispatch, 3);
        let script = Script::new(&[(plan, 1000)]);
        let log = script.log.clone();
        let toy = unhurried();
        let groups = Arc::clone(&toy.groups);
        let sink = sink(write_inline);
        let rt = runtime();
        let stream = rt.stream(source(23, read_inline)).through(toy);
        let report = stream.scheduled_by(script).into(sink.clone()).unwrap();
        assert_eq!(sink.kept().numbers, (0..23).collect::<Vec<_>>());
        assert_eq!(*groups.lock().unwrap(), [4, 4, 4, 4, 4, 3]);
        assert_eq!((report.units, report.plans.len()), (23, 1));
        assert_eq!((report.plans[0].plan, report.plans[0].units), (plan, 23));
        assert!(report.memory.inputs <= 6 && report.memory.outputs <= 6);

        let log = log.lock().unwrap();
        let [Recorded::Units(of, costs)] = &log[..] else {
            panic!("{log:?}")
        };
        assert_eq!((*of, costs.len()), (plan, 23));
        // Two passes of 2 ms each are shared by all of a group.
        let pause = Duration::from_millis(4);
        for group in costs.chunks(4) {
            assert!(group.iter().all(|cost| *cost == group[0]), "{costs:?}");
            assert!(
                group[0] * group.len() as u32 >= pause - Duration::from_micros(1),
                "{costs:?}"
            );
        }
        let mut costs = costs.clone();
        costs.sort_unstable();
        assert!(costs[11] < pause, "{costs:?}");
    });
}

/// `units` come, then nothing more until they are written: how many were written in `limit`, and the groups they were
/// in.
fn before_a_silence(
    plans: &[(Plan, u32)],
    toy: Toy,
    units: u64,
    limit: Duration,
) -> (usize, Vec<usize>) {
    let (open, gate) = mpsc::channel();
    let sink = Keep::default();
    let kept = Arc::clone(&sink.kept);
    let groups = Arc::clone(&toy.groups);
    let watch = thread::spawn(move || {
        let begin = Instant::now();
        let written = || kept.lock().unwrap().numbers.len();
        while (written() as u64) < units && begin.elapsed() < limit {
            thread::sleep(Duration::from_millis(1));
        }
        let found = (written(), groups.lock().unwrap().clone());
        drop(open);
        found
    });
    let source = Numbers {
        gate: Some((units, gate)),
        ..numbers(units + 20)
    };
    let rt = runtime();
    let stream = rt.stream(source).through(toy);
    let report = stream
        .scheduled_by(Script::new(plans))
        .into(sink.clone())
        .unwrap();
    assert_eq!(report.units, units + 20);
    assert_eq!(sink.kept().numbers, (0..units + 20).collect::<Vec<_>>());
    watch.join().unwrap()
}

#[test]
fn what_has_come_is_not_held_back_though_the_source_is_silent() {
    let fours = (grouped(Dispatch::Fifo, 2), 50);
    let tiled = (plan(&TILED, Dispatch::Fifo, 97, 1), 3);
    let limit = Duration::from_secs(10);
    for plans in [vec![fours], vec![tiled, fours]] {
        for units in [1, 2, 5, 51] {
            let plans = plans.clone();
            within(move || {
                let (written, groups) = before_a_silence(&plans, four(), units, limit);
                assert_eq!(written as u64, units);
                assert!(groups.iter().all(|&group| group <= 4), "{groups:?}");
            });
        }
    }
    within(move || {
        let (_, groups) = before_a_silence(&[fours], unhurried(), 2, limit);
        assert_eq!(groups, [2]);
        let (_, groups) = before_a_silence(&[fours], unhurried(), 7, limit);
        assert_eq!(groups, [4, 3]);
    });
}

#[test]
fn a_unit_waits_for_others_about_as_long_as_a_group_takes() {
    within(|| {
        // Groups take 40 ms: the fifth unit is computed some 40 ms after it could have been, and for 40 ms.
        let toy = Toy {
            delay: Some(|_, _| Duration::from_millis(20)),
            ..unhurried()
        };
        let plans = [(grouped(Dispatch::Fifo, 2), 50)];
        let limit = Duration::from_millis(600);
        let (written, groups) = before_a_silence(&plans, toy, 5, limit);
        assert_eq!((written, groups), (5, vec![4, 1]));
    });
}

#[test]
fn units_that_come_one_by_one_are_computed_one_by_one() {
    within(|| {
        let toy = four();
        let groups = Arc::clone(&toy.groups);
        let source = Numbers {
            delay: Duration::from_millis(15),
            ..numbers(20)
        };
        let sink = Keep::default();
        let rt = runtime();
        let stream = rt.stream(source).through(toy).plan(choice());
        stream.into(sink.clone()).unwrap();
        assert_eq!(sink.kept().numbers, (0..20).collect::<Vec<_>>());
        // A busy machine may let two come.
        let groups = groups.lock().unwrap();
        assert!(groups.len() > 15, "{groups:?}");
    });
}

#[test]
fn groups_are_as_large_as_buffers_allow() {
    // On the side of a thread one buffer is read or written and one is ready.
    for (in_flight, inline, group) in [
        (1, false, 1),
        (2, false, 1),
        (3, false, 1),
        (4, false, 2),
        (5, false, 3),
        (6, false, 4),
        (7, false, 4),
        (1, true, 1),
        (2, true, 2),
        (3, true, 3),
        (4, true, 4),
        (9, true, 4),
    ] {
        within(move || {
            let toy = unhurried();
            let (groups, made) = (Arc::clone(&toy.groups), Arc::clone(&toy.made));
            let sink = sink(inline);
            let rt = runtime();
            let report = rt
                .stream(source(13, inline))
                .through(toy)
                .in_flight(in_flight)
                .plan(choice())
                .into(sink.clone())
                .unwrap();
            assert_eq!(sink.kept().numbers, (0..13).collect::<Vec<_>>());
            let mut expected = vec![group; 13 / group];
            expected.extend((13 % group > 0).then_some(13 % group));
            assert_eq!(*groups.lock().unwrap(), expected, "{in_flight} {inline}");
            assert!(report.memory.inputs <= in_flight && report.memory.outputs <= in_flight);
            assert_eq!(made[0].load(Ordering::Relaxed), report.memory.inputs);
            assert_eq!(made[1].load(Ordering::Relaxed), report.memory.outputs);
        });
    }
}

#[test]
fn a_live_stream_refuses_it() {
    within(|| {
        let rt = runtime();
        let refused = |error: StreamError| {
            assert_eq!(
                error.to_string(),
                "grouped is not supported in a live stream, where units cannot wait for one another; \
                 name another structure"
            );
            assert!(error.is_request() && error.written() == 0);
        };
        let stream = || rt.stream(numbers(10)).through(four()).live(true);
        refused(stream().plan(choice()).into(Keep::default()).unwrap_err());
        let (fours, tiled) = (
            grouped(Dispatch::Fifo, 2),
            plan(&TILED, Dispatch::Fifo, 8, 2),
        );
        let script = Script::new(&[(fours, 5)]);
        refused(
            stream()
                .scheduled_by(script)
                .into(Keep::default())
                .unwrap_err(),
        );
        let mut script = Script::new(&[(tiled, 5)]);
        script.fallback = Some(fours);
        refused(
            stream()
                .scheduled_by(script)
                .into(Keep::default())
                .unwrap_err(),
        );

        let source = Numbers {
            delay: Duration::from_millis(1),
            ..numbers(200)
        };
        let toy = four();
        let groups = Arc::clone(&toy.groups);
        let stream = rt.stream(source).through(toy).live(true);
        stream.into(Keep::default()).unwrap();
        assert!(groups.lock().unwrap().is_empty());
    });
}

#[test]
fn a_service_without_it_refuses_it() {
    within(|| {
        let rt = runtime();
        let stream = rt.stream(numbers(10)).through(Toy::default());
        let error = stream.plan(choice()).into(Keep::default()).unwrap_err();
        assert!(error.is_request(), "{error}");
        let error = error.to_string();
        assert!(
            error.contains("grouped") && error.contains("tiled"),
            "{error}"
        );
    });
}

#[test]
fn cancelling_keeps_what_is_complete() {
    each_dispatch(&ENDS, |dispatch, (read_inline, write_inline)| {
        let token = CancelToken::new();
        let cancel = token.clone();
        let sink = sink(write_inline);
        let kept = Arc::clone(&sink.kept);
        let canceller = thread::spawn(move || {
            while kept.lock().unwrap().numbers.len() < 6 {
                thread::sleep(Duration::from_millis(1));
            }
            cancel.cancel();
        });
        let rt = runtime();
        let stream = rt.stream(source(u64::MAX, read_inline)).through(four());
        let report = stream
            .plan(fixed(&GROUPED, dispatch))
            .cancel(token)
            .into(sink.clone())
            .unwrap();
        canceller.join().unwrap();
        assert!(report.cancelled && report.units >= 6, "{report}");
        let kept = sink.kept();
        assert_eq!(kept.numbers, (0..report.units).collect::<Vec<_>>());
        assert!(kept.finished && !kept.aborted);
    });
}

#[test]
fn cancelling_does_not_wait_for_units_that_would_be_grouped() {
    within(|| {
        let (_open, gate) = mpsc::channel();
        let token = CancelToken::new();
        let cancel = token.clone();
        let sink = Keep::default();
        let kept = Arc::clone(&sink.kept);
        let canceller = thread::spawn(move || {
            while kept.lock().unwrap().numbers.len() < 4 {
                thread::sleep(Duration::from_millis(1));
            }
            let begin = Instant::now();
            cancel.cancel();
            begin
        });
        // The fifth unit is ready to wait for 3 s.
        let toy = Toy {
            delay: Some(|unit, _| Duration::from_millis(if unit < 4 { 1500 } else { 0 })),
            ..unhurried()
        };
        let source = Numbers {
            gate: Some((5, gate)),
            ..numbers(10)
        };
        let rt = runtime();
        let stream = rt.stream(source).through(toy).plan(choice());
        let report = stream.cancel(token).into(sink.clone()).unwrap();
        let cancelled = canceller.join().unwrap();
        assert!(cancelled.elapsed() < Duration::from_secs(2));
        assert!(report.cancelled && (4..=5).contains(&report.units));
        assert_eq!(sink.kept().numbers, (0..report.units).collect::<Vec<_>>());
    });
}

#[test]
fn one_unit_is_a_group_of_its_own() {
    within(|| {
        let (rt, toy) = (runtime(), four());
        let mut executor: Executor<'_, Toy> = rt.executor(&toy);
        let (mut input, output) = (toy.input(), toy.output());
        let mut runs = 0;
        for dispatch in Dispatch::ALL {
            for grain in [1, 8, 97, 200] {
                first(&mut input);
                for value in &output.data {
                    value.store(0, Ordering::Relaxed);
                }
                let plan = plan(&GROUPED, dispatch, grain, 3);
                executor.run(&plan, &input, &output).unwrap();
                let data = output.data.iter().map(|v| v.load(Ordering::Relaxed));
                assert!(data.eq(expected(0)));
                rt.execute(&toy, &plan, &input, &output).unwrap();
                runs += 2;
            }
        }
        assert_eq!(*toy.groups.lock().unwrap(), vec![1; runs]);

        let broken = Toy {
            fail: Some((0, Fail::Error)),
            spoils: true,
            ..four()
        };
        let mut executor: Executor<'_, Toy> = rt.executor(&broken);
        for _ in 0..2 {
            let error = executor
                .run(&grouped(Dispatch::Fifo, 3), &input, &output)
                .unwrap_err();
            assert_eq!(error.to_string(), "unit 0 failed: the toy broke");
        }
    });
}

#[test]
fn a_plan_that_is_named_is_kept_to() {
    for (name, dispatch, grain) in [
        ("grouped", Dispatch::Steal, None),
        ("grouped/fifo", Dispatch::Fifo, None),
        ("grouped/mailbox/20", Dispatch::Mailbox, Some(20)),
    ] {
        within(move || {
            let toy = four();
            let groups = Arc::clone(&toy.groups);
            let sink = sink(true);
            let rt = runtime();
            let stream = rt.stream(source(102, true)).through(toy);
            let report = stream
                .plan(name.parse().unwrap())
                .workers(Some(2))
                .into(sink.clone())
                .unwrap();
            assert_eq!(sink.kept().numbers, (0..102).collect::<Vec<_>>());
            let ran = report.plan.unwrap();
            let named = plan(&GROUPED, dispatch, grain.unwrap_or(ran.grain), 2);
            assert_eq!((ran, report.plans.len()), (named, 1));
            let mut full = vec![4; 25];
            full.push(2);
            assert_eq!(*groups.lock().unwrap(), full);
        });
    }
}

#[test]
fn the_tuner_finds_it_where_it_is_as_fast_as_predicted() {
    for (read_inline, write_inline) in BOTH {
        let (report, kept) = within(move || {
            let toy = Toy {
                delay: Some(|_, structure| {
                    Duration::from_millis(match structure.name {
                        "grouped" => 1,
                        _ => 6,
                    })
                }),
                ..four()
            };
            let sink = sink(write_inline);
            let rt = runtime();
            let stream = rt.stream(source(2000, read_inline)).through(toy);
            (stream.into(sink.clone()).unwrap(), sink.kept())
        });
        assert_eq!(kept.numbers, (0..2000).collect::<Vec<_>>());
        assert_eq!(report.plans.iter().map(|p| p.units).sum::<u64>(), 2000);
        assert_eq!(
            report.plan.unwrap().structure,
            &GROUPED,
            "{:#?}",
            report.decisions
        );
        assert!(
            report.last_quarter.median_s < 3e-3,
            "{:?}",
            report.last_quarter
        );
    }
}

#[test]
fn a_tuner_that_may_choose_it_loses_nothing() {
    for units in [1, 3, 7, 50, 2001] {
        for (read_inline, write_inline) in ENDS {
            within(move || {
                let sink = sink(write_inline);
                let rt = runtime();
                let stream = rt.stream(source(units, read_inline)).through(four());
                let report = stream.into(sink.clone()).unwrap();
                assert_eq!(report.units, units);
                assert_eq!(sink.kept().numbers, (0..units).collect::<Vec<_>>());
            });
        }
    }
}
