//! Times variants against each other.

use std::time::{Duration, Instant};

use super::Trial;

/// Turns of each variant. A disturbance of some milliseconds leaves a turn of each untouched.
const TURNS: usize = 5;
/// How long a turn lasts, whatever a run takes. Registers of 512 bits reach their speed in less.
const TURN: Duration = Duration::from_micros(300);
/// A variant that takes this many times as long as the fastest is not timed again.
const HOPELESS: u32 = 2;

/// The shortest time of each variant. They take turns, from the lowest level to the highest in each: after wide registers
/// a processor may clock lower for a while, and the first turn of narrow ones comes before that.
pub(super) fn fastest(trials: &mut [Trial]) -> Vec<Duration> {
    let mut best = vec![Duration::MAX; trials.len()];
    for turn in 0..TURNS {
        let leader = best.iter().min().copied().unwrap_or_default();
        for (trial, best) in trials.iter_mut().zip(&mut best) {
            if turn > 0 && *best > leader.saturating_mul(HOPELESS) {
                continue;
            }
            let begin = Instant::now();
            while begin.elapsed() < TURN {
                let begin = Instant::now();
                trial();
                *best = begin.elapsed().min(*best);
            }
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::rc::Rc;
    use std::thread;

    use super::*;

    #[test]
    fn the_faster_takes_less_and_the_hopeless_runs_once() {
        let runs = Rc::new(Cell::new(0));
        let counted = Rc::clone(&runs);
        let mut trials: Vec<Trial> = vec![
            Box::new(move || {
                counted.set(counted.get() + 1);
                thread::sleep(Duration::from_millis(1));
            }),
            Box::new(|| thread::sleep(Duration::from_micros(50))),
        ];
        let times = fastest(&mut trials);
        assert!(times[1] < times[0] / 2, "{times:?}");
        assert_eq!(runs.get(), 1);
    }
}
