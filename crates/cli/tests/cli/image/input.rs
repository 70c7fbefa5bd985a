//! What is taken for an image, and what is not.

use std::fs::{self, File};
use std::io::Read;
use std::process::{Command, Stdio};

use rustix::process::Signal;

use super::overlay::write;
use super::serve::{Server, client, read};
use super::{content, folder, image, piped};
use crate::run::{Done, Folder};
use crate::signals::is_ignored;

/// Runs a program of others in the folder; `false`, and a line, where it is not installed.
fn tool(folder: &Folder, line: &str) -> bool {
    let mut words = line.split_whitespace();
    let program = words.next().unwrap();
    let mut command = Command::new(program);
    let command = command.args(words).current_dir(folder.path(""));
    match command.stdin(Stdio::null()).stdout(Stdio::null()).status() {
        Ok(status) => {
            assert!(status.success(), "{line}");
            true
        }
        Err(_) => {
            evener_testing::skip(format_args!("{program} is not installed"));
            false
        }
    }
}

#[test]
fn an_image_that_shrinks_is_not_packed_as_zeros() {
    let folder = folder();
    for line in ["pack large.img - --codec none", "unpack large.img -"] {
        let path = folder.file("large.img", vec![7; 32 << 20]);
        let file = File::options().write(true).open(path).unwrap();
        let mut child = folder
            .evener(format!("image {line}").split(' '))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // It has begun, and cannot end before the pipe is read.
        let mut out = child.stdout.take().unwrap();
        out.read_exact(&mut [0; 100]).unwrap();
        file.set_len(100_000).unwrap();
        out.read_to_end(&mut Vec::new()).unwrap();
        let done = Done::from(child.wait_with_output().unwrap());
        done.failed(1, &["large.img: shrank from 33554432 to 100000 bytes"]);
    }
}

#[test]
fn zstd_that_begins_with_a_skippable_frame_is_zstd() {
    let folder = folder();
    folder.file(
        "made.zst",
        b"\x50\x2a\x4d\x18\x04\0\0\0abcd\x28\xb5\x2f\xfd\x20\0\x01\0\0",
    );
    let mut names = vec!["made.zst"];
    if tool(&folder, "pzstd -q disk.img -o by-pzstd.zst") {
        names.push("by-pzstd.zst");
    }
    for name in names {
        for line in [
            "unpack NAME out",
            "verify NAME",
            "info NAME",
            "serve NAME --nbd unix:s",
        ] {
            let line = format!("image {line}").replace("NAME", name);
            folder
                .line(&line)
                .failed(1, &[name, "no seek table", "image pack"]);
        }
        assert!(!folder.path("out").exists());
        // It can be packed from its first byte to its last.
        let wanted = match name {
            "made.zst" => Vec::new(),
            _ => image(),
        };
        folder.line(&format!("image pack {name} out")).succeeded();
        assert!(folder.line("image unpack out -").succeeded().stdout == wanted);
        let done = piped(&folder, "image pack - out", &content(&folder, name));
        done.succeeded();
        assert!(folder.line("image unpack out -").succeeded().stdout == wanted);
        fs::remove_file(folder.path("out")).unwrap();
    }
}

#[test]
fn no_image_comes_through_a_pipe_but_a_raw_one() {
    let folder = folder();
    folder
        .line("image pack disk.img disk.evb --codec lz4")
        .succeeded();
    let file = |start: &[u8]| [start, &[0; 3000]].concat();
    for (bytes, name) in [
        (content(&folder, "disk.evb"), "evb"),
        (file(b"QFI\xfb\0\0\0\x03"), "qcow2"),
        (file(b"#!/bin/sh\n#V2.0 Format\n"), "cloop"),
        (file(b"\x89EVNOVER"), "an overlay"),
    ] {
        let done = piped(&folder, "image pack - out", &bytes);
        done.failed(
            1,
            &["standard input: looks like ", name, "pipe", "--format raw"],
        );
        assert!(!folder.path("out").exists(), "{name}");
        let done = piped(&folder, "image pack - out --format raw", &bytes);
        assert!(!done.succeeded().stderr.contains("looks like"), "{name}");
        let back = folder.line("image unpack out -");
        assert!(back.succeeded().stdout == bytes, "{name}");
        fs::remove_file(folder.path("out")).unwrap();
    }
}

#[test]
fn what_is_compressed_is_never_taken_for_a_disk() {
    let folder = folder();
    let all = [
        "pack NAME out",
        "unpack NAME out",
        "info NAME",
        "verify NAME",
        "serve NAME --nbd unix:s",
    ];
    let own = "unpack it with its own program first";
    for (name, looks, to_do, bytes) in [
        ("disk.bz2", "bzip2", own, &b"BZh91AY&SY"[..]),
        ("disk.lz", "lzip", own, b"LZIP\x01\x0c"),
        ("disk.7z", "7z", own, b"7z\xbc\xaf\x27\x1c\0\x04"),
        ("disk.gz", "gzip", "evener image pack", b"\x1f\x8b\x08\0"),
    ] {
        folder.file(name, bytes);
        let said = format!("{name}: looks like {looks}, which ");
        for line in all {
            if line.starts_with("pack") && looks == "gzip" {
                continue;
            }
            let line = format!("image {line}").replace("NAME", name);
            folder
                .line(&line)
                .failed(1, &[&said, to_do, "--format raw"]);
            assert!(!folder.path("out").exists(), "{line}");
            if !line.contains("serve") {
                let done = folder.line(&format!("{line} --format raw"));
                assert!(!done.succeeded().stderr.contains("looks like"), "{line}");
                let _ = fs::remove_file(folder.path("out"));
            }
        }
        if looks != "gzip" {
            piped(&folder, "image pack - out", bytes).failed(1, &["standard input: looks", to_do]);
        }
    }
}

#[test]
fn what_is_probably_not_meant_for_a_disk_is_refused() {
    let folder = folder();
    let mut names = vec![];
    folder.file("luks", b"LUKS\xba\xbe\0\x02");
    names.push(("luks", "a LUKS volume"));
    for (format, name, looks) in [
        ("vmdk", "disk.vmdk", "a VMDK image"),
        ("vdi", "disk.vdi", "a VDI image"),
        ("vhdx", "disk.vhdx", "a VHDX image"),
        ("vpc", "disk.vhd", "a VHD image"),
        ("vpc -o subformat=fixed", "fixed.vhd", "a VHD image"),
    ] {
        if tool(
            &folder,
            &format!("qemu-img convert -f raw -O {format} disk.img {name}"),
        ) {
            names.push((name, looks));
        }
    }
    let all = [
        "pack NAME out",
        "unpack NAME out",
        "info NAME",
        "verify NAME",
    ];
    for (place, (name, looks)) in names.into_iter().enumerate() {
        let said = format!("{name}: looks like {looks}, which ");
        // Each verb for the first, and for the others the last.
        for line in &all[if place == 0 { 0 } else { all.len() - 1 }..] {
            let line = format!("image {line}").replace("NAME", name);
            folder.line(&line).failed(1, &[&said, "--format raw"]);
            assert!(!folder.path("out").exists(), "{line}");
            let done = folder.line(&format!("{line} --format raw"));
            assert!(!done.succeeded().stderr.contains("looks like"), "{line}");
            let _ = fs::remove_file(folder.path("out"));
        }
        // Its end, by which some are told, is not known before the last.
        if name != "fixed.vhd" {
            let done = piped(&folder, "image pack - out", &content(&folder, name));
            let said = said.replace(name, "standard input");
            done.failed(1, &[&said, "--format raw"]);
        }
    }
    let done = folder.line("image verify disk.img");
    assert_eq!(
        done.succeeded()
            .stderr
            .lines()
            .filter(|line| line.contains("warning"))
            .count(),
        0
    );
}

#[test]
fn an_overlay_is_merged_as_a_server_gives_it() {
    if is_ignored(Signal::INT) {
        return;
    }
    let folder = folder();
    folder
        .line("image pack disk.img disk.zst --block 16K")
        .succeeded();
    tool(
        &folder,
        "qemu-img convert -f raw -O qcow2 disk.img disk.qcow2",
    );
    for base in ["disk.zst", "disk.img", "disk.qcow2"] {
        if !folder.path(base).exists() {
            continue;
        }
        let mut wanted = image();
        let serve = format!("image serve {base} --nbd unix:socket --overlay changes");
        let server = Server::start(&folder, &serve);
        let (mut stream, size) = client(&folder);
        // In a qcow2 image it ends with a sector.
        wanted.resize(size as usize, 0);
        let under = wanted.clone();
        // Between others, into the hole, all of a block, zeros over data, and the end.
        for (at, len, byte) in [
            (5000, 100, 1),
            (16_384, 4096, 2),
            (24_576, 4096, 3),
            (1_500_000, 70_000, 4),
            (65_536, 65_536, 5),
            (2_200_000, 30_000, 0),
            (size as usize - 10, 10, 6),
        ] {
            assert_eq!(write(&mut stream, at as u64, &vec![byte; len]), 0);
            wanted[at..at + len].fill(byte);
        }
        assert!(read(&mut stream, 0, size as u32).unwrap() == wanted);
        for verb in ["pack", "unpack"] {
            let line = format!("image {verb} {base} out --overlay changes");
            folder
                .line(&line)
                .failed(1, &["changes: in use by another evener"]);
        }
        server.end(Signal::INT);
        let before = content(&folder, "changes");
        let line = format!("image unpack {base} merged --overlay changes");
        folder.line(&line).succeeded();
        assert!(content(&folder, "merged") == wanted, "{base}");
        for plan in ["sequential", "farm"] {
            let line = format!("image pack {base} merged.zst --overlay changes --plan {plan}");
            folder.line(&line).succeeded();
            let back = folder.line("image unpack merged.zst -");
            assert!(back.succeeded().stdout == wanted, "{base}, {plan}");
        }
        assert!(content(&folder, "changes") == before, "it is only read");
        // Without it the image is as it was.
        let line = format!("image unpack {base} -");
        assert!(folder.line(&line).succeeded().stdout == under);
        fs::remove_file(folder.path("merged")).unwrap();
        for (line, parts) in [
            (
                format!("pack {base} changes --overlay changes"),
                &["changes: is an input as well"][..],
            ),
            (
                "pack merged.zst out --overlay changes".to_owned(),
                &["changes: is an overlay of", base],
            ),
            (
                format!("pack {base} out --overlay {base}"),
                &["is not an overlay"],
            ),
            (
                format!("pack {base} out --overlay missing"),
                &["missing", "No such file"],
            ),
            (
                "pack changes out".to_owned(),
                &["changes: this overlay image", "--overlay"],
            ),
            (
                "unpack changes out".to_owned(),
                &["changes: this overlay image", "--overlay"],
            ),
        ] {
            folder.line(&format!("image {line}")).failed(1, parts);
            assert!(!folder.path("out").exists() && !folder.path("missing").exists());
        }
        let done = piped(&folder, "image pack - out --overlay changes", b"raw");
        done.failed(2, &["--overlay", "pipe"]);
        fs::remove_file(folder.path("changes")).unwrap();
    }
}
