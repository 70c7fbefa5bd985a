//! A plan as tables.

use evener_report::Table;

use crate::labels::elements;
use crate::plan::{Evaluated, Plan};

/// A plan as text for a terminal.
pub fn text(plan: &Plan) -> String {
    let mut text = format!("{}; a unit is {}\n", plan.workload, plan.unit);
    text.push_str(&format!("stages: {}\n", plan.legend));
    for table in tables(plan) {
        text.push('\n');
        text.push_str(&table.to_string());
    }
    text
}

/// Kinds, the front, the mappings of the file, and what to do about them.
pub fn tables(plan: &Plan) -> Vec<Table> {
    let mut tables = vec![kinds(plan), front(plan)];
    if !plan.given.is_empty() {
        tables.push(given(plan));
    }
    tables.push(advice(plan));
    tables
}

fn kinds(plan: &Plan) -> Table {
    let baseline = plan.kinds.iter().find(|kind| kind.name == plan.baseline);
    let unit = baseline.and_then(|kind| Some((kind.whole_seconds?, kind.area, kind.power)));
    let row = |kind: &crate::plan::PlannedKind| {
        let mut row = vec![
            kind.name.clone(),
            kind.number.to_string(),
            number(kind.area),
            number(kind.power),
        ];
        let of_unit = kind.whole_seconds.zip(unit);
        row.extend(match of_unit {
            Some((seconds, (base, area, power))) => {
                let gain = base / seconds;
                [
                    time(seconds),
                    ratio(gain),
                    ratio(gain / (kind.area / area)),
                    ratio(gain / (kind.power / power)),
                ]
            }
            None => [
                "some stages only".into(),
                "-".into(),
                "-".into(),
                "-".into(),
            ],
        });
        row
    };
    Table {
        title: "Kinds of elements",
        about: format!(
            "One element of each that runs every stage. Gains are relative to '{}'.",
            plan.baseline
        ),
        head: vec![
            "kind",
            "number",
            "mm2",
            "W",
            "a unit takes",
            "gain",
            "gain/area",
            "gain/power",
        ],
        rows: plan.kinds.iter().map(row).collect(),
    }
}

fn numbers(one: &Evaluated) -> [String; 5] {
    [
        ratio(one.gain),
        number(one.area),
        number(one.power),
        ratio(one.gain_per_area),
        ratio(one.gain_per_power),
    ]
}

const HEAD: [&str; 5] = ["gain", "mm2", "W", "gain/area", "gain/power"];

fn front(plan: &Plan) -> Table {
    let [gain, area, power] = plan.best.map(|at| at + 1);
    let mut about = format!(
        "No other mapping is as fast with no more area and no more power. Most gain: {gain}, per area: {area}, per power: \
         {power}."
    );
    if plan.left_out > 0 {
        about.push_str(&format!(
            " {} more are left out; --all shows them.",
            plan.left_out
        ));
    }
    if let Some(reduced) = &plan.reduced {
        let mut letters = reduced.chars();
        let first = letters
            .next()
            .map(|c| c.to_uppercase().to_string())
            .unwrap_or_default();
        about.push_str(&format!(" {first}{}.", letters.as_str()));
    }
    let rows = plan.front.iter().enumerate().map(|(at, one)| {
        let mut row = vec![(at + 1).to_string()];
        row.extend(numbers(one));
        row.push(one.text.clone());
        row
    });
    Table {
        title: "Front",
        about,
        head: std::iter::once("#")
            .chain(HEAD)
            .chain(["mapping"])
            .collect(),
        rows: rows.collect(),
    }
}

fn given(plan: &Plan) -> Table {
    let rows = plan.given.iter().map(|one| {
        let mut row = vec![one.name.clone().unwrap_or_default()];
        row.extend(numbers(one));
        row.push(if one.on_front { "yes" } else { "no" }.to_owned());
        row.push(one.text.clone());
        row
    });
    Table {
        title: "Mappings of the file",
        about: "Whether each is on the front, too.".into(),
        head: std::iter::once("name")
            .chain(HEAD)
            .chain(["front", "mapping"])
            .collect(),
        rows: rows.collect(),
    }
}

fn advice(plan: &Plan) -> Table {
    let front = plan
        .front
        .iter()
        .enumerate()
        .map(|(at, one)| ((at + 1).to_string(), one));
    let given = plan
        .given
        .iter()
        .map(|one| (one.name.clone().unwrap_or_default(), one));
    let rows = front.chain(given).map(|(name, one)| {
        vec![
            name,
            held_up(one),
            format!("x {}", ratio(one.strengthen.factor)),
            pruned(plan, one),
        ]
    });
    Table {
        title: "What to strengthen and what to prune",
        about: "The slowest stages hold up the others: the gain if they were 10 % faster. An element can go if less than \
                5 % of the speed goes with it. Stages that work less than 75 % of the time could be weaker."
            .into(),
        head: vec!["#", "held up by", "10 % faster", "can go, or be weaker"],
        rows: rows.collect(),
    }
}

fn held_up(one: &Evaluated) -> String {
    let slow = &one.strengthen.segments;
    if one.places.len() == 1 || (slow.len() == one.places.len()) {
        return "all stages".into();
    }
    let slow: Vec<String> = slow.iter().map(|&at| range(one, at)).collect();
    listed(&slow, ", ")
}

fn pruned(plan: &Plan, one: &Evaluated) -> String {
    let names: Vec<String> = plan.kinds.iter().map(|kind| kind.name.clone()).collect();
    let gone = one.prune.iter().map(|prune| {
        let mut counts = vec![0; names.len()];
        counts[prune.kind] = 1;
        format!(
            "1 {} of {}: -{} speed, -{} area, -{} power",
            elements(&counts, &names),
            range(one, prune.segment),
            percent(prune.lost),
            percent(prune.area),
            percent(prune.power)
        )
    });
    let idle = one.idle.iter();
    let idle = idle.map(|idle| {
        format!(
            "{} works {} of the time",
            range(one, idle.segment),
            percent(idle.busy)
        )
    });
    match listed(&gone.chain(idle).collect::<Vec<_>>(), "; ") {
        none if none.is_empty() => "nothing".into(),
        some => some,
    }
}

/// The first few of a list.
fn listed(all: &[String], between: &str) -> String {
    const FEW: usize = 3;
    let mut text = all[..all.len().min(FEW)].join(between);
    if all.len() > FEW {
        text.push_str(&format!("{between}{} more", all.len() - FEW));
    }
    text
}

/// The stages of a segment.
fn range(one: &Evaluated, segment: usize) -> String {
    match one.places[segment].stages {
        _ if one.places.len() == 1 => "all".into(),
        [first, last] if first == last => first.to_string(),
        [first, last] => format!("{first}-{last}"),
    }
}

fn ratio(value: f64) -> String {
    match value {
        1e4.. => number(value),
        _ => format!("{value:.3}"),
    }
}

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

/// Four digits.
pub fn number(value: f64) -> String {
    let power = value.abs().log10().floor();
    if value == 0.0 || !(-4.0..7.0).contains(&power) {
        return format!("{value:.3e}");
    }
    let decimals = (3.0 - power).clamp(0.0, 7.0) as usize;
    let text = format!("{value:.decimals$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

/// A time with its unit.
fn time(seconds: f64) -> String {
    let units = [(1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns")];
    let (size, name) = units
        .into_iter()
        .find(|(size, _)| seconds >= *size)
        .unwrap_or((1e-9, "ns"));
    format!("{} {name}", number(seconds / size))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_four_digits() {
        for (value, text) in [
            (0.05574, "0.05574"),
            (2.01, "2.01"),
            (12345.6, "12346"),
            (1e-9, "1.000e-9"),
            (100.0, "100"),
            (0.402, "0.402"),
        ] {
            assert_eq!(number(value), text);
        }
        assert_eq!(time(0.0033293), "3.329 ms");
        assert_eq!(time(33e-12), "0.033 ns");
        assert_eq!(time(90.0), "90 s");
    }
}
