//! Plans from the text of element files, as users write them.

mod bad_files;
mod exact;
mod measured;
mod published;

use evener_planning::{Elements, Error, Options, Plan, Workload, plan};
use evener_runtime::replay::StepCost;

/// A plan for a workload of these steps, each of which is measured to cost as many seconds.
pub fn planned(text: &str, steps: &[(&str, f64)]) -> Result<Plan, Error> {
    let elements = Elements::parse("machine.toml", text)?;
    let mut workload = Workload {
        name: "test".into(),
        unit: "a unit".into(),
        steps: steps.iter().map(|(name, _)| (*name).to_owned()).collect(),
        measure: &mut |_| {
            Ok(steps
                .iter()
                .map(|(_, seconds)| StepCost::same(*seconds))
                .collect())
        },
    };
    plan(&elements, &mut workload, Options::default())
}

/// The steps of the product cipher.
pub fn passes() -> Vec<(&'static str, f64)> {
    let ciphers = [("idea", 20), ("skipjack", 24), ("raiden", 20)];
    ciphers
        .into_iter()
        .flat_map(|(name, count)| vec![(name, 1.0); count])
        .collect()
}
