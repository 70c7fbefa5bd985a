//! What a tuner knows before the first unit, and the plan it makes of one that was named.

use evener_runtime::tuner::{SetupError, TunerSetup};
use evener_runtime::{Choice, Dispatch, Plan, Runtime, Shape, Tuner};

/// What the tuner of a stream on all workers knows, without remembered plans.
pub(crate) fn setup(runtime: &Runtime, shapes: Vec<Shape>, choice: Choice) -> TunerSetup {
    TunerSetup {
        shapes,
        rates: *runtime.rates(),
        workers: runtime.workers() as u32,
        cpus: runtime.topology().parallelism(),
        outer_cache: runtime.topology().outer_cache(),
        dispatches: Dispatch::ALL.to_vec(),
        units: None,
        live: false,
        remembered: None,
        choice,
        fixed_workers: None,
        crowded: false,
    }
}

/// The plan of a stream whose user names it so, completed as a stream's tuner does.
///
/// # Errors
/// [`SetupError`] when the service does not run that way.
pub(crate) fn plan(
    runtime: &Runtime,
    shapes: &[Shape],
    choice: Choice,
    workers: u32,
) -> Result<Plan, SetupError> {
    let setup = TunerSetup {
        workers,
        fixed_workers: Some(workers),
        ..setup(runtime, shapes.to_vec(), choice)
    };
    Ok(Tuner::new(setup)?.incumbent())
}

#[cfg(test)]
mod tests {
    use evener_image::Size;
    use evener_runtime::{Service, Structure};

    use super::*;
    use crate::subject::Subject;

    #[test]
    fn a_plan_without_a_grain_has_larger_jobs_of_tiny_frames() {
        let runtime = Runtime::builder().workers(2).memory(false).build().unwrap();
        let grains = [(32, 32), (4096, 4096)].map(|(w, h)| {
            let subject = Subject::new("threshold=0.5", Size { w, h }, false, &runtime).unwrap();
            let shapes = subject.service().shapes(subject.private_cache);
            let choice = Choice::Fixed {
                structure: Structure::Tiled,
                dispatch: Some(Dispatch::Mailbox),
                grain: None,
            };
            let of = shapes
                .iter()
                .find(|s| s.structure == Structure::Tiled)
                .unwrap();
            let plan = plan(&runtime, &shapes, choice, 2).unwrap();
            assert_eq!((plan.dispatch, plan.workers), (Dispatch::Mailbox, 2));
            plan.grain / of.default_grain
        });
        assert!(grains[0] > 1 && grains[1] == 1, "{grains:?}");
    }
}
