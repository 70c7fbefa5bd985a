//! Any text as an element file: no panic, errors of one line; what is read is planned, and every number that comes out is
//! positive and finite.

#![no_main]
#![forbid(unsafe_code)]

use evener_planning::{Elements, Options, Plan, Workload, html, plan, text};
use evener_runtime::replay::StepCost;
use libfuzzer_sys::fuzz_target;

/// Choices and splits of the elements beyond which planning takes too long for a fuzzer.
const MOST: f64 = 1e5;

fuzz_target!(|file: &str| {
    let Some(elements) = read(file) else {
        return;
    };
    let kinds = elements.kinds().iter();
    let numbers = kinds.map(|kind| f64::from(kind.number));
    if numbers
        .map(|n| (n + 1.0) * (n + 2.0) / 2.0)
        .product::<f64>()
        > MOST
    {
        return;
    }
    let Some(first) = planned(&elements) else {
        return;
    };
    assert!(!first.front.is_empty());
    for one in first.front.iter().chain(&first.given) {
        for number in [
            one.gain,
            one.area,
            one.power,
            one.gain_per_area,
            one.gain_per_power,
        ] {
            assert!(number > 0.0 && number.is_finite(), "{one:?}");
        }
    }
    assert!(text(&first).contains("Front") && html(&first, "", "").contains("<svg"));
});

fn read(file: &str) -> Option<Elements> {
    match Elements::parse("fuzz", file) {
        Ok(elements) => Some(elements),
        Err(error) => {
            assert!(!error.to_string().contains('\n'), "{error}");
            None
        }
    }
}

fn planned(elements: &Elements) -> Option<Plan> {
    let steps = [("a", 3), ("b", 1)];
    let steps: Vec<String> = steps
        .iter()
        .flat_map(|(name, n)| vec![(*name).to_owned(); *n])
        .collect();
    let costs: Vec<StepCost> = (1..=steps.len())
        .map(|n| StepCost::same(n as f64))
        .collect();
    let mut workload = Workload {
        name: "fuzz".into(),
        unit: "a unit".into(),
        steps,
        measure: &mut |_| Ok(costs.clone()),
    };
    match plan(elements, &mut workload, Options { most: Some(20) }) {
        Ok(plan) => Some(plan),
        Err(error) => {
            assert!(!error.to_string().contains('\n'), "{error}");
            None
        }
    }
}
