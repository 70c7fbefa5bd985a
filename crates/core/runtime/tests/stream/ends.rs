//! Streams that go well, whatever stands at their ends.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, mpsc};
use std::thread::{self, ThreadId};
use std::time::Duration;

use evener_runtime::stream::{Executor, Times};
use evener_runtime::{
    Choice, Discard, Dispatch, Placement, Runtime, Sink, Source, Structure, Trace,
};
use evener_testing::Folder;

use crate::failures::fixed;
use crate::structures::{BACKWARD, FARM, GROUPED, PIPELINE, SEQUENTIAL, TILED};
use crate::toy::*;

#[test]
fn all_units_come_out_in_order_with_and_without_threads() {
    for (read_inline, write_inline) in [(false, false), (false, true), (true, false), (true, true)]
    {
        let (report, kept) = within(move || {
            let sink = Keep {
                inline: write_inline,
                ..Keep::default()
            };
            let source = Numbers {
                inline: read_inline,
                ..numbers(300)
            };
            let report = runtime()
                .stream(source)
                .through(Toy::default())
                .into(sink.clone());
            (report.unwrap(), sink.kept())
        });
        assert_eq!(kept.numbers, (0..300).collect::<Vec<_>>());
        assert!(kept.started && kept.finished && !kept.aborted);
        assert_eq!(
            (report.units, report.dropped, report.cancelled),
            (300, 0, false)
        );
        assert_eq!(report.plans.iter().map(|p| p.units).sum::<u64>(), 300);
        assert!(report.wall_s > 0.0 && report.compute_s > 0.0);
        assert!(report.times.min_s <= report.times.median_s);
        assert!(report.times.median_s <= report.times.p99_s);
        assert!(!report.decisions.is_empty() && report.plan.is_some());
    }
}

#[test]
fn ends_that_wait_for_nothing_give_the_same_units_in_the_same_order() {
    for (read_ready, write_ready) in [(true, true), (true, false), (false, true)] {
        for structure in [&SEQUENTIAL, &FARM, &PIPELINE, &GROUPED] {
            let (report, kept) = within(move || {
                let sink = Keep {
                    ready: write_ready,
                    ..Keep::default()
                };
                let source = Numbers {
                    ready: read_ready,
                    ..numbers(20_000)
                };
                let toy = Toy {
                    pipeline: true,
                    grouped: 3,
                    ..Toy::default()
                };
                let rt = runtime();
                let stream = rt.stream(source).through(toy);
                let stream = stream.plan(fixed(structure, structure.dispatch));
                (stream.into(sink.clone()).unwrap(), sink.kept())
            });
            assert_eq!(kept.numbers, (0..20_000).collect::<Vec<_>>());
            assert!(kept.finished && !kept.aborted);
            assert_eq!((report.units, report.dropped), (20_000, 0));
        }
    }
}

/// Reads and writes, and says on which thread.
#[derive(Clone)]
struct Where<T> {
    end: T,
    threads: Arc<Mutex<Vec<ThreadId>>>,
}

impl<T> Where<T> {
    fn of(end: T) -> Where<T> {
        let threads = Arc::default();
        Where { end, threads }
    }

    fn note(&self) {
        self.threads.lock().unwrap().push(thread::current().id());
    }
}

impl Source<Toy> for Where<Numbers> {
    type Error = Broken;

    fn start(&mut self, toy: &Toy) {
        self.end.start(toy);
    }

    fn read(&mut self, unit: &mut In) -> Result<bool, Broken> {
        self.note();
        self.end.read(unit)
    }

    fn units(&self) -> Option<u64> {
        Source::<Toy>::units(&self.end)
    }

    fn may_wait(&self) -> bool {
        Source::<Toy>::may_wait(&self.end)
    }
}

impl Sink<Toy> for Where<Keep> {
    type Error = Broken;

    fn write(&mut self, unit: &Out) -> Result<(), Broken> {
        self.note();
        self.end.write(unit)
    }

    fn finish(&mut self) -> Result<(), Broken> {
        self.end.finish()
    }

    fn may_wait(&self) -> bool {
        Sink::<Toy>::may_wait(&self.end)
    }
}

#[test]
fn a_small_stream_has_the_thread_of_its_caller_and_no_other() {
    let folder = Folder::new();
    let file = folder.path("plans.json");
    for (units, ready) in [(2, true), (2, false), (20_000, true)] {
        let small = ready && units == 2;
        let rt = Runtime::builder().workers(3).memory_at(&file);
        let rt = rt.build().unwrap();
        let source = Where::of(Numbers {
            ready,
            ..numbers(units)
        });
        let sink = Where::of(Keep {
            ready,
            ..Keep::default()
        });
        let threads = [Arc::clone(&source.threads), Arc::clone(&sink.threads)];
        let report = rt
            .stream(source)
            .through(Toy::default())
            .into(sink)
            .unwrap();
        assert_eq!(report.units, units);
        let here = thread::current().id();
        for threads in threads {
            let threads = threads.lock().unwrap();
            let own = threads.iter().filter(|&&thread| thread == here).count();
            let all = if small { threads.len() } else { 0 };
            assert_eq!(own, all, "{units} {ready}");
        }
        assert_eq!(rt.pool().is_started(), !small, "{units} {ready}");
        drop(rt);
        // Of two units no plan has proved itself.
        if small || units > 2 {
            assert_eq!(file.exists(), !small, "{units} {ready}");
        }
        let _ = std::fs::remove_file(&file);
    }
}

#[test]
fn no_units_make_an_empty_output() {
    for inline in [false, true] {
        let (report, kept) = within(move || {
            let sink = Keep {
                inline,
                ..Keep::default()
            };
            let source = Numbers {
                inline,
                ..numbers(0)
            };
            let report = runtime()
                .stream(source)
                .through(Toy::default())
                .into(sink.clone());
            (report.unwrap(), sink.kept())
        });
        assert_eq!(
            kept,
            Kept {
                started: true,
                finished: true,
                ..Kept::default()
            }
        );
        assert_eq!(
            (report.units, report.plan, report.times),
            (0, None, Times::default())
        );
        assert_eq!(report.to_string(), "0 units");
    }
}

#[test]
fn the_report_is_one_line() {
    let report = within(|| {
        let choice = Choice::Fixed {
            structure: TILED.to_string(),
            dispatch: Some(Dispatch::Steal),
            grain: Some(34),
        };
        let rt = runtime();
        let stream = rt.stream(numbers(20)).through(Toy::default()).plan(choice);
        assert_eq!(stream.service().map(|s| s.pipeline), Some(false));
        stream
            .workers(Some(2))
            .named("frames", "rows")
            .rate_named("fps")
            .into(Discard)
            .unwrap()
    });
    let line = report.to_string();
    assert!(line.starts_with("20 frames, "), "{line}");
    assert!(
        line.contains(" fps, tiled \u{b7} steal \u{b7} 34 rows \u{b7} 2 workers"),
        "{line}"
    );
    let json = serde_json::to_value(&report).unwrap();
    assert_eq!((&json["units"], &json["workers"]), (&20.into(), &3.into()));
}

#[test]
fn buffers_are_made_once_and_within_the_limit() {
    let slow: fn(u64, &'static Structure) -> Duration = |_, _| Duration::from_micros(500);
    for (units, in_flight, delay, inputs, outputs) in [
        (500, None, Some(slow), 4, 3),
        (500, None, None, 32, 32),
        (500, Some(1), None, 1, 1),
        (500, Some(2), None, 2, 2),
        // Over before more would be of use.
        (8, None, None, 4, 3),
    ] {
        let (report, made) = within(move || {
            let toy = Toy {
                delay,
                ..Toy::default()
            };
            let made = Arc::clone(&toy.made);
            let rt = runtime();
            let mut stream = rt
                .stream(numbers(units))
                .through(toy)
                .plan("sequential/fifo/8".parse().unwrap())
                .workers(Some(2));
            if let Some(n) = in_flight {
                stream = stream.in_flight(n);
            }
            (stream.into(Keep::default()).unwrap(), made)
        });
        assert_eq!(
            (report.memory.inputs, report.memory.outputs),
            (inputs, outputs)
        );
        assert_eq!(made[0].load(Ordering::Relaxed), inputs);
        assert_eq!(made[1].load(Ordering::Relaxed), outputs);
        assert!((1..=2).contains(&made[2].load(Ordering::Relaxed)));
        assert_eq!(report.memory.scratches, made[2].load(Ordering::Relaxed));
    }
}

#[test]
fn input_and_output_overlap_computing() {
    // Reading, computing and writing take 4 ms a unit each; one after the other that would be 12.
    let report = within(|| {
        let delay = Duration::from_millis(4);
        let toy = Toy {
            delay: Some(|_, _| Duration::from_millis(4)),
            ..Toy::default()
        };
        let source = Numbers {
            delay,
            ..numbers(50)
        };
        let sink = Keep {
            delay,
            ..Keep::default()
        };
        runtime()
            .stream(source)
            .through(toy)
            .plan("tiled".parse().unwrap())
            .into(sink)
            .unwrap()
    });
    assert!(report.wall_s < 0.55, "{} s", report.wall_s);
    // Waiting for the source is not counted as computing.
    assert!(report.times.median_s < 8e-3, "{:?}", report.times);
}

#[test]
fn what_is_computed_is_written_though_the_source_is_silent() {
    let tiled = (plan(&TILED, Dispatch::Fifo, 97, 1), 50);
    let farm = (plan(&FARM, Dispatch::Fifo, 1, 2), 50);
    for plans in [vec![tiled], vec![farm], vec![tiled, farm]] {
        for units in [1, 50, 99, 137] {
            let plans = plans.clone();
            within(move || {
                let (open, gate) = mpsc::channel();
                let sink = Keep::default();
                let kept = Arc::clone(&sink.kept);
                let watch = std::thread::spawn(move || {
                    while (kept.lock().unwrap().numbers.len() as u64) < units {
                        std::thread::sleep(Duration::from_millis(1));
                    }
                    drop(open);
                });
                let source = Numbers {
                    gate: Some((units, gate)),
                    ..numbers(200)
                };
                let rt = runtime();
                let stream = rt.stream(source).through(Toy::default());
                let report = stream.scheduled_by(Script::new(&plans)).into(sink).unwrap();
                assert_eq!(report.units, 200);
                watch.join().unwrap();
            });
        }
    }
}

#[test]
fn progress_comes_now_and_then() {
    let seen = within(|| {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let toy = Toy {
            delay: Some(|_, _| Duration::from_millis(10)),
            ..Toy::default()
        };
        let to = Arc::clone(&seen);
        runtime()
            .stream(numbers(60))
            .through(toy)
            .plan("tiled".parse().unwrap())
            .on_progress(move |p| to.lock().unwrap().push(*p))
            .into(Discard)
            .unwrap();
        Arc::try_unwrap(seen).unwrap().into_inner().unwrap()
    });
    // At the end once more.
    let (last, seen) = seen.split_last().unwrap();
    assert_eq!((last.units, last.waiting), (60, false));
    assert!((2..=7).contains(&seen.len()), "{seen:?}");
    assert!(
        seen.windows(2)
            .all(|p| p[0].units < p[1].units && p[0].elapsed_s < p[1].elapsed_s)
    );
    assert!(
        seen.iter()
            .all(|p| p.total == Some(60) && p.rate > 10.0 && p.rate < 110.0)
    );
}

#[test]
fn a_borrowed_or_boxed_end_is_an_end() {
    within(|| {
        let mut sink = Keep::default();
        let source: Box<dyn Source<Toy, Error = Broken>> = Box::new(numbers(5));
        runtime()
            .stream(source)
            .through(Toy::default())
            .into(&mut sink)
            .unwrap();
        let boxed: Box<dyn Sink<Toy, Error = Broken>> = Box::new(sink.clone());
        runtime()
            .stream(numbers(5))
            .through(Toy::default())
            .into(boxed)
            .unwrap();
        assert_eq!(sink.kept().numbers, [0, 1, 2, 3, 4, 0, 1, 2, 3, 4]);
    });
}

#[test]
fn several_streams_share_a_runtime() {
    within(|| {
        let rt = runtime();
        std::thread::scope(|scope| {
            for structure in ["tiled/fifo", "farm/steal", "sequential/mailbox", "auto"] {
                let rt = &rt;
                scope.spawn(move || {
                    let sink = Keep::default();
                    let stream = rt.stream(numbers(300)).through(Toy::default());
                    stream
                        .plan(structure.parse().unwrap())
                        .into(sink.clone())
                        .unwrap();
                    assert_eq!(sink.kept().numbers, (0..300).collect::<Vec<_>>());
                });
            }
        });
    });
}

#[test]
fn every_placement_runs() {
    for placement in Placement::ALL {
        within(move || {
            let rt = Runtime::builder()
                .workers(2)
                .placement(placement)
                .build()
                .unwrap();
            let allowed = || std::thread::available_parallelism().unwrap();
            let before = allowed();
            for structure in ["tiled", "farm"] {
                let sink = Keep::default();
                let stream = rt.stream(numbers(50)).through(Toy::default());
                let report = stream
                    .plan(structure.parse().unwrap())
                    .into(sink.clone())
                    .unwrap();
                assert_eq!(sink.kept().numbers.len(), 50);
                assert_eq!(report.placement, placement);
                // The calling thread is let go afterwards.
                assert_eq!(allowed(), before);
            }
        });
    }
}

/// Processors that a unit found its thread allowed to run on.
static FOUND: Mutex<Vec<(u64, usize)>> = Mutex::new(Vec::new());

#[test]
fn each_worker_keeps_to_a_processor_in_the_epochs_that_say_so() {
    let all = std::thread::available_parallelism().unwrap().get();
    if all < 2 {
        evener_testing::skip("one processor");
        return;
    }
    within(move || {
        let toy = Toy {
            delay: Some(|unit, _| {
                let may = std::thread::available_parallelism().unwrap().get();
                FOUND.lock().unwrap().push((unit, may));
                Duration::ZERO
            }),
            ..Toy::default()
        };
        let rt = Runtime::builder().workers(all).build().unwrap();
        let of = |structure| (plan(structure, Dispatch::Fifo, 1, all as u32), 10);
        let (tiled, farm) = (of(&TILED), of(&FARM));
        let mut script = Script::new(&[tiled, tiled, farm, farm, farm]);
        script.spread = vec![false, true, true, false, true];
        let sink = Keep::default();
        let stream = rt.stream(numbers(50)).through(toy);
        stream.scheduled_by(script).into(sink.clone()).unwrap();
        assert_eq!(sink.kept().numbers, (0..50).collect::<Vec<_>>());
        let found = FOUND.lock().unwrap();
        assert_eq!(found.len(), 50);
        for &(unit, may) in found.iter() {
            let expected = match unit / 10 {
                0 | 3 => all,
                _ => 1,
            };
            assert_eq!(may, expected, "unit {unit}");
        }
        // The calling thread is let go afterwards.
        let may = std::thread::available_parallelism().unwrap();
        assert_eq!(may.get(), all);
    });
}

#[test]
fn a_trace_shows_reads_units_jobs_and_writes() {
    let trace = within(|| {
        let trace = Trace::on(2);
        let rt = Runtime::builder()
            .workers(2)
            .trace(trace.clone())
            .build()
            .unwrap();
        let stream = rt.stream(numbers(10)).through(Toy::default());
        stream
            .plan("tiled/fifo/50".parse().unwrap())
            .into(Keep::default())
            .unwrap();
        trace
    });
    let mut text = Vec::new();
    trace.write(&mut text).unwrap();
    let json: serde_json::Value = serde_json::from_slice(&text).unwrap();
    let events = json["traceEvents"].as_array().unwrap();
    let count = |name: &str| events.iter().filter(|e| e["name"] == name).count();
    // The read that finds the end is one too.
    assert_eq!((count("read"), count("write"), count("unit")), (11, 10, 10));
    assert_eq!((count("tiled"), count("plan")), (20, 1));
    assert_eq!(trace.counters()["units"], 10.0);
}

#[test]
fn one_unit_under_one_plan() {
    within(|| {
        let (rt, toy) = (runtime(), Toy::default());
        let mut executor: Executor<'_, Toy> = rt.executor(&toy);
        let (mut input, output) = (
            In {
                number: 0,
                data: vec![0; 97],
            },
            rt_output(&toy),
        );
        for structure in [&SEQUENTIAL, &BACKWARD, &TILED, &FARM] {
            for dispatch in Dispatch::ALL {
                first(&mut input);
                let plan = plan(structure, dispatch, 8, 3);
                executor.run(&plan, &input, &output).unwrap();
                assert!(
                    output
                        .data
                        .iter()
                        .map(|v| v.load(Ordering::Relaxed))
                        .eq(expected(0))
                );
                rt.execute(&toy, &plan, &input, &output).unwrap();
            }
        }
    });
}

fn rt_output(toy: &Toy) -> Out {
    evener_runtime::Service::output(toy)
}

#[test]
fn plans_that_won_are_remembered() {
    within(|| {
        let folder = Folder::new();
        let file = folder.path("plans.json");
        let rt = Runtime::builder()
            .workers(2)
            .memory_at(&file)
            .build()
            .unwrap();
        let run = || {
            rt.stream(numbers(2000))
                .through(Toy::default())
                .into(Discard)
                .unwrap()
        };
        let plan = run().plan.unwrap();
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(
            text.contains("toy") && text.contains(plan.structure.name),
            "{text}"
        );
        run();
    });
}
