//! Programs that know nothing of the stack: a library before the C library answers their calls, or this process does.

use std::env;
use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

use super::addresses;
use super::library::{LibraryError, library};
use crate::Stack;
use crate::device::Prefix;
use crate::program::Places;
use crate::supervise::{self, Ending, is_static};

/// A program that is run with its connections in a stack.
#[derive(Clone, Debug)]
pub struct Program {
    /// Its name and arguments.
    pub command: Vec<OsString>,
    /// The Unix socket of the stack.
    pub socket: PathBuf,
    /// Networks beyond those of the stack's addresses that it reaches through the stack.
    pub to: Vec<Prefix>,
    /// Whether it listens at the stack's addresses, too, when it names none.
    pub listen: bool,
    /// Whether this process supervises it though it is linked dynamically.
    pub supervise: bool,
    /// The library that comes before the C library, as the crate `evener-shim` is built.
    pub library: &'static [u8],
}

/// Why a program could not be run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExecError {
    /// There is no library.
    #[error(transparent)]
    Library(#[from] LibraryError),
    /// There is no stack.
    #[error("{path}: no stack answers there: {reason}")]
    NoStack {
        /// Where.
        path: String,
        /// Why.
        reason: io::Error,
    },
    /// The kernel does not notify of system calls.
    #[error(
        "a program that is linked statically needs notifications of seccomp, as Linux 5.14 has them: {0}"
    )]
    NoNotification(io::Error),
    /// The program cannot be run.
    #[error("{program}: cannot be run: {reason}")]
    Program {
        /// Which.
        program: String,
        /// Why.
        reason: io::Error,
    },
}

impl ExecError {
    /// The exit status that shells have for it.
    pub fn exit_code(&self) -> u8 {
        match self {
            ExecError::Program { reason, .. } => match reason.kind() {
                io::ErrorKind::NotFound => 127,
                _ => 126,
            },
            _ => 1,
        }
    }
}

impl Program {
    /// Runs it, and returns how it ended. A program that is linked dynamically takes the place of this process, so this
    /// returns only if that fails. Signals that come to the calling thread are passed on.
    ///
    /// # Errors
    /// There is no stack, no library, no way to supervise, or the program cannot be run.
    pub fn run(&self) -> Result<Ending, ExecError> {
        let (program, arguments) = self.command.split_first().unwrap_or((&NONE, &[]));
        let mut command = Command::new(program);
        command.args(arguments);
        let no_stack = |reason| ExecError::NoStack {
            path: self.socket.display().to_string(),
            reason,
        };
        let failed = |reason| ExecError::Program {
            program: program.display().to_string(),
            reason,
        };
        let is_supervised = self.supervise || is_static(program);
        if is_supervised {
            supervise::available().map_err(ExecError::NoNotification)?;
        }
        let library = (!is_supervised).then(|| library(self.library));
        let library = library.transpose()?;
        let socket = std::path::absolute(&self.socket).map_err(no_stack)?;
        let prefixes = addresses(&socket).map_err(no_stack)?;
        let Some(library) = library else {
            let stack = Stack::attach(&socket).map_err(no_stack)?;
            let places = Places {
                prefixes,
                to: self.to.clone(),
                listen: self.listen,
            };
            return supervise::run(&mut command, stack, places).map_err(failed);
        };
        let texts = |prefixes: &[Prefix]| {
            let texts: Vec<String> = prefixes.iter().map(ToString::to_string).collect();
            texts.join(" ")
        };
        let mut preload = library.into_os_string();
        if let Some(others) = env::var_os("LD_PRELOAD").filter(|others| !others.is_empty()) {
            preload.push(":");
            preload.push(others);
        }
        command
            .env("LD_PRELOAD", preload)
            .env("EVENER_SHIM_SOCKET", socket)
            .env("EVENER_SHIM_ADDRESSES", texts(&prefixes))
            .env("EVENER_SHIM_TO", texts(&self.to))
            .env("EVENER_SHIM_LISTEN", if self.listen { "1" } else { "0" });
        Err(failed(command.exec()))
    }
}

static NONE: OsString = OsString::new();
