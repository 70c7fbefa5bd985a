//! Each test here runs another of this program again, with the variables that it is about.

use std::env;
use std::fs;
use std::process::{Command, Output};

use evener_testing::{Folder, skip};

#[test]
#[ignore = "run by the others"]
fn skips() {
    skip("there is no\nfoo");
}

fn run(folder: &Folder, no_skip: &str) -> Output {
    Command::new(env::current_exe().unwrap())
        .args(["skips", "--exact", "--ignored", "--nocapture"])
        .env("EVENER_SKIPPED", folder.path("skipped"))
        .env("EVENER_NO_SKIP", no_skip)
        .output()
        .unwrap()
}

#[test]
fn a_skipped_test_is_named_in_a_file() {
    let folder = Folder::new();
    for _ in 0..2 {
        let output = run(&folder, "");
        assert!(output.status.success(), "{output:?}");
        assert!(String::from_utf8_lossy(&output.stdout).contains("skipped: there is no\nfoo"));
    }
    let lines = fs::read_to_string(folder.path("skipped")).unwrap();
    assert_eq!(lines, "evener-testing skips: there is no foo\n".repeat(2));
}

#[test]
fn no_test_may_be_skipped_where_that_is_refused() {
    let output = run(&Folder::new(), "1");
    assert!(!output.status.success(), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("EVENER_NO_SKIP=1"));
}
