//! A plan as a page with charts.

use evener_report::svg::{self, Dot, Dots, Series};
use evener_report::{Section, of_tables, page};

use crate::plan::{Evaluated, Plan};
use crate::tables::{number, tables};

/// The most stages whose costs are drawn.
const DRAWN: usize = 12;

/// The most stages whose names fit below bars.
const NAMED: usize = 6;

/// The page: gain by area and by power, what stages cost, and the tables. `machine` and `version` say where costs were
/// measured.
pub fn html(plan: &Plan, machine: &str, version: &str) -> String {
    let about = format!(
        "{}; a unit is {}. Stages: {}. Point at a dot for its mapping.",
        plan.workload, plan.unit, plan.legend
    );
    let charts = [
        scatter(plan, "area", "mm\u{b2}", |one| one.area),
        scatter(plan, "power", "W", |one| one.power),
    ];
    let sections: Vec<Section> = charts
        .into_iter()
        .chain(costs(plan))
        .chain(of_tables(tables(plan)))
        .collect();
    let heading = format!("A machine for {}", plan.workload);
    page(
        ["evener plan", &heading],
        [machine, version, &about],
        &sections,
    )
}

fn scatter(plan: &Plan, name: &str, unit: &str, of: fn(&Evaluated) -> f64) -> Section {
    let dot = |one: &Evaluated, label: String, about: &str| Dot {
        at: (of(one), one.gain),
        label,
        about: format!(
            "{about}: {:.3} with {} {unit}: {}",
            one.gain,
            number(of(one)),
            one.text
        ),
    };
    let front = plan.front.iter().enumerate().map(|(at, one)| {
        let number = (at + 1).to_string();
        let label = if plan.best.contains(&at) {
            number.clone()
        } else {
            String::new()
        };
        dot(one, label, &number)
    });
    let given = plan.given.iter().map(|one| {
        let name = one.name.clone().unwrap_or_default();
        dot(one, name.clone(), &name)
    });
    let mut series = vec![Dots {
        name: "front".into(),
        dots: front.collect(),
    }];
    if !plan.given.is_empty() {
        series.push(Dots {
            name: "mappings of the file".into(),
            dots: given.collect(),
        });
    }
    Section {
        title: format!("Gain by {name}"),
        about: format!(
            "Relative to one '{}'. Numbers are those of the table: the best by gain, by gain per area and by gain per power.",
            plan.baseline
        ),
        body: svg::points(&series, unit, "gain"),
    }
}

/// Bars of what each stage costs on each kind, if there are few and some kind can run single stages.
fn costs(plan: &Plan) -> Option<Section> {
    let kinds = plan
        .kinds
        .iter()
        .filter(|kind| kind.seconds.iter().any(Option::is_some));
    let scale = 1e6;
    let series: Vec<Series> = kinds
        .map(|kind| Series {
            name: kind.name.clone(),
            values: kind
                .seconds
                .iter()
                .map(|seconds| seconds.map(|s| s * scale))
                .collect(),
        })
        .collect();
    if plan.stages.len() > DRAWN || series.is_empty() {
        return None;
    }
    let named = plan.stages.len() <= NAMED;
    let names: Vec<String> = plan
        .stages
        .iter()
        .enumerate()
        .map(|(at, name)| {
            if named {
                format!("{} {name}", at + 1)
            } else {
                (at + 1).to_string()
            }
        })
        .collect();
    Some(Section {
        title: "What stages cost".into(),
        about: format!("By kind of element, for one unit: {}.", plan.unit),
        body: svg::bars(&names, &series, "\u{b5}s", None),
    })
}
