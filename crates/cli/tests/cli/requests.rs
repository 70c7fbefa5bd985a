//! Command lines that can never work: exit status 2, and nothing is written.

use crate::run::{Done, Folder};

const IN: &str = "-i testsrc:64x48:3";

#[track_caller]
fn refused(graph: &str, flags: &str, parts: &[&str]) {
    let folder = Folder::new();
    let mut args = vec!["filter", graph];
    args.extend(flags.split_whitespace());
    folder.run(args).failed(2, parts);
    assert_eq!(folder.names(), [""; 0]);
}

#[test]
fn graphs_that_cannot_be() {
    let to_file = format!("{IN} -o out.y4m");
    for (graph, parts) in [
        ("", &["graph: ", "empty"][..]),
        (
            "blurr",
            &["graph: ", "column 1", "`blurr`", "did you mean `blur`"],
        ),
        ("blur,nothing", &["column 6", "`nothing`", "lists them all"]),
        ("blur,,sobel", &["column 6", "no filter here"]),
        ("rotate", &["rotate", "`degrees` is missing"]),
        ("rotate=x", &["rotate", "`x` is not a number"]),
        ("crop=2", &["crop", "at most 1"]),
        ("threshold=0.5:keep=abov", &["threshold", "`abov`", "above"]),
        // Known only when the size of the input is.
        ("crop=640:480:0:0", &["crop", "column 1"]),
    ] {
        refused(graph, &to_file, parts);
    }
}

#[test]
fn test_scenes_that_cannot_be() {
    for scene in [
        "testsrc:",
        "testsrc:64x48",
        "testsrc:0x0:3",
        "testsrc:64x48:3:abc",
    ] {
        refused(
            "blur",
            &format!("-i {scene} -o out.y4m"),
            &[scene, "testsrc:WIDTHxHEIGHT:FRAMES"],
        );
    }
}

#[test]
fn plans_that_filters_cannot_run() {
    refused(
        "blur",
        &format!("{IN} -o out.y4m --plan pipeline"),
        &["pipeline", "sequential, "],
    );
    refused(
        "blur",
        &format!("{IN} -o out.y4m --plan farm --live"),
        &["farm", "live"],
    );
}

#[test]
fn files_that_would_overwrite_one_another() {
    for (flags, parts) in [
        ("-o - --json -", &["--json -", "the output as well"][..]),
        (
            "-o out.y4m --json out.y4m",
            &["--json out.y4m", "the output as well"],
        ),
        (
            "-o out.y4m --trace ./out.y4m",
            &["--trace ./out.y4m", "the output as well"],
        ),
        (
            "-o out.y4m --json r.json --trace r.json",
            &["--trace r.json", "--json as well"],
        ),
        (
            "-o out.y4m --json - --trace -",
            &["--trace -", "--json as well"],
        ),
    ] {
        refused("blur", &format!("{IN} {flags}"), parts);
    }
    let folder = Folder::new();
    let input = folder.scene("in.y4m", "64x48:3");
    let before = std::fs::read(&input).unwrap();
    let done = folder.line("filter blur -i in.y4m -o out.y4m --json in.y4m");
    done.failed(2, &["--json in.y4m", "the input as well"]);
    assert_eq!(std::fs::read(&input).unwrap(), before);
    assert_eq!(folder.names(), ["in.y4m"]);
}

#[test]
fn settings_of_the_environment_that_do_not_exist() {
    let folder = Folder::new();
    let args = "filter blur -i testsrc:64x48:3 -o out.y4m";
    for (variable, value, known) in [
        ("EVENER_CPU", "avx9", "scalar, "),
        ("EVENER_LOG", "loud", "off, error, warn"),
    ] {
        let done = Done::of(folder.evener(args.split(' ')).env(variable, value));
        done.failed(2, &[variable, value, known]);
    }
    Done::of(folder.evener(["filters"]).env("EVENER_CPU", "avx9")).failed(2, &["EVENER_CPU"]);
    assert_eq!(folder.names(), [""; 0]);
}

#[test]
fn values_that_flags_do_not_take() {
    let folder = Folder::new();
    for (flags, part) in [
        (
            "--plan tild",
            "unknown plan 'tild'; one of: auto, sequential",
        ),
        ("--plan tiled/lifo", "unknown dispatch 'lifo'; one of: fifo"),
        ("--plan tiled/fifo/0", "unknown grain '0'"),
        ("--workers 0", "0 is not in 1..="),
        ("--workers two", "not a whole number"),
        ("--planes all", "auto, each, luma"),
    ] {
        let done = folder.line(&format!("filter blur {IN} -o out.y4m {flags}"));
        done.failed(2, &[part, "see --help"]);
    }
    for (line, missing) in [
        ("filter blur -i in.y4m", "--output <FILE>"),
        ("filter blur -o out.y4m", "--input <FILE>"),
        ("filter -i a -o b", "<GRAPH>"),
    ] {
        folder.line(line).failed(2, &["not provided: ", missing]);
    }
    assert_eq!(folder.names(), [""; 0]);
}
