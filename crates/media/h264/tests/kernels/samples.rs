//! Samples: distortion, interpolation, pyramids.

mod definitions;
mod timing;
mod variants;

use std::fmt::Debug;

use evener_h264::kernels::Samples;
use evener_runtime::Simd;

use crate::Rng;

/// The table of references.
fn reference() -> &'static Samples {
    Samples::at(Simd::Scalar)
}

/// The tables of this machine, without the reference, each once.
fn variants() -> Vec<&'static Samples> {
    let mut tables: Vec<&Samples> = Simd::levels().into_iter().map(Samples::at).collect();
    tables.dedup_by(|a, b| std::ptr::eq(*a, *b));
    tables.retain(|table| !std::ptr::eq(*table, reference()));
    tables
}

/// Runs `case` with the reference and with every variant, and compares what it returns.
fn compare<T: PartialEq + Debug>(parameters: impl Debug, case: impl Fn(&Samples) -> T) {
    let expected = case(reference());
    for table in variants() {
        let got = case(table);
        assert!(
            got == expected,
            "{} with {parameters:?}: {got:?}, not {expected:?}",
            table.name
        );
    }
}

/// Samples of one of several kinds.
fn canvas(rng: &mut Rng, len: usize) -> Vec<u8> {
    let mut samples = vec![0; len];
    rng.samples(&mut samples);
    samples
}
