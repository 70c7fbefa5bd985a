//! Units that fail beside others.

use evener_runtime::Structure;

use super::*;
use crate::structures::{GROUPED, TILED};

/// Groups of a stream of `units` that fails at unit `at`: those before it, its own, and its own again, one by one. The
/// last of a group that is left over is not tried again.
fn groups_until(at: u64, units: u64) -> Vec<usize> {
    let before = (at / 4) as usize;
    let group = (units as usize - 4 * before).min(4);
    let mut groups = vec![4; before];
    groups.push(group);
    groups.extend(vec![1; (at as usize % 4 + 1).min(group - 1)]);
    groups
}

#[test]
fn units_before_one_that_fails_are_written() {
    each_dispatch(&BOTH, |dispatch, (inline, _)| {
        let rt = runtime();
        for at in [0, 1, 3, 4, 6, 7, 8, 9] {
            for (fail, message) in [
                (Fail::Error, "the toy broke"),
                (Fail::Panic, "panicked: the toy fell"),
            ] {
                let toy = Toy {
                    fail: Some((at, fail)),
                    prepare: Duration::from_millis(5),
                    ..four()
                };
                let groups = Arc::clone(&toy.groups);
                let sink = sink(inline);
                let stream = rt.stream(source(10, inline)).through(toy);
                let error = stream
                    .plan(fixed(&GROUPED, dispatch))
                    .into(sink.clone())
                    .unwrap_err();
                assert_eq!(error.to_string(), format!("unit {at} failed: {message}"));
                assert_eq!(error.written(), at);
                let kept = sink.kept();
                assert_eq!(kept.numbers, (0..at).collect::<Vec<_>>());
                assert!(kept.aborted && !kept.finished);
                if inline {
                    assert_eq!(*groups.lock().unwrap(), groups_until(at, 10), "{at}");
                }
            }
        }
        // The workers have survived.
        let sink = Keep::default();
        let stream = rt.stream(numbers(20)).through(four());
        stream.plan(choice()).into(sink.clone()).unwrap();
        assert_eq!(sink.kept().numbers.len(), 20);
    });
}

#[test]
fn a_failure_is_found_without_what_it_left_in_private_memory() {
    each_dispatch(&BOTH, |dispatch, (inline, _)| {
        for fail in [Fail::Error, Fail::Panic] {
            let toy = Toy {
                fail: Some((6, fail)),
                spoils: true,
                ..four()
            };
            let sink = sink(inline);
            let rt = runtime();
            let stream = rt.stream(source(10, inline)).through(toy);
            let error = stream
                .plan(fixed(&GROUPED, dispatch))
                .into(sink.clone())
                .unwrap_err();
            assert!(error.to_string().starts_with("unit 6 failed: "), "{error}");
            assert!(error.to_string().contains("the toy "), "{error}");
            assert_eq!(sink.kept().numbers, (0..6).collect::<Vec<_>>());
        }
    });
}

#[test]
fn what_was_read_before_the_source_failed_is_written() {
    each_dispatch(&ENDS, |dispatch, (read_inline, write_inline)| {
        for (fail, message) in [
            (Fail::Error, "the toy source is out of order"),
            (Fail::Panic, "panicked: the source fell"),
        ] {
            let toy = unhurried();
            let groups = Arc::clone(&toy.groups);
            let source = Numbers {
                fail: Some((6, fail)),
                ..source(10, read_inline)
            };
            let sink = sink(write_inline);
            let rt = runtime();
            let error = rt
                .stream(source)
                .through(toy)
                .plan(fixed(&GROUPED, dispatch))
                .into(sink.clone())
                .unwrap_err();
            assert_eq!(
                error.to_string(),
                format!("reading unit 6 failed: {message}")
            );
            assert_eq!(error.written(), 6);
            assert_eq!(sink.kept().numbers, (0..6).collect::<Vec<_>>());
            assert_eq!(*groups.lock().unwrap(), [4, 2]);
        }
    });
}

#[test]
fn a_sink_can_fail_in_the_middle_of_a_group() {
    each_dispatch(&ENDS, |dispatch, (read_inline, write_inline)| {
        for fail in [Fail::Error, Fail::Panic] {
            let sink = Keep {
                fail: Some((5, fail)),
                ..sink(write_inline)
            };
            let rt = runtime();
            let stream = rt.stream(source(100, read_inline)).through(four());
            let error = stream
                .plan(fixed(&GROUPED, dispatch))
                .into(sink.clone())
                .unwrap_err();
            assert!(
                matches!(error, StreamError::Sink { unit: Some(5), .. }),
                "{error}"
            );
            assert_eq!(error.written(), 5);
            assert_eq!(sink.kept().numbers, (0..5).collect::<Vec<_>>());
        }
    });
}

/// The group was given up before a kernel could fail, which then does so in the fallback.
#[test]
fn units_before_one_that_fails_when_it_is_redone_are_written() {
    fn slow(_: u64, _: &'static Structure) -> Duration {
        Duration::from_millis(15)
    }
    each_dispatch(&BOTH, |dispatch, (_, write_inline)| {
        for fallback in [&TILED, &GROUPED] {
            for at in [0, 1, 3] {
                let fours = grouped(dispatch, 1);
                let mut script = Script::new(&[(fours, 4)]);
                script.cutoff = Some(Duration::from_millis(10));
                script.fallback = Some(plan(fallback, dispatch, 97, 1));
                let toy = Toy {
                    delay: Some(slow),
                    fail: Some((at, Fail::Error)),
                    ..four()
                };
                let sink = sink(write_inline);
                let rt = runtime();
                let stream = rt.stream(source(8, true)).through(toy);
                let error = stream.scheduled_by(script).into(sink.clone()).unwrap_err();
                assert_eq!(
                    error.to_string(),
                    format!("unit {at} failed: the toy broke")
                );
                assert_eq!(
                    (error.written(), sink.kept().numbers.len() as u64),
                    (at, at)
                );
            }
        }
    });
}
