//! Streams: units from a source through a service to a sink, in order.
//!
//! `rt.stream(source).through(service).into(sink)` reads ahead on a thread `evener-in`, computes on the calling thread
//! and the runtime's workers, and writes behind on a thread `evener-out`. Units circulate in a fixed set of buffers, so
//! nothing is allocated once the stream runs, and the faster side waits for the slower one, parked. Sources and sinks
//! that cost next to nothing are called in line, without a thread, and so are files in small streams.
//!
//! The stream runs in epochs. Before each, a [`Schedule`] (the tuner) says which plan the next units run under. After
//! each it takes what they cost. Plans change between units only, and a unit's output does not depend on its plan. So a
//! change of plan loses, repeats, reorders and alters nothing.
//!
//! | file | what it is for |
//! | --- | --- |
//! | `ports.rs` | sources, sinks, and what stands between them |
//! | `build.rs`, `options.rs` | how a stream is put together, and what can be chosen |
//! | `run.rs`, `flow.rs` | runs a stream: its beginning and its report; both sides while units flow |
//! | `erased.rs` | services, sources and sinks behind trait objects, so that this is compiled once |
//! | `expected.rs` | how long a stream should take, and so what pays before it begins |
//! | `open.rs` | streams that stay open: units are pushed, results pulled |
//! | `queue.rs` | buffers that circulate between two threads |
//! | `intake.rs`, `outlet.rs` | the reading and the writing side |
//! | `drive.rs`, `engine.rs` | the compute side: the loop over epochs, and what it works with |
//! | `divided.rs` | epochs of units that are divided over workers, one by one or in groups |
//! | `farm.rs`, `pipeline/` | epochs of units that overlap: whole units on workers, or steps on workers |
//! | `wavefront/` | epochs of units whose lines of steps wait for one another |
//! | `devices.rs`, `trial.rs`, `lane.rs` | devices that compute units of a farm beside its workers: opened, tried, used |
//! | `share.rs` | who takes the last units |
//! | `overlap.rs`, `claims.rs` | what farms and pipelines share: taking units |
//! | `reorder.rs` | results of units that overlap, put back in order |
//! | `pipeline/chain.rs`, `balance.rs` | which worker works at which stage, and where stages end |
//! | `exec.rs` | one unit under one plan |
//! | `schedule.rs` | what gives the plans |
//! | `tally.rs`, `samples.rs`, `report.rs` | counts, times and the report |
//! | `end.rs`, `error.rs`, `cancel.rs` | how epochs and streams end |
#![forbid(unsafe_code)]

mod balance;
mod build;
mod cancel;
mod claims;
mod devices;
mod divided;
mod drive;
mod end;
mod engine;
mod erased;
mod error;
mod exec;
mod expected;
mod farm;
mod flow;
mod intake;
mod lane;
mod open;
mod options;
mod outlet;
mod overlap;
mod pipeline;
mod ports;
mod queue;
mod reorder;
mod report;
mod run;
mod samples;
mod schedule;
mod share;
mod tally;
mod trial;
mod wavefront;

pub use build::{FromSource, Stream};
pub use cancel::{CancelToken, OnCancel, Waker};
pub(crate) use devices::{Opening, open as open_devices};
pub(crate) use error::panic_text;
pub use error::{BoxError, Panicked, StreamError};
pub use exec::Executor;
pub use open::{Open, Turn};
pub use options::RunOptions;
pub use ports::{Discard, Sink, Source, Through};
pub use report::{DeviceUse, Gain, How, MemoryUse, Names, PlanTimes, Report, Search};
pub use samples::Times;
pub use schedule::Schedule;
pub use tally::{ByteCount, OnProgress, Progress};
pub(crate) use wavefront::seconds as wavefront_seconds;
