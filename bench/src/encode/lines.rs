//! What it costs that a line of a wavefront goes on after it has waited for another.

use std::time::Instant;

use evener_runtime::{Dispatch, Flow, Need, Part, Plan, Runtime, Service, Shape, Structure, Work};

use crate::error::Error;

/// Steps of each line.
const STEPS: u32 = 5000;

static TURNS: Structure = Structure {
    name: "turns",
    about: "two lines whose steps take turns",
    flow: Flow::Wavefront,
    dispatch: Dispatch::Fifo,
    automatic: true,
};

/// Two lines of empty steps, of which each waits for a step of the other line.
struct Turns;

impl Service for Turns {
    type Input = ();
    type Output = ();
    type Scratch = ();

    fn key(&self) -> String {
        TURNS.name.to_owned()
    }

    fn input(&self) {}

    fn output(&self) {}

    fn scratch(&self) {}

    fn shapes(&self, _private_cache: usize) -> Vec<Shape> {
        vec![Shape {
            lines: vec![2],
            ..Shape::new(&TURNS, vec![2 * STEPS], 1, Work::default())
        }]
    }

    fn run(&self, _: &Part, (): &(), (): &(), (): &mut ()) -> Result<(), String> {
        Ok(())
    }

    fn needs(&self, unit: u64, part: &Part, needs: &mut Vec<Need>) {
        let line = part.items.start / STEPS;
        needs.push(Need {
            unit,
            pass: 0,
            line: 1 - line,
            // The first line begins.
            steps: part.items.end - line * STEPS - (1 - line),
        });
    }
}

/// Microseconds from a step that another line waited for to the end of the other's: with two workers, unless there is but
/// one.
pub(super) fn hand_over(runtime: &Runtime) -> Result<f64, Error> {
    let plan = Plan {
        structure: &TURNS,
        dispatch: TURNS.dispatch,
        grain: 1,
        workers: runtime.workers().min(2) as u32,
        devices: 0,
    };
    let mut executor = runtime.executor(&Turns);
    let begin = Instant::now();
    let done = executor.run(&plan, &(), &());
    done.map_err(|e| Error::Runtime(e.to_string()))?;
    Ok(begin.elapsed().as_secs_f64() * 1e6 / f64::from(2 * STEPS))
}
