//! Ctrl-C and similar signals: the first one ends the stream and keeps its output so far, the second one ends the process.
//!
//! The first one ends the process, too, if the stream cannot end because the reader of its output does not read.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use evener_files::StallDetector;
use evener_runtime::CancelToken;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGXFSZ};
use signal_hook::iterator::Signals as SignalIterator;

use crate::failure::{DONE, Failure, Status};
use crate::ignored::is_ignored;

/// Time between two polls after the first signal.
const POLL_EVERY: Duration = Duration::from_millis(50);
/// Polls after which a write that blocks at all of them is not waited for any longer.
const STALLED_POLLS: u32 = 10;

/// Handling of signals until the end of the process.
pub struct Signals {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    token: CancelToken,
    /// Whether a stream runs, which the token can end.
    streaming: AtomicBool,
    /// The first signal, or 0.
    first: AtomicI32,
    /// What SIGHUP does; without it, it ends the stream.
    on_hangup: Mutex<Option<Box<dyn FnMut() + Send>>>,
}

impl Signals {
    /// Installs handlers. Until [`Signals::streaming`] signals end the process at once.
    pub fn take() -> Result<Signals, Failure> {
        let failed = |error: io::Error| Failure::running(format!("cannot take signals: {error}"));
        let ends = [SIGINT, SIGTERM, SIGHUP, SIGQUIT];
        // A signal that the parent had ignored, such as nohup or a shell in the background, stays ignored.
        let ends = ends.into_iter().filter(|&signal| !is_ignored(signal));
        // A file that exceeds its limit is an error of writing, so the signal must not end the process.
        let signals = SignalIterator::new(ends.chain([SIGXFSZ])).map_err(failed)?;
        let shared = Arc::new(Shared::default());
        let state = Arc::clone(&shared);
        thread::Builder::new()
            .name("evener-signals".into())
            .spawn(move || state.watch(signals))
            .map_err(failed)?;
        Ok(Signals { shared })
    }

    /// The token that ends the stream.
    pub fn token(&self) -> CancelToken {
        self.shared.token.clone()
    }

    /// From now on the first signal ends the stream, not the process.
    pub fn streaming(&self) {
        self.shared.streaming.store(true, Ordering::SeqCst);
    }

    /// From now on SIGHUP does this, and ends nothing.
    pub fn on_hangup(&self, act: impl FnMut() + Send + 'static) {
        *self.shared.on_hangup() = Some(Box::new(act));
    }

    /// The status for the first signal, if there was one.
    pub fn status(&self) -> Option<Status> {
        self.shared.first().map(Status::Signal)
    }

    /// The status of a server without failures. SIGTERM is the usual way to end it, so it counts as success.
    pub fn served(&self) -> Status {
        match self.shared.first() {
            Some(SIGTERM) | None => DONE,
            Some(signal) => Status::Signal(signal),
        }
    }

    /// A failure with the status of the signal, if there was one.
    pub fn failed(&self, error: impl Into<Failure>) -> Failure {
        let failure = error.into();
        match self.status() {
            Some(status) => failure.with_status(status),
            None => failure,
        }
    }
}

impl Shared {
    fn first(&self) -> Option<i32> {
        Some(self.first.load(Ordering::SeqCst)).filter(|&signal| signal != 0)
    }

    fn on_hangup(&self) -> MutexGuard<'_, Option<Box<dyn FnMut() + Send>>> {
        (self.on_hangup.lock()).unwrap_or_else(PoisonError::into_inner)
    }

    /// Handles signals until the process ends.
    fn watch(&self, mut signals: SignalIterator) {
        for signal in signals.forever() {
            self.on_signal(signal);
            if self.first().is_some() {
                break;
            }
        }
        let mut detector = StallDetector::default();
        loop {
            thread::sleep(POLL_EVERY);
            signals.pending().for_each(|signal| self.on_signal(signal));
            if let Some(signal) = self.first()
                && detector.check() >= STALLED_POLLS
            {
                Status::Signal(signal).end();
            }
        }
    }

    fn on_signal(&self, signal: i32) {
        if signal == SIGXFSZ {
            return;
        }
        if signal == SIGHUP
            && let Some(act) = &mut *self.on_hangup()
        {
            return act();
        }
        let none_before =
            self.first
                .compare_exchange(0, signal, Ordering::SeqCst, Ordering::SeqCst);
        let streaming = self.streaming.load(Ordering::SeqCst);
        if none_before.is_err() || signal == SIGQUIT || !streaming {
            Status::Signal(signal).end();
        }
        self.token.cancel();
    }
}
