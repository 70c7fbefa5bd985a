//! A parallel runtime for streams of work, on all CPU cores of a machine and on devices beside them.
//!
//! A *stream* consists of a source, a service and a sink. The runtime reads units, divides each according to a
//! *plan*, dispatches jobs to workers, and writes the results in order. While the stream runs, a *tuner* measures and
//! changes the plan. The runtime knows no domain: a [`Service`] provides the kernels and describes how a unit can be
//! divided.
//!
//! Start with a [`Runtime`]. It runs work in three ways:
//!
//! | call | for |
//! | --- | --- |
//! | [`Runtime::stream`] | a [`Source`] that is read, and a [`Sink`] that is written |
//! | [`Runtime::open`] | a stream that stays open: your threads push units and pull results |
//! | [`Rounds`] | requests that arrive at any time, such as reads of a disk image |

// Tests inside the crate share files with those outside.
#[cfg(test)]
extern crate self as evener_runtime;

mod affinity;
#[allow(unsafe_code)]
pub mod buffer;
pub mod device;
#[allow(unsafe_code)]
pub mod dispatch;
pub mod error;
pub mod io;
pub mod kept;
pub mod kernels;
mod named;
pub mod plan;
pub mod quantity;
pub mod rates;
mod remembered;
pub mod replay;
pub mod rounds;
pub mod runtime;
pub mod service;
mod stages;
pub mod stream;
pub mod structure;
mod sync;
pub mod topology;
pub mod trace;
pub mod tuner;

pub use device::{Device, OnDevice};
pub use dispatch::{Batch, Caller, JobPanic, Outcome, Pool, WorkerId};
pub use error::Error;
pub use io::{IoThreads, SpinWait};
pub use kernels::Kernels;
pub use plan::{Choice, Dispatch, Placement, Plan};
pub use rates::Rates;
pub use rounds::Rounds;
pub use runtime::Runtime;
pub use service::{Need, Part, Service, Shape, Work};
pub use stream::{CancelToken, Discard, Report, Sink, Source, StreamError, Through};
pub use structure::{Flow, Structure};
pub use topology::{Simd, Topology};
pub use trace::Trace;
pub use tuner::Tuner;

/// The examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
