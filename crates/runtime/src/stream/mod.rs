//! Streams: units from a source through a service to a sink, in order.
//!
//! `rt.stream(source).through(service).into(sink)` reads ahead on a thread `evener-in`, computes on the calling thread
//! and the runtime's workers, and writes behind on a thread `evener-out`. Units go round in a fixed set of buffers, so
//! nothing is allocated once the stream runs, the faster side waits for the slower one, and whoever waits is parked.
//! Sources and sinks that cost next to nothing are called in line, without a thread.
//!
//! The stream runs in epochs. Before each, a [`Schedule`] (the tuner) says which plan the next units run under; after
//! each it learns what they cost. Plans change between units only, and what a unit's output is does not depend on
//! its plan, so nothing is lost, repeated, reordered or changed by a switch.
//!
//! | file | what it is for |
//! | --- | --- |
//! | `ports.rs` | sources, sinks, and what stands between them |
//! | `build.rs` | the options of a stream |
//! | `run.rs` | both sides set up and taken down |
//! | `exchange.rs` | buffers going round between two threads |
//! | `intake.rs`, `outlet.rs` | the reading and the writing side |
//! | `engine.rs`, `farm.rs`, `pipeline.rs` | the compute side: epochs of units divided, side by side, or in stages |
//! | `claims.rs`, `delivery.rs` | who may take another unit where units overlap, and where results are brought |
//! | `line.rs`, `balance.rs` | the stages of a pipeline: who works at which, and where each begins |
//! | `exec.rs` | one unit under one plan |
//! | `schedule.rs` | who gives the plans |
//! | `tally.rs`, `samples.rs`, `report.rs` | what is counted and told |
//! | `cancel.rs`, `error.rs` | how streams end early |
#![forbid(unsafe_code)]

mod balance;
mod build;
mod cancel;
mod claims;
mod delivery;
mod engine;
mod error;
mod exchange;
mod exec;
mod farm;
mod intake;
mod line;
mod outlet;
pub(crate) mod pipeline;
mod ports;
mod report;
mod run;
mod samples;
mod schedule;
mod tally;

pub use build::{FromSource, RunOptions, Stream};
pub use cancel::{CancelToken, OnCancel, Waker};
pub(crate) use error::panic_text;
pub use error::{BoxError, Panicked, StreamError};
pub use exec::Executor;
pub use ports::{Discard, Sink, Source, Through};
pub use report::{Gain, How, MemoryUse, Names, PlanTimes, Report, Search};
pub use samples::Times;
pub use schedule::Schedule;
pub use tally::{ByteCount, OnProgress, Progress};
