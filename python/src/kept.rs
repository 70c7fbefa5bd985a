//! Streams that are kept open between calls, so that each call profits from the tuner's measurements.

use std::thread;
use std::time::{Duration, Instant};

use evener_image::Format;
use evener_image::graph::Graph;
use evener_image::open::OpenGraph;
use pyo3::prelude::*;

use crate::forked::ForkLock;
use crate::setup::Setup;

/// An idle stream is closed after this time.
const IDLE: Duration = Duration::from_secs(5);
/// The maximum number of kept streams. Each has threads, and private memory of its workers.
const MOST: usize = 4;

static KEPT: ForkLock<State> = ForkLock::new();

#[derive(Default)]
struct State {
    /// The least recently used stream comes first.
    streams: Vec<Kept>,
    /// A thread that closes idle streams is running.
    closer: bool,
    /// The interpreter ends.
    ended: bool,
}

struct Kept {
    key: Key,
    stream: OpenGraph<()>,
    since: Instant,
}

/// The purpose of a stream. Equal graphs share streams.
#[derive(Clone, Debug, PartialEq)]
pub struct Key {
    pub text: String,
    pub format: Format,
    pub setup: Setup,
}

/// Returns the stream kept for `key`, or a new one, for exclusive use by the caller.
pub fn take(py: Python<'_>, key: &Key, graph: &Graph) -> PyResult<OpenGraph<()>> {
    let mut state = KEPT.lock();
    let at = state.streams.iter().rposition(|kept| kept.key == *key);
    if let Some(at) = at {
        return Ok(state.streams.remove(at).stream);
    }
    drop(state);
    key.setup.open(py, graph, &key.format)
}

/// Keeps a stream without frames under way.
pub fn keep(py: Python<'_>, key: Key, stream: OpenGraph<()>) {
    debug_assert_eq!(stream.under_way(), 0);
    let kept = Kept {
        key,
        stream,
        since: Instant::now(),
    };
    let mut state = KEPT.lock();
    let mut unused = None;
    if state.ended {
        unused = Some(kept);
    } else {
        state.streams.push(kept);
        if state.streams.len() > MOST {
            unused = Some(state.streams.remove(0));
        }
        if !state.closer {
            let closer = thread::Builder::new().name("evener-idle".into());
            state.closer = closer.spawn(close_idle).is_ok();
        }
    }
    drop(state);
    if unused.is_some() {
        py.detach(|| drop(unused));
    }
}

/// Closes streams until none is kept.
fn close_idle() {
    loop {
        thread::sleep(IDLE / 4);
        let mut state = KEPT.lock();
        let old = state
            .streams
            .iter()
            .filter(|kept| kept.since.elapsed() > IDLE);
        let old = old.count();
        let closed: Vec<_> = state.streams.drain(..old).collect();
        state.closer = !state.streams.is_empty();
        let goes_on = state.closer;
        drop(state);
        drop(closed);
        if !goes_on {
            return;
        }
    }
}

/// Closes all streams. If the interpreter `ends`, later ones are not kept.
pub fn close_all(py: Python<'_>, ends: bool) {
    let mut state = KEPT.lock();
    state.ended |= ends;
    let streams = std::mem::take(&mut state.streams);
    drop(state);
    py.detach(|| drop(streams));
}

/// Returns the number of kept streams.
pub fn count() -> usize {
    KEPT.lock().streams.len()
}

/// Forgets all streams in the child of a fork. Their threads do not exist there, and closing a stream would wait for
/// them.
pub fn forked() {
    KEPT.forget();
}
