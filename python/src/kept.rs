//! Streams that are kept open between calls, so that each call finds what the tuner has learnt.

use std::thread;
use std::time::{Duration, Instant};

use evener_image::Format;
use evener_image::graph::Graph;
use evener_image::open::OpenGraph;
use pyo3::prelude::*;

use crate::forked::ForkLock;
use crate::setup::Setup;

/// A stream that is not used for so long is closed.
const IDLE: Duration = Duration::from_secs(5);
/// How many are kept. Each has threads and private memory of its workers.
const MOST: usize = 4;

static KEPT: ForkLock<State> = ForkLock::new();

#[derive(Default)]
struct State {
    /// The one that was used longest ago first.
    streams: Vec<Kept>,
    /// There is a thread that closes what is idle.
    closer: bool,
    /// The interpreter ends.
    ended: bool,
}

struct Kept {
    key: Key,
    stream: OpenGraph<()>,
    since: Instant,
}

/// What a stream is for. Equal graphs share streams.
#[derive(Clone, Debug, PartialEq)]
pub struct Key {
    pub text: String,
    pub format: Format,
    pub setup: Setup,
}

/// The stream that was kept for `key`, or a new one. It is the caller's alone.
pub fn take(py: Python<'_>, key: &Key, graph: &Graph) -> PyResult<OpenGraph<()>> {
    let mut state = KEPT.lock();
    let at = state.streams.iter().rposition(|kept| kept.key == *key);
    if let Some(at) = at {
        return Ok(state.streams.remove(at).stream);
    }
    drop(state);
    key.setup.open(py, graph, &key.format)
}

/// Keeps a stream in which nothing is under way.
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

/// Closes all; later ones are not kept if the interpreter `ends`.
pub fn close_all(py: Python<'_>, ends: bool) {
    let mut state = KEPT.lock();
    state.ended |= ends;
    let streams = std::mem::take(&mut state.streams);
    drop(state);
    py.detach(|| drop(streams));
}

/// How many are kept.
pub fn count() -> usize {
    KEPT.lock().streams.len()
}

/// In the child of a fork, where the threads of the streams do not exist: they are forgotten, since closing one would wait
/// for them.
pub fn forked() {
    KEPT.forget();
}
