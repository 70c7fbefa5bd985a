//! Counts the solutions of the n-queens problem: the ways to place `n` queens on a board of `n` x `n` squares so that
//! no two share a row, a column or a diagonal.
//!
//! ```
//! use evener_queens::{Searcher, Starts, fundamental};
//! use evener_runtime::Simd;
//!
//! let starts = Starts::new(12)?;
//! let found = Searcher::new(Simd::detect()).search(&starts, 0..starts.len());
//! assert_eq!(found.solutions, 14_200);
//! assert_eq!(fundamental(12, found.solutions)?, 1_787);
//! # Ok::<(), evener_queens::Error>(())
//! ```
//!
//! [`Starts`] numbers the positions where searches start. A job is a range of them, and the [`Counts`] of all jobs
//! add up to the result. The result is exact, and the same at every SIMD level.
//!
//! [`Session`] counts on all workers of a runtime, as `evener queens` does, and can keep a [`Checkpoint`]. A
//! [`Ledger`] divides a count among several machines.

pub mod board;
mod border;
mod checkpoint;
mod checkpoint_file;
pub mod chosen;
pub mod costs;
mod counts;
mod device;
mod division;
mod error;
mod inner;
#[allow(unsafe_code)]
mod kernels;
mod ranges;
pub mod reference;
mod service;
mod session;
mod session_error;
mod sink;
mod split;
mod starts;
mod symmetric;

pub use border::Border;
pub use checkpoint::{Checkpoint, Finished, ParseError};
pub use counts::Counts;
pub use error::{Error, LARGEST};
pub use ranges::{Ledger, search_range};
pub use service::STRUCTURES;
pub use session::{CountProgress, Options, Outcome, Session};
pub use session_error::SessionError;
pub use split::{Jobs, Split};
pub use starts::{Searcher, Start, Starts};
pub use symmetric::{fundamental, half_turn, quarter_turn};

/// The examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
