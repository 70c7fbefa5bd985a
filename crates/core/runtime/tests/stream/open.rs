//! Streams that stay open.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use evener_runtime::stream::{CancelToken, Open, RunOptions, Turn};
use evener_runtime::{Choice, Source, StreamError};

use crate::toy::{Fail, In, Numbers, Out, Toy, expected, numbers, runtime, within};

const PLANS: [&str; 7] = [
    "sequential",
    "tiled/steal",
    "tiled/mailbox",
    "farm",
    "grouped",
    "pipeline",
    "auto",
];

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(30)
}

fn open(toy: Toy, plan: &str) -> Open<Toy> {
    open_until(toy, plan, CancelToken::new())
}

fn open_until(toy: Toy, plan: &str, cancel: CancelToken) -> Open<Toy> {
    let plan: Choice = plan.parse().unwrap();
    let options = RunOptions {
        plan,
        cancel,
        ..RunOptions::default()
    };
    let toy = Toy {
        pipeline: true,
        grouped: 4,
        ..toy
    };
    runtime().open(toy, options).unwrap()
}

fn numbering() -> Numbers {
    Numbers {
        started: true,
        ..numbers(u64::MAX)
    }
}

fn push(open: &Open<Toy>, numbers: &mut Numbers, until: Instant) -> Turn<()> {
    open.push(until, |unit: &mut In| assert!(numbers.read(unit).unwrap()))
}

fn number(unit: &Out) -> u64 {
    let number = u64::from(unit.number.load(Ordering::Relaxed));
    let data = unit.data.iter().map(|v| v.load(Ordering::Relaxed));
    assert_eq!(data.collect::<Vec<_>>(), expected(number), "unit {number}");
    number
}

#[test]
fn a_result_comes_for_each_unit_under_every_plan() {
    for plan in PLANS {
        within(move || {
            let open = open(Toy::default(), plan);
            let mut numbers = numbering();
            for unit in 0..300 {
                assert_eq!(push(&open, &mut numbers, soon()), Turn::Done(()), "{plan}");
                assert_eq!(open.pull(soon(), number), Turn::Done(unit), "{plan}");
                assert_eq!(open.under_way(), 0);
            }
            let report = open.close().unwrap();
            assert_eq!((report.units, report.cancelled), (300, false), "{plan}");
        });
    }
}

#[test]
fn one_thread_pushes_while_another_pulls() {
    for plan in PLANS {
        within(move || {
            let open = open(Toy::default(), plan);
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    let mut numbers = numbering();
                    for _ in 0..2000 {
                        assert_eq!(push(&open, &mut numbers, soon()), Turn::Done(()));
                    }
                    open.end();
                    assert_eq!(push(&open, &mut numbers, soon()), Turn::Ended);
                });
                for unit in 0..2000 {
                    assert_eq!(open.pull(soon(), number), Turn::Done(unit), "{plan}");
                }
                assert_eq!(open.pull(soon(), number), Turn::Ended, "{plan}");
                assert_eq!(open.pull(soon(), number), Turn::Ended, "{plan}");
            });
            assert_eq!(open.close().unwrap().units, 2000, "{plan}");
        });
    }
}

#[test]
fn there_is_room_for_some_units_and_waits_end() {
    for plan in PLANS {
        within(move || {
            let open = open(Toy::default(), plan);
            let brief = || Instant::now() + Duration::from_millis(50);
            assert_eq!(open.pull(brief(), number), Turn::Late);
            let mut numbers = numbering();
            let mut pushed = 0;
            while push(&open, &mut numbers, brief()) == Turn::Done(()) {
                pushed += 1;
            }
            assert!((4..200).contains(&pushed), "{plan}: {pushed}");
            assert_eq!(open.under_way(), pushed);
            assert_eq!(open.room(brief()), Turn::Late);
            for unit in 0..pushed {
                assert_eq!(open.pull(soon(), number), Turn::Done(unit), "{plan}");
            }
            assert_eq!(open.room(brief()), Turn::Done(()));
            assert_eq!(open.pull(brief(), number), Turn::Late);
            assert_eq!(push(&open, &mut numbers, soon()), Turn::Done(()));
            assert_eq!(open.close().unwrap().units, pushed + 1, "{plan}");
        });
    }
}

#[test]
fn a_unit_that_fails_ends_the_stream_after_those_before_it() {
    for plan in PLANS.into_iter().filter(|&plan| plan != "pipeline") {
        for how in [Fail::Error, Fail::Panic] {
            within(move || {
                let toy = Toy {
                    fail: Some((5, how)),
                    ..Toy::default()
                };
                let open = open(toy, plan);
                let mut numbers = numbering();
                for unit in 0..5 {
                    assert_eq!(push(&open, &mut numbers, soon()), Turn::Done(()));
                    assert_eq!(open.pull(soon(), number), Turn::Done(unit));
                }
                assert_eq!(push(&open, &mut numbers, soon()), Turn::Done(()));
                assert_eq!(open.pull(soon(), number), Turn::Ended, "{plan}");
                assert_eq!(push(&open, &mut numbers, soon()), Turn::Ended, "{plan}");
                let error = open.close().unwrap_err();
                assert!(matches!(error, StreamError::Unit { unit: 5, .. }));
            });
        }
    }
}

#[test]
fn it_can_be_dropped_and_cancelled_at_any_time() {
    for plan in PLANS {
        for units in 0..6 {
            within(move || {
                let cancel = CancelToken::new();
                let open = open_until(Toy::default(), plan, cancel.clone());
                let mut numbers = numbering();
                for _ in 0..units {
                    assert_eq!(push(&open, &mut numbers, soon()), Turn::Done(()));
                }
                if units % 2 == 0 {
                    return drop(open);
                }
                std::thread::scope(|scope| {
                    let pulls = || while open.pull(soon(), number) != Turn::Ended {};
                    scope.spawn(pulls);
                    std::thread::sleep(Duration::from_millis(5));
                    cancel.cancel();
                });
                assert!(open.close().unwrap().cancelled);
            });
        }
    }
}

#[test]
fn a_plan_that_cannot_be_ends_it() {
    within(|| {
        let open = open(Toy::default(), "nowhere");
        assert_eq!(open.pull(soon(), number), Turn::Ended);
        let error = open.close().unwrap_err();
        assert!(error.is_request(), "{error}");
    });
}

#[test]
fn a_caller_that_panics_loses_no_buffer() {
    within(|| {
        let open = open(Toy::default(), "sequential");
        let mut numbers = numbering();
        for unit in 0..50 {
            let push_panics = AssertUnwindSafe(|| open.push(soon(), |_| panic!("the caller fell")));
            assert!(catch_unwind(push_panics).is_err());
            assert_eq!(push(&open, &mut numbers, soon()), Turn::Done(()));
            let pull_panics = |_: &Out| panic!("the caller fell");
            if unit % 2 == 0 {
                let pull = AssertUnwindSafe(|| open.pull(soon(), pull_panics));
                assert!(catch_unwind(pull).is_err());
            } else {
                assert_eq!(open.pull(soon(), number), Turn::Done(unit));
            }
        }
    });
}
