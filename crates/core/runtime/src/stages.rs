//! Divides the steps of a pipeline into stages, and workers into pipelines.
//!
//! The grain of a pipeline's plan is the minimum number of steps in one stage, so `ceil(steps / grain)` stages make a
//! pipeline. Further workers make pipelines side by side. No worker is left over: if they cannot be divided evenly,
//! some pipelines have one stage more.

#![forbid(unsafe_code)]

use crate::plan::Plan;

/// Units that may wait between two stages: one for uneven stages, one for uneven units, and two for the moments in
/// which another process has a stage's processor.
pub(crate) const ROOM: usize = 4;

/// Stages of each of the pipelines side by side that a plan makes of a unit of `steps`.
pub(crate) fn pipelines(plan: &Plan, steps: u32) -> Vec<u32> {
    let (steps, workers) = (steps.max(1), plan.workers.max(1));
    let stages = stages(steps, plan.grain).min(workers);
    let count = (workers / stages).max(workers.div_ceil(steps));
    let before = |index: u32| (u64::from(workers) * u64::from(index) / u64::from(count)) as u32;
    (0..count)
        .map(|index| before(index + 1) - before(index))
        .collect()
}

/// Units that the pipelines of a plan have inside at once, where a unit has so many steps.
pub(crate) fn units_inside(plan: &Plan, steps: u32) -> usize {
    let pipelines = pipelines(plan, steps);
    let stages: u32 = pipelines.iter().sum();
    stages as usize + ROOM * (stages as usize - pipelines.len())
}

/// Stages that make one pipeline.
pub(crate) fn stages(steps: u32, grain: u32) -> u32 {
    steps.div_ceil(grain.max(1)).max(1)
}

/// Relative costs of steps: `known`, or all equal where that does not give a positive cost for each.
pub(crate) fn costs(known: &[f64], steps: u32) -> Vec<f64> {
    let sound = |cost: &f64| cost.is_finite() && *cost > 0.0;
    match known.len() == steps as usize && known.iter().all(sound) {
        true => known.to_vec(),
        false => vec![1.0; steps as usize],
    }
}

/// Where each of `stages` stages ends, so that the largest is as small as consecutive steps allow. No stage is empty
/// while there are steps for all.
pub(crate) fn divide(costs: &[f64], stages: usize) -> Vec<u32> {
    let stages = stages.max(1);
    let (mut low, mut high) = (0.0, costs.iter().sum::<f64>());
    for _ in 0..48 {
        let middle = 0.5 * (low + high);
        match fits(costs, stages, middle) {
            true => high = middle,
            false => low = middle,
        }
    }
    let (mut ends, mut at) = (Vec::with_capacity(stages), 0);
    for stage in 0..stages {
        // Steps left so that each later stage has one.
        let rest = (stages - 1 - stage).min(costs.len() - at);
        let last = costs.len() - rest;
        let begin = at;
        let mut sum = 0.0;
        while at < last && (at == begin || sum + costs[at] <= high) {
            sum += costs[at];
            at += 1;
        }
        ends.push(at as u32);
    }
    if let Some(end) = ends.last_mut() {
        *end = costs.len() as u32;
    }
    ends
}

/// Whether `stages` stages can each cost at most `most`.
fn fits(costs: &[f64], stages: usize, most: f64) -> bool {
    let (mut used, mut sum) = (1, 0.0);
    for &cost in costs {
        if cost > most {
            return false;
        }
        if sum + cost > most {
            used += 1;
            sum = 0.0;
        }
        sum += cost;
    }
    used <= stages
}

/// What the largest of the stages that end at `ends` costs.
pub(crate) fn largest(costs: &[f64], ends: &[u32]) -> f64 {
    let mut begin = 0;
    let stage = |&end: &u32| {
        let sum = costs[begin..end as usize].iter().sum();
        begin = end as usize;
        sum
    };
    ends.iter().map(stage).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Dispatch;
    use crate::structure::fixtures::PIPELINE;

    fn of(steps: u32, grain: u32, workers: u32) -> Vec<u32> {
        let plan = Plan {
            structure: &PIPELINE,
            dispatch: Dispatch::Fifo,
            grain,
            workers,
            devices: 0,
        };
        pipelines(&plan, steps)
    }

    #[test]
    fn every_worker_has_a_stage() {
        assert_eq!(of(64, 1, 5), [5]);
        assert_eq!(of(64, 13, 5), [5]);
        assert_eq!(of(64, 32, 2), [2]);
        assert_eq!(of(64, 32, 5), [2, 3]);
        assert_eq!(of(64, 64, 3), [1, 1, 1]);
        assert_eq!(of(64, 1, 100), [50, 50]);
        assert_eq!(of(3, 1, 7), [2, 2, 3]);
        assert_eq!(of(0, 0, 0), [1]);
        for (steps, grain, workers) in [(64, 7, 9), (5, 2, 23), (1, 1, 4), (64, u32::MAX, 6)] {
            let pipelines = of(steps, grain, workers);
            assert_eq!(pipelines.iter().sum::<u32>(), workers);
            assert!(
                pipelines
                    .iter()
                    .all(|&stages| (1..=steps).contains(&stages))
            );
        }
    }

    /// The least largest stage, by trying all ways.
    fn best(costs: &[f64], stages: usize) -> f64 {
        if stages == 1 {
            return costs.iter().sum();
        }
        (0..=costs.len())
            .map(|cut| {
                costs[..cut]
                    .iter()
                    .sum::<f64>()
                    .max(best(&costs[cut..], stages - 1))
            })
            .fold(f64::INFINITY, f64::min)
    }

    #[test]
    fn the_largest_stage_is_as_small_as_can_be() {
        let mut state = 1u64;
        let mut next = move || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 33) % 1000
        };
        for _ in 0..300 {
            let costs: Vec<f64> = (0..1 + next() % 9)
                .map(|_| 1.0 + (next() % 7) as f64 * (next() % 7) as f64)
                .collect();
            for stages in 1..=4 {
                let ends = divide(&costs, stages);
                assert_eq!((ends.len(), ends[stages - 1]), (stages, costs.len() as u32));
                let got = largest(&costs, &ends);
                assert!(got <= best(&costs, stages) + 1e-9, "{costs:?} {ends:?}");
                if costs.len() >= stages {
                    assert!(ends[0] > 0 && ends.is_sorted_by(|a, b| a < b), "{ends:?}");
                }
            }
        }
        assert_eq!(divide(&[], 3), [0, 0, 0]);
    }

    #[test]
    fn unknown_costs_are_all_equal() {
        assert_eq!(costs(&[2.0, 1.0], 2), [2.0, 1.0]);
        for bad in [&[][..], &[1.0], &[1.0, 0.0], &[1.0, f64::NAN]] {
            assert_eq!(costs(bad, 2), [1.0, 1.0]);
        }
    }
}
