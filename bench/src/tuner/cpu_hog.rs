//! A process that keeps one processor busy.

use std::hint::black_box;
use std::io::{BufRead, BufReader};
use std::os::unix::process::parent_id;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use crate::error::Error;

const WHAT: &str = "keeps a CPU busy";
/// Seconds after which a hog ends by itself, if it is not ended before.
const LONGEST_S: u64 = 120;
/// Multiplications between two looks at the clock.
const STEPS: u32 = 100_000;

/// Computes for `time`, or until the parent process ends; calls `ready` once it has begun.
///
/// # Errors
/// Those of `ready`.
pub fn run<E>(time: Duration, ready: impl FnOnce() -> Result<(), E>) -> Result<(), E> {
    let begin = Instant::now();
    let mut x = 1u64;
    let mut steps = || {
        for _ in 0..STEPS {
            x = black_box(x).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        }
    };
    steps();
    ready()?;
    let parent = parent_id();
    while begin.elapsed() < time && parent_id() == parent {
        steps();
    }
    Ok(())
}

/// A running process, ended on drop.
pub(super) struct CpuHog(Child);

impl CpuHog {
    /// Starts `program bench cpu-hog` and waits until it computes.
    pub(super) fn start(program: &Path) -> Result<CpuHog, Error> {
        let failed = |reason: String| Error::Process { what: WHAT, reason };
        let mut command = Command::new(program);
        command
            .args(["bench", "cpu-hog", "--seconds", &LONGEST_S.to_string()])
            .stdin(Stdio::null())
            .stdout(Stdio::piped());
        let child = command.spawn().map_err(|e| failed(e.to_string()))?;
        let mut hog = CpuHog(child);
        let mut line = String::new();
        let out = hog.0.stdout.take();
        let read = out.map(|out| BufReader::new(out).read_line(&mut line));
        match read {
            Some(Ok(1..)) => Ok(hog),
            Some(Err(error)) => Err(failed(error.to_string())),
            Some(Ok(0)) | None => Err(failed("ended before it began".into())),
        }
    }
}

impl Drop for CpuHog {
    fn drop(&mut self) {
        // Killing fails if it has ended already; it still has to be reaped.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts and ends a hog from a thread of its own. A child process inherits the affinity of the thread that starts it, and
/// the threads of a stream may be pinned.
pub(super) struct HogController {
    commands: Sender<bool>,
    outcomes: Receiver<Result<(), Error>>,
}

impl HogController {
    /// For hogs of `program`.
    pub(super) fn new(program: &Path) -> HogController {
        let program = program.to_owned();
        let (commands, received) = channel();
        let (sender, outcomes) = channel();
        thread::spawn(move || {
            let mut hog = None;
            for runs in received {
                drop(hog.take());
                let outcome = match runs {
                    true => CpuHog::start(&program).map(|started| hog = Some(started)),
                    false => Ok(()),
                };
                if sender.send(outcome).is_err() {
                    return;
                }
            }
        });
        HogController { commands, outcomes }
    }

    /// Starts a hog and waits until it computes, or ends the one that runs.
    pub(super) fn set(&self, runs: bool) -> Result<(), Error> {
        let sent = self.commands.send(runs).ok();
        let outcome = sent.and_then(|()| self.outcomes.recv().ok());
        outcome.unwrap_or_else(|| {
            Err(Error::Process {
                what: WHAT,
                reason: "the thread that starts it has ended".into(),
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hog_runs_for_the_given_time() {
        let begin = Instant::now();
        let mut ready = None;
        let time = Duration::from_millis(20);
        let ended: Result<(), ()> = run(time, || {
            ready = Some(begin.elapsed());
            Ok(())
        });
        assert_eq!(ended, Ok(()));
        assert!(ready.is_some() && ready < Some(begin.elapsed()));
        assert!(begin.elapsed() >= time);
    }

    #[test]
    fn a_program_that_is_not_there_is_an_error() {
        let error = CpuHog::start(Path::new("/nonexistent")).err().unwrap();
        assert!(error.to_string().contains("keeps a CPU busy"), "{error}");
    }
}
