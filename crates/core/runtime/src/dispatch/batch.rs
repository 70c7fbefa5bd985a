//! What is asked of a pool, and what it answers.

use std::time::Instant;

use crate::named::Dispatch;

/// Which worker of its pool runs a job: `0..workers`. Worker 0 is the thread that called
/// [`Pool::run`](super::Pool::run).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct WorkerId(pub usize);

/// A range of items, how it is cut, and how its jobs reach workers.
#[derive(Clone, Copy, Debug)]
pub struct Batch {
    /// How jobs reach workers.
    pub dispatch: Dispatch,
    /// Items `0..items` are run, each once.
    pub items: u32,
    /// Items in one job; the last job may have fewer. 0 counts as 1.
    pub grain: u32,
    /// Workers that may take part: `0..workers`. 0 counts as 1, more than the pool has as all.
    pub workers: u32,
    /// No job begins after this.
    pub deadline: Option<Instant>,
    /// What the calling thread does until the batch has ended.
    pub caller: Caller,
}

/// What the thread that calls [`Pool::run`](super::Pool::run) does until the batch has ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Caller {
    /// It hands jobs out and runs some itself, as worker 0.
    #[default]
    Works,
    /// It works, but never waits for the pool: while the workers run a batch of another thread it runs its whole batch
    /// itself. This suits services that many threads call at once, where waiting would take a processor from a request.
    Hurries,
    /// It hands jobs out and waits: workers `1..workers` run them all. This measures what helping brings or costs. A
    /// batch of one job is run by the caller all the same.
    Waits,
}

/// How a batch ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// All items were run.
    Finished,
    /// The deadline passed: at least one job was skipped.
    CutOff,
}

/// A job of the batch panicked. The batch's other jobs were run or skipped; none is still running. Workers survive.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a job panicked: {message}")]
pub struct JobPanic {
    /// What the first panic said.
    pub message: String,
}
