use std::io;
use std::time::Duration;

use serde_json::Value;

use super::*;

fn parse(trace: &Trace) -> Vec<Value> {
    let mut text = Vec::new();
    trace.write(&mut text).unwrap();
    let json: Value = serde_json::from_slice(&text).unwrap();
    json["traceEvents"].as_array().unwrap().clone()
}

fn named<'a>(events: &'a [Value], phase: &str, name: &str) -> Vec<&'a Value> {
    events
        .iter()
        .filter(|event| event["ph"] == phase && event["name"] == name)
        .collect()
}

fn begin(trace: &Trace) -> Instant {
    trace.0.as_ref().unwrap().begin
}

#[test]
fn off_records_nothing_and_writes_an_empty_trace() {
    let trace = Trace::off();
    let now = Instant::now();
    trace.span(Track::Worker(0), "job", 0, now, now);
    trace.instant(Track::Tuner, "switch", "x");
    trace.counter("units", 1.0);
    assert!(!trace.is_on() && trace.start().is_none());
    assert_eq!((trace.counters_text(), trace.dropped()), (String::new(), 0));
    assert!(parse(&trace).is_empty());
}

#[test]
fn spans_have_times_in_microseconds_and_a_unit() {
    let trace = Trace::on(1);
    let start = begin(&trace) + Duration::from_nanos(1_500);
    trace.span(
        Track::Worker(0),
        "job",
        7,
        start,
        start + Duration::from_nanos(250),
    );
    let events = parse(&trace);
    let [span] = named(&events, "X", "job")[..] else {
        panic!("{events:?}")
    };
    assert_eq!(span["ts"].as_f64(), Some(1.5));
    assert_eq!(span["dur"].as_f64(), Some(0.25));
    assert_eq!(span["args"]["unit"], 7);
}

#[test]
fn spans_of_a_track_nest_and_enclosing_ones_come_first() {
    let trace = Trace::on(2);
    let at = |us| begin(&trace) + Duration::from_micros(us);
    // In the order in which they end, as a stream records them.
    trace.span(Track::Worker(1), "job", 0, at(10), at(20));
    trace.span(Track::Worker(1), "job", 0, at(20), at(30));
    trace.span(Track::Worker(1), "pass", 0, at(10), at(30));
    trace.span(Track::Worker(1), "unit", 0, at(10), at(40));
    trace.instant(Track::Worker(1), "mark", "after all");
    let events = parse(&trace);
    let spans: Vec<(&str, f64, f64)> = events
        .iter()
        .filter(|event| event["ph"] == "X")
        .map(|event| {
            let ts = event["ts"].as_f64().unwrap();
            (
                event["name"].as_str().unwrap(),
                ts,
                ts + event["dur"].as_f64().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        spans,
        [
            ("unit", 10.0, 40.0),
            ("pass", 10.0, 30.0),
            ("job", 10.0, 20.0),
            ("job", 20.0, 30.0)
        ]
    );
    let mut open: Vec<f64> = Vec::new();
    for (name, start, end) in spans {
        open.retain(|&until| until > start);
        assert!(
            open.last().is_none_or(|&until| end <= until),
            "{name} outlives what encloses it"
        );
        open.push(end);
    }
}

#[test]
fn threads_are_named_and_in_the_order_of_a_unit() {
    let trace = Trace::on(2);
    let now = Instant::now();
    for track in [
        Track::Output,
        Track::Worker(1),
        Track::Input,
        Track::Tuner,
        Track::Worker(0),
    ] {
        trace.span(track, "span", 0, now, now);
    }
    let events = parse(&trace);
    assert_eq!(
        named(&events, "M", "process_name")[0]["args"]["name"],
        "evener"
    );
    let order = |thread: &Value| {
        let sort = named(&events, "M", "thread_sort_index");
        sort.iter().find(|event| event["tid"] == *thread).unwrap()["args"]["sort_index"].as_u64()
    };
    let mut names: Vec<_> = named(&events, "M", "thread_name")
        .into_iter()
        .map(|event| {
            (
                order(&event["tid"]),
                event["args"]["name"].as_str().unwrap(),
            )
        })
        .collect();
    names.sort();
    let names: Vec<&str> = names.into_iter().map(|(_, name)| name).collect();
    assert_eq!(
        names,
        ["tuner", "evener-in", "evener-w0", "evener-w1", "evener-out"]
    );
    let threads: Vec<&Value> = named(&events, "X", "span")
        .iter()
        .map(|event| &event["tid"])
        .collect();
    let mut distinct = threads.clone();
    distinct.sort_by_key(|thread| thread.as_u64());
    distinct.dedup();
    assert_eq!((threads.len(), distinct.len()), (5, 5), "a track each");
}

#[test]
fn instants_carry_their_text() {
    let trace = Trace::on(1);
    trace.instant(Track::Tuner, "switch", "from \"a\"\n to \u{b7}b");
    let events = parse(&trace);
    let [event] = named(&events, "i", "switch")[..] else {
        panic!("{events:?}")
    };
    assert_eq!(event["args"]["detail"], "from \"a\"\n to \u{b7}b");
    assert_eq!(event["s"], "t");
}

#[test]
fn counters_keep_samples_and_the_last_value() {
    let trace = Trace::on(1);
    for (name, value) in [
        ("units", 1.0),
        ("queue", 0.5),
        ("units", 2.0),
        ("queue", f64::NAN),
    ] {
        trace.counter(name, value);
    }
    assert_eq!(trace.counters_text(), "queue 0.5\nunits 2\n");
    assert_eq!(
        serde_json::to_string(&trace.counters()).unwrap(),
        r#"{"queue":0.5,"units":2.0}"#
    );
    let events = parse(&trace);
    let values: Vec<_> = named(&events, "C", "units")
        .iter()
        .map(|event| event["args"]["value"].as_f64())
        .collect();
    assert_eq!(values, [Some(1.0), Some(2.0)]);
}

#[test]
fn full_tracks_drop_and_count() {
    let trace = Trace::with_limit(2, 3);
    let now = Instant::now();
    for unit in 0..5 {
        trace.span(Track::Worker(0), "job", unit, now, now);
        trace.counter("units", unit as f64);
    }
    trace.span(Track::Worker(1), "job", 9, now, now);
    trace.span(Track::Worker(2), "job", 9, now, now);
    trace.span(Track::Worker(usize::MAX), "job", 9, now, now);
    assert_eq!(trace.dropped(), 2 + 2 + 2);
    let events = parse(&trace);
    let units: Vec<_> = named(&events, "X", "job")
        .iter()
        .map(|event| event["args"]["unit"].as_u64())
        .collect();
    assert_eq!(
        units,
        [Some(0), Some(1), Some(2), Some(9)],
        "the first ones are kept"
    );
    assert_eq!(
        trace.counters()["units"],
        4.0,
        "the last value is known all the same"
    );
    let mut text = Vec::new();
    trace.write(&mut text).unwrap();
    let json: Value = serde_json::from_slice(&text).unwrap();
    assert_eq!(json["otherData"]["dropped"], 6);
}

#[test]
fn times_before_the_trace_and_backwards_are_harmless() {
    let early = Instant::now();
    let trace = Trace::on(1);
    let later = begin(&trace) + Duration::from_micros(5);
    trace.span(Track::Input, "early", 0, early, early);
    trace.span(Track::Input, "backwards", 0, later, early);
    let events = parse(&trace);
    assert_eq!(named(&events, "X", "early")[0]["ts"].as_f64(), Some(0.0));
    assert_eq!(
        named(&events, "X", "backwards")[0]["dur"].as_f64(),
        Some(0.0)
    );
}

#[test]
fn threads_record_at_once_and_nothing_is_lost() {
    let trace = Trace::on(4);
    std::thread::scope(|scope| {
        for worker in 0..4 {
            let trace = trace.clone();
            scope.spawn(move || {
                for unit in 0..1000 {
                    let start = trace.start();
                    trace.end(Track::Worker(worker), "job", unit, start);
                }
            });
        }
    });
    let events = parse(&trace);
    assert_eq!(named(&events, "X", "job").len(), 4000);
    assert_eq!(trace.dropped(), 0);
}

#[test]
fn errors_of_the_writer_come_back() {
    struct Full;
    impl io::Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    assert_eq!(
        Trace::on(1).write(Full).unwrap_err().kind(),
        io::ErrorKind::StorageFull
    );
}
