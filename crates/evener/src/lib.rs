//! Parallel loops, joins and scopes that cost nothing where they do not help.
//!
//! ```
//! use evener::prelude::*;
//!
//! let mut samples = vec![1.0_f32; 10_000];
//! samples.par_mut().for_each(|s| *s = s.sqrt() + 1.0);
//! let sum: f32 = samples.par().map(|s| s * 2.0).sum();
//! assert_eq!(sum, 40_000.0);
//! ```
//!
//! Whether a loop runs in parallel is decided by measuring, for each place in the program that calls one: what is short
//! runs as a plain loop, what is long is shared among the CPUs. [`explain`] prints what was learnt. There is nothing to set.
//!
//! ```
//! let (left, right) = evener::join(|| 6 * 7, || "right");
//! assert_eq!((left, right), (42, "right"));
//!
//! let mut words = ["b", "a"].map(String::from);
//! evener::scope(|s| {
//!     for word in &mut words {
//!         s.spawn(|_| word.make_ascii_uppercase());
//!     }
//! });
//! assert_eq!(words, ["B", "A"]);
//! ```
//!
//! # Loops
//!
//! [`par`](Par::par) makes a parallel loop of a slice, a vector, an array, a map, a set or a range,
//! [`par_mut`](ParMut::par_mut) one that changes elements, [`into_par`](IntoPar::into_par) one that owns them,
//! [`par_chunks`](ParSlice::par_chunks) one over pieces, and [`par_lines`](ParStr::par_lines) one over lines. [`Loop`] has
//! the rest: `map`, `filter`, `zip`, `enumerate`; `for_each`, `collect`, `sum`, `reduce`, `min`, `max`, `find_any` and more.
//!
//! Results come in the order of the elements. A panic in a closure goes on in the caller, once no other thread runs a part of
//! the loop.
//!
//! # Streams
//!
//! [`even`](Even::even) makes a stream of any iterator, also of one that blocks. Its stages run on several threads; results
//! come in order, and memory is bounded.
//!
//! ```
//! use evener::prelude::*;
//!
//! let mut out = Vec::new();
//! let lines = "3\n1\n2\n".lines();
//! lines.even().map(|line| line.repeat(2)).for_each(|line| out.push(line));
//! assert_eq!(out, ["33", "11", "22"]);
//! ```
//!
//! [`stream`](stream()) does the same for an asynchronous stream, [`run`](run()) for one closure that async code awaits, and
//! [`live`](live()) is a source that drops the oldest items instead of waiting.
//!
//! # From rayon
//!
//! | rayon | evener |
//! | --- | --- |
//! | `v.par_iter()` | `v.par()` |
//! | `v.par_iter_mut()` | `v.par_mut()` |
//! | `v.into_par_iter()` | `v.into_par()` |
//! | `(0..n).into_par_iter()` | `(0..n).par()` |
//! | `map.par_iter_mut()` | `(&mut map).into_par()` |
//! | `.flat_map_iter(f)` | `.flat_map(f)` |
//! | `.reduce(\|\| identity, f)` | `.reduce(f)`, which returns an `Option` |
//! | `iter.par_bridge()` | `iter.even()`, a stream |
//! | `with_min_len`, `with_max_len` | leave it out: it is measured |
//! | `rayon::join`, `scope`, `spawn` | `evener::join`, `scope`, `spawn` |
//! | `par_sort`, `par_sort_unstable`, `par_chunks`, `par_lines`, and most adapters | the same |
//!
//! Both may be used in one program. With `evener-rayon-core` they share their threads.
#![expect(
    unsafe_code,
    reason = "elements are given to several threads, each to one"
)]

mod adapters;
mod collect;
mod drive;
mod end;
mod find;
mod live;
mod lock;
mod run;
mod sites;
mod sort;
mod sources;
mod stream;

pub use adapters::{
    Chain, Cloned, Cut, Enumerate, Filter, FilterMap, FlatMap, Fold, Inspect, Map, MapInit, Rev,
    StepBy, Zip,
};
pub use collect::FromPar;
pub use drive::{Exact, Parallel};
pub use end::Loop;
pub use evener_pool::{
    FnContext, Scope, ScopeFifo, ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder, blocking,
    current_num_threads, current_thread_index, in_place_scope, join, join_context, scope,
    scope_fifo, spawn, yield_now,
};
pub use live::{Feed, Live, live};
pub use run::{Run, run};
pub use sites::explain;
pub use sort::ParSort;
pub use sources::{
    Chunks, ChunksMut, IntoPar, Lines, Owned, Par, ParMut, ParSlice, ParStr, Range, RangeIndex,
    Slice, SliceMut, Windows,
};

pub use stream::{
    AsyncStream, Ended, Even, Recording, Results, Same, Stages, Stream, Then, stream,
};

/// All that gives and uses parallel loops and streams.
pub mod prelude {
    pub use crate::{Even, FromPar, IntoPar, Loop, Par, ParMut, ParSlice, ParSort, ParStr};
}
