//! Runs services on a separate thread, so that the waiting thread can handle signals.

use std::panic::resume_unwind;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;

use evener_runtime::stream::{CancelToken, OnProgress, Progress};
use pyo3::prelude::*;

use crate::waiting::SLICE;

/// The amount done, and the total if it is known: bytes, frames, or thousandths.
type Far = (u64, Option<u64>);

/// The handles given to a run.
pub struct Beside {
    /// Ends the run early.
    pub cancel: CancelToken,
    progress: Option<Sender<Far>>,
}

impl Beside {
    /// Called with the progress of a stream, of `all` bytes or units.
    pub fn on_progress(&self, all: Option<u64>) -> Option<OnProgress<'static>> {
        let far = self.progress.clone()?;
        Some(Box::new(move |progress: &Progress| {
            // The receiver lives as long as the run.
            let _ = far.send((progress.bytes.unwrap_or(progress.units), all));
        }))
    }

    /// Called with the finished share of the work.
    pub fn on_share(&self) -> Option<impl FnMut(f64) + Send + use<>> {
        let far = self.progress.clone()?;
        Some(move |share: f64| {
            let _ = far.send(((1000.0 * share) as u64, Some(1000)));
        })
    }
}

/// Calls `work` on a thread and waits for it. `progress` is called with its progress. A signal, or an exception in
/// `progress`, cancels it; its result is then dropped.
pub fn run<T: Send>(
    py: Python<'_>,
    progress: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(Beside) -> T + Send,
) -> PyResult<T> {
    let (far, mut told) = channel::<Far>();
    let cancel = CancelToken::new();
    let beside = Beside {
        cancel: cancel.clone(),
        progress: progress.is_some().then(|| far.clone()),
    };
    let mut failed = None;
    let result = thread::scope(|scope| {
        let thread = scope.spawn(move || {
            let _far = far;
            work(beside)
        });
        loop {
            let told = &mut told;
            let next = py.detach(move || told.recv_timeout(SLICE));
            let handled = match (&next, progress) {
                (Err(RecvTimeoutError::Disconnected), _) => break,
                (Ok((done, all)), Some(progress)) => progress.call1((done, all)).map(drop),
                _ => Ok(()),
            };
            let handled = handled.and_then(|()| py.check_signals());
            if let (Err(error), None) = (handled, &failed) {
                cancel.cancel();
                failed = Some(error);
            }
        }
        py.detach(|| thread.join())
    });
    match (failed, result) {
        (_, Err(payload)) => resume_unwind(payload),
        (Some(error), _) => Err(error),
        (None, Ok(result)) => Ok(result),
    }
}
