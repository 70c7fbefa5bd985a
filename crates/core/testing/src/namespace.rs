//! Tests that have a network to themselves.

use std::env;
use std::process::Command;

/// Set in the process that a test runs in.
const INSIDE: &str = "EVENER_TEST_NAMESPACE";

/// Runs the test of this name again, in a process with new namespaces, where `body` is what it does. Says aloud that it
/// is skipped where there are none.
///
/// # Panics
/// If the test fails there.
pub fn run(name: &str, body: impl FnOnce()) {
    run_with(&["--user", "--map-root-user", "--net"], name, body);
}

/// The same for what only the administrator of the machine may do, which one of a user namespace is not: programs of BPF.
///
/// # Panics
/// If the test fails there.
pub fn run_as_administrator(name: &str, body: impl FnOnce()) {
    run_with(&["--net"], name, body);
}

fn run_with(namespaces: &[&str], name: &str, body: impl FnOnce()) {
    if env::var_os(INSIDE).is_some() {
        return body();
    }
    let unshare = || {
        let mut command = Command::new("unshare");
        command.args(namespaces).arg("--");
        command
    };
    let possible = unshare()
        .args(["test", "-r", "/dev/net/tun", "-a", "-w", "/dev/net/tun"])
        .status();
    if !possible.is_ok_and(|status| status.success()) {
        crate::skip("no network namespace with /dev/net/tun can be made here");
        return;
    }
    let program = env::current_exe().expect("the path of this program");
    let output = unshare()
        .arg(program)
        .args([name, "--exact", "--nocapture"])
        .env(INSIDE, "1")
        .output()
        .expect("a process in a namespace");
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}{errors}");
    assert!(text.contains("1 passed"), "no test has the name {name}");
    for line in text.lines().filter(|line| line.starts_with("skipped")) {
        println!("{line}");
    }
}
