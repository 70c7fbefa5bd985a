//! What is told about a run.

use std::fs;
use std::process::Stdio;

use rustix::process::Signal;
use serde_json::Value;

use crate::run::Folder;
use crate::signals::{ended, is_ignored, send, wait_for_output};

fn json(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).unwrap()
}

#[test]
fn one_line_at_the_end() {
    let folder = Folder::new();
    let line = "filter blur -i testsrc:64x48:30 -o out.y4m --plan tiled/steal/12 --workers 1";
    let done = folder.line(line);
    let said = done.succeeded().stderr.trim_end();
    assert!(
        said.starts_with("out.y4m: 30 frames") && !said.contains('\u{b7}'),
        "{said}"
    );
    assert!(!said.contains('\n') && done.stdout.is_empty());
}

#[test]
fn the_gain_over_sequential_is_measured_or_said_to_be_predicted() {
    let folder = Folder::new();
    let line = "filter blur,sobel -i testsrc:320x240:300 -o null: --json - --no-memory --explain";
    let done = folder.line(line);
    let report = json(&done.succeeded().stdout);
    let gain = &report["gain"];
    assert!(gain["factor"].as_f64().unwrap() > 0.0, "{report}");
    let ran = done.stderr.lines().find(|line| line.starts_with("ran  "));
    let predicted = ran.unwrap().ends_with("x sequential as predicted");
    assert_eq!(
        gain["measured"].as_bool(),
        Some(!predicted),
        "{}",
        done.stderr
    );
}

#[test]
fn programs_get_json() {
    let folder = Folder::new();
    let line = "filter blur,sobel -i testsrc:64x48:30 -o out.y4m --json";
    folder.line(&format!("{line} r.json")).succeeded();
    let file = json(&fs::read(folder.path("r.json")).unwrap());
    let stdout = json(&folder.line(&format!("{line} -")).succeeded().stdout);
    for report in [file, stdout] {
        assert_eq!(report["units"], 30);
        assert_eq!(report["dropped"], 0);
        assert_eq!(report["cancelled"], false);
        assert_eq!(report["names"]["units"], "frames");
        assert!(report["units_per_s"].as_f64().unwrap() > 0.0);
        assert!(report["plan"]["structure"].is_string());
        assert!(
            report["service"]
                .as_str()
                .unwrap()
                .starts_with("blur,sobel | 64x48 ")
        );
        assert!(!report["decisions"].as_array().unwrap().is_empty());
    }
    assert_eq!(folder.names(), ["out.y4m", "r.json"]);
}

#[test]
fn explanations_say_what_is_computed_and_why() {
    let folder = Folder::new();
    let line =
        "filter undistort,rotate=6,threshold -i testsrc:320x240:40 -o null: --explain --no-memory";
    let said = folder.line(line).succeeded().stderr.clone();
    for part in [
        "testsrc:320x240:40: 320x240 4:2:0 8 bits, 25 fps, 40 frames",
        "output  null:",
        "rotate=degrees=6",
        "luma    320x240 > undistort 320x240 > rotate 320x240 > threshold 320x240",
        "a tile of ",
        " of undistort, ",
        " of the input",
        "private cache",
        "chroma  160x120 of 0.5 everywhere",
        "start: ",
        "\n40 frames",
    ] {
        assert!(said.contains(part), "no '{part}' in:\n{said}");
    }
    let fixed = folder.line("filter blur -i testsrc:64x48:5 -o null: --explain --plan tiled");
    assert!(
        fixed.succeeded().stderr.contains("as asked for"),
        "{}",
        fixed.stderr
    );
}

#[test]
fn a_trace_shows_the_workers() {
    let folder = Folder::new();
    let line =
        "filter blur -i testsrc:320x240:20 -o out.y4m --trace t.json --workers 2 --plan tiled";
    folder.line(line).succeeded();
    let trace = json(&fs::read(folder.path("t.json")).unwrap());
    let events = trace["traceEvents"].as_array().unwrap();
    let spans = |name: &str| {
        events
            .iter()
            .filter(|e| e["ph"] == "X" && e["name"] == name)
            .count()
    };
    assert_eq!(spans("read"), 21);
    assert_eq!(spans("write"), 20);
    assert!(spans("tiled") >= 20);
    assert_eq!(folder.names(), ["out.y4m", "t.json"]);
}

#[test]
fn plans_are_remembered_unless_told_otherwise() {
    let folder = Folder::new();
    let line = "filter blur,sobel -i testsrc:320x240:60 -o null: --explain";
    folder.line(&format!("{line} --no-memory")).succeeded();
    assert!(!folder.path("cache/evener/plans.json").exists());
    folder.line(line).succeeded();
    assert!(folder.path("cache/evener/plans.json").exists());
    let again = folder.line(line).succeeded().stderr.clone();
    assert!(again.contains("which won before"), "{again}");
    let none = folder
        .line(&format!("{line} --no-memory"))
        .succeeded()
        .stderr
        .clone();
    assert!(!none.contains("which won before"), "{none}");
}

#[test]
fn an_affinity_the_machine_cannot_give_is_told() {
    let folder = Folder::new();
    let line = "filter blur -i testsrc:64x48:5 -o null: --affinity module-diff --json -";
    let done = folder.line(line);
    let report = json(&done.succeeded().stdout);
    assert_eq!(report["placement"], "module-diff");
    match report["placement_note"].as_str() {
        Some(note) => assert!(
            done.stderr.contains(&format!("evener: note: {note}")),
            "{}",
            done.stderr
        ),
        None => assert!(!done.stderr.contains("note"), "{}", done.stderr),
    }
}

#[test]
fn logging_is_off_until_asked_for() {
    let folder = Folder::new();
    let line = "filter blur -i testsrc:64x48:5 -o null: --plan tiled";
    let quiet = folder.line(line);
    assert_eq!(
        quiet.succeeded().stderr.lines().count(),
        1,
        "{}",
        quiet.stderr
    );
    let folder_of_plans = folder.file("file", "");
    let warned = folder
        .evener("filter blur -i testsrc:640x480:200 -o null:".split(' '))
        .env("XDG_CACHE_HOME", &folder_of_plans)
        .output()
        .unwrap();
    let said = String::from_utf8(warned.stderr).unwrap();
    assert_eq!(warned.status.code(), Some(0));
    assert!(said.contains("evener: warning: "), "{said}");
    let silenced = folder
        .evener("filter blur -i testsrc:640x480:200 -o null:".split(' '))
        .env("XDG_CACHE_HOME", &folder_of_plans)
        .env("EVENER_LOG", "off")
        .output()
        .unwrap();
    assert_eq!(
        String::from_utf8(silenced.stderr).unwrap().lines().count(),
        1
    );
}

#[test]
fn starting_takes_no_time() {
    let folder = Folder::new();
    let mut best = f64::INFINITY;
    for _ in 0..20 {
        let begin = std::time::Instant::now();
        folder
            .line("filter blur -i testsrc:16x16:1 -o null: --plan tiled")
            .succeeded();
        best = best.min(begin.elapsed().as_secs_f64());
    }
    // A few milliseconds in a release build; a debug build is larger, and tests share the machine.
    assert!(best < 0.1, "{best} s");
}

#[test]
fn a_cancelled_run_stays_one_when_its_report_cannot_be_written() {
    if is_ignored(Signal::INT) {
        return;
    }
    for flag in ["--json", "--trace"] {
        let folder = Folder::new();
        let line = format!("filter blur -i testsrc:320x240:10000000 -o out.y4m {flag} /dev/full");
        let child = folder
            .evener(line.split(' '))
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        wait_for_output(&folder, 200_000);
        send(&child, Signal::INT);
        let done = ended(child);
        assert_eq!(done.status, Some(130), "{}", done.stderr);
        assert!(
            done.stderr.contains("/dev/full: cannot write"),
            "{}",
            done.stderr
        );
        assert!(!done.stderr.contains("complete"), "{}", done.stderr);
    }
}
