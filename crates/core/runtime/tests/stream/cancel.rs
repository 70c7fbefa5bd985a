//! Streams that are ended early.

use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use evener_runtime::stream::CancelToken;

use crate::failures::{each, fixed};
use crate::toy::*;

#[test]
fn cancelling_keeps_what_is_complete() {
    each(|structure, dispatch, inline| {
        let token = CancelToken::new();
        let cancel = token.clone();
        let sink = Keep {
            inline,
            ..Keep::default()
        };
        let kept = Arc::clone(&sink.kept);
        let canceller = std::thread::spawn(move || {
            while kept.lock().unwrap().numbers.len() < 5 {
                std::thread::sleep(Duration::from_millis(1));
            }
            cancel.cancel();
        });
        let rt = runtime();
        let stream = rt
            .stream(Numbers {
                inline,
                ..numbers(u64::MAX)
            })
            .through(Toy::default());
        let stream = stream
            .plan(fixed(structure, dispatch))
            .cancel(token.clone());
        let report = stream.into(sink.clone()).unwrap();
        canceller.join().unwrap();
        assert!(report.cancelled && token.is_cancelled());
        assert!(
            report.units >= 5 && report.to_string().ends_with(", cancelled"),
            "{report}"
        );
        let kept = sink.kept();
        assert_eq!(kept.numbers, (0..report.units).collect::<Vec<_>>());
        assert!(kept.finished && !kept.aborted);
    });
}

#[test]
fn cancelling_does_not_wait_for_a_silent_source() {
    each(|structure, dispatch, _| {
        let (open, gate) = mpsc::channel();
        let alive = Arc::new(());
        let token = CancelToken::new();
        let cancel = token.clone();
        let sink = Keep::default();
        let kept = Arc::clone(&sink.kept);
        std::thread::spawn(move || {
            while kept.lock().unwrap().numbers.len() < 3 {
                std::thread::sleep(Duration::from_millis(1));
            }
            cancel.cancel();
        });
        let gate = Some((3, gate));
        let source = Numbers {
            gate,
            _alive: Arc::clone(&alive),
            ..numbers(10)
        };
        let rt = runtime();
        let stream = rt.stream(source).through(Toy::default()).cancel(token);
        let report = stream
            .plan(fixed(structure, dispatch))
            .into(sink.clone())
            .unwrap();
        assert!(report.cancelled && sink.kept().finished);
        assert_eq!(sink.kept().numbers, [0, 1, 2]);
        // The source goes when its read returns, and not before.
        assert_eq!(Arc::strong_count(&alive), 2);
        drop(open);
        let begin = Instant::now();
        while Arc::strong_count(&alive) > 1 {
            assert!(
                begin.elapsed() < Duration::from_secs(10),
                "the source was not let go"
            );
            std::thread::sleep(Duration::from_millis(1));
        }
    });
}

#[test]
fn a_token_cancelled_before_ends_a_stream_at_once() {
    each(|structure, dispatch, inline| {
        let token = CancelToken::new();
        token.cancel();
        let sink = Keep {
            inline,
            ..Keep::default()
        };
        let rt = runtime();
        let stream = rt
            .stream(Numbers {
                inline,
                ..numbers(10)
            })
            .through(Toy::default());
        let stream = stream.plan(fixed(structure, dispatch)).cancel(token);
        let report = stream.into(sink.clone()).unwrap();
        assert!(report.cancelled && report.units == 0);
        assert!(sink.kept().aborted && !sink.kept().finished);
    });
}
