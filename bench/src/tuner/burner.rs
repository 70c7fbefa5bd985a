//! Another process that keeps one processor busy.

use std::hint::black_box;
use std::io::{BufRead, BufReader};
use std::os::unix::process::parent_id;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use crate::error::Error;

const WHAT: &str = "keeps a processor busy";
/// A burner ends by itself after so many seconds, should nobody end it.
const LONGEST_S: u64 = 120;
/// Time between two looks at the clock.
const STEPS: u32 = 100_000;

/// Computes until `time` is over or who started it has gone; `ready` is called when it has begun.
pub fn burn<E>(time: Duration, ready: impl FnOnce() -> Result<(), E>) -> Result<(), E> {
    let begin = Instant::now();
    let mut x = 1u64;
    let mut steps = || {
        for _ in 0..STEPS {
            x = black_box(x).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        }
    };
    steps();
    ready()?;
    let starter = parent_id();
    while begin.elapsed() < time && parent_id() == starter {
        steps();
    }
    Ok(())
}

/// A running process, ended on drop.
pub(super) struct Burner(Child);

impl Burner {
    /// Starts `program bench burn` and waits until it computes.
    pub(super) fn start(program: &Path) -> Result<Burner, Error> {
        let failed = |reason: String| Error::Process { what: WHAT, reason };
        let mut command = Command::new(program);
        command
            .args(["bench", "burn", "--seconds", &LONGEST_S.to_string()])
            .stdin(Stdio::null())
            .stdout(Stdio::piped());
        let child = command.spawn().map_err(|e| failed(e.to_string()))?;
        let mut burner = Burner(child);
        let mut line = String::new();
        let out = burner.0.stdout.take();
        let read = out.map(|out| BufReader::new(out).read_line(&mut line));
        match read {
            Some(Ok(1..)) => Ok(burner),
            Some(Err(error)) => Err(failed(error.to_string())),
            Some(Ok(0)) | None => Err(failed("ended before it began".into())),
        }
    }
}

impl Drop for Burner {
    fn drop(&mut self) {
        // One that has ended already cannot be killed, and is still waited for.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts and ends burners from a thread of its own: a process may run where the thread may that starts it, and one of
/// a stream may be kept to a processor.
pub(super) struct Stoker {
    orders: Sender<bool>,
    started: Receiver<Result<(), Error>>,
}

impl Stoker {
    /// One that starts `program bench burn`.
    pub(super) fn new(program: &Path) -> Stoker {
        let program = program.to_owned();
        let (orders, ordered) = channel();
        let (told, started) = channel();
        thread::spawn(move || {
            let mut burner = None;
            for burns in ordered {
                drop(burner.take());
                let outcome = match burns {
                    true => Burner::start(&program).map(|started| burner = Some(started)),
                    false => Ok(()),
                };
                if told.send(outcome).is_err() {
                    return;
                }
            }
        });
        Stoker { orders, started }
    }

    /// Starts a burner and waits until it computes, or ends the one there is.
    pub(super) fn burn(&self, burns: bool) -> Result<(), Error> {
        let ordered = self.orders.send(burns).ok();
        let outcome = ordered.and_then(|()| self.started.recv().ok());
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
    fn burning_takes_as_long_as_it_is_told() {
        let begin = Instant::now();
        let mut told = None;
        let time = Duration::from_millis(20);
        let ended: Result<(), ()> = burn(time, || {
            told = Some(begin.elapsed());
            Ok(())
        });
        assert_eq!(ended, Ok(()));
        assert!(told < Some(begin.elapsed()) && told.is_some());
        assert!(begin.elapsed() >= time);
    }

    #[test]
    fn a_program_that_is_not_there_is_an_error() {
        let error = Burner::start(Path::new("/nonexistent")).err().unwrap();
        assert!(
            error.to_string().contains("keeps a processor busy"),
            "{error}"
        );
    }
}
