//! The structures that filters run in.
#![forbid(unsafe_code)]

use evener_runtime::{Dispatch, Flow, Structure};

pub use evener_runtime::structure::{FARM, SEQUENTIAL};

/// Only the last stage is divided; every element pulls what it needs, recursively.
///
/// This and the two that follow are those of the study that graphs A to G come from. No machine preferred them, so they
/// run only where they are named.
pub static BACKWARD: Structure = Structure {
    name: "backward",
    about: "the last stage is divided; each output pulls its inputs; nothing is stored",
    flow: Flow::Divided,
    dispatch: Dispatch::Fifo,
    automatic: false,
};

/// `BACKWARD` with a valid bit per intermediate element, so that nothing is computed twice.
pub static BACKWARD_CACHED: Structure = Structure {
    name: "backward-cached",
    about: "backward, each intermediate element computed once",
    ..BACKWARD
};

/// `BACKWARD` that also writes intermediates to memory.
pub static BACKWARD_STORE: Structure = Structure {
    name: "backward-store",
    about: "backward, intermediates also written to memory (an experiment)",
    ..BACKWARD
};

/// Regions of output run through all stages in a worker's private memory.
///
/// Regions side by side read much of the same, and a pass reads about where the one before it wrote. So a worker had
/// better go from one region to the next, and be at the same ones in each pass, which is what stealing does.
pub static TILED: Structure = Structure {
    name: "tiled",
    about: "regions of output run through all stages in private cache",
    flow: Flow::Divided,
    dispatch: Dispatch::Steal,
    automatic: true,
};

/// Several frames at once, their samples interleaved in the lanes of a register. Its regions are those of `TILED`.
pub static BATCHED: Structure = Structure {
    name: "batched",
    about: "several frames at once, interleaved in SIMD lanes: chains of warps such as rotate, crops and pointwise \
            filters; small or binary frames",
    flow: Flow::Grouped,
    dispatch: Dispatch::Steal,
    automatic: true,
};

/// All of them, in the order they are listed to users.
pub static ALL: [&Structure; 7] = [
    &SEQUENTIAL,
    &BACKWARD,
    &BACKWARD_CACHED,
    &BACKWARD_STORE,
    &TILED,
    &FARM,
    &BATCHED,
];
