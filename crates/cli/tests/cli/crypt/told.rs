//! What is told about a run.

use std::fs;

use serde_json::Value;

use super::{MIB, content, keyed, piped, seal, text};

fn json(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).unwrap()
}

#[test]
fn one_line_at_the_end() {
    let folder = keyed();
    folder.file("plain", text(3 * MIB));
    let done = folder.line("encrypt -k key plain -o out --plan sequential/steal/4 --workers 1");
    let said = done.succeeded().stderr.trim_end();
    assert!(said.starts_with("out: 3 MiB"), "{said}");
    assert_eq!(said.lines().count(), 1);
}

#[test]
fn programs_get_json_and_a_trace() {
    let folder = keyed();
    let text = text(3 * MIB + 5);
    folder.file("plain", &text);
    folder.file("sealed", seal(&folder, &text));
    let ctr = format!("ctr --key {} --iv {}", "01".repeat(16), "02".repeat(16));
    for (command, service) in [
        ("encrypt -k key plain".to_owned(), "seal, "),
        ("decrypt -k key sealed".to_owned(), "open, "),
        (format!("{ctr} plain"), "ctr, "),
    ] {
        let flags = "-o out --json r.json --trace t.json --no-memory";
        folder.line(&format!("{command} {flags}")).succeeded();
        let report = json(&content(&folder, "r.json"));
        assert_eq!(report["units"], 4, "{report}");
        assert_eq!(report["cancelled"], false);
        assert_eq!(report["names"]["units"], "MiB");
        assert!(
            report["service"].as_str().unwrap().starts_with(service),
            "{report}"
        );
        assert!(report["plan"]["structure"].is_string());
        let trace = json(&content(&folder, "t.json"));
        let events = trace["traceEvents"].as_array().or(trace.as_array());
        assert!(!events.unwrap().is_empty());

        let done = folder.line(&format!("{command} -o out --json -"));
        assert_eq!(json(&done.succeeded().stdout)["units"], 4);
        for name in ["out", "r.json", "t.json"] {
            fs::remove_file(folder.path(name)).unwrap();
        }
    }
    // Of a key nothing is told.
    let secret = String::from_utf8(content(&folder, "key")).unwrap();
    let done = folder.line("encrypt -k key plain -o out --json - --explain -vv");
    for told in [done.text(), done.stderr] {
        assert!(!told.contains(&secret[..16]), "{told}");
    }
}

#[test]
fn explanations_say_what_is_done_and_why() {
    let folder = keyed();
    folder.file("plain", text(3 * MIB));
    let done = folder.line("encrypt -k key plain -o out --explain --no-memory");
    let said = &done.succeeded().stderr;
    for part in ["input   plain, ", "kernel  seal, ", "output  out"] {
        assert!(said.contains(part), "no '{part}' in {said}");
    }
    assert!(said.lines().count() > 4, "{said}");
    let piped = piped(&folder, "encrypt -k key --explain --workers 1", b"text");
    let said = &piped.succeeded().stderr;
    assert!(said.contains("input   standard input\n"), "{said}");
    assert!(said.contains("output  standard output\n"), "{said}");
}
