//! The settings of a stream.

use super::cancel::CancelToken;
use super::report::Names;
use super::schedule::Schedule;
use super::tally::{ByteCount, OnProgress};
use crate::plan::Choice;
use crate::replay::Recording;

/// All of it.
#[derive(Default)]
pub(super) struct Options<'a> {
    pub(super) choice: Choice,
    pub(super) workers: Option<u32>,
    pub(super) live: bool,
    pub(super) in_flight: Option<usize>,
    pub(super) cancel: CancelToken,
    pub(super) on_progress: Option<OnProgress<'a>>,
    pub(super) bytes: Option<ByteCount>,
    pub(super) keep_partial: bool,
    pub(super) names: Names,
    pub(super) schedule: Option<Box<dyn Schedule + 'a>>,
    pub(super) recording: Option<Recording>,
}

/// The settings of a run. Each has a default.
#[derive(Default)]
pub struct RunOptions<'a> {
    /// The plan.
    pub plan: Choice,
    /// The number of workers; `None` lets the tuner choose.
    pub workers: Option<u32>,
    /// Ends the run early.
    pub cancel: CancelToken,
    /// Called with the progress of the run; see [`Stream::on_progress`](super::Stream::on_progress).
    pub on_progress: Option<OnProgress<'a>>,
}
