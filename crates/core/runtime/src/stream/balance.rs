//! The boundaries of a pipeline's stages: from the cost of each step, corrected by the measured times of stages.

use std::ops::Range;
use std::time::Duration;

use crate::stages::{divide, largest};

/// Units of a stage whose median is one measurement.
const WINDOW: usize = 12;
/// The first rounds of measurements replace what is known. Later ones have this weight.
const FIRST_ROUNDS: u32 = 4;
const LATER_WEIGHT: f64 = 0.3;
/// Boundaries move for a gain beyond this share of the largest stage.
const GAIN: f64 = 0.01;

/// Relative costs of steps.
#[derive(Debug)]
pub(super) struct Balance {
    costs: Vec<f64>,
    rounds: u32,
}

impl Balance {
    pub(super) fn new(costs: Vec<f64>) -> Balance {
        Balance { costs, rounds: 0 }
    }

    /// Where each of so many stages should end.
    pub(super) fn ends(&self, stages: usize) -> Vec<u32> {
        divide(&self.costs, stages)
    }

    /// Takes the seconds of each of the stages that end at `ends`. Better ends, if there are any.
    ///
    /// A stage's steps keep their proportions and are scaled to its time. Each division cuts elsewhere, so a few rounds
    /// find the costs even of steps that no stage ever ran alone.
    pub(super) fn learn(&mut self, ends: &[u32], took: &[f64]) -> Option<Vec<u32>> {
        let whole: f64 = self.costs.iter().sum();
        let time: f64 = took.iter().sum();
        if !(time > 0.0 && time.is_finite()) {
            return None;
        }
        let weight = match self.rounds < FIRST_ROUNDS {
            true => 1.0,
            false => LATER_WEIGHT,
        };
        self.rounds = self.rounds.saturating_add(1);
        let mut begin = 0;
        for (&end, &took) in ends.iter().zip(took) {
            let steps = &mut self.costs[begin..end as usize];
            let known: f64 = steps.iter().sum();
            if known > 0.0 && took > 0.0 {
                let factor = (took / time * whole / known).powf(weight);
                steps.iter_mut().for_each(|cost| *cost *= factor);
            }
            begin = end as usize;
        }
        let better = self.ends(ends.len());
        let gain = largest(&self.costs, &better) < (1.0 - GAIN) * largest(&self.costs, ends);
        gain.then_some(better)
    }
}

/// Times of one stage for a range of steps.
#[derive(Debug, Default)]
pub(super) struct Window {
    steps: Range<u32>,
    took: Vec<Duration>,
}

impl Window {
    /// Adds a unit. The median in seconds, when there are enough units for one.
    pub(super) fn add(&mut self, steps: &Range<u32>, took: Duration) -> Option<f64> {
        if self.steps != *steps {
            self.steps = steps.clone();
            self.took.clear();
        }
        self.took.push(took);
        if self.took.len() < WINDOW {
            return None;
        }
        self.took.sort_unstable();
        let median = self.took[WINDOW / 2].as_secs_f64();
        self.took.clear();
        Some(median)
    }
}

/// The medians of a pipeline's stages, until all have one.
#[derive(Debug)]
pub(super) struct Medians {
    ends: Vec<u32>,
    took: Vec<Option<f64>>,
}

impl Medians {
    pub(super) fn new(ends: Vec<u32>) -> Medians {
        let took = vec![None; ends.len()];
        Medians { ends, took }
    }

    fn steps(&self, stage: usize) -> Range<u32> {
        let begin = stage.checked_sub(1).map_or(0, |before| self.ends[before]);
        begin..self.ends[stage]
    }

    /// Takes the median of a stage. New ends, when all stages have one and `balance` knows better ends.
    pub(super) fn put(
        &mut self,
        stage: usize,
        steps: &Range<u32>,
        median: f64,
        balance: impl FnOnce(&[u32], &[f64]) -> Option<Vec<u32>>,
    ) -> Option<&[u32]> {
        // A unit that passed a boundary while it moved says nothing about either stage.
        if *steps != self.steps(stage) {
            return None;
        }
        self.took[stage] = Some(median);
        let all = (0..self.ends.len())
            .map(|stage| match self.steps(stage).is_empty() {
                true => Some(0.0),
                false => self.took[stage],
            })
            .collect::<Option<Vec<f64>>>()?;
        self.took.fill(None);
        self.ends = balance(&self.ends, &all)?;
        Some(&self.ends)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs rounds in which stages take what their steps truly cost; the ends found.
    fn found(truth: &[f64], known: Vec<f64>, stages: usize) -> Vec<u32> {
        let mut balance = Balance::new(known);
        let mut ends = balance.ends(stages);
        for _ in 0..20 {
            let mut begin = 0;
            let took: Vec<f64> = ends
                .iter()
                .map(|&end| {
                    let steps = begin..end as usize;
                    begin = steps.end;
                    truth[steps].iter().sum()
                })
                .collect();
            if let Some(better) = balance.learn(&ends, &took) {
                ends = better;
            }
        }
        ends
    }

    #[test]
    fn boundaries_go_where_the_time_goes() {
        let mut truth = vec![1e-6; 64];
        truth[20..44].fill(5e-6);
        for stages in [2, 3, 5, 8] {
            let ends = found(&truth, vec![1.0; 64], stages);
            let least = largest(&truth, &divide(&truth, stages));
            let got = largest(&truth, &ends);
            assert!(got <= 1.12 * least, "{stages}: {got} {least} {ends:?}");
            // What is known beforehand is right at once.
            assert_eq!(
                Balance::new(truth.clone()).ends(stages),
                divide(&truth, stages)
            );
        }
    }

    #[test]
    fn stages_that_are_even_stay() {
        let mut balance = Balance::new(vec![1.0; 8]);
        let ends = balance.ends(4);
        for round in 0..10 {
            let wobble = if round % 2 == 0 { 1.004 } else { 1.0 };
            assert_eq!(balance.learn(&ends, &[wobble, 1.0, 1.0, 1.0]), None);
        }
        assert_eq!(balance.learn(&ends, &[0.0; 4]), None);
        assert_eq!(balance.learn(&ends, &[f64::NAN; 4]), None);
    }

    #[test]
    fn a_round_is_over_when_every_stage_with_steps_was_measured() {
        let mut medians = Medians::new(vec![2, 2, 4]);
        let moved = |ends: &[u32], took: &[f64]| {
            assert_eq!((ends, took), (&[2, 2, 4][..], &[1.0, 0.0, 3.0][..]));
            Some(vec![3, 3, 4])
        };
        assert_eq!(medians.put(0, &(0..2), 1.0, moved), None);
        assert_eq!(medians.put(2, &(1..4), 9.0, moved), None);
        assert_eq!(medians.put(2, &(2..4), 3.0, moved), Some(&[3, 3, 4][..]));
        assert_eq!(medians.put(0, &(0..2), 1.0, moved), None);
    }

    #[test]
    fn a_window_is_of_one_range_and_forgives_a_spike() {
        let mut window = Window::default();
        let ms = Duration::from_millis;
        for _ in 0..WINDOW - 1 {
            assert_eq!(window.add(&(0..3), ms(9)), None);
        }
        let mut medians = (0..2 * WINDOW).filter_map(|unit| {
            let took = if unit == 5 { ms(500) } else { ms(2) };
            window.add(&(0..4), took)
        });
        assert_eq!(medians.next(), Some(2e-3));
        assert_eq!(medians.next(), Some(2e-3));
        assert_eq!(medians.next(), None);
    }
}
