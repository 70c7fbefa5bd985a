//! What a stream costs beside the units' own work, when source and sink are in line. Alone in its process.
#![forbid(unsafe_code)]

use std::convert::Infallible;
use std::time::Instant;

use evener_runtime::structure::SEQUENTIAL;
use evener_runtime::{Discard, Dispatch, Part, Plan, Runtime, Service, Shape, Source, Work};

/// A service without work.
struct Nothing;

impl Service for Nothing {
    type Input = u64;
    type Output = ();
    type Scratch = ();

    fn key(&self) -> String {
        "nothing".into()
    }

    fn input(&self) -> u64 {
        0
    }

    fn output(&self) {}

    fn scratch(&self) {}

    fn shapes(&self, _: usize) -> Vec<Shape> {
        vec![Shape {
            structure: &SEQUENTIAL,
            passes: vec![1],
            steps: Vec::new(),
            lines: Vec::new(),
            pass_names: Vec::new(),
            device_pass: None,
            default_grain: 1,
            min_grain: 1,
            units: 1,
            work: Work::default(),
        }]
    }

    fn run(&self, _: &Part, _: &u64, _: &(), _: &mut ()) -> Result<(), String> {
        Ok(())
    }
}

struct Count(u64);

impl Source<Nothing> for Count {
    type Error = Infallible;

    fn read(&mut self, unit: &mut u64) -> Result<bool, Infallible> {
        *unit = self.0;
        self.0 = self.0.saturating_sub(1);
        Ok(*unit > 0)
    }

    fn inline(&self) -> bool {
        true
    }
}

/// The least time of a unit over many runs, in seconds: other processes can only add to it.
fn least(units: u64, run: impl Fn(u64)) -> f64 {
    let once = || {
        let begin = Instant::now();
        run(units);
        begin.elapsed().as_secs_f64() / units as f64
    };
    (0..50).map(|_| once()).fold(f64::INFINITY, f64::min)
}

#[test]
fn a_stream_in_line_costs_next_to_nothing() {
    let rt = Runtime::builder().workers(1).build().unwrap();
    let plan = Plan {
        structure: &SEQUENTIAL,
        dispatch: Dispatch::Fifo,
        grain: 1,
        workers: 1,
        devices: 0,
    };
    let measured = || {
        let streamed = least(20_000, |units| {
            let stream = rt.stream(Count(units)).through(Nothing);
            let report = stream
                .plan("sequential/fifo/1".parse().unwrap())
                .into(Discard)
                .unwrap();
            assert_eq!(report.units, units);
        });
        let executed = least(20_000, |units| {
            let mut executor = rt.executor(&Nothing);
            (0..units).for_each(|_| executor.run(&plan, &0, &()).unwrap());
        });
        (streamed * 1e9, executed * 1e9)
    };
    // 2 % of units of 15 µs. A shared machine may be half as fast for seconds.
    let fits = |(streamed, executed): (f64, f64)| streamed < 300.0 && executed < 150.0;
    let mut told = Vec::new();
    while told.len() < 20 && !told.last().is_some_and(|&ns| fits(ns)) {
        told.push(measured());
    }
    println!("ns a unit, in a stream and executed: {told:?}");
    assert!(fits(told[told.len() - 1]), "{told:?}");
}
