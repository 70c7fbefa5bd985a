//! Running programs of FFmpeg.

use std::ffi::OsStr;
use std::io::{self, Read};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{ChildStdout, Command, ExitStatus, Output, Stdio};

use evener_files::{error_text, one_line};
use rustix::process::Signal;

use super::child::ManagedChild;
use super::log::Log;
use super::log_line::{Level, LogLine, summary};
use crate::io::error::Error;

/// A command whose process gets no signals of the terminal. After Ctrl-C evener ends the stream, and with it the program.
fn command(program: &Path, arguments: &[&OsStr]) -> Command {
    let mut command = Command::new(program);
    command
        .args(arguments)
        .env("AV_LOG_FORCE_NOCOLOR", "1")
        .process_group(0);
    command
}

/// Runs a program to its end. Returns its output and its messages, or `None` if it is not installed.
pub(super) fn output(
    name: &str,
    program: &Path,
    arguments: &[&OsStr],
    stdin: Stdio,
) -> Result<Option<(Output, Vec<LogLine>)>, Error> {
    let mut process = match Process::start(name, program, arguments, (stdin, Stdio::piped())) {
        Ok(process) => process,
        Err(Error::NoProgram { .. }) => return Ok(None),
        Err(error) => return Err(error),
    };
    let read = |process: &mut Process| -> io::Result<Output> {
        let mut stdout = Vec::new();
        if let Some(mut pipe) = process.stdout() {
            pipe.read_to_end(&mut stdout)?;
        }
        Ok(Output {
            status: process.running.wait()?,
            stdout,
            stderr: Vec::new(),
        })
    };
    read(&mut process)
        .map(|output| Some((output, process.log.lines())))
        .map_err(|reason| not_started(name, program, reason))
}

fn not_started(name: &str, program: &Path, reason: io::Error) -> Error {
    let name = name.to_owned();
    let shown = one_line(&program.to_string_lossy());
    match reason.kind() {
        io::ErrorKind::NotFound => Error::NoProgram {
            name,
            program: shown,
        },
        _ => Error::Program {
            name,
            program: shown,
            reason,
        },
    }
}

/// A running program and its messages. Killed and reaped when dropped.
pub(super) struct Process {
    pub(super) running: ManagedChild,
    log: Log,
    program: String,
    name: String,
    /// The name of a temporary file, which messages do not show.
    temporary: Option<String>,
}

impl Process {
    /// Starts `program` with `pipes` as its standard input and output. Errors name `name`.
    pub(super) fn start(
        name: &str,
        program: &Path,
        arguments: &[&OsStr],
        pipes: (Stdio, Stdio),
    ) -> Result<Process, Error> {
        let shown = one_line(&program.to_string_lossy());
        let failed = |reason| Error::Program {
            name: name.to_owned(),
            program: shown.clone(),
            reason,
        };
        let log = Log::new().map_err(failed)?;
        let stderr = log.stdio().map_err(failed)?;
        let mut command = command(program, arguments);
        command.stdin(pipes.0).stdout(pipes.1).stderr(stderr);
        match ManagedChild::start(&mut command) {
            Ok(running) => Ok(Process {
                running,
                log,
                program: shown,
                name: name.to_owned(),
                temporary: None,
            }),
            Err(reason) => Err(not_started(name, program, reason)),
        }
    }

    /// The reading end of its standard output, once.
    pub(super) fn stdout(&mut self) -> Option<ChildStdout> {
        self.running.child.stdout.take()
    }

    /// Sets the path of a temporary file, which messages replace by the name of the output.
    pub(super) fn hide(&mut self, file: &Path) {
        self.temporary = Some(file.to_string_lossy().into_owned());
    }

    /// Waits for the end of the program, whose pipes must be closed or drained. Returns its messages, or an error unless it
    /// succeeded.
    pub(super) fn wait(&mut self, frames: u64) -> Result<Vec<LogLine>, Error> {
        match self.running.wait() {
            Ok(status) if status.success() => Ok(self.lines()),
            Ok(status) => Err(self.failed(frames, Some(status))),
            Err(reason) => {
                let (name, program) = (self.name.clone(), self.program.clone());
                Err(Error::Program {
                    name,
                    program,
                    reason,
                })
            }
        }
    }

    /// [`Process::wait`] for one that writes a file, which is an error too if that is not whole: on a full disk FFmpeg may say
    /// so and succeed.
    pub(super) fn wait_written(&mut self, frames: u64) -> Result<Vec<LogLine>, Error> {
        let said = self.wait(frames)?;
        match said.iter().any(LogLine::tells_of_a_cut_output) {
            true => Err(self.failed(frames, None)),
            false => Ok(said),
        }
    }

    /// Logs the errors of a program that succeeded as a warning.
    pub(super) fn warn(&self, said: &[LogLine]) {
        if said.iter().any(|line| line.level == Level::Error) {
            tracing::warn!("{}: {}: {}", self.name, self.program, summary(said));
        }
    }

    /// The error of a program that has failed.
    pub(super) fn failed(&mut self, frames: u64, status: Option<ExitStatus>) -> Error {
        let lines = self.lines();
        let mut said = summary(lines.iter().filter(|line| line.level > Level::Info));
        if status.and_then(|s| s.signal()) == Some(Signal::XFSZ.as_raw()) {
            said = error_text(&io::Error::from(io::ErrorKind::FileTooLarge));
        }
        if said.is_empty() {
            said = status.map_or_else(|| "it closed its pipe".to_owned(), |s| s.to_string());
        }
        said.push_str(advice(&said));
        // Frames for an output that never began have nothing to do with it.
        let began = lines.iter().any(|l| l.text.starts_with("Output #0"));
        let frames = match self.temporary {
            Some(_) if !began => 0,
            _ => frames,
        };
        let (name, program) = (self.name.clone(), self.program.clone());
        Error::Ffmpeg {
            name,
            program,
            frames,
            said,
        }
    }

    /// Its messages so far.
    fn lines(&self) -> Vec<LogLine> {
        let mut lines = self.log.lines();
        if let Some(temporary) = &self.temporary {
            for line in &mut lines {
                line.text = line
                    .text
                    .replace(&format!("file:{temporary}"), &self.name)
                    .replace(temporary.as_str(), &self.name);
            }
        }
        lines
    }

    /// Frees room of a long log; call it now and then.
    pub(super) fn trim_log(&mut self) {
        self.log.trim();
    }
}

/// What to do about some failures, to be added to FFmpeg's words.
fn advice(said: &str) -> &'static str {
    const ADVICE: [(&[&str], &str); 2] = [
        (
            &[
                "not divisible by 2",
                "must be multiple of 2",
                "integer multiple of the specified chroma subsampling",
            ],
            "; make the sides even, as by `scale=-2:-2`, `crop` or `pad` at the end of the graph",
        ),
        (
            &["No space left on device", "ile too large", "quota exceeded"],
            "; free some space or write elsewhere",
        ),
    ];
    let fits = |words: &&[&str]| words.iter().any(|word| said.contains(word));
    let mut found = ADVICE.iter().filter(|(words, _)| fits(words));
    found.next().map_or("", |(_, advice)| advice)
}
