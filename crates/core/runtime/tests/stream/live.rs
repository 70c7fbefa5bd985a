//! Sources that cannot wait.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use evener_runtime::Source;
use evener_runtime::stream::PlanTimes;

use crate::structures::FARM;
use crate::toy::*;

/// A camera: a unit every millisecond. It adds up how long it was not listened to.
struct Camera {
    numbers: Numbers,
    left: Option<Instant>,
    unheard: Arc<Mutex<Duration>>,
}

impl Camera {
    fn new(units: u64) -> Camera {
        Camera {
            numbers: numbers(units),
            left: None,
            unheard: Arc::default(),
        }
    }
}

impl Source<Toy> for Camera {
    type Error = Infallible;

    fn start(&mut self, toy: &Toy) {
        self.numbers.start(toy);
    }

    fn read(&mut self, unit: &mut In) -> Result<bool, Infallible> {
        *self.unheard.lock().unwrap() += self.left.map_or(Duration::ZERO, |left| left.elapsed());
        std::thread::sleep(Duration::from_millis(1));
        let more = self.numbers.read(unit).unwrap();
        self.left = Some(Instant::now());
        Ok(more)
    }

    // In line it would be made to wait, so this must not be heeded.
    fn inline(&self) -> bool {
        true
    }
}

#[test]
fn the_oldest_are_dropped_and_the_source_never_waits() {
    for in_flight in [1, 2, 4] {
        within(move || {
            let camera = Camera::new(300);
            let unheard = Arc::clone(&camera.unheard);
            let toy = Toy {
                delay: Some(|_, _| Duration::from_millis(10)),
                ..Toy::default()
            };
            let sink = Keep::default();
            let rt = runtime();
            let report = rt
                .stream(camera)
                .through(toy)
                .plan("tiled".parse().unwrap())
                .live(true)
                .in_flight(in_flight)
                .into(sink.clone())
                .unwrap();
            let numbers = sink.kept().numbers;
            // Made to wait for computing, it would be some 3 s.
            let unheard = *unheard.lock().unwrap();
            assert!(
                unheard < Duration::from_secs(1),
                "the source had to wait {unheard:?}"
            );
            assert_eq!(report.units + report.dropped, 300);
            assert!(report.dropped > 200, "{report}");
            assert!(report.to_string().contains(" dropped)"));
            assert!(numbers.is_sorted() && numbers.len() as u64 == report.units);
            // The newest always comes through; what is dropped lies before it.
            assert_eq!(numbers.last(), Some(&299));
            assert!(report.memory.inputs <= in_flight.max(3));
        });
    }
}

#[test]
fn a_fast_service_drops_nothing() {
    let dropped = || {
        within(|| {
            let rt = runtime();
            // Room for some 200 ms in which a busy machine does not let the workers run.
            let stream = rt
                .stream(Camera::new(200))
                .through(Toy::default())
                .live(true)
                .in_flight(200);
            let report = stream.into(Keep::default()).unwrap();
            assert_eq!(report.units + report.dropped, 200);
            let farm = |p: &PlanTimes| p.plan.structure == &FARM;
            assert!(!report.plans.iter().any(farm));
            report.dropped
        })
    };
    // It may be longer at times.
    let dropped: Vec<u64> = (0..4).map(|_| dropped()).take_while(|&n| n > 0).collect();
    assert!(dropped.len() < 4, "{dropped:?}");
}

#[test]
fn a_failed_unit_has_the_number_it_was_read_with() {
    within(|| {
        let camera = Camera::new(300);
        let toy = Toy {
            delay: Some(|_, _| Duration::from_millis(10)),
            fail: Some((299, Fail::Error)),
            ..Toy::default()
        };
        let rt = runtime();
        let stream = rt
            .stream(camera)
            .through(toy)
            .live(true)
            .plan("tiled".parse().unwrap());
        let error = stream.into(Keep::default()).unwrap_err();
        assert_eq!(error.to_string(), "unit 299 failed: the toy broke");
        assert!(error.written() < 100);
    });
}
