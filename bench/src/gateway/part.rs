//! Processes around the gateway: each is this program again, and is told what to do by lines on its standard input.

use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::place::{End, Place};
use super::{bare, plain, receivers, sender};
use crate::error::Error;

const WHAT: &str = "takes part in the measurement of the gateway";
/// The argument that begins it.
const COMMAND: [&str; 2] = ["bench", "gateway-part"];

/// What a process does.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Part {
    /// Sends streams.
    Sender(sender::Task),
    /// Asks for streams, and receives them.
    Receivers(receivers::Task),
    /// Does what a gateway has to, and nothing else.
    Bare(bare::Task),
    /// Sends by itself what a gateway would.
    Plain(plain::Task),
}

/// Does what `text` says, the JSON of a [`Part`], until the standard input ends. Each line there is answered with a line of
/// JSON.
///
/// # Errors
/// The text is no part, or the operating system refuses something.
pub fn run(text: &str) -> Result<(), Error> {
    let failed = |reason: String| Error::Process { what: WHAT, reason };
    let part: Part = serde_json::from_str(text).map_err(|error| failed(error.to_string()))?;
    match part {
        Part::Sender(task) => sender::run(task),
        Part::Receivers(task) => receivers::run(task),
        Part::Bare(task) => bare::run(&task),
        Part::Plain(task) => plain::run(&task),
    }
    .map_err(|error| failed(error.to_string()))
}

/// Whether a part goes on, and whether it has been told to begin.
#[derive(Debug, Default)]
pub struct Told {
    begins: AtomicBool,
    ends: AtomicBool,
}

impl Told {
    /// A line with `begin` has come.
    pub fn begins(&self) -> bool {
        self.begins.load(Ordering::Relaxed)
    }

    /// A line with `end` has come, or the standard input is over.
    pub fn ends(&self) -> bool {
        self.ends.load(Ordering::Relaxed)
    }

    /// Runs `work` until it returns, and answers lines meanwhile with what `state` gives.
    pub fn answer<T: Serialize>(
        &self,
        state: impl Fn() -> T + Sync,
        work: impl FnOnce() -> io::Result<()> + Send,
    ) -> io::Result<()> {
        thread::scope(|scope| {
            let works = scope.spawn(work);
            for line in io::stdin().lock().lines() {
                match line?.as_str() {
                    "begin" => self.begins.store(true, Ordering::Relaxed),
                    "end" => self.ends.store(true, Ordering::Relaxed),
                    _ => {}
                }
                let mut out = io::stdout().lock();
                serde_json::to_writer(&mut out, &state())?;
                out.write_all(b"\n")?;
                out.flush()?;
                if works.is_finished() && !self.ends() {
                    break;
                }
            }
            self.ends.store(true, Ordering::Relaxed);
            works.join().expect("the thread does not panic")
        })
    }
}

/// A part that runs, ended on drop.
pub struct Running {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Running {
    /// Starts `program` as `part` at an end.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn start(place: &Place, end: End, program: &Path, part: &Part) -> Result<Running, Error> {
        let text = serde_json::to_string(part).map_err(|error| failed(&error))?;
        let started = place.at(end, move || {
            Command::new(program)
                .args(COMMAND)
                .arg(text)
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
        });
        let mut child = started.map_err(|error| failed(&error))?;
        let output = child.stdout.take().ok_or_else(|| failed(&"no output"))?;
        Ok(Running {
            input: child.stdin.take(),
            output: BufReader::new(output),
            child,
        })
    }

    /// Its process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends a line, and returns the answer.
    ///
    /// # Errors
    /// The process has ended.
    pub fn ask<T: DeserializeOwned>(&mut self, line: &str) -> Result<T, Error> {
        let input = self.input.as_mut().ok_or_else(|| failed(&"no input"))?;
        input
            .write_all(format!("{line}\n").as_bytes())
            .map_err(|error| failed(&error))?;
        let mut answer = String::new();
        self.output
            .read_line(&mut answer)
            .map_err(|error| failed(&error))?;
        serde_json::from_str(&answer).map_err(|_| failed(&"it ended early"))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.input.take());
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn failed(reason: &dyn std::fmt::Display) -> Error {
    Error::Process {
        what: WHAT,
        reason: reason.to_string(),
    }
}
