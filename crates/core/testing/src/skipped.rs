//! Tests that cannot run on a machine, which say so.

use std::env;
use std::fmt::Display;
use std::fs::OpenOptions;
use std::io::Write;
use std::thread;

/// Names a file to which each skipped test adds a line. `./ci.sh` sets it, and prints the lines at its end.
const FILE: &str = "EVENER_SKIPPED";
/// `1` makes a skipped test a failure.
const REFUSED: &str = "EVENER_NO_SKIP";

/// Says that the running test, or a part of it, is skipped, and why. The caller returns after it. Cargo hides what a test
/// that passes prints, so the line is also added to the file that `EVENER_SKIPPED` names.
///
/// # Panics
/// With `EVENER_NO_SKIP=1`, or if the file cannot be written.
#[track_caller]
pub fn skip(why: impl Display) {
    println!("skipped: {why}");
    if let Some(file) = env::var_os(FILE) {
        let line = line(&why.to_string());
        let file = OpenOptions::new().append(true).create(true).open(file);
        let written = file.and_then(|mut file| file.write_all(line.as_bytes()));
        written.expect("the file that EVENER_SKIPPED names can be written");
    }
    let refused = env::var_os(REFUSED).is_some_and(|value| value == "1");
    assert!(
        !refused,
        "skipped: {why}; EVENER_NO_SKIP=1 makes that a failure"
    );
}

/// One line, written at once, so that lines of several tests do not mix.
fn line(why: &str) -> String {
    let package = env::var("CARGO_PKG_NAME").unwrap_or_default();
    let thread = thread::current();
    let test = thread.name().unwrap_or("a thread of a test");
    let why = why.split_whitespace().collect::<Vec<_>>().join(" ");
    format!("{package} {test}: {why}\n")
}
