//! How the process ends.

use std::process;

use evener_files::remove_unfinished;
use evener_image::io::ffmpeg::kill_programs;
use signal_hook::low_level::emulate_default_handler;

use crate::progress;
use crate::terminal::restore;

/// The exit status for the parent process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// An exit status.
    Exit(u8),
    /// Ended by a signal. Shells and scripts stop then, as if the signal had not been caught.
    Signal(i32),
}

/// Success.
pub const DONE: Status = Status::Exit(0);

impl Status {
    /// Ends the process. Kills the programs it started, removes unfinished files and the progress bar, and restores the
    /// terminal.
    pub fn end(self) -> ! {
        progress::leave();
        // A thread that is blocked in a read still owns the program from which it reads.
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
