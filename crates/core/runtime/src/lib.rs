//! Streams of work on the processors a machine has.
//!
//! A *stream* is a source, a service and a sink. The runtime reads units, divides each as its *plan* says,
//! hands jobs to workers, writes results in order, and while the stream runs a *tuner* measures and changes the plan.
//! The runtime knows no domain: a [`Service`] gives it the kernels and says how a unit is divided.

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
