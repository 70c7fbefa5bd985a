//! Threads for fork and join.
//!
//! [`join`](join()) runs two closures, the second on another thread if one is idle; [`scope`](scope()) runs any number that
//! borrow; [`spawn`](spawn()) one that nobody waits for. All of it nests.
//!
//! Work is offered late: adding a job wakes no thread. The job lies in its thread's own deque, where adding it and taking it
//! back costs some nanoseconds. An idle thread takes it if it has been there for some microseconds. So what is too short to
//! share costs next to nothing, and what is long is shared (heartbeat scheduling: Acar and others, PLDI 2018). `README.md`
//! has the protocols.
//!
//! ```
//! let (a, b) = evener_pool::join(|| "one", || "two");
//! assert_eq!((a, b), ("one", "two"));
//! ```
#![expect(unsafe_code, reason = "jobs borrow from frames of other threads")]

mod barrier;
mod blocking;
mod broadcast;
mod builder;
mod configuration;
mod deque;
mod idle;
mod job;
mod join;
mod latch;
#[cfg(all(test, loom))]
mod loom_tests;
pub mod loops;
mod place;
mod pool;
mod scope;
mod spawn;
mod sync;
mod thread_pool;
mod worker;

pub use blocking::blocking;
pub use broadcast::{BroadcastContext, broadcast, spawn_broadcast};
pub use builder::{
    CustomSpawn, DefaultSpawn, ThreadBuilder, ThreadPoolBuildError, ThreadPoolBuilder, ThreadSpawn,
};
#[doc(hidden)]
#[expect(deprecated, reason = "rayon-core has it")]
pub use configuration::{Configuration, initialize};
pub use join::{FnContext, join, join_context};
pub use scope::{Scope, ScopeFifo, in_place_scope, in_place_scope_fifo, scope, scope_fifo};
pub use spawn::{spawn, spawn_fifo};
pub use thread_pool::{
    ThreadPool, Yield, current_num_threads, current_thread_has_pending_tasks, current_thread_index,
    max_num_threads, yield_local, yield_now,
};
