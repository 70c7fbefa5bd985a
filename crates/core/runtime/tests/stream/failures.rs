//! Everything that can go wrong, and that nothing hangs or is lost by it.

use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use evener_runtime::stream::Panicked;
use evener_runtime::{Choice, Dispatch, StreamError, Structure, Through, Topology};

use crate::structures::{BACKWARD, FARM, NOWHERE, PIPELINE, SEQUENTIAL, TILED};
use crate::toy::*;

const STRUCTURES: [&Structure; 4] = [&SEQUENTIAL, &BACKWARD, &TILED, &FARM];

pub fn fixed(structure: &'static Structure, dispatch: Dispatch) -> Choice {
    Choice::Fixed {
        structure: structure.to_string(),
        dispatch: Some(dispatch),
        grain: Some(8),
    }
}

pub fn each(f: impl Fn(&'static Structure, Dispatch, bool) + Send + Sync + 'static) {
    within(move || {
        for structure in STRUCTURES {
            for dispatch in Dispatch::ALL {
                for inline in [false, true] {
                    f(structure, dispatch, inline);
                }
            }
        }
    });
}

#[test]
fn a_kernel_that_fails_or_panics_fails_its_unit() {
    each(|structure, dispatch, inline| {
        let rt = runtime();
        for (fail, message) in [
            (Fail::Error, "the toy broke"),
            (Fail::Panic, "panicked: the toy fell"),
        ] {
            let sink = Keep {
                inline,
                ..Keep::default()
            };
            let toy = Toy {
                fail: Some((17, fail)),
                ..Toy::default()
            };
            let source = Numbers {
                inline,
                ..numbers(100)
            };
            let stream = rt
                .stream(source)
                .through(toy)
                .plan(fixed(structure, dispatch));
            let error = stream.into(sink.clone()).unwrap_err();
            assert_eq!(error.to_string(), format!("unit 17 failed: {message}"));
            assert_eq!(error.written(), 17);
            let kept = sink.kept();
            assert_eq!(
                kept.numbers,
                (0..17).collect::<Vec<_>>(),
                "{structure} {dispatch}"
            );
            assert!(kept.aborted && !kept.finished);
        }
        // The workers have survived.
        let sink = Keep::default();
        let stream = rt.stream(numbers(20)).through(Toy::default());
        stream
            .plan(fixed(structure, dispatch))
            .into(sink.clone())
            .unwrap();
        assert_eq!(sink.kept().numbers.len(), 20);
    });
}

#[test]
fn the_first_and_the_last_unit_can_fail() {
    each(|structure, dispatch, inline| {
        for unit in [0, 9] {
            let sink = Keep {
                inline,
                ..Keep::default()
            };
            let toy = Toy {
                fail: Some((unit, Fail::Error)),
                ..Toy::default()
            };
            let rt = runtime();
            let stream = rt
                .stream(Numbers {
                    inline,
                    ..numbers(10)
                })
                .through(toy);
            let stream = stream.plan(fixed(structure, dispatch)).keep_partial(true);
            let error = stream.into(sink.clone()).unwrap_err();
            assert!(
                matches!(error, StreamError::Unit { unit: u, .. } if u == unit),
                "{error}"
            );
            let kept = sink.kept();
            assert_eq!(kept.numbers, (0..unit).collect::<Vec<_>>());
            // What there is was to be kept.
            assert_eq!((kept.finished, kept.aborted), (unit > 0, unit == 0));
        }
    });
}

#[test]
fn a_source_that_panics_before_its_first_unit_is_an_error() {
    let source = Numbers {
        fail: Some((START, Fail::Panic)),
        ..numbers(5)
    };
    let rt = runtime();
    let sink = Keep::default();
    let stream = rt.stream(source).through(Toy::default());
    let error = stream.into(sink.clone()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "reading unit 0 failed: panicked: the source fell"
    );
    let kept = sink.kept();
    assert!(!kept.started && !kept.finished && kept.aborted);
}

#[test]
fn a_failed_unit_ends_a_stream_whose_source_is_silent() {
    each(|structure, dispatch, _| {
        let (_open, gate) = mpsc::channel();
        let toy = Toy {
            fail: Some((2, Fail::Panic)),
            ..Toy::default()
        };
        let source = Numbers {
            gate: Some((4, gate)),
            ..numbers(100)
        };
        let rt = runtime();
        let stream = rt
            .stream(source)
            .through(toy)
            .plan(fixed(structure, dispatch));
        let error = stream.into(Keep::default()).unwrap_err();
        assert!(
            matches!(error, StreamError::Unit { unit: 2, .. }),
            "{error}"
        );
    });
}

#[test]
fn a_source_that_fails_or_panics_leaves_the_units_before() {
    each(|structure, dispatch, inline| {
        for (fail, ready) in [
            (Fail::Error, false),
            (Fail::Panic, false),
            (Fail::Panic, true),
        ] {
            for unit in [0, 12] {
                let sink = Keep {
                    inline,
                    ready,
                    ..Keep::default()
                };
                let source = Numbers {
                    inline,
                    ready,
                    fail: Some((unit, fail)),
                    ..numbers(100)
                };
                let rt = runtime();
                let stream = rt.stream(source).through(Toy::default());
                let stream = stream.plan(fixed(structure, dispatch));
                let error = stream
                    .keep_partial(unit == 12)
                    .into(sink.clone())
                    .unwrap_err();
                match fail {
                    Fail::Error => {
                        assert_eq!(error.cause::<Broken>(), Some(&Broken("source")));
                        let text =
                            format!("reading unit {unit} failed: the toy source is out of order");
                        assert_eq!(error.to_string(), text);
                    }
                    Fail::Panic => {
                        let panicked = error.cause::<Panicked>().unwrap();
                        assert_eq!(panicked, &Panicked("the source fell".into()));
                    }
                }
                assert_eq!(error.written(), unit);
                let kept = sink.kept();
                assert_eq!(kept.numbers, (0..unit).collect::<Vec<_>>());
                assert_eq!((kept.finished, kept.aborted), (unit == 12, unit != 12));
            }
        }
    });
}

#[test]
fn a_sink_that_fails_or_panics_ends_the_stream() {
    each(|structure, dispatch, inline| {
        let kinds = [
            (Fail::Error, false, false),
            (Fail::Panic, true, false),
            (Fail::Error, true, true),
        ];
        for (fail, keep, ready) in kinds {
            let sink = Keep {
                inline,
                ready,
                fail: Some((7, fail)),
                ..Keep::default()
            };
            let rt = runtime();
            let source = Numbers {
                inline,
                ready,
                ..numbers(100_000)
            };
            let stream = rt.stream(source).through(Toy::default());
            let stream = stream.plan(fixed(structure, dispatch)).keep_partial(keep);
            let error = stream.into(sink.clone()).unwrap_err();
            assert!(
                matches!(
                    error,
                    StreamError::Sink {
                        unit: Some(7),
                        written: 7,
                        ..
                    }
                ),
                "{error}"
            );
            match fail {
                Fail::Error => assert_eq!(error.cause(), Some(&Broken("sink"))),
                Fail::Panic => assert_eq!(error.cause(), Some(&Panicked("the sink fell".into()))),
            }
            let kept = sink.kept();
            assert_eq!(kept.numbers, (0..7).collect::<Vec<_>>());
            assert_eq!((kept.finished, kept.aborted), (keep, !keep));
        }
    });
}

/// The second unit cannot be written, and the source gives no more than `silent` units.
fn closed_while_silent(toy: Toy, silent: u64, plan: Choice, inline: bool) {
    let (_open, gate) = mpsc::channel();
    let sink = Keep {
        inline,
        fail: Some((1, Fail::Error)),
        ..Keep::default()
    };
    let source = Numbers {
        gate: Some((silent, gate)),
        ..numbers(100)
    };
    let rt = runtime();
    let stream = rt.stream(source).through(toy).plan(plan);
    let error = stream.into(sink).unwrap_err();
    assert_eq!(error.cause(), Some(&Broken("sink")));
}

#[test]
fn a_closed_sink_ends_a_stream_whose_source_is_silent() {
    each(|structure, dispatch, inline| {
        closed_while_silent(Toy::default(), 6, fixed(structure, dispatch), inline);
    });
}

/// One worker waits for a unit that does not come when the other's cannot be written.
#[test]
fn a_sink_that_fails_wakes_workers_that_wait_for_units() {
    within(|| {
        for structure in [&FARM, &PIPELINE] {
            for inline in [false, true] {
                let toy = Toy {
                    pipeline: true,
                    delay: Some(|_, _| Duration::from_millis(20)),
                    step: Some(|_, _| Duration::from_millis(5)),
                    ..Toy::default()
                };
                closed_while_silent(toy, 2, fixed(structure, Dispatch::Fifo), inline);
            }
        }
    });
}

#[test]
fn a_sink_can_fail_at_its_start_and_its_end() {
    for inline in [false, true] {
        within(move || {
            let sink = Keep {
                inline,
                fail_start: true,
                ..Keep::default()
            };
            let rt = runtime();
            let error = rt
                .stream(numbers(5))
                .through(Toy::default())
                .into(sink.clone())
                .unwrap_err();
            assert_eq!(
                error.to_string(),
                "writing the output failed: the toy start is out of order"
            );
            assert_eq!(
                sink.kept(),
                Kept {
                    started: true,
                    aborted: true,
                    ..Kept::default()
                }
            );

            let sink = Keep {
                inline,
                fail_finish: true,
                ..Keep::default()
            };
            let stream = rt.stream(numbers(5)).through(Toy::default());
            let error = stream.into(sink.clone()).unwrap_err();
            assert!(
                matches!(
                    error,
                    StreamError::Sink {
                        unit: None,
                        written: 5,
                        ..
                    }
                ),
                "{error}"
            );
            assert_eq!(error.cause(), Some(&Broken("finish")));
        });
    }
}

#[test]
fn of_several_errors_it_is_the_earliest() {
    each(|structure, dispatch, inline| {
        let sink = Keep {
            inline,
            fail: Some((5, Fail::Error)),
            ..Keep::default()
        };
        let toy = Toy {
            fail: Some((6, Fail::Error)),
            ..Toy::default()
        };
        let source = Numbers {
            inline,
            fail: Some((7, Fail::Error)),
            ..numbers(100)
        };
        let rt = runtime();
        let stream = rt
            .stream(source)
            .through(toy)
            .plan(fixed(structure, dispatch));
        let error = stream.into(sink).unwrap_err();
        assert!(
            matches!(error, StreamError::Sink { unit: Some(5), .. }),
            "{error}"
        );

        let toy = Toy {
            fail: Some((6, Fail::Error)),
            ..Toy::default()
        };
        let source = Numbers {
            inline,
            fail: Some((7, Fail::Error)),
            ..numbers(100)
        };
        let sink = Keep {
            inline,
            fail_finish: true,
            ..Keep::default()
        };
        let stream = rt
            .stream(source)
            .through(toy)
            .plan(fixed(structure, dispatch));
        let error = stream.keep_partial(true).into(sink).unwrap_err();
        assert!(
            matches!(
                error,
                StreamError::Unit {
                    unit: 6,
                    written: 6,
                    ..
                }
            ),
            "{error}"
        );
    });
}

#[test]
fn the_source_is_gone_when_the_stream_ends() {
    within(|| {
        let alive = Arc::new(());
        for inline in [false, true] {
            let source = Numbers {
                inline,
                _alive: Arc::clone(&alive),
                ..numbers(10)
            };
            runtime()
                .stream(source)
                .through(Toy::default())
                .into(Keep::default())
                .unwrap();
            assert_eq!(Arc::strong_count(&alive), 1);
        }
    });
}

struct Unfit;

impl<Src> Through<Src> for Unfit {
    type Service = Toy;
    type Error = Broken;

    fn bind(self, _: &Src, _: &Topology) -> Result<Toy, Broken> {
        Err(Broken("graph"))
    }
}

#[test]
fn what_cannot_be_run_is_said_before_anything_starts() {
    within(|| {
        let rt = runtime();
        let sink = Keep::default();
        let error = rt
            .stream(numbers(3))
            .through(Unfit)
            .into(sink.clone())
            .unwrap_err();
        assert_eq!(error.cause(), Some(&Broken("graph")));
        assert_eq!(error.to_string(), "the toy graph is out of order");

        let toy = || rt.stream(numbers(3)).through(Toy::default());
        let error = toy().workers(Some(4)).into(sink.clone()).unwrap_err();
        assert!(
            matches!(error, StreamError::Workers { asked: 4, have: 3 }),
            "{error}"
        );
        let error = toy().workers(Some(0)).into(sink.clone()).unwrap_err();
        assert!(
            matches!(error, StreamError::Workers { asked: 0, have: 3 }),
            "{error}"
        );
        let stream = toy().plan("backward-cached".parse().unwrap());
        let error = stream.into(sink.clone()).unwrap_err();
        assert!(matches!(error, StreamError::Setup(_)), "{error}");
        let stream = toy().plan("farm".parse().unwrap()).live(true);
        let error = stream.into(sink.clone()).unwrap_err();
        assert!(
            matches!(
                error,
                StreamError::Unsupported { structure, .. } if *structure == FARM
            ),
            "{error}"
        );
        let stream = rt.stream(numbers(3)).through(Toy {
            pipeline: true,
            ..Toy::default()
        });
        let stream = stream.plan("pipeline".parse().unwrap()).live(true);
        let error = stream.into(sink.clone()).unwrap_err();
        assert!(
            matches!(
                error,
                StreamError::Unsupported { structure, .. } if *structure == PIPELINE
            ),
            "{error}"
        );
        assert_eq!(sink.kept(), Kept::default());
    });
}

#[test]
fn a_plan_from_a_script_that_cannot_be_run_ends_the_stream() {
    within(|| {
        let rt = runtime();
        let good = (plan(&TILED, Dispatch::Fifo, 8, 2), 3);
        for bad in [
            plan(&TILED, Dispatch::Fifo, 8, 4),
            plan(&TILED, Dispatch::Fifo, 0, 1),
            plan(&TILED, Dispatch::Fifo, 1, 0),
            plan(&NOWHERE, Dispatch::Fifo, 1, 1),
            plan(&PIPELINE, Dispatch::Fifo, 1, 1),
        ] {
            let sink = Keep::default();
            let stream = rt.stream(numbers(30)).through(Toy::default());
            let stream = stream.scheduled_by(Script::new(&[good, (bad, 2)]));
            let error = stream.into(sink.clone()).unwrap_err();
            let kept = sink.kept();
            assert_eq!(kept.numbers, [0, 1, 2], "{error}");
            assert!(kept.aborted, "{error}");
            let (toy, input) = (Toy::default(), In::default());
            let output = evener_runtime::Service::output(&toy);
            let again = rt.execute(&toy, &bad, &input, &output).unwrap_err();
            assert_eq!(again.to_string(), error.to_string());
        }
    });
}

#[test]
fn a_callback_that_panics_leaves_nothing_behind() {
    within(|| {
        let rt = runtime();
        for structure in ["tiled", "farm"] {
            let alive = Arc::new(());
            let source = Numbers {
                _alive: Arc::clone(&alive),
                ..numbers(1000)
            };
            let toy = Toy {
                delay: Some(|_, _| Duration::from_millis(8)),
                ..Toy::default()
            };
            let stream = rt
                .stream(source)
                .through(toy)
                .plan(structure.parse().unwrap());
            // Once, so that the other workers would go on.
            let mut falls = true;
            let stream = stream.on_progress(move |_| {
                if std::mem::replace(&mut falls, false) {
                    panic!("the callback fell");
                }
            });
            let begin = Instant::now();
            let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                stream.into(Keep::default())
            }));
            assert!(!matches!(result, Ok(Ok(_))));
            // All units on two workers would have taken 4 s.
            assert!(begin.elapsed() < Duration::from_secs(2), "{structure}");
            let begin = Instant::now();
            while Arc::strong_count(&alive) > 1 {
                assert!(
                    begin.elapsed() < Duration::from_secs(10),
                    "the source was not let go"
                );
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        let stream = rt.stream(numbers(5)).through(Toy::default());
        assert_eq!(stream.into(Keep::default()).unwrap().units, 5);
    });
}
