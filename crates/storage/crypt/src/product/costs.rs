//! The costs of passes, measured on one core.

use std::ops::Range;
use std::time::Instant;

use evener_runtime::Simd;
use evener_runtime::replay::StepCost;

use super::{Block, Cipher, KEY_BYTES, Product, passes};

/// Blocks of one measurement, so many that reading the clock does not count.
const LOOK: usize = 4096;
/// Blocks that [`step_costs`] encrypts at once: a multiple of those with which kernels are fastest.
const BLOCKS: usize = 2048;

/// Seconds of a pass of each cipher over all of `blocks`: IDEA, Skipjack, Raiden. Consecutive passes of a cipher keep
/// blocks in registers, so the first of them takes longer. The blocks are encrypted several times.
pub fn pass_costs(product: &Product, simd: Simd, blocks: &mut [Block]) -> [StepCost; 3] {
    let repeat = LOOK.div_ceil(blocks.len().max(1));
    let mut seconds = |passes: Range<usize>| {
        let begin = Instant::now();
        for _ in 0..repeat {
            product.encrypt(simd, passes.clone(), blocks);
        }
        begin.elapsed().as_secs_f64() / repeat as f64
    };
    let mut begin = 0;
    Cipher::ALL.map(|(_, count)| {
        let first = seconds(begin..begin + 1);
        let whole = seconds(begin..begin + count);
        begin += count;
        StepCost {
            first,
            next: (whole - first).max(0.0) / (count - 1) as f64,
        }
    })
}

/// The cipher of each pass, as names of steps.
pub fn step_names() -> Vec<String> {
    passes().map(|cipher| cipher.name().to_owned()).into()
}

/// Seconds per block of each of the 64 passes, measured once.
pub fn step_costs(simd: Simd) -> Vec<StepCost> {
    let product = Product::new(&[7; KEY_BYTES]);
    let mut blocks: Vec<Block> = (0..BLOCKS as u64).map(u64::to_le_bytes).collect();
    let costs = pass_costs(&product, simd, &mut blocks);
    std::hint::black_box(&blocks);
    let of = |(cost, (_, count)): (StepCost, (Cipher, usize))| {
        let per_block = |seconds: f64| seconds / BLOCKS as f64;
        let (first, next) = (per_block(cost.first), per_block(cost.next));
        // A cipher's first pass is no cheaper after one of another cipher.
        let begins = StepCost::same(first);
        std::iter::once(begins).chain(std::iter::repeat_n(StepCost { first, next }, count - 1))
    };
    costs.into_iter().zip(Cipher::ALL).flat_map(of).collect()
}

#[cfg(test)]
mod tests {
    use evener_runtime::replay;

    use super::*;

    #[test]
    fn every_pass_has_a_name_and_a_cost() {
        let (names, costs) = (step_names(), step_costs(Simd::Scalar));
        assert_eq!((names.len(), costs.len()), (64, 64));
        assert_eq!(
            (&*names[19], &*names[20], &*names[63]),
            ("idea", "skipjack", "raiden")
        );
        assert!(
            costs
                .iter()
                .all(|cost| cost.first > 0.0 && cost.next >= 0.0)
        );
        assert!(costs[20].first == costs[20].next && replay::segment(&costs) > 0.0);
    }
}
