//! The API of rayon-core 1.13 on evener's threads.
//!
//! Rayon's parallel iterators, and all that is built on them, run on this crate without a change:
//!
//! ```toml
//! [patch.crates-io]
//! rayon-core = { path = "…/evener/crates/rayon-core/patch" }
//! ```
//!
//! After `cargo update -p rayon-core`, `cargo tree -i rayon-core` shows whether it is used.
//!
//! What differs from rayon-core: a job that is added wakes nobody at once, but is taken by an idle thread when it has lain
//! for some microseconds; threads of the default global pool are started when there is work for them; and a thread of the
//! program that calls into that pool works in it, in place of one of its threads, instead of waiting. A join deep inside other
//! joins may run both of its closures on one thread.
//!
//! ```
//! let (a, b) = rayon_core::join(|| 1 + 1, || 2 + 2);
//! assert_eq!((a, b), (2, 4));
//! ```

pub use evener_pool::*;
