//! What cannot be: one line, an exit status, and nothing is written.

use std::io::Write;
use std::process::Stdio;

use rustix::process::Signal;

use super::{content, folder, image, json, piped};
use crate::signals::{ended, is_ignored, send, wait_for_reading};

#[test]
fn command_lines_that_cannot_be() {
    let folder = folder();
    for (line, parts) in [
        ("image pack disk.img", &["<OUT>"][..]),
        ("image pak disk.img out", &["pak", "pack"]),
        ("image pack disk.img out --codec zip", &["zip", "zstd"]),
        (
            "image pack disk.img out --codec lzo --level 3",
            &["lzo has no levels"],
        ),
        ("image pack disk.img out --level 23", &["levels -7 to 22"]),
        (
            "image pack disk.img out --block 5000",
            &["5000", "power of two"],
        ),
        ("image pack disk.img out --block 8M", &["8M", "4M"]),
        ("image pack disk.img out --format vmdk", &["vmdk", "qcow2"]),
        ("image pack disk.img out --plan tiled", &["tiled"]),
        (
            "image pack disk.img out --json out",
            &["the output as well"],
        ),
        (
            "image pack disk.img out --trace disk.img",
            &["the input as well"],
        ),
        ("image unpack disk.img", &["<OUT>"]),
        ("image verify disk.img --workers 0", &["--workers"]),
    ] {
        folder.line(line).failed(2, parts);
        assert_eq!(folder.names(), ["disk.img"], "{line}");
    }
}

#[test]
fn files_that_cannot_be() {
    let folder = folder();
    folder.line("image pack disk.img packed").succeeded();
    let mut cut = content(&folder, "packed");
    cut.truncate(100_000);
    folder.file("cut", &cut);
    for (line, parts) in [
        ("image pack nothing out", &["nothing", "No such file"][..]),
        ("image info nothing", &["nothing", "No such file"]),
        (
            "image pack disk.img disk.img",
            &["disk.img", "input as well"],
        ),
        ("image unpack packed packed", &["packed", "input as well"]),
        ("image unpack packed no/out", &["no/out", "cannot create"]),
        ("image info cut", &["cut", "no seek table", "cut off"]),
        ("image unpack cut out", &["cut", "no seek table"]),
        (
            "image verify /dev/null",
            &["/dev/null: is neither a file nor a disk"],
        ),
        (
            "image pack /dev/null out",
            &["/dev/null: is neither a file nor a disk"],
        ),
    ] {
        folder.line(line).failed(1, parts);
        assert_eq!(folder.names(), ["cut", "disk.img", "packed"], "{line}");
    }
    assert!(content(&folder, "disk.img") == image());
    let done = piped(&folder, "image pack - out --format qcow2", &cut);
    done.failed(2, &["--format qcow2", "pipe"]);
    piped(&folder, "image unpack - out", &cut).failed(1, &["standard input", "is not a file"]);
}

#[test]
fn bad_blocks_are_listed_and_never_unpacked() {
    let folder = folder();
    for codec in ["zstd", "lz4", "none"] {
        let line = format!("image pack disk.img packed --codec {codec}");
        folder.line(&line).succeeded();
        let mut bytes = content(&folder, "packed");
        // In the last blocks, which do not shrink.
        let place = bytes.len() - 200_000;
        bytes[place] ^= 1;
        folder.file("bad", &bytes);
        let done = folder.line("image verify bad");
        assert_eq!(done.status, Some(1), "{}", done.stderr);
        let text = done.text();
        assert!(
            text.contains("bad: bytes ") && text.contains("bad: 1 bad block, "),
            "{text}"
        );
        let done = folder.line("image verify --json bad");
        assert_eq!(done.status, Some(1));
        let told = json(&done.stdout);
        assert_eq!(told["bad_count"], 1, "{told}");
        let at = told["bad"][0]["at"].as_u64().unwrap();
        let said = format!("the block at byte {at}");
        folder
            .line("image unpack bad out")
            .failed(1, &["bad: ", &said]);
        assert_eq!(folder.names(), ["bad", "disk.img", "packed"]);
    }
}

#[test]
fn the_first_signal_leaves_no_file() {
    if is_ignored(Signal::INT) {
        return;
    }
    let folder = folder();
    let mut child = folder
        .evener("image pack - out --codec lz4".split(' '))
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // The pipe stays open, and what came through it is not all.
    let mut to = child.stdin.take().unwrap();
    to.write_all(&image()).unwrap();
    wait_for_reading(&child, &to, Signal::INT);
    send(&child, Signal::INT);
    let done = ended(child);
    drop(to);
    assert_eq!(done.status, Some(130), "{}", done.stderr);
    assert_eq!(folder.names(), ["disk.img"]);
}
