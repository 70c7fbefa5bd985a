//! Costs are what the encoder then takes.

use super::super::engine::{Coder, Registers};
use super::super::macroblock::Bins;
use super::super::residual::block;
use super::*;

/// Numbers of 31 bits.
fn generator() -> impl FnMut() -> u64 {
    let mut seed = 7u64;
    move || {
        seed = seed
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        seed >> 33
    }
}

#[test]
fn a_bin_costs_what_it_takes() {
    for state in 0..63u8 {
        let probability = 0.5 * (0.01875f64 / 0.5).powf(f64::from(state) / 63.0);
        for (bin, probability) in [(false, 1.0 - probability), (true, probability)] {
            let exact = -256.0 * probability.log2();
            let cost = f64::from(COSTS[usize::from(2 * state + u8::from(bin))]);
            assert!((cost - exact).abs() <= 0.5, "{state} {bin}");
        }
    }
}

#[test]
fn bins_take_what_they_cost_in_all_states() {
    let mut contexts = Contexts::new(None, 0);
    let mut random = generator();
    for state in 0..126u8 {
        let mut bytes = Vec::new();
        let mut coder = Coder::new(Registers::START, &mut bytes);
        let mut cost = 0;
        let less = 0.5 * (0.01875f64 / 0.5).powf(f64::from(state / 2) / 63.0);
        for _ in 0..20_000 {
            contexts.states[11] = state;
            // As often as the state says.
            let is_less = (random() as f64) < less * 2f64.powi(31);
            let bin = (state & 1 != 0) != is_less;
            cost += Costs::new(&contexts).bin(11, bin);
            coder.decision(&mut contexts, 11, bin);
        }
        coder.end();
        let ratio = bytes.len() as f64 * 8.0 * f64::from(BIT) / f64::from(cost);
        assert!((0.99..1.05).contains(&ratio), "{state}: {ratio}");
    }
}

/// Blocks of one distribution, of which contexts know after a while.
#[test]
fn blocks_take_what_they_cost() {
    let kinds = [
        (BlockKind::LumaDc, 16),
        (BlockKind::LumaAc, 15),
        (BlockKind::Luma4x4, 16),
        (BlockKind::ChromaDc, 4),
        (BlockKind::ChromaAc, 15),
        (BlockKind::Luma8x8, 64),
    ];
    let mut generator = generator();
    let mut random = |end| generator() % end;
    for (kind, count) in kinds {
        let mut contexts = Contexts::new(Some(0), 26);
        let mut bytes = Vec::new();
        let mut coder = Coder::new(Registers::START, &mut bytes);
        let mut cost = 0;
        for _ in 0..4000 {
            let mut levels = vec![0; count];
            for (i, level) in levels.iter_mut().enumerate() {
                if random(2 + i as u64 / 2) == 0 {
                    let size = 1 + random(2) * random(3) * random(12);
                    *level = size as i16 * if random(2) == 0 { 1 } else { -1 };
                }
            }
            if levels.iter().all(|level| *level == 0) {
                continue;
            }
            let costs = Costs::new(&contexts);
            cost += costs.block(kind, &levels);
            let mut bins = Bins {
                coder: &mut coder,
                contexts: &mut contexts,
            };
            match kind {
                BlockKind::LumaDc => block::<0>(&mut bins, &levels),
                BlockKind::LumaAc => block::<1>(&mut bins, &levels),
                BlockKind::Luma4x4 => block::<2>(&mut bins, &levels),
                BlockKind::ChromaDc => block::<3>(&mut bins, &levels),
                BlockKind::ChromaAc => block::<4>(&mut bins, &levels),
                BlockKind::Luma8x8 => block::<5>(&mut bins, &levels),
            }
        }
        coder.end();
        let ratio = bytes.len() as f64 * 8.0 * f64::from(BIT) / f64::from(cost);
        assert!((0.97..1.03).contains(&ratio), "{kind:?}: {ratio}");
    }
}
