//! Lines on the standard error. `--quiet` leaves out notes, closing lines and progress; warnings and errors stay.

use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use evener_files::blocking_call;

static QUIET: AtomicBool = AtomicBool::new(false);

/// Sets `--quiet`.
pub fn set_quiet(quiet: bool) {
    QUIET.store(quiet, Ordering::Relaxed);
}

/// Whether `--quiet` is set.
pub fn is_quiet() -> bool {
    QUIET.load(Ordering::Relaxed)
}

/// Prints a line, in one write, so that lines of several processes do not mix. If that fails there is no place left to
/// report it.
pub fn print_err(line: &str) {
    let line = format!("{line}\n");
    let _ = blocking_call(|| io::stderr().lock().write_all(line.as_bytes()));
}

/// Prints a line unless `--quiet` is set.
pub fn note(line: &str) {
    if !is_quiet() {
        print_err(line);
    }
}
