//! Remembered plans of runs at the same time.

use std::fs;
use std::process::Stdio;

use crate::run::{Done, Folder};

#[test]
fn sixteen_runs_at_once_lose_no_plan() {
    let folder = Folder::new();
    let children: Vec<_> = (0..16)
        .map(|n| {
            // A size of its own for each, and so a plan of its own, which is found in a stream that is not too short.
            let line = format!("filter blur -i testsrc:{}x240:1000 -o null:", 320 + 2 * n);
            let mut command = folder.evener(line.split(' '));
            command.stderr(Stdio::piped()).spawn().unwrap()
        })
        .collect();
    for child in children {
        Done::from(child.wait_with_output().unwrap()).succeeded();
    }
    let text = fs::read(folder.path("cache/evener/plans.json")).unwrap();
    let plans: serde_json::Value = serde_json::from_slice(&text).unwrap();
    let keys: Vec<_> = plans["plans"].as_object().unwrap().keys().collect();
    assert_eq!(keys.len(), 16, "{keys:#?}");
}

#[cfg(feature = "bench")]
#[test]
fn plans_that_cannot_be_kept_are_told_once() {
    let folder = Folder::new();
    let nowhere = folder.file("file", "");
    let line =
        "bench filters --graph A --graph B --size 640x480 --frames 200 --workers 1 --json r.json";
    let done = Done::of(
        folder
            .evener(line.split(' '))
            .env("XDG_CACHE_HOME", nowhere),
    );
    let said = &done.succeeded().stderr;
    assert_eq!(said.matches("evener: warning: ").count(), 1, "{said}");
    assert!(
        said.contains("plans cannot be read: Not a directory"),
        "{said}"
    );

    // A directory that is there and cannot be written to, also not by root.
    let cache = folder.path("cache/evener");
    fs::create_dir_all(cache.join("plans.json.lock")).unwrap();
    fs::create_dir(cache.join("plans.json")).unwrap();
    let done = folder.line(line);
    let said = &done.succeeded().stderr;
    assert_eq!(
        said.matches("no file of remembered plans").count(),
        1,
        "{said}"
    );
    assert_eq!(
        said.matches("plans cannot be remembered: Is a directory")
            .count(),
        1,
        "{said}"
    );
}
