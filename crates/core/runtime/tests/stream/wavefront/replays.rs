//! Streams replayed in virtual time.

use evener_runtime::{Service, Shape, replay};

use super::*;

fn shape(service: &Waves) -> Shape {
    service.shapes(0).remove(0)
}

/// The steps of `DECIDE` take a second each, the others nothing.
fn seconds_each(geometry: &Geometry, units: u64) -> Vec<replay::Chunk> {
    let service = Waves::new(*geometry, units);
    let shape = shape(&service);
    let passes = shape.passes.iter().zip(&shape.lines).enumerate();
    let lines = passes.flat_map(|(pass, (&items, &lines))| {
        (0..lines).map(move |line| (pass, line, items / lines))
    });
    let lines: Vec<_> = lines.collect();
    let chunks = (0..units).flat_map(|unit| {
        lines.iter().map(move |&(pass, line, steps)| replay::Chunk {
            unit,
            pass,
            line,
            steps: 0..steps,
            seconds: if pass == DECIDE {
                f64::from(steps)
            } else {
                0.0
            },
        })
    });
    chunks.collect()
}

#[test]
fn a_replayed_wave_takes_what_it_must() {
    for (rows, columns) in [(1, 1), (1, 9), (5, 7), (8, 20)] {
        let geometry = Geometry {
            rows,
            columns,
            reach: None,
            in_turn: false,
            units: 1,
            ..Geometry::default()
        };
        let service = Waves::new(geometry, 3);
        let chunks = seconds_each(&geometry, 3);
        let on = |workers, grain, hand_over| {
            let plan = (grain, workers);
            replay::wavefront(&service, &shape(&service), &chunks, plan, hand_over).unwrap()
        };
        let sum = f64::from(3 * rows * columns);
        for grain in [1, 2, 100] {
            assert!((on(1, grain, 0.0) - sum).abs() < 1e-9);
        }
        // A row begins when the one above it has three steps more, or is done.
        let lag = f64::from(columns.min(3));
        let wave = 3.0 * (f64::from(columns) + lag * f64::from(rows - 1));
        assert!(
            (on(64, 1, 0.0) - wave).abs() < 1e-9,
            "{} {wave}",
            on(64, 1, 0.0)
        );
        assert!(on(1, 1, 0.5) > sum);
        let most = if rows > 1 { 0.75 * sum } else { sum };
        assert!((0.5 * sum..=most).contains(&on(2, 1, 0.0)));
    }
}

#[test]
fn a_recording_replays_to_the_time_it_took() {
    within(|| {
        let geometry = Geometry {
            ahead: 1,
            ..Geometry::default()
        };
        let mut service = Waves::new(geometry, 12);
        service.delay = Some(ragged);
        let (rt, recording) = (workers(1), replay::Recording::new());
        let stream = rt.stream(units(12)).through(service.clone());
        let script = Script::new(&[(wave(1, 1), 5)]);
        let stream = stream.scheduled_by(script).recording(&recording);
        stream.into(Kept::default()).unwrap();
        let chunks = recording.chunks();
        let steps: u32 = chunks.iter().map(|c| c.steps.end - c.steps.start).sum();
        assert_eq!(steps, 12 * (3 * 5 * 7 + 5));
        let sum: f64 = chunks.iter().map(|chunk| chunk.seconds).sum();
        let on = |workers| {
            let shape = shape(&service);
            replay::wavefront(&service, &shape, &chunks, (1, workers), 0.0).unwrap()
        };
        assert!((on(1) / sum - 1.0).abs() < 1e-6);
        for workers in [2, 8] {
            let bounds = sum / workers as f64..=sum;
            assert!(bounds.contains(&on(workers)), "{} of {sum}", on(workers));
        }
    });
}
