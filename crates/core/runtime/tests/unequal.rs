//! Two workers, one at half speed: its thread is in a control group with a quota (cgroup version 1, as root).
//!
//! `cargo test --release -p evener-runtime --test unequal -- --ignored --nocapture`

mod control_group;
#[path = "common/structures.rs"]
mod structures;

use std::convert::Infallible;
use std::hint::black_box;
use std::time::{Duration, Instant};

use control_group::ControlGroup;
use evener_runtime::{Discard, Part, Runtime, Service, Shape, Source, Work};
use structures::{FARM, PIPELINE, SEQUENTIAL};

const ITEMS: u32 = 64;

/// Arithmetic, 64 items of about 20 µs to a unit.
struct Burn;

impl Service for Burn {
    type Input = u64;
    type Output = ();
    type Scratch = ();

    fn key(&self) -> String {
        "burn".into()
    }

    fn input(&self) -> u64 {
        0
    }

    fn output(&self) {}

    fn scratch(&self) {}

    fn shapes(&self, _: usize) -> Vec<Shape> {
        let work = Work {
            ops: 64.0 * 20e-6 * 4e9,
            ..Work::default()
        };
        let shape = |structure, grain| Shape::new(structure, vec![ITEMS], grain, work);
        vec![shape(&SEQUENTIAL, 4), shape(&FARM, 1), shape(&PIPELINE, 1)]
    }

    fn run(&self, part: &Part, input: &u64, (): &(), (): &mut ()) -> Result<(), String> {
        for item in part.items.clone() {
            let mut state = *input + u64::from(item);
            for _ in 0..60_000 {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
            }
            black_box(state);
        }
        Ok(())
    }
}

struct Units(u64);

impl Source<Burn> for Units {
    type Error = Infallible;

    fn read(&mut self, unit: &mut u64) -> Result<bool, Infallible> {
        *unit = self.0;
        self.0 = self.0.saturating_sub(1);
        Ok(*unit > 0)
    }

    fn units(&self) -> Option<u64> {
        Some(self.0)
    }

    fn inline(&self) -> bool {
        true
    }
}

/// Units a second under a plan.
fn rate(runtime: &Runtime, plan: &str, workers: Option<u32>, units: u64) -> f64 {
    let begin = Instant::now();
    let stream = runtime.stream(Units(units)).through(Burn);
    let stream = stream.plan(plan.parse().unwrap()).workers(workers);
    let report = stream.into(Discard).unwrap();
    if plan == "auto" {
        println!("  auto: {report}");
    }
    units as f64 / begin.elapsed().as_secs_f64()
}

#[test]
#[ignore = "measures, and needs the rights to make a control group"]
fn shares_follow_the_speed_of_workers() {
    let runtime = Runtime::builder().workers(2).build().unwrap();
    let full = rate(&runtime, "farm", Some(2), 1000);
    let alone = rate(&runtime, "sequential", Some(1), 500);
    let Some(group) =
        ControlGroup::with_quota(Duration::from_micros(2500), Duration::from_millis(5))
    else {
        evener_testing::skip("no control group of version 1 can be made");
        return;
    };
    group.take_thread("evener-w1");
    println!("unlimited: {full:.0} units/s on two workers, {alone:.0} on one");
    // Interleaved, since the machine is shared.
    let plans = [
        "sequential/mailbox/32",
        "farm",
        "sequential/steal",
        "sequential/fifo",
        "pipeline",
        "auto",
    ];
    let mut rates = vec![Vec::new(); plans.len()];
    let mut alones = Vec::new();
    for _ in 0..5 {
        alones.push(rate(&runtime, "sequential", Some(1), 300));
        for (plan, rates) in plans.iter().zip(&mut rates) {
            let workers = (*plan != "auto").then_some(2);
            // A search takes a while.
            let units = if *plan == "auto" { 8000 } else { 1000 };
            rates.push(rate(&runtime, plan, workers, units));
        }
    }
    let alone = median(&mut alones);
    let equal = median(&mut rates[0].clone());
    for (plan, rates) in plans.iter().zip(&mut rates) {
        let rate = median(rates);
        println!(
            "{plan:22} {rate:5.0} units/s, {:.2} of equal shares, {:.3} of the sum of speeds",
            rate / equal,
            rate / (1.5 * alone)
        );
    }
    let farm = median(&mut rates[1]);
    assert!(farm >= 1.3 * equal, "{farm} {equal}");
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
