//! How the process ends.

use std::process;

use evener_files::remove_unfinished;
use evener_image::io::ffmpeg::kill_programs;
use signal_hook::low_level::emulate_default_handler;

use crate::progress;
use crate::terminal::restore;

/// What the parent of the process sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// An exit status.
    Exit(u8),
    /// A signal ended it: to shells and scripts, which stop then, the same as if nothing had caught it.
    Signal(i32),
}

/// A command did what was asked.
pub const DONE: Status = Status::Exit(0);

impl Status {
    /// Ends the process. Neither a program it started, an unfinished file nor a progress bar stays, and the terminal is as
    /// it was.
    pub fn end(self) -> ! {
        progress::leave();
        // A thread that was left inside a read still owns the program it reads from.
        kill_programs();
        remove_unfinished();
        restore();
        match self {
            Status::Exit(code) => process::exit(code.into()),
            Status::Signal(signal) => {
                // The first process of a container cannot be ended by a signal it does not handle.
                if process::id() != 1 {
                    let _ = emulate_default_handler(signal);
                }
                process::exit(128 + signal)
            }
        }
    }
}
