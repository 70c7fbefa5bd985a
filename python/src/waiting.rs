//! Waits for streams without holding the interpreter, and with checks for signals.

use std::time::{Duration, Instant};

use evener_runtime::stream::Turn;
use pyo3::prelude::*;

/// How long a signal such as Ctrl-C may go unnoticed.
pub const SLICE: Duration = Duration::from_millis(50);

/// Calls `turn` with deadlines, detached from the interpreter, until it is not late or `until` has passed. Handles
/// signals between the calls.
pub fn until<T: Send>(
    py: Python<'_>,
    until: Option<Instant>,
    mut turn: impl FnMut(Instant) -> Turn<T> + Send,
) -> PyResult<Turn<T>> {
    loop {
        let slice = Instant::now() + SLICE;
        let deadline = until.map_or(slice, |until| until.min(slice));
        match py.detach(|| turn(deadline)) {
            Turn::Late => py.check_signals()?,
            done => return Ok(done),
        }
        if until.is_some_and(|until| until <= deadline) {
            return Ok(Turn::Late);
        }
    }
}
