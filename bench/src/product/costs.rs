//! The cost of each pass of the ciphers, from which predictions follow.

use std::ops::Range;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use evener_crypt::product::costs::pass_costs;
use evener_crypt::product::{Block, Cipher, PASSES, Product};
use evener_files::unpoisoned;
use evener_runtime::dispatch::Caller;
use evener_runtime::{Batch, Dispatch, Pool, Simd, replay};
use serde::Serialize;

use crate::error::Error;
use crate::stats::median_of;

/// Length of the measurements of passes. A processor that has just begun to work has another speed.
const SPAN: Duration = Duration::from_millis(100);

/// Seconds of the passes of each cipher for a unit. Consecutive passes of a cipher keep blocks in registers, so the first of
/// them takes longer.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Costs {
    /// The first pass, alone: IDEA, Skipjack, Raiden.
    pub first: [f64; 3],
    /// Each one after it.
    pub more: [f64; 3],
}

impl Costs {
    /// The cost of a stage of these passes.
    pub(super) fn stage(&self, passes: Range<usize>) -> f64 {
        let mut begin = 0;
        let of = |(cipher, (_, count)): (usize, (Cipher, usize))| {
            let run = begin..begin + count;
            begin = run.end;
            let own = passes
                .end
                .min(run.end)
                .saturating_sub(passes.start.max(run.start));
            match own {
                0 => 0.0,
                own => self.first[cipher] + (own - 1) as f64 * self.more[cipher],
            }
        };
        Cipher::ALL.into_iter().enumerate().map(of).sum()
    }

    /// The cost of all passes, one after the other.
    pub(super) fn whole(&self) -> f64 {
        self.stage(0..PASSES)
    }

    /// The costs of the stages that end before these passes.
    pub(super) fn stages(&self, ends: &[u32]) -> Vec<f64> {
        let mut begin = 0;
        let stage = |&end: &u32| {
            let passes = begin..end as usize;
            begin = passes.end;
            self.stage(passes)
        };
        ends.iter().map(stage).collect()
    }

    /// Where balanced stages end.
    pub(super) fn balanced(&self, stages: u32) -> Vec<u32> {
        let costs = self.more.into_iter().zip(Cipher::ALL);
        let steps: Vec<f64> = costs
            .flat_map(|(cost, (_, count))| std::iter::repeat_n(cost, count))
            .collect();
        replay::divide(&steps, stages as usize)
    }

    /// Means, not medians: the time of a stream has what disturbs it now and then, too.
    fn mean(all: &[Costs]) -> Costs {
        let of = |which: fn(&Costs) -> &[f64; 3]| {
            std::array::from_fn(|cipher| {
                let sum: f64 = all.iter().map(|costs| which(costs)[cipher]).sum();
                sum / all.len().max(1) as f64
            })
        };
        Costs {
            first: of(|costs| &costs.first),
            more: of(|costs| &costs.more),
        }
    }

    /// The medians over several.
    pub(super) fn median(all: &[Costs]) -> Costs {
        let of = |which: fn(&Costs) -> &[f64; 3]| {
            std::array::from_fn(|cipher| median_of(all.iter().map(|costs| which(costs)[cipher])))
        };
        Costs {
            first: of(|costs| &costs.first),
            more: of(|costs| &costs.more),
        }
    }

    /// The costs of one of `blocks` blocks.
    pub(super) fn per(&self, blocks: f64) -> Costs {
        Costs {
            first: self.first.map(|cost| cost / blocks),
            more: self.more.map(|cost| cost / blocks),
        }
    }
}

/// Costs for a unit of `unit` blocks on several workers at once: means over the workers.
pub(super) fn measure(
    pool: &Pool,
    product: &Product,
    simd: Simd,
    (unit, workers): (usize, u32),
) -> Result<Costs, Error> {
    let all: Mutex<Vec<Costs>> = Mutex::new(Vec::new());
    let batch = Batch {
        dispatch: Dispatch::Mailbox,
        items: workers,
        grain: 1,
        workers,
        deadline: None,
        caller: Caller::Works,
    };
    let ran = pool.run(&batch, &|_, items| {
        for _ in items {
            let mut blocks: Vec<Block> = (0..unit as u64).map(u64::to_le_bytes).collect();
            let begin = Instant::now();
            let mut own = Vec::new();
            while own.is_empty() || begin.elapsed() < SPAN {
                own.push(once(product, simd, &mut blocks));
            }
            std::hint::black_box(&blocks);
            unpoisoned(all.lock()).extend(own);
        }
    });
    ran.map_err(|e| Error::Runtime(e.to_string()))?;
    Ok(Costs::mean(&unpoisoned(all.lock())))
}

fn once(product: &Product, simd: Simd, blocks: &mut [Block]) -> Costs {
    let costs = pass_costs(product, simd, blocks);
    Costs {
        first: costs.map(|cost| cost.first),
        more: costs.map(|cost| cost.next),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COSTS: Costs = Costs {
        first: [2.0, 5.0, 3.0],
        more: [1.0, 4.0, 1.0],
    };

    #[test]
    fn a_stage_pays_for_the_first_pass_of_each_of_its_ciphers() {
        assert_eq!(COSTS.whole(), 21.0 + 97.0 + 22.0);
        assert_eq!(
            COSTS.stages(&[1, 20, 22, 64]),
            [2.0, 20.0, 9.0, 89.0 + 22.0]
        );
        assert_eq!(COSTS.stage(5..5), 0.0);
    }

    #[test]
    fn the_largest_stage_is_the_one_that_balancing_makes_small() {
        let ends = COSTS.balanced(5);
        let largest = COSTS.stages(&ends).into_iter().fold(0.0, f64::max);
        assert!(largest < 33.0, "{ends:?}");
    }

    #[test]
    fn medians_and_shares() {
        let half = COSTS.per(2.0);
        assert_eq!(half.first, [1.0, 2.5, 1.5]);
        assert_eq!(Costs::median(&[half, COSTS, COSTS]), COSTS);
        assert_eq!(Costs::mean(&[half, COSTS]).more, [0.75, 3.0, 0.75]);
    }
}
