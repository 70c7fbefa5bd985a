//! What is encoded is what a decoder written from the standard decodes.

use super::*;
use crate::entropy::cabac::tables as arithmetic_tables;
use arithmetic::{Context, Decoder};
use proptest::prelude::*;

#[path = "../../../../tests/reader/arithmetic.rs"]
mod arithmetic;

#[derive(Clone, Copy, Debug)]
enum Bin {
    Decision(usize, bool),
    Bypass(u32, u32),
    GoOn,
    Samples(u8),
}

/// Encodes with contexts whose states are the numbers of them, and decodes.
fn round_trip(bins: &[Bin], before: usize) -> Vec<u8> {
    let mut contexts = Contexts::new(None, 0);
    for (ctx, state) in contexts.states.iter_mut().enumerate() {
        *state = (ctx % 126) as u8;
    }
    let mut decoded: Vec<Context> = contexts.states.map(context).into();
    let mut bytes = vec![0xFF; before];
    let mut coder = Coder::new(Registers::START, &mut bytes);
    for (i, bin) in bins.iter().enumerate() {
        match *bin {
            Bin::Decision(ctx, bin) => coder.decision(&mut contexts, ctx, bin),
            Bin::Bypass(bits, count) => coder.bypass_bits(bits, count),
            Bin::GoOn => coder.go_on(),
            Bin::Samples(count) => coder.samples((0..count).map(|sample| sample ^ i as u8)),
        }
    }
    coder.end();
    assert!(bytes[..before].iter().all(|byte| *byte == 0xFF));

    let mut decoder = Decoder::new(&bytes, before);
    for (i, bin) in bins.iter().enumerate() {
        match *bin {
            Bin::Decision(ctx, bin) => assert_eq!(decoder.decision(&mut decoded[ctx]), bin, "{i}"),
            Bin::Bypass(bits, count) => {
                for bit in (0..count).rev() {
                    assert_eq!(decoder.bypass(), bits >> bit & 1 != 0, "bypass {i}");
                }
            }
            Bin::GoOn => assert!(!decoder.terminate(), "{i} goes on"),
            Bin::Samples(count) => {
                assert!(decoder.terminate(), "{i} ends");
                let at = decoder.aligned();
                for sample in 0..count {
                    assert_eq!(bytes[at + usize::from(sample)], sample ^ i as u8);
                }
                decoder = Decoder::new(&bytes, at + usize::from(count));
            }
        }
    }
    assert!(decoder.terminate(), "the end");
    assert_eq!(decoder.aligned(), bytes.len());
    let states: Vec<u8> = decoded
        .iter()
        .map(|context| context.state << 1 | u8::from(context.most))
        .collect();
    assert_eq!(states, contexts.states);
    bytes
}

fn context(state: u8) -> Context {
    Context {
        state: state >> 1,
        most: state & 1 != 0,
    }
}

fn bin() -> impl Strategy<Value = Bin> {
    prop_oneof![
        // Few contexts, so that their states move.
        20 => (0..8usize, any::<bool>()).prop_map(|(ctx, bin)| Bin::Decision(ctx * 16, bin)),
        // The more probable symbol of a context that is sure of it.
        20 => (0..4usize).prop_map(|ctx| Bin::Decision(124 - ctx * 2, false)),
        10 => (0..436usize, any::<bool>()).prop_map(|(ctx, bin)| Bin::Decision(ctx, bin)),
        10 => (0..=16u32, any::<u32>()).prop_map(|(count, bits)| Bin::Bypass(bits & ((1 << count) - 1), count)),
        5 => Just(Bin::GoOn),
        1 => any::<u8>().prop_map(Bin::Samples),
    ]
}

proptest! {
    #[test]
    fn bins_are_decoded_as_they_were_encoded(bins in prop::collection::vec(bin(), 0..2000), before in 0..9usize) {
        round_trip(&bins, before);
    }
}

/// Decodes bins from bytes that no encoder wrote, and encodes these: what comes out begins as those bytes do. With bytes
/// of zeros, codILow stays just below the value that they have with those before, until bins behind the zeros carry it.
#[test]
fn a_carry_runs_through_many_bytes() {
    let mut seed = 1u64;
    for zeros in 0..200 {
        for fill in [0x00, 0xFF] {
            let mut random = || {
                seed = seed
                    .wrapping_mul(6364136223846793005)
                    .wrapping_add(1442695040888963407);
                (seed >> 40) as u8
            };
            let mut bytes: Vec<u8> = (0..4).map(|_| random() >> 1).collect();
            bytes.extend(vec![fill; zeros]);
            bytes.extend((0..16).map(|_| random()));
            let mut contexts: Vec<Context> =
                (0..436).map(|ctx| context((ctx % 126) as u8)).collect();
            let mut decoder = Decoder::new(&bytes, 0);
            let mut bins = Vec::new();
            while decoder.at / 8 < bytes.len() - 4 {
                let ctx = usize::from(random()) % 126;
                bins.push(match random() % 8 {
                    0 => Bin::Bypass(u32::from(decoder.bypass()), 1),
                    _ => Bin::Decision(ctx, decoder.decision(&mut contexts[ctx])),
                });
            }
            let encoded = round_trip(&bins, 0);
            let same = (decoder.at / 8).min(encoded.len()).saturating_sub(3);
            assert_eq!(encoded[..same], bytes[..same], "{zeros} bytes of {fill}");
        }
    }
}

#[test]
fn the_tables_follow_the_model_of_their_states() {
    // Each state is as much less probable than the one before, from 0.5 to 0.01875 in 63 steps.
    let alpha = (0.01875f64 / 0.5).powf(1.0 / 63.0);
    for (state, ranges) in arithmetic_tables::RANGE_LPS[..63].iter().enumerate() {
        let probability = 0.5 * alpha.powi(state as i32);
        for (quarter, range) in ranges.iter().enumerate() {
            let expected = probability * (256 + 64 * quarter + 32) as f64;
            // No range is less than 6.
            assert!(
                (f64::from(*range) - expected.max(6.0)).abs() <= 0.12 * expected + 1.0,
                "{state} {quarter}: {range} for {expected}"
            );
        }
        let next = 1.0 - alpha + alpha * probability;
        let expected = ((next.min(0.5) / 0.5).ln() / alpha.ln()).round();
        let after = f64::from(arithmetic_tables::AFTER_LPS[state]);
        assert!(
            (after - expected).abs() <= 2.0,
            "{state}: {after} for {expected}"
        );
    }
}
