//! Every other format, through the `ffmpeg` program: y4m over pipes, one process an input or output.

mod decode;
mod encode;
mod log;
mod probe;
mod running;

pub use decode::Decoder;
pub use encode::Encoder;
pub use running::kill_programs;

use std::ffi::{OsStr, OsString};
use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{ChildStdout, Command, ExitStatus, Output, Stdio};

use evener_files::one_line;

use crate::io::error::Error;
use log::Log;
use running::Running;

/// The programs that decode and encode.
#[derive(Clone, Debug)]
pub struct Tools {
    /// `ffmpeg`, looked for in `PATH` unless it has a slash.
    pub ffmpeg: PathBuf,
    /// `ffprobe`; does not need to be there.
    pub ffprobe: PathBuf,
}

impl Default for Tools {
    fn default() -> Self {
        Tools {
            ffmpeg: "ffmpeg".into(),
            ffprobe: "ffprobe".into(),
        }
    }
}

/// A file name as FFmpeg takes it literally: without the prefix, a leading `-` is an option and `a:b` a protocol.
/// Addresses (`rtsp://…`) stay as they are.
fn file_argument(name: &OsStr) -> OsString {
    if is_address(name) {
        return name.to_owned();
    }
    let mut argument = OsString::from("file:");
    argument.push(name);
    argument
}

/// Whether a name is an address such as `https://…`.
pub(crate) fn is_address(name: &OsStr) -> bool {
    let text = name.to_string_lossy();
    text.split_once("://").is_some_and(|(scheme, _)| {
        !scheme.is_empty()
            && scheme
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b == b'+')
    })
}

/// A command that keeps the terminal's signals to evener: after Ctrl-C evener ends the stream, and with it the program.
fn command(program: &Path, arguments: &[&OsStr]) -> Command {
    let mut command = Command::new(program);
    command
        .args(arguments)
        .env("AV_LOG_FORCE_NOCOLOR", "1")
        .process_group(0);
    command
}

/// Runs a program to its end with its standard output and error kept; `None` if it is not installed.
fn output(name: &str, program: &Path, arguments: &[&OsStr]) -> Result<Option<Output>, Error> {
    let pipes = (Stdio::null(), Stdio::piped());
    let mut process = match Process::start(name, program, arguments, pipes) {
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
            stderr: process.log.all()?,
        })
    };
    read(&mut process)
        .map(Some)
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

/// A running program and what it says. Killed and reaped when dropped.
struct Process {
    running: Running,
    log: Log,
    program: String,
    name: String,
}

impl Process {
    /// Starts `program` with what `pipes` says about its standard input and output. Errors name `name`.
    fn start(
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
        match Running::start(&mut command) {
            Ok(running) => Ok(Process {
                running,
                log,
                program: shown,
                name: name.to_owned(),
            }),
            Err(reason) => Err(not_started(name, program, reason)),
        }
    }

    /// The reading end of its standard output, once.
    fn stdout(&mut self) -> Option<ChildStdout> {
        self.running.child.stdout.take()
    }

    /// Waits for the end of the program, whose pipes must be closed or drained; an error unless it succeeded.
    /// What a program that succeeded had to say is logged as a warning.
    fn wait(&mut self, frames: u64) -> Result<(), Error> {
        match self.running.wait() {
            Ok(status) if status.success() => {
                let said = self.log.last_words();
                if !said.is_empty() {
                    tracing::warn!("{}: {}: {said}", self.name, self.program);
                }
                Ok(())
            }
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

    /// The error of a program that has failed.
    fn failed(&mut self, frames: u64, status: Option<ExitStatus>) -> Error {
        let mut said = self.log.last_words();
        if said.is_empty() {
            said = status.map_or_else(|| "it closed its pipe".to_owned(), |s| s.to_string());
        }
        let (name, program) = (self.name.clone(), self.program.clone());
        Error::Ffmpeg {
            name,
            program,
            frames,
            said,
        }
    }

    /// Gives back room in the log; call it now and then.
    fn trim_log(&mut self) {
        self.log.trim();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_taken_literally_and_addresses_stay() {
        for (name, argument) in [
            ("-y.mp4", "file:-y.mp4"),
            ("a:b.mp4", "file:a:b.mp4"),
            ("/x/y.mp4", "file:/x/y.mp4"),
            ("://x", "file:://x"),
            ("rtsp://host/x", "rtsp://host/x"),
        ] {
            assert_eq!(file_argument(OsStr::new(name)), argument);
        }
    }
}
