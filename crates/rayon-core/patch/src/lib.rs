//! Stands in for rayon-core by `[patch.crates-io]`.

pub use engine::*;
