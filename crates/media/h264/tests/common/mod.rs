//! What the tests of entropy coding share: random legal pictures, and the prediction of vectors.
#![allow(dead_code)]

pub mod motion;
pub mod random;
pub mod rng;
