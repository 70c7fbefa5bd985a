//! Planning a machine from an element file.

use std::fs;

use crate::run::{Done, Folder};

const FIVE_CORES: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../docs/examples/five-cores.toml"
);

const TWO_KINDS: &str = "\
[[kind]]
name = \"little\"
measured = \"scalar\"
area = 1.0
power = 0.5
number = 2

[[kind]]
name = \"big\"
area = 4.0
power = 2.5
number = 2
";

#[test]
fn the_published_study_is_the_example() {
    let folder = Folder::new();
    let done = folder.line(&format!("plan product --elements {FIVE_CORES}"));
    let text = done.succeeded().text();
    for part in [
        "stages: 1 idea 1-10, 2 idea 11-20, 3 skipjack 1-12, 4 skipjack 13-24, 5 raiden",
        "area-focused",
        "4.448",
        "0.996",
        "1.663",
        "Front",
        "What to strengthen and what to prune",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    assert_eq!(done.stderr, "");
}

#[test]
fn every_workload_is_measured_and_planned() {
    let folder = Folder::new();
    folder.file("machine.toml", TWO_KINDS);
    for (line, stages) in [
        (
            "plan product",
            "stages: 1-20 idea, 21-44 skipjack, 45-64 raiden",
        ),
        ("plan queens 9", "stages: 1 search"),
        (
            "plan filter blur,sobel --size 64x48",
            "stages: 1 load, 2 blur, 3 sobel_x, 4 sobel_y, 5 magnitude",
        ),
    ] {
        let done = folder.line(&format!("{line} --elements machine.toml"));
        let text = done.succeeded().text();
        for part in [stages, "all on little", "Gains are relative to 'little'"] {
            assert!(text.contains(part), "{line}: {part}\n{text}");
        }
        assert!(done.stderr.contains("at scalar"), "{}", done.stderr);
        let quiet = folder.line(&format!("{line} --elements machine.toml --quiet"));
        assert_eq!(quiet.succeeded().stderr, "");
    }
}

#[test]
fn json_and_a_page() {
    let folder = Folder::new();
    folder.file("machine.toml", TWO_KINDS);
    let line = "plan queens 8 --elements machine.toml --json - --page plan.html";
    let done = folder.line(line);
    let json: serde_json::Value = serde_json::from_slice(&done.succeeded().stdout).unwrap();
    assert_eq!(json["baseline"], "little");
    let last = json["front"].as_array().unwrap().last().unwrap();
    assert_eq!(last["text"], "all on 2 little + 2 big");
    assert_eq!(last["area"], 10.0);
    let page = fs::read_to_string(folder.path("plan.html")).unwrap();
    assert!(
        page.starts_with("<!doctype html>") && page.contains("Gain by power"),
        "{page}"
    );
    folder
        .line("plan queens 8 --elements machine.toml --json same --page same")
        .failed(2, &["same"]);
}

#[test]
fn the_file_may_come_through_a_pipe() {
    let folder = Folder::new();
    folder.file("machine.toml", TWO_KINDS);
    let evener = folder.evener("plan queens 8 --elements -".split(' '));
    let mut shell = folder.command("sh");
    shell.args(["-c", "exec \"$@\" < machine.toml", "sh"]);
    shell.arg(evener.get_program()).args(evener.get_args());
    assert!(
        Done::of(&mut shell)
            .succeeded()
            .text()
            .contains("all on 2 little + 2 big")
    );
    // A reader that goes away ends it as other programs.
    let mut head = [0; 10];
    let done = folder.cut_short("plan queens 8 --elements machine.toml --json -", &mut head);
    assert!(
        done.status == Some(141) || done.status == Some(0),
        "{done:?}"
    );
    assert!(!done.stderr.contains("evener:"), "{}", done.stderr);
}

#[test]
fn what_is_wrong_is_told_in_a_line() {
    let folder = Folder::new();
    folder.file("typo.toml", TWO_KINDS.replace("number", "nubmer"));
    folder.file("binary.toml", [0xff, 0xfe]);
    for (line, status, parts) in [
        (
            "plan product --elements none.toml",
            1,
            &["none.toml", "No such file"][..],
        ),
        (
            "plan product --elements typo.toml",
            1,
            &["typo.toml: line 6", "unknown field `nubmer`", "`number`"],
        ),
        (
            "plan product --elements binary.toml",
            1,
            &["binary.toml", "not text"],
        ),
        ("plan product", 2, &["--elements"]),
        (
            "plan filter blurr --elements typo.toml",
            2,
            &["`blurr`", "`blur`"],
        ),
        (
            "plan filter blur --size 0x9 --elements typo.toml",
            2,
            &["not a size"],
        ),
        ("plan queens 99 --elements typo.toml", 2, &["99"]),
        (
            "plan queens 8 --elements typo.toml --page none/plan.html",
            1,
            &["typo.toml"],
        ),
    ] {
        folder.line(line).failed(status, parts);
    }
    folder.file("machine.toml", TWO_KINDS);
    let before = folder.names();
    folder
        .line("plan queens 8 --elements machine.toml --page none/plan.html")
        .failed(1, &["none/plan.html", "No such file"]);
    assert_eq!(folder.names(), before);
}
