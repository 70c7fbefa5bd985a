//! Predictions from the costs of passes alone.

use evener_crypt::product::PASSES;
use evener_runtime::replay;
use serde::Serialize;

use super::costs::Costs;

/// The stages of the five processors that were published: IDEA ten times and ten times, Skipjack twelve times and
/// twelve times, Raiden twenty times.
const PUBLISHED: [u32; 5] = [10, 20, 32, 44, 64];
/// Numbers of workers that are predicted.
const WORKERS: [u32; 14] = [1, 2, 3, 4, 5, 6, 8, 12, 16, 24, 32, 40, 48, 64];
/// Units of a stream so long that filling a pipeline does not count, and the published one's.
const LONG: u64 = 4096;
const SHORT: u64 = 22;

/// How much faster than one worker so many equal workers should be.
#[derive(Clone, Debug, Serialize)]
pub struct Prediction {
    /// So many.
    pub workers: u32,
    /// A pipeline with as many passes in each stage; on five workers also those published.
    pub equal: f64,
    /// The published stages, where there are five.
    pub published: Option<f64>,
    /// A pipeline balanced by cost.
    pub balanced: f64,
    /// The same on a stream of 22 units.
    pub balanced_22: f64,
    /// A farm.
    pub farm: f64,
    /// The same on a stream of 22 units.
    pub farm_22: f64,
    /// The pass that each stage of the balanced pipeline ends before.
    pub ends: Vec<u32>,
}

/// Where stages of as many passes each end.
pub(super) fn equal(stages: u32) -> Vec<u32> {
    let passes = PASSES as u32;
    let stages = stages.clamp(1, passes);
    (1..=stages).map(|stage| stage * passes / stages).collect()
}

/// Predictions for passes of these costs.
pub(super) fn predict(costs: &Costs) -> Vec<Prediction> {
    let gain = |seconds: f64, units: u64| costs.whole() * units as f64 / seconds;
    let predict = |workers| {
        let pipeline =
            |ends: &[u32], units| gain(replay::pipelines(&[costs.stages(ends)], units), units);
        let farm = |units: u64| {
            let jobs = std::iter::repeat_n(costs.whole(), units as usize);
            gain(replay::fifo(jobs, workers as usize), units)
        };
        let ends = costs.balanced(workers);
        Prediction {
            workers,
            equal: pipeline(&equal(workers), LONG),
            published: (workers as usize == PUBLISHED.len()).then(|| pipeline(&PUBLISHED, LONG)),
            balanced: pipeline(&ends, LONG),
            balanced_22: pipeline(&ends, SHORT),
            farm: farm(LONG),
            farm_22: farm(SHORT),
            ends,
        }
    };
    WORKERS.map(predict).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_stages_have_as_many_passes() {
        assert_eq!(equal(2), [32, 64]);
        assert_eq!(equal(5), [12, 25, 38, 51, 64]);
        assert_eq!(equal(100).len(), 64);
    }

    #[test]
    fn where_all_passes_cost_the_same_nothing_is_lost_but_filling() {
        let all = predict(&Costs {
            first: [1.0; 3],
            more: [1.0; 3],
        });
        let of = |workers| all.iter().find(|f| f.workers == workers).unwrap();
        for workers in [1, 2, 4, 8, 16, 64] {
            let ideal = f64::from(workers);
            let fill = (LONG as f64 + ideal - 1.0) / LONG as f64;
            assert!((of(workers).equal * fill - ideal).abs() < 1e-9);
            assert!((of(workers).balanced - of(workers).equal).abs() < 1e-9);
        }
        // 22 units and 5 workers: 5 rounds of a farm; 13 of 64 passes in the largest stage.
        assert!((of(5).farm_22 - 22.0 / 5.0).abs() < 1e-9);
        assert!((of(5).balanced_22 - 22.0 * 64.0 / (64.0 + 21.0 * 13.0)).abs() < 1e-9);
        assert!((of(5).published.unwrap() - 64.0 / 20.0).abs() < 0.05);
    }
}
