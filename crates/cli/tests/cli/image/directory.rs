//! Directories that are packed as file systems.

use std::fs;
use std::os::unix::fs::symlink;

use super::tools::{is_program, run};
use super::{content, folder};
use crate::run::Folder;

/// A folder with a directory `tree`.
fn tree() -> Folder {
    let folder = folder();
    fs::create_dir_all(folder.path("tree/sub/empty")).unwrap();
    folder.file("tree/hello", "hello\n");
    folder.file("tree/sub/disk", content(&folder, "disk.img"));
    symlink("hello", folder.path("tree/link")).unwrap();
    for number in 0..300 {
        folder.file(&format!("tree/sub/{number}"), format!("{number}"));
    }
    folder
}

#[test]
fn a_directory_is_packed_as_ext4() {
    let folder = tree();
    if !is_program("debugfs", "-V") {
        return;
    }
    folder.line("image pack tree out").succeeded();
    folder.line("image unpack out fs.img").succeeded();
    run(&folder, "e2fsck -fn fs.img");
    fs::create_dir(folder.path("back")).unwrap();
    let rdump = ["-R", "rdump / back", "fs.img"];
    let done = folder.command("debugfs").args(rdump).output().unwrap();
    assert!(done.status.success());
    for name in ["hello", "sub/disk", "sub/299"] {
        let (from, to) = (format!("tree/{name}"), format!("back/{name}"));
        assert!(content(&folder, &from) == content(&folder, &to), "{name}");
    }
    assert!(folder.path("back/sub/empty").is_dir());
    assert_eq!(
        fs::read_link(folder.path("back/link")).unwrap().to_str(),
        Some("hello")
    );
    // As large as it is wanted, and no smaller than it can be.
    folder.line("image pack tree out --size 256M").succeeded();
    let done = folder.line("image info out --json");
    assert!(
        done.succeeded().text().contains("268435456"),
        "{}",
        done.text()
    );
    fs::remove_file(folder.path("out")).unwrap();
    let done = folder.line("image pack tree out --size 1M");
    done.failed(1, &["tree: mke2fs failed", "--size"]);
    assert!(!folder.path("out").exists());
}

#[test]
fn a_file_system_is_little_larger_than_what_is_in_it() {
    let folder = folder();
    if !is_program("mke2fs", "-V") {
        return;
    }
    fs::create_dir(folder.path("few")).unwrap();
    folder.file("few/hello", "hello\n");
    // Each takes a block.
    fs::create_dir(folder.path("many")).unwrap();
    for number in 0..4000 {
        folder.file(&format!("many/{number}"), "a");
    }
    for (tree, most) in [("few", 6 << 20), ("many", 28 << 20)] {
        let line = format!("image pack {tree} out --codec none");
        folder.line(&line).succeeded();
        let told = super::json(&folder.line("image info out --json").succeeded().stdout);
        let size = told["size"].as_u64().unwrap();
        assert!(size < most, "{tree}: {size}");
    }
}

#[test]
fn without_room_for_a_file_system_the_folder_of_temporary_files_is_named() {
    let folder = tree();
    fs::create_dir(folder.path("small")).unwrap();
    let mount = "mount -t tmpfs -o size=256k none small";
    let alone = |line: &str| {
        let mut command = folder.command("unshare");
        command.args(["-rm", "sh", "-c", line]).output()
    };
    if !alone(mount).is_ok_and(|done| done.status.success()) {
        evener_testing::skip("no file system can be mounted here");
        return;
    }
    let evener = env!("CARGO_BIN_EXE_evener");
    for (program, file_system) in [("mke2fs", "ext4"), ("mksquashfs", "squashfs")] {
        if !is_program(program, "-version") {
            continue;
        }
        let pack = format!("{evener} image pack tree out --filesystem {file_system}");
        let done = alone(&format!("{mount} && TMPDIR=small exec {pack}")).unwrap();
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        assert_eq!(done.status.code(), Some(1), "{said}");
        for part in ["tree: there is no room", "4.", "MiB", "in small", "TMPDIR"] {
            assert!(said.contains(part), "no '{part}' in {said}");
        }
        assert_eq!(said.lines().count(), 1, "{said}");
        let done = alone(&format!("TMPDIR=nowhere exec {pack}")).unwrap();
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        assert!(
            said.contains("nowhere") && said.contains("TMPDIR"),
            "{said}"
        );
    }
}

#[test]
fn a_directory_is_packed_as_squashfs() {
    let folder = tree();
    if !is_program("mksquashfs", "-version") {
        return;
    }
    folder
        .line("image pack tree out --filesystem squashfs")
        .succeeded();
    folder.line("image unpack out fs.img").succeeded();
    run(&folder, "unsquashfs -q -n -d back fs.img");
    run(&folder, "diff -r --no-dereference tree back");
}

#[test]
fn a_directory_that_stays_as_it_is_gives_the_same_file() {
    let folder = tree();
    let pack = |out: &str, file_system: &str| {
        let line = format!("image pack tree {out} --filesystem {file_system}");
        folder.line(&line).succeeded();
        content(&folder, out)
    };
    for (program, file_system) in [("mke2fs", "ext4"), ("mksquashfs", "squashfs")] {
        if !is_program(program, "-version") {
            continue;
        }
        // Times of reading are set by the first.
        pack("out", file_system);
        let first = pack("first", file_system);
        std::thread::sleep(std::time::Duration::from_millis(1100));
        assert!(pack("second", file_system) == first, "{file_system}");
        folder.file("tree/another", "another");
        assert!(pack("third", file_system) != first, "{file_system}");
        fs::remove_file(folder.path("tree/another")).unwrap();
    }
}

#[test]
fn what_a_directory_cannot_be_is_said() {
    let folder = tree();
    for (line, status, parts) in [
        (
            "disk.img out --filesystem ext4",
            2,
            &["--filesystem", "directory"][..],
        ),
        ("disk.img out --size 1G", 2, &["--size", "directory"]),
        ("tree out --filesystem xfs", 2, &["xfs", "squashfs"]),
        ("tree out --size 0", 2, &["--size 0", "64K"]),
        ("tree out --format raw", 2, &["--format", "directory"]),
        (
            "tree out --filesystem squashfs --size 1G",
            2,
            &["--size", "ext4"],
        ),
    ] {
        folder
            .line(&format!("image pack {line}"))
            .failed(status, parts);
    }
    folder
        .line("image info tree")
        .failed(1, &["tree", "directory"]);
    // Without the program.
    let done = folder
        .evener(["image", "pack", "tree", "out", "--filesystem", "squashfs"])
        .env("PATH", "/nowhere")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert_eq!(done.status.code(), Some(1), "{said}");
    assert!(
        said.contains("mksquashfs") && said.contains("squashfs-tools"),
        "{said}"
    );
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(!folder.path("out").exists());
}
