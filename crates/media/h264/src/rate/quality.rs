//! Quantisation parameters for a constant quality (`--crf`).

use super::complexity::Recent;
use super::maths::log2;

/// How much the parameter follows complexity: 0 is a constant rate, 1 a constant parameter. What moves much is seen less
/// sharply, so it may be coarser. The scale is that of x264's `--qcomp`, and so is the value.
const COMPRESSION: f64 = 0.6;
/// The cost of a macroblock at which the parameter is the rate factor: streams are then as large and as good as x264's of
/// the same factor, with the same tools.
const USUAL: f64 = 128.0;
/// The least cost of a macroblock that is told apart: still pictures need not become ever finer.
const LEAST: f64 = 10.0;

/// By how much the parameter of a P picture differs from the rate factor, from the costs of recent pictures.
///
/// A step of quantisation grows with the cost to the power of 1 - [`COMPRESSION`], and doubles with each 6 of the parameter.
pub fn compensation(recent: &Recent) -> f64 {
    let cost = recent.mean().unwrap_or(USUAL).max(LEAST);
    6.0 * (1.0 - COMPRESSION) * log2(cost / USUAL)
}
