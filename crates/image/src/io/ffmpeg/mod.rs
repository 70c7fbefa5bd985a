//! Every other format, through the `ffmpeg` program: y4m over pipes, one process an input or output.

mod child;
mod damage;
mod decode;
mod encode;
mod kind;
mod log;
mod log_line;
mod mux;
mod origin;
mod pixels;
mod probe;

pub use child::kill_programs;
pub use decode::Decoder;
pub use encode::Encoder;
pub(crate) use kind::Kind;
pub use origin::Origin;

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{ChildStdout, Command, ExitStatus, Output, Stdio};

use evener_files::{Error as FileError, one_line};

use crate::io::error::Error;
use child::ManagedChild;
use log::Log;
use log_line::{Level, LogLine, summary};

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

/// A file to read, as FFmpeg takes it literally.
struct FileArgument {
    argument: OsString,
    stdin: Stdio,
}

impl FileArgument {
    /// A name with a `%` may be a pattern to FFmpeg, and it would read other files: such a file is passed open.
    fn of(name: &str, input: &OsStr) -> Result<FileArgument, Error> {
        if !input.as_encoded_bytes().contains(&b'%') || is_address(input) {
            return Ok(FileArgument {
                argument: file_argument(input),
                stdin: Stdio::null(),
            });
        }
        let opened = File::open(input).map_err(|reason| FileError::Open {
            name: name.to_owned(),
            reason,
        })?;
        Ok(FileArgument {
            argument: "file:/dev/stdin".into(),
            stdin: opened.into(),
        })
    }
}

/// A file name as FFmpeg takes it: without the prefix, a leading `-` is an option and `a:b` a protocol. Addresses
/// (`rtsp://…`) stay as they are.
fn file_argument(name: &OsStr) -> OsString {
    if is_address(name) {
        return name.to_owned();
    }
    let mut argument = OsString::from("file:");
    argument.push(name);
    argument
}

/// Arguments without white space in them.
fn split_args(text: &str) -> Vec<OsString> {
    text.split_whitespace().map(OsString::from).collect()
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

/// Whether a program can be found: named with a slash, or in `PATH`.
fn is_installed(program: &Path) -> bool {
    let is_there = |path: &Path| path.is_file();
    match program.components().count() {
        0 | 1 => std::env::var_os("PATH").is_some_and(|path| {
            std::env::split_paths(&path).any(|folder| is_there(&folder.join(program)))
        }),
        _ => is_there(program),
    }
}

/// Runs a program to its end with its standard output and what it said kept; `None` if it is not installed.
fn output(
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

/// A running program and what it says. Killed and reaped when dropped.
struct Process {
    running: ManagedChild,
    log: Log,
    program: String,
    name: String,
    /// The name of a temporary file, which messages do not show.
    temporary: Option<String>,
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
    fn stdout(&mut self) -> Option<ChildStdout> {
        self.running.child.stdout.take()
    }

    /// Says that what it calls `file` is what messages call by its name.
    fn hide(&mut self, file: &Path) {
        self.temporary = Some(file.to_string_lossy().into_owned());
    }

    /// Waits for the end of the program, whose pipes must be closed or drained; an error unless it succeeded. What it
    /// said all the same.
    fn wait(&mut self, frames: u64) -> Result<Vec<LogLine>, Error> {
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

    /// Logs what a program that succeeded had to complain about as a warning.
    fn warn(&self, said: &[LogLine]) {
        if said.iter().any(|line| line.level == Level::Error) {
            tracing::warn!("{}: {}: {}", self.name, self.program, summary(said));
        }
    }

    /// The error of a program that has failed.
    fn failed(&mut self, frames: u64, status: Option<ExitStatus>) -> Error {
        let mut said = summary(&self.lines());
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

    /// What it said so far.
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
