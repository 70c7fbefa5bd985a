//! Counting the solutions of the n-queens problem: in how many ways `n` queens stand on a board of `n` x `n` so that no
//! two share a row, a column or a diagonal.
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
//! [`Starts`] numbers the places where searches start; a job is a range of them, and the [`Found`] of all jobs add up
//! to the result. All of it is exact, and the same at every SIMD level.
//!
//! [`Session`] counts on all workers of a runtime, as `evener queens` does, and can keep a [`Checkpoint`].

pub mod board;
mod border;
mod checkpoint;
mod division;
mod error;
mod found;
mod inner;
#[allow(unsafe_code)]
mod kernels;
pub mod reference;
mod save;
mod service;
mod session;
mod split;
mod starts;
mod symmetric;
mod tally;

pub use border::Border;
pub use checkpoint::{Checkpoint, Finished, ParseError};
pub use error::{Error, LARGEST};
pub use found::Found;
pub use service::STRUCTURES;
pub use session::{Far, Options, Outcome, Session, SessionError};
pub use split::{Jobs, Split};
pub use starts::{Searcher, Start, Starts};
pub use symmetric::{fundamental, half_turn, quarter_turn};
