//! Images that other programs compressed as one stream.

use std::fs;

use super::tools::{has, run};
use super::{content, folder, piped};

#[test]
fn streams_of_gzip_xz_and_zstd_are_packed_as_what_is_in_them() {
    let folder = folder();
    folder.line("image pack disk.img wanted").succeeded();
    let wanted = content(&folder, "wanted");
    for (program, line) in [
        ("gzip", "gzip -c1 disk.img"),
        ("xz", "xz -c0 disk.img"),
        ("xz", "xz -c0 --block-size=1MiB --check=crc32 disk.img"),
        ("zstd", "zstd -qc1 disk.img"),
        ("zstd", "zstd -qc1 --long=30 disk.img"),
    ] {
        if !has(&[program]) {
            continue;
        }
        // The name says nothing.
        let script = format!("{line} > packed");
        let done = folder.command("sh").args(["-c", &script]).status();
        assert!(done.unwrap().success(), "{script}");
        folder.line("image pack packed out").succeeded();
        assert!(content(&folder, "out") == wanted, "{script}");
        let whole = content(&folder, "packed");
        piped(&folder, "image pack - out", &whole).succeeded();
        assert!(content(&folder, "out") == wanted, "{script}, a pipe");
        // Twice in one file is twice the image.
        let twice = [&whole[..], &whole].concat();
        piped(&folder, "image pack - out", &twice).succeeded();
        let both = folder.line("image unpack out -").stdout;
        let image = content(&folder, "disk.img");
        assert!(both == [&image[..], &image].concat(), "{script}, twice");
        fs::remove_file(folder.path("out")).unwrap();
        // Cut short, damaged, and something behind it.
        let cut = &whole[..whole.len() - 20];
        piped(&folder, "image pack - out", cut).failed(1, &["standard input", "cut short"]);
        let mut bad = whole.clone();
        let middle = bad.len() / 2;
        bad[middle..middle + 100].fill(0xff);
        piped(&folder, "image pack - out", &bad).failed(1, &["standard input", "damaged"]);
        let more = [&whole[..], b"and more than that"].concat();
        piped(&folder, "image pack - out", &more).failed(1, &["standard input", "image"]);
        for len in [whole.len() - 20, whole.len() - 1, whole.len() / 2, 40, 10] {
            folder.file("packed", &whole[..len]);
            let done = folder.line("image pack packed out");
            done.failed(1, &["packed: this ", "cut short"]);
        }
        assert!(!folder.path("out").exists());
    }
}

#[test]
fn what_a_stream_cannot_be_is_said() {
    if !has(&["gzip", "qemu-img"]) {
        return;
    }
    let folder = folder();
    run(
        &folder,
        "qemu-img convert -f raw -O qcow2 disk.img disk.qcow2",
    );
    run(&folder, "gzip -k disk.img disk.qcow2");
    let raw = content(&folder, "disk.img.gz");
    for (line, status, parts) in [
        ("pack disk.qcow2.gz out", 1, &["disk.qcow2.gz", "qcow2"][..]),
        (
            "pack disk.img.gz out --overlay changes",
            2,
            &["--overlay", "one stream"],
        ),
        (
            "pack disk.img.gz out --format zstd",
            1,
            &["disk.img.gz", "zstd"],
        ),
    ] {
        let line = format!("image {line}");
        folder.line(&line).failed(status, parts);
        assert!(!folder.path("out").exists(), "{line}");
    }
    // As bytes, if they are meant.
    folder
        .line("image pack disk.img.gz out --format raw")
        .succeeded();
    assert!(folder.line("image unpack out -").succeeded().stdout == raw);
    // What is compressed twice.
    run(&folder, "gzip -fk disk.img.gz");
    folder
        .line("image pack disk.img.gz.gz out")
        .failed(1, &["disk.img.gz.gz", "holds what looks like gzip"]);
}

#[test]
fn what_lies_behind_the_end_of_gzip_is_said() {
    if !has(&["gzip"]) {
        return;
    }
    let folder = folder();
    run(&folder, "gzip -k disk.img");
    let whole = content(&folder, "disk.img.gz");
    for more in [&b"junk\n"[..], b"j", &[0, 0, 7], &[9; 100_000]] {
        folder.file("more.gz", [&whole[..], more].concat());
        folder
            .line("image pack more.gz out")
            .failed(1, &["more.gz: ", "whole", "follows its end"]);
        assert!(!folder.path("out").exists());
    }
    // A tape has zeros there.
    folder.file("tape.gz", [&whole[..], &[0; 200_000]].concat());
    folder.line("image pack tape.gz out").succeeded();
    assert!(folder.line("image unpack out -").stdout == content(&folder, "disk.img"));
    // The beginning of another member, which is cut.
    folder.file("cut.gz", [&whole[..], &whole[..7]].concat());
    folder
        .line("image pack cut.gz out2")
        .failed(1, &["cut.gz", "cut short"]);
}
