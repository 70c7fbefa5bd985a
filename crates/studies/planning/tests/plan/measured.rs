//! Kinds whose costs are measured on this machine.

use evener_planning::{Elements, Options, Workload, plan};
use evener_runtime::Simd;
use evener_runtime::replay::StepCost;

use crate::planned;

#[test]
fn each_level_is_measured_and_speeds_are_relative_to_it() {
    let text = "[[kind]]\nname = \"plain\"\nmeasured = \"scalar\"\narea = 1\npower = 1\n\
                [[kind]]\nname = \"slow\"\nmeasured = \"scalar\"\nspeed = 0.5\narea = 1\npower = 1\n\
                [[kind]]\nname = \"best\"\narea = 1\npower = 1\n";
    let elements = Elements::parse("x", text).unwrap();
    let mut asked = Vec::new();
    let mut workload = Workload {
        name: "test".into(),
        unit: "a unit".into(),
        steps: vec!["a".into(), "b".into()],
        measure: &mut |simd| {
            asked.push(simd);
            let seconds = if simd == Simd::Scalar { 4.0 } else { 1.0 };
            Ok(vec![
                StepCost::same(seconds),
                StepCost {
                    first: 3.0,
                    next: seconds,
                },
            ])
        },
    };
    let plan = plan(&elements, &mut workload, Options::default()).unwrap();
    let whole: Vec<Option<f64>> = plan.kinds.iter().map(|kind| kind.whole_seconds).collect();
    let best = if Simd::detect() == Simd::Scalar {
        8.0
    } else {
        2.0
    };
    assert_eq!(whole, [Some(8.0), Some(16.0), Some(best)]);
    // A segment that begins with the second step pays for its beginning.
    assert_eq!(plan.kinds[0].seconds, [Some(4.0), Some(3.0)]);
    assert!(asked.contains(&Simd::Scalar) && asked.contains(&Simd::detect()));
}

#[test]
fn a_measurement_that_fails_is_told() {
    let elements = Elements::parse("x", "[[kind]]\nname = \"a\"\narea = 1\npower = 1\n").unwrap();
    let mut workload = Workload {
        name: "test".into(),
        unit: "a unit".into(),
        steps: vec!["a".into()],
        measure: &mut |_| Err("no room".into()),
    };
    let error = plan(&elements, &mut workload, Options::default()).unwrap_err();
    assert_eq!(error.to_string(), "cannot measure test: no room");
}

#[test]
fn one_kind_and_two_steps_give_a_farm_and_a_page() {
    let text = "[[kind]]\nname = \"a\"\narea = 2\npower = 0.5\nnumber = 3\n";
    let plan = planned(text, &[("load", 1.0), ("a<b", 2.0)]).unwrap();
    let texts: Vec<&str> = plan.front.iter().map(|one| one.text.as_str()).collect();
    assert_eq!(texts, ["all on a", "all on 2 a", "all on 3 a"]);
    assert_eq!(plan.best[0], 2);
    let page = evener_planning::html(&plan, "a machine", "0.0.0");
    assert!(
        page.contains("<svg") && page.contains("a&lt;b") && !page.contains("a<b"),
        "{page}"
    );
    let json: serde_json::Value = serde_json::to_value(&plan).unwrap();
    assert_eq!(json["front"][2]["places"][0]["elements"]["a"], 3);
    assert_eq!(json["kinds"][0]["seconds"][1], 2.0);
}
