//! What goes wrong in a wavefront, and that nothing hangs by it.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use evener_runtime::stream::CancelToken;
use evener_runtime::{Discard, Need, Part, Service, Shape, Source, Work};

use super::*;

/// Runs a stream that fails, and checks that what is kept is a beginning of what should be. The error.
fn fails(service: &Waves, source: Units, sink: &Kept, (grain, count): (u32, u32)) -> StreamError {
    let total = source.units;
    let rt = workers(8);
    let error = rt
        .stream(source)
        .through(service.clone())
        .scheduled_by(Script::new(&[(wave(grain, count), 4)]))
        .keep_partial(true)
        .into(sink.clone())
        .unwrap_err();
    let (kept, expected) = (sink.values(), service.geometry.expected(total));
    assert_eq!(kept[..], expected[..kept.len()]);
    assert_eq!(error.written(), kept.len() as u64);
    error
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn a_step_that_fails_or_panics_fails_its_unit(
        geometry in any_geometry(),
        (unit, pass, line, step) in (0..20u64, 0..4usize, 0..6u32, 0..8u32),
        panics: bool,
        plan in (1..=4u32, 1..=8u32),
        inline: bool,
        slow: bool,
    ) {
        within(move || {
            let (line, step) = match pass {
                WRITE => (0, step % geometry.rows),
                _ => (line % geometry.rows, step % geometry.columns),
            };
            let mut service = Waves::new(geometry, 20);
            service.delay = slow.then_some(ragged);
            let (fail, message) = match panics {
                true => (Fail::Panic, "panicked: the wave fell"),
                false => (Fail::Error, "the wave broke"),
            };
            service.fail = Some((Step { unit, pass, line, step }, fail));
            let sink = Kept { inline, ..Kept::default() };
            let source = Units { inline, ..units(20) };
            let error = fails(&service, source, &sink, plan);
            assert_eq!(error.to_string(), format!("unit {unit} failed: {message}"));
            // A unit that looks ahead to the one that failed cannot be done.
            match geometry.ahead {
                0 => assert_eq!(error.written(), unit),
                _ => assert!(error.written() <= unit),
            }
        });
    }
}

#[test]
fn units_before_one_that_cannot_be_read_are_written() {
    within(|| {
        for ahead in [0, 2] {
            for at in [0, 1, 5] {
                let geometry = Geometry {
                    ahead,
                    ..Geometry::default()
                };
                let service = Waves::new(geometry, at);
                let source = Units {
                    fail: Some(at),
                    units: at,
                    ..Units::default()
                };
                let error = fails(&service, source, &Kept::default(), (1, 3));
                assert_eq!(
                    error.to_string(),
                    format!("reading unit {at} failed: the toy source is out of order")
                );
                assert_eq!(error.written(), at);
            }
        }
    });
}

#[test]
fn a_sink_that_fails_ends_the_stream() {
    within(|| {
        for inline in [false, true] {
            let service = Waves::new(Geometry::default(), 100);
            let sink = Kept {
                inline,
                fail: Some(7),
                ..Kept::default()
            };
            let error = fails(&service, units(100), &sink, (1, 3));
            assert_eq!(
                error.to_string(),
                "writing unit 7 failed: the toy sink is out of order"
            );
        }
    });
}

/// A service whose needs are wrong.
fn wrong(needs: fn(u64) -> Need) -> String {
    let rt = workers(3);
    let service = Wrong(needs);
    let stream = rt.stream(Count(0)).through(service);
    let stream = stream.scheduled_by(Script::new(&[(wave(1, 3), 4)]));
    stream.into(Discard).unwrap_err().to_string()
}

struct Wrong(fn(u64) -> Need);

impl Service for Wrong {
    type Input = u64;
    type Output = ();
    type Scratch = ();

    fn key(&self) -> String {
        "wrong".into()
    }

    fn input(&self) -> u64 {
        0
    }

    fn output(&self) {}

    fn scratch(&self) {}

    fn shapes(&self, _: usize) -> Vec<Shape> {
        vec![Shape {
            lines: vec![2],
            units: 4,
            ..Shape::new(&WAVEFRONT, vec![6], 1, Work::default())
        }]
    }

    fn run(&self, _: &Part, _: &u64, _: &(), (): &mut ()) -> Result<(), String> {
        Ok(())
    }

    fn needs(&self, unit: u64, part: &Part, needs: &mut Vec<Need>) {
        if part.items.contains(&2) {
            needs.push((self.0)(unit));
        }
    }
}

struct Count(u64);

impl Source<Wrong> for Count {
    type Error = std::convert::Infallible;

    fn read(&mut self, unit: &mut u64) -> Result<bool, Self::Error> {
        *unit = self.0;
        self.0 += 1;
        Ok(self.0 <= 9)
    }
}

#[test]
fn needs_that_are_never_met_are_an_error() {
    within(|| {
        let stuck = "waits for steps that wait for it, or for a unit that is not begun";
        for _ in 0..50 {
            // The line itself, beyond what runs.
            let message = wrong(|unit| Need {
                unit,
                pass: 0,
                line: 0,
                steps: 3,
            });
            assert_eq!(message, format!("unit 0 failed: {stuck}"));
        }
        let message = wrong(|unit| Need {
            unit: unit + 4,
            pass: 0,
            line: 0,
            steps: 1,
        });
        assert_eq!(
            message,
            "unit 0 failed: needs unit 4, and wavefront has 4 in work at once"
        );
        let message = wrong(|unit| Need {
            unit,
            pass: 1,
            line: 0,
            steps: 1,
        });
        assert!(
            message.starts_with("unit 0 failed: needs what no unit has"),
            "{message}"
        );
        let message = wrong(|_| panic!("what?"));
        assert_eq!(message, "unit 0 failed: panicked: what?");
    });
}

/// It is not known whether there are more units, so what needs them cannot be computed.
#[test]
fn a_service_that_looks_ahead_cannot_change_its_structure() {
    within(|| {
        let geometry = Geometry {
            ahead: 2,
            ..Geometry::default()
        };
        let mut service = Waves::new(geometry, 100);
        service.sequential = true;
        let alone = plan(&SEQUENTIAL, Dispatch::Fifo, 1, 2);
        let rt = workers(3);
        let stream = rt.stream(units(100)).through(service);
        let script = Script::new(&[(wave(1, 3), 5), (alone, 5)]);
        let error = stream
            .scheduled_by(script)
            .into(Kept::default())
            .unwrap_err();
        assert!(
            error.to_string().ends_with("for a unit that is not begun"),
            "{error}"
        );
    });
}

#[test]
fn cancelling_completes_the_units_in_work() {
    within(|| {
        for ahead in [0, 2] {
            for inline in [false, true] {
                let geometry = Geometry {
                    ahead,
                    ..Geometry::default()
                };
                let service = Waves::new(geometry, 200_000);
                let source = Units {
                    inline,
                    ..units(200_000)
                };
                let read = Arc::clone(&source.read);
                let token = CancelToken::new();
                let sink = Kept {
                    inline,
                    ..Kept::default()
                };
                let (cancel, values) = (token.clone(), Arc::clone(&sink.values));
                let canceller = std::thread::spawn(move || {
                    while values.lock().unwrap().len() < 9 {
                        std::thread::sleep(Duration::from_micros(200));
                    }
                    cancel.cancel();
                });
                let rt = workers(3);
                let stream = rt.stream(source).through(service.clone()).cancel(token);
                let script = Script::new(&[(wave(2, 3), 5)]);
                let report = stream.scheduled_by(script).into(sink.clone()).unwrap();
                canceller.join().unwrap();
                assert!(report.cancelled && report.units >= 9, "{report}");
                assert!(report.units <= read.load(Ordering::Relaxed));
                // As if the stream had ended there.
                service.check(report.units);
                assert_eq!(sink.values(), geometry.expected(report.units));
                assert!(sink.finished.load(Ordering::Relaxed));
            }
        }
    });
}

#[test]
fn cancelling_does_not_wait_for_a_silent_source() {
    within(|| {
        for ahead in [0, 2] {
            let geometry = Geometry {
                ahead,
                ..Geometry::default()
            };
            let service = Waves::new(geometry, 5);
            let source = Units {
                silent_from: Some(4),
                ..units(5)
            };
            let token = CancelToken::new();
            let cancel = token.clone();
            let sink = Kept::default();
            let values = Arc::clone(&sink.values);
            std::thread::spawn(move || {
                // Then all that were read have begun.
                while (values.lock().unwrap().len() as u64) < 4 - ahead {
                    std::thread::sleep(Duration::from_millis(1));
                }
                cancel.cancel();
            });
            let rt = workers(3);
            let stream = rt.stream(source).through(service.clone()).cancel(token);
            let script = Script::new(&[(wave(2, 3), 5)]);
            let report = stream.scheduled_by(script).into(sink.clone()).unwrap();
            assert!(report.cancelled);
            assert_eq!(sink.values(), geometry.expected(4));
        }
    });
}

#[test]
fn a_callback_that_panics_ends_the_stream() {
    within(|| {
        let mut service = Waves::new(Geometry::default(), 100);
        service.delay = Some(|_| Duration::from_micros(100));
        let rt = workers(3);
        let stream = rt
            .stream(units(100))
            .through(service)
            .on_progress(|_| panic!("what a progress"));
        let script = Script::new(&[(wave(2, 3), 5)]);
        let error = stream
            .scheduled_by(script)
            .into(Kept::default())
            .unwrap_err();
        assert!(error.to_string().contains("what a progress"), "{error}");
    });
}
