//! A single unit of a wavefront, as if all earlier units were done and none followed.

use std::sync::Mutex;
use std::time::Duration;

use super::lines::Lines;
use super::work::{Begin, Units, begin, work};
use crate::dispatch::{Batch, Caller, Seen, WorkerId};
use crate::plan::Plan;
use crate::service::{Need, Part, Service};
use crate::stream::exec::Executor;
use crate::sync::{into_inner, lock};

/// After so long a worker looks again, which it need not.
const LONG: Duration = Duration::from_secs(1);

struct One<'u, 'e, S: Service> {
    exec: &'u Executor<'e, S>,
    lines: &'u Lines,
    input: &'u S::Input,
    output: &'u S::Output,
    failure: Mutex<Option<String>>,
}

/// Runs a unit under a plan that was checked. `Err` says what a kernel said.
pub(in crate::stream) fn run<S: Service>(
    exec: &Executor<'_, S>,
    plan: &Plan,
    unit: u64,
    input: &S::Input,
    output: &S::Output,
) -> Result<(), String> {
    let Some(layout) = exec.layout(plan.structure) else {
        return Err(format!("the service has no structure {}", plan.structure));
    };
    let lines = Lines::new(layout, unit);
    let one = One {
        exec,
        lines: &lines,
        input,
        output,
        failure: Mutex::default(),
    };
    begin(&lines, &one, unit, plan.grain)?;
    lines.end();
    let batch = Batch {
        dispatch: plan.dispatch,
        items: plan.workers,
        grain: 1,
        workers: plan.workers,
        deadline: None,
        caller: Caller::Works,
    };
    let outcome = exec.pool().run(&batch, &|worker, jobs| {
        jobs.for_each(|_| work(&lines, &one, worker, plan.grain));
    });
    match (into_inner(one.failure), outcome) {
        (Some(message), _) => Err(message),
        (None, Err(panic)) => Err(panic.to_string()),
        (None, Ok(_)) => Ok(()),
    }
}

impl<S: Service> Units for One<'_, '_, S> {
    fn needs(&self, unit: u64, part: &Part, needs: &mut Vec<Need>) -> Result<(), String> {
        self.exec.needs(unit, part, needs)
    }

    fn run(&self, worker: WorkerId, unit: u64, part: &Part) -> Result<(), String> {
        let part = part.clone();
        self.exec
            .run_caught(worker, unit, part, self.input, self.output)
    }

    fn begin(&self, _: u32) -> Begin {
        Begin::Blocked
    }

    fn done(&self, _: u64) {}

    fn failed(&self, _: WorkerId, _: u64, message: String) {
        lock(&self.failure).get_or_insert(message);
    }

    fn wait(&self, _: WorkerId, seen: Seen, _: Begin) {
        self.lines.news.wait(seen, LONG);
    }
}
