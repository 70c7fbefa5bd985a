//! Formats of others, damaged: nothing is unpacked, and `verify` says what is wrong.

use std::fs;
use std::path::Path;

use super::json;
use super::tools::{has, run};
use crate::run::Folder;

/// A qcow2 image with eight bytes changed.
fn edited(folder: &Folder, at: usize, number: u64) {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../storage/block/tests/fixtures");
    let mut bytes = fs::read(fixtures.join("zlib.qcow2")).unwrap();
    bytes[at..at + 8].copy_from_slice(&number.to_be_bytes());
    folder.file("disk.qcow2", bytes);
}

#[test]
fn a_qcow2_image_whose_first_table_lies_elsewhere_is_refused() {
    let folder = Folder::new();
    edited(&folder, 40, 0x30200);
    for line in [
        "image unpack disk.qcow2 disk.img",
        "image verify disk.qcow2",
    ] {
        folder.line(line).failed(
            1,
            &["damaged qcow2 image", "does not begin where a cluster does"],
        );
        assert_eq!(folder.names(), ["disk.qcow2"]);
    }
}

#[test]
fn what_only_a_writer_needs_of_a_qcow2_image_is_told_by_verify() {
    let folder = Folder::new();
    edited(&folder, 48, 0x1200);
    folder.line("image unpack disk.qcow2 disk.img").succeeded();
    let done = folder.line("image verify disk.qcow2");
    assert_eq!(done.status, Some(1));
    for part in [
        "reference counts does not begin where a cluster does",
        "all of the image can be read",
    ] {
        assert!(done.text().contains(part), "{}", done.text());
    }
    let told = json(&folder.line("image verify --json disk.qcow2").stdout);
    assert_eq!(
        (&told["good"], &told["bad_count"]),
        (&false.into(), &0.into())
    );
    assert_eq!(told["faults"].as_array().map(Vec::len), Some(1), "{told}");
}

#[test]
fn an_image_that_is_not_trusted_opens_no_other_file() {
    if !has(&["qemu-img"]) {
        return;
    }
    let folder = super::folder();
    let secret = folder.path("disk.img").display().to_string();
    for line in [
        format!("qemu-img create -q -f qcow2 -b {secret} -F raw top.qcow2"),
        "qemu-img create -q -f qcow2 -b top.qcow2 -F qcow2 over.qcow2".to_owned(),
        "qemu-img create -q -f qcow2 alone.qcow2 1M".to_owned(),
    ] {
        run(&folder, &line);
    }
    for verb in [
        "info IMAGE",
        "verify IMAGE",
        "unpack IMAGE out",
        "pack IMAGE out",
    ] {
        let line = |image: &str| format!("image {} --no-backing", verb.replace("IMAGE", image));
        folder.line(&line("alone.qcow2")).succeeded();
        let _ = fs::remove_file(folder.path("out"));
        for image in ["top.qcow2", "over.qcow2"] {
            let done = folder.line(&line(image));
            done.failed(1, &[image, "backing file", "--no-backing"]);
            assert!(!folder.path("out").exists());
        }
    }
    for server in ["--nbd unix:socket", "--ublk"] {
        let done = folder.line(&format!("image serve top.qcow2 {server} --no-backing"));
        done.failed(1, &["top.qcow2", "backing file", "--no-backing"]);
    }
}
