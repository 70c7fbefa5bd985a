//! Residuals: transforms, quantisation, intra prediction, deblocking.

mod deblocking;
mod intra;
mod quantisation;
mod tables;
mod timing;
mod transforms;
mod variants;

use std::fmt::Debug;

use evener_h264::kernels::residual::{ChromaBlocks, Residual};
use evener_runtime::Simd;

use crate::Rng;

/// The table of references.
fn reference() -> &'static Residual {
    Residual::at(Simd::Scalar)
}

/// The tables of this machine with their levels, without those that are the reference.
fn variants() -> Vec<(Simd, &'static Residual)> {
    let levels = Simd::levels().into_iter();
    levels
        .map(|simd| (simd, Residual::at(simd)))
        .filter(|(_, table)| !std::ptr::eq(*table, reference()))
        .collect()
}

/// Runs `case` with the reference and with every variant, and compares what it returns.
fn compare<T: PartialEq + Debug>(parameters: impl Debug, case: impl Fn(&Residual) -> T) {
    let expected = case(reference());
    for (simd, table) in variants() {
        let got = case(table);
        assert!(
            got == expected,
            "{} with {parameters:?}: {got:?}, not {expected:?}",
            simd.name()
        );
    }
}

/// Levels such as quantisation gives: few and small, or many, or large.
fn random_level(rng: &mut Rng, kind: usize) -> i16 {
    let random = rng.next();
    let sign = if random & 1 == 0 { 1 } else { -1 };
    let magnitude = (random >> 8) as i16 & 0x7fff;
    match kind {
        0 => sign * i16::from(magnitude % 16 == 0),
        1 => sign * (magnitude % 3),
        2 => sign * (magnitude % 20) * i16::from(magnitude % 7 == 0),
        3 => 0,
        _ => sign * (magnitude % 2048),
    }
}

/// Numbers of one kind for each array of `N`.
fn random_levels<const N: usize>(rng: &mut Rng) -> [i16; N] {
    let kind = rng.below(5);
    std::array::from_fn(|_| random_level(rng, kind))
}

fn random_blocks<const N: usize>(rng: &mut Rng) -> [[i16; 16]; N] {
    std::array::from_fn(|_| random_levels(rng))
}

fn random_chroma(rng: &mut Rng) -> ChromaBlocks {
    std::array::from_fn(|_| random_blocks(rng))
}
