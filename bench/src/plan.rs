//! Plans that a user names in part, as a tuner completes them.

use evener_runtime::tuner::{SetupError, TunerSetup};
use evener_runtime::{Choice, Plan, Runtime, Shape, Tuner};

/// The plan of a stream on which a user makes this choice.
///
/// # Errors
/// [`SetupError`] if the service does not have it.
pub(crate) fn complete(
    runtime: &Runtime,
    shapes: &[Shape],
    choice: Choice,
    workers: u32,
) -> Result<Plan, SetupError> {
    let setup = TunerSetup {
        workers,
        fixed_workers: Some(workers),
        ..runtime.tuner_setup(shapes.to_vec(), choice)
    };
    Ok(Tuner::new(setup)?.incumbent())
}

#[cfg(test)]
mod tests {
    use evener_image::Size;
    use evener_image::structures::TILED;
    use evener_runtime::{Dispatch, Service};

    use super::*;
    use crate::subject::Subject;

    #[test]
    fn a_plan_without_a_grain_has_larger_jobs_of_tiny_frames() {
        let runtime = Runtime::builder().workers(2).memory(false).build().unwrap();
        let grains = [(32, 32), (4096, 4096)].map(|(w, h)| {
            let subject = Subject::new("threshold=0.5", Size { w, h }, false, &runtime).unwrap();
            let shapes = subject.service().shapes(subject.private_cache);
            let choice = Choice::Fixed {
                structure: TILED.to_string(),
                dispatch: Some(Dispatch::Mailbox),
                grain: None,
            };
            let of = shapes.iter().find(|s| s.structure == &TILED).unwrap();
            let plan = complete(&runtime, &shapes, choice, 2).unwrap();
            assert_eq!((plan.dispatch, plan.workers), (Dispatch::Mailbox, 2));
            plan.grain / of.default_grain
        });
        assert!(grains[0] > 1 && grains[1] == 1, "{grains:?}");
    }
}
