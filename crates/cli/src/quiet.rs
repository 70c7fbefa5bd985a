//! What `--quiet` leaves out: closing lines, notes and progress. Results, warnings and errors stay.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::output::print_err;

static QUIET: AtomicBool = AtomicBool::new(false);

/// From now on only what matters is told.
pub fn set(quiet: bool) {
    QUIET.store(quiet, Ordering::Relaxed);
}

/// Whether only what matters is told.
pub fn is_set() -> bool {
    QUIET.load(Ordering::Relaxed)
}

/// A line on the standard error, unless only what matters is told.
pub fn note(line: &str) {
    if !is_set() {
        print_err(line);
    }
}
