//! Ctrl-C and its kin: the first ends the stream with all it has done so far, the second ends the process.

use std::io;
use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::thread;

use evener_files::remove_unfinished;
use evener_image::io::ffmpeg::kill_programs;
use evener_runtime::CancelToken;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::iterator::Signals as Iterator;

use crate::failure::{DONE, Ended, Failure};

/// Signals from here to the end of the process.
pub struct Signals {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    token: CancelToken,
    /// A stream runs, which the token can end.
    streaming: AtomicBool,
    /// The exit status of the first signal; 0 before.
    status: AtomicU8,
}

impl Signals {
    /// Takes signals over. Until [`Signals::streaming`] they end the process at once.
    pub fn take() -> Result<Signals, Failure> {
        let failed = |error: io::Error| Failure::running(format!("cannot take signals: {error}"));
        let ends = [SIGINT, SIGTERM, SIGHUP];
        // One that is ignored from the start, as by nohup or by a shell in the background, stays so.
        let ends = ends.into_iter().filter(|&signal| !is_ignored(signal));
        // A file that grows beyond a limit is an error of writing and no reason to die.
        let mut signals = Iterator::new(ends.chain([SIGXFSZ])).map_err(failed)?;
        let shared = Arc::new(Shared::default());
        let state = Arc::clone(&shared);
        thread::Builder::new()
            .name("evener-signals".into())
            .spawn(move || signals.forever().for_each(|signal| state.got(signal)))
            .map_err(failed)?;
        Ok(Signals { shared })
    }

    /// What ends the stream.
    pub fn token(&self) -> CancelToken {
        self.shared.token.clone()
    }

    /// From now on the first signal ends the stream, not the process.
    pub fn streaming(&self) {
        self.shared.streaming.store(true, Ordering::SeqCst);
    }

    /// The exit status that a signal asks for, if there was one.
    pub fn status(&self) -> Option<u8> {
        Some(self.shared.status.load(Ordering::SeqCst)).filter(|&status| status != 0)
    }

    /// How a run ends in which nothing went wrong.
    pub fn ended(&self) -> Ended {
        Ok(self.status().unwrap_or(DONE))
    }

    /// How a run ends that failed: what a signal asks for goes before.
    pub fn failed(&self, error: impl Into<Failure>) -> Failure {
        let failure = error.into();
        match self.status() {
            Some(status) => failure.with_status(status),
            None => failure,
        }
    }
}

impl Shared {
    fn got(&self, signal: i32) {
        if signal == SIGXFSZ {
            return;
        }
        let status = 128 + signal as u8;
        let again = self.status.swap(status, Ordering::SeqCst) != 0;
        if again || !self.streaming.load(Ordering::SeqCst) {
            kill_programs();
            remove_unfinished();
            process::exit(status.into());
        }
        self.token.cancel();
    }
}

/// Whether the process was started with a signal ignored: `SigIgn` of `/proc/self/status`, see proc_pid_status(5).
fn is_ignored(signal: i32) -> bool {
    let Ok(status) = std::fs::read_to_string("/proc/self/status") else {
        return false;
    };
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}
