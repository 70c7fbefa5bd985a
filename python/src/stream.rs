//! Streams opened by the user.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use evener_image::open::OpenGraph;
use evener_runtime::stream::Turn;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::sync::MutexExt;

use crate::errors::{self, Closed, Empty, FrameError, Full, StreamError};
use crate::frames::{Frames, Kind};
use crate::graph::results;
use crate::lend::{self, Access};
use crate::pump::Copies;
use crate::report;
use crate::waiting;

/// Counts forks. A stream of a parent process has no threads in this one.
static FORKS: AtomicU32 = AtomicU32::new(0);

/// In the child of a fork.
pub fn forked() {
    FORKS.fetch_add(1, Ordering::Relaxed);
}

/// A stream that stays open. Any thread may push frames and pull results, in order.
#[pyclass(frozen, module = "evener")]
pub struct Stream {
    inner: Mutex<Option<Arc<Inner>>>,
    input: Kind,
    output: Kind,
    forks: u32,
    /// No more frames come.
    ended: AtomicBool,
    /// Held by a call with one frame, which needs exclusive use of the stream.
    calling: Mutex<()>,
}

struct Inner {
    graph: OpenGraph<Due>,
    copies: Mutex<Copies>,
}

/// A result that is due.
pub struct Due {
    object: Py<PyAny>,
    /// The memory that it is copied into.
    copied: Option<Frames>,
}

impl Stream {
    /// Opens a stream of frames of the kind `input`.
    pub(crate) fn new(graph: OpenGraph<Due>, input: Kind) -> Stream {
        Stream {
            output: input.resulting(graph.output()),
            input,
            inner: Mutex::new(Some(Arc::new(Inner {
                graph,
                copies: Mutex::default(),
            }))),
            forks: FORKS.load(Ordering::Relaxed),
            ended: AtomicBool::new(false),
            calling: Mutex::new(()),
        }
    }

    fn inner(&self) -> PyResult<Arc<Inner>> {
        if self.is_of_parent() {
            return Err(Closed::new_err(
                "the stream was opened before this process was forked; open a new one here",
            ));
        }
        let inner = lock(&self.inner).clone();
        inner.ok_or_else(|| Closed::new_err("the stream is closed; open a new one"))
    }

    fn is_of_parent(&self) -> bool {
        self.forks != FORKS.load(Ordering::Relaxed)
    }

    /// Returns why the stream ended before the user ended it.
    fn failure(&self, py: Python<'_>, inner: Arc<Inner>) -> PyErr {
        if self.ended.load(Ordering::Relaxed) {
            return Closed::new_err("the stream has ended and takes no more frames");
        }
        let taken = lock(&self.inner).take();
        if taken.is_none() {
            return Closed::new_err("the stream is closed; open a new one");
        }
        drop(taken);
        match self.closed(py, inner) {
            Ok(_) => StreamError::new_err("the stream was cancelled"),
            Err(error) => error,
        }
    }

    /// Closes a stream that no other thread can find any more.
    fn closed<'py>(&self, py: Python<'py>, mut inner: Arc<Inner>) -> PyResult<Bound<'py, PyAny>> {
        inner.graph.end();
        let inner = loop {
            // Threads that wait in it leave when it has ended, or at the end of their slice.
            match Arc::try_unwrap(inner) {
                Ok(inner) => break inner,
                Err(shared) => inner = shared,
            }
            py.detach(|| {
                while let Turn::Done(()) = inner.graph.pull_with(Instant::now(), |_, _, _| ()) {}
            });
            py.detach(|| std::thread::sleep(Duration::from_millis(1)));
            py.check_signals()?;
        };
        let report = py.detach(|| inner.graph.close());
        lend::collect(py);
        report::of_frames(py, report.map_err(|error| errors::stream(&error))?)
    }

    /// Pushes a frame. Returns `Turn::Late` if there is no room in time.
    fn pushed(
        &self,
        frame: &Bound<'_, PyAny>,
        out: Option<Bound<'_, PyAny>>,
        until: Option<Instant>,
    ) -> PyResult<Turn<()>> {
        let py = frame.py();
        let inner = self.inner()?;
        let input = Frames::expected(frame, Access::Read, "frame", Some(&self.input))?;
        if input.kind() != self.input {
            return Err(FrameError::new_err(format!(
                "frame is {}; this stream takes {}",
                input.kind(),
                self.input
            )));
        }
        let (output, object) = results(&self.output, frame, out)?;
        // With nothing under way there is room soon, at the latest when the stream has made its buffers.
        let until = until.filter(|_| inner.graph.under_way() > 0);
        let mut job = Some((input, output, object.unbind()));
        let turn = waiting::until(py, until, |until| {
            inner.graph.push_with(until, || {
                let (input, output, object) = job.take().expect("it is pushed once");
                let (frame, result) = lock(&inner.copies).lend(&input, &output, 0);
                let copied = output.colour().is_some().then_some(output);
                (frame, result, Due { object, copied })
            })
        })?;
        match turn {
            Turn::Ended => Err(self.failure(py, inner)),
            turn => Ok(turn),
        }
    }

    /// Pulls a result. Returns `None` if there is none in time.
    fn pulled<'py>(
        &self,
        py: Python<'py>,
        until: Option<Instant>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let inner = self.inner()?;
        let turn = waiting::until(py, until, |until| {
            inner.graph.pull_with(until, |input, output, due| {
                if let Some(frames) = &due.copied {
                    lock(&inner.copies).take((input, output), frames, 0);
                }
                due.object
            })
        })?;
        lend::collect(py);
        match turn {
            Turn::Done(object) => Ok(Some(object.into_bound(py))),
            Turn::Late => Ok(None),
            Turn::Ended => Err(self.failure(py, inner)),
        }
    }
}

#[pymethods]
impl Stream {
    /// Pushes a frame. Its result goes into `out` or a new array. Until the result is pulled, do not change the frame
    /// and do not read `out`.
    #[pyo3(signature = (frame, out=None, block=true, timeout=None))]
    fn push(
        &self,
        frame: &Bound<'_, PyAny>,
        out: Option<Bound<'_, PyAny>>,
        block: bool,
        timeout: Option<f64>,
    ) -> PyResult<()> {
        match self.pushed(frame, out, deadline(block, timeout)?)? {
            Turn::Done(()) => Ok(()),
            _ => Err(Full::new_err(
                "no room for a frame in time; pull results first",
            )),
        }
    }

    /// Pulls the next result, in the order of the frames.
    #[pyo3(signature = (block=true, timeout=None))]
    fn pull<'py>(
        &self,
        py: Python<'py>,
        block: bool,
        timeout: Option<f64>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let result = self.pulled(py, deadline(block, timeout)?)?;
        result.ok_or_else(|| Empty::new_err("no result in time; push frames first"))
    }

    /// Pushes a frame without waiting. Returns whether there was room.
    #[pyo3(signature = (frame, out=None))]
    fn _try_push(&self, frame: &Bound<'_, PyAny>, out: Option<Bound<'_, PyAny>>) -> PyResult<bool> {
        Ok(self.pushed(frame, out, Some(Instant::now()))? == Turn::Done(()))
    }

    /// Pulls a result without waiting. Returns `None` if there is none.
    fn _try_pull<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.pulled(py, Some(Instant::now()))
    }

    /// Pushes one frame and returns its result. No other frame may be under way.
    #[pyo3(signature = (frame, out=None))]
    fn __call__<'py>(
        &self,
        frame: &Bound<'py, PyAny>,
        out: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = frame.py();
        let inner = self.inner()?;
        let calling = self.calling.lock_py_attached(py);
        let _calling = calling.unwrap_or_else(PoisonError::into_inner);
        if inner.graph.under_way() > 0 {
            return Err(PyValueError::new_err(
                "frames are under way in this stream; pull their results first",
            ));
        }
        drop(inner);
        self.pushed(frame, out, None)?;
        let result = self.pulled(py, None)?;
        Ok(result.expect("it is waited for"))
    }

    /// Declares that no more frames follow: `pull` raises `Closed` after the last result.
    fn end(&self) -> PyResult<()> {
        let inner = self.inner()?;
        self.ended.store(true, Ordering::Relaxed);
        inner.graph.end();
        Ok(())
    }

    /// Ends the stream after the frames under way, and drops their results. Returns a report, or `None` if it was
    /// closed already.
    fn close<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        if self.is_of_parent() {
            return Ok(None);
        }
        let inner = lock(&self.inner).take();
        inner.map(|inner| self.closed(py, inner)).transpose()
    }

    /// Ends the stream at once. Frames not yet started are dropped.
    fn cancel(&self, py: Python<'_>) {
        if self.is_of_parent() {
            return;
        }
        if let Some(inner) = lock(&self.inner).take() {
            inner.graph.cancel();
            py.detach(|| drop(inner));
            lend::collect(py);
        }
    }

    /// The number of frames that were pushed but not yet pulled.
    #[getter]
    fn under_way(&self) -> PyResult<u64> {
        Ok(self.inner()?.graph.under_way())
    }

    /// Whether the stream is closed.
    #[getter(closed)]
    fn is_closed(&self) -> bool {
        self.is_of_parent() || lock(&self.inner).is_none()
    }

    fn __repr__(&self) -> String {
        let state = if self.is_closed() { "closed" } else { "open" };
        format!(
            "<evener.Stream, {state}: {} to {}>",
            self.input, self.output
        )
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        let Some(inner) = lock(&self.inner).take() else {
            return;
        };
        if self.is_of_parent() {
            // Its threads do not exist here.
            std::mem::forget(inner);
            return;
        }
        let mut inner = Some(inner);
        Python::try_attach(|py| py.detach(|| drop(inner.take())));
    }
}

/// The deadline of a wait; `None` for no deadline.
fn deadline(block: bool, timeout: Option<f64>) -> PyResult<Option<Instant>> {
    let now = Instant::now();
    match (block, timeout) {
        (false, _) => Ok(Some(now)),
        (true, None) => Ok(None),
        (true, Some(seconds)) => {
            let wait = Duration::try_from_secs_f64(seconds).ok();
            let until = wait.and_then(|wait| now.checked_add(wait));
            until.map(Some).ok_or_else(|| {
                PyValueError::new_err("timeout must be a number of seconds, 0 or more")
            })
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
