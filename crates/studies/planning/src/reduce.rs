//! A problem that is too large to be searched exactly is made smaller: neighbouring stages are joined, and elements are
//! counted in bundles. What is left is searched exactly.

use evener_runtime::replay;

use crate::machine::Machine;
use crate::search::Problem;

/// The most steps of a search, about a second.
const MOST_STEPS: f64 = 5e8;
/// The most numbers that it keeps: 32 MiB.
const MOST_KEPT: f64 = 4e6;
/// Groups of stages below which bundles come first.
const GROUPS: usize = 16;

/// The problem of a machine, made small enough.
pub fn problem(machine: &Machine) -> Problem<'_> {
    let mut problem = Problem {
        machine,
        ends: (1..=machine.stages()).collect(),
        bundles: vec![1; machine.elements().len()],
    };
    while !fits(&problem) {
        let groups = problem.ends.len();
        if groups > GROUPS {
            problem.ends = joined(machine, (groups * 3 / 4).max(GROUPS));
        } else if let Some(kind) = most_numerous(&problem) {
            problem.bundles[kind] *= 2;
        } else if groups > 1 {
            problem.ends = joined(machine, groups - 1);
        } else {
            break;
        }
    }
    problem
}

fn fits(problem: &Problem<'_>) -> bool {
    let (steps, kept) = problem.size();
    steps <= MOST_STEPS && kept <= MOST_KEPT
}

/// The kind with the most bundles, if these are at least four.
fn most_numerous(problem: &Problem<'_>) -> Option<usize> {
    let bundles = |kind: usize| problem.machine.elements()[kind].number / problem.bundles[kind];
    let kinds = (0..problem.bundles.len()).rev();
    kinds
        .max_by_key(|&kind| bundles(kind))
        .filter(|&kind| bundles(kind) >= 4)
}

/// Where so many groups end that are alike in cost on the first kind that runs every stage.
fn joined(machine: &Machine, groups: usize) -> Vec<usize> {
    let stages = machine.stages();
    let cost = |kind: usize| -> Vec<f64> {
        (0..stages)
            .map(|stage| machine.cost(kind, stage..stage + 1))
            .collect()
    };
    let mut costs = (0..machine.elements().len()).map(cost);
    let costs = costs.find(|costs| costs.iter().all(|cost| cost.is_finite()));
    let costs = costs.unwrap_or_else(|| vec![1.0; stages]);
    let mut ends: Vec<usize> = replay::divide(&costs, groups)
        .into_iter()
        .map(|end| end as usize)
        .collect();
    ends.dedup();
    ends.retain(|&end| end > 0);
    ends
}

/// What was made smaller, in a sentence, if anything was.
pub fn described(problem: &Problem<'_>, names: &[String]) -> Option<String> {
    let mut parts = Vec::new();
    if problem.ends.len() < problem.machine.stages() {
        parts.push(format!(
            "{} stages are joined to {} groups",
            problem.machine.stages(),
            problem.ends.len()
        ));
    }
    for (name, &bundle) in names.iter().zip(&problem.bundles) {
        if bundle > 1 {
            parts.push(format!("'{name}' is taken by {bundle}"));
        }
    }
    let sum = "there are too many mappings to look at each";
    (!parts.is_empty()).then(|| format!("{sum}: {}; the front is exact for that", parts.join(", ")))
}
