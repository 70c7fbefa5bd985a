//! Programs that a library cannot be put before, with their connections in a stack: those that are linked statically, and
//! those that make system calls themselves. The README says how.

mod accept;
mod caller;
mod calls;
mod copy;
mod elf;
mod filter;
mod options;
mod registered;
mod remains;
mod run;
mod socket;
#[allow(unsafe_code)]
mod sys;

use std::io;
use std::process::Command;

use evener_sockets::raise_file_limit;
use rustix::process::Pid;

use crate::Stack;
use crate::program::Places;

pub use elf::is_static;
pub use sys::available;

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// With this status.
    Exit(u8),
    /// By this signal.
    Signal(i32),
}

/// Runs a program, and returns how it ended when its children have ended, too. Signals that come to the calling thread
/// meanwhile are passed on.
///
/// # Errors
/// The program cannot be run, or what the operating system says.
pub fn run(command: &mut Command, stack: Stack, places: Places) -> io::Result<Ending> {
    let signals = sys::Signals::take()?;
    let (child, notifier) = sys::start(command, &signals)?;
    // The program has the limit that it would have otherwise.
    raise_file_limit();
    let child = Pid::from_child(&child);
    run::Supervisor::new(notifier, stack, places)?.run(child, &signals)
}
