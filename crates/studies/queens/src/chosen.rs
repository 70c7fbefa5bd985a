//! Kernels that are chosen by measurement.

use evener_runtime::Kernels;

use crate::kernels;
use crate::starts::{Searcher, Starts};

/// Rows of the board of a trial.
const N: u32 = 14;
/// A trial searches one part of so many of that board.
const PARTS: u64 = 16;

/// The search below starts. Wider boards need registers of the same level.
pub static SEARCH: Kernels = Kernels::new(
    "queens",
    "a sixteenth of 14 rows",
    kernels::variant,
    |simd| {
        let starts = Starts::new(N).expect("a small board");
        let mut searcher = Searcher::new(simd);
        Box::new(move || {
            searcher.search(&starts, 0..starts.len() / PARTS);
        })
    },
);

/// All of them.
pub static KERNELS: [&Kernels; 1] = [&SEARCH];
