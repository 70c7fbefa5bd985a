//! Whether streams are right: what decoders that are not ours make of them, and whether they are the same from run to run.
//!
//! [`decisions`] codes macroblocks of random legal kinds, modes, vectors, references and parameters, which no search would
//! take. [`ordinary`] encodes as users do. [`same_bytes`] varies workers, grains and SIMD levels;
//! [`devices`] varies devices, which fail.
//!
//! These mistakes were planted, one at a time, and each failed the random decisions:
//!
//! - strengths of filtering: vectors added, not subtracted; references not compared; an 8x8 block with levels in one of its
//!   quarters; the inner edge of `P16x8`; 4 inside intra macroblocks; the wrong block of the left neighbour;
//! - filtering: parameters of macroblocks without a difference not carried on; that of `I_PCM`; chroma's from the mean of
//!   luma's; the edges inside 8x8 transforms; the parameter of the macroblock above; tc0 too large by one; on where the slice
//!   says off;
//! - prediction from references: blocks cut off at the picture's edge; negative chroma vectors rounded to zero; eighths of
//!   chroma rounded; the first reference for all partitions;
//! - vectors: a wrong median; B in place of D where C is missing, and of C in the right half; the picture's top row; a
//!   neighbour that stands still above a skipped macroblock; differences in another order than partitions;
//! - intra prediction: samples above to the right that come later; no filter of the neighbours of 8x8 blocks; a corner that is
//!   missing, or one column off; Cb and Cr swapped in it; DC without neighbours.
//!
//! With the same bytes these were caught: a row that runs up to the one above, without the macroblock above to the right;
//! rates that do not wait for sizes; a picture whose expected cost is zero. A reach of vectors that is a row short failed the
//! test of the geometry alone, as it is generous. No test notices
//! where the guard against transforms beyond 16 bits is not asked, as decoders wrap as the encoder does; its arithmetic has
//! a test of its own.

mod content;
mod decisions;
mod decoder;
mod devices;
mod ordinary;
mod same_bytes;

#[path = "../common/rng.rs"]
mod rng;
