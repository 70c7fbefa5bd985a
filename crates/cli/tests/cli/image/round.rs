//! There and back again, and what is told.

use std::fs;
use std::os::unix::fs::MetadataExt;

use evener_block::codec::Codec;

use super::{content, folder, image, json, piped};

#[test]
fn images_come_back_under_every_codec_and_plan() {
    let folder = folder();
    let plain = image();
    for codec in Codec::encoders().map(|codec| codec.name) {
        let mut first = None;
        for plan in ["auto", "sequential/steal/2", "farm"] {
            let line = format!("image pack disk.img packed --codec {codec} --plan {plan}");
            let done = folder.line(&format!("{line} --block 16K --workers 2 --no-memory"));
            let said = &done.succeeded().stderr;
            assert!(
                said.starts_with("packed: 3 MiB packed into ") && said.lines().count() == 2,
                "{said}"
            );
            assert_eq!(done.stdout, b"");
            let packed = content(&folder, "packed");
            assert!(*first.get_or_insert(packed.clone()) == packed, "{line}");
        }
        folder.line("image unpack packed back").succeeded();
        assert!(content(&folder, "back") == plain, "{codec}");
        // The hole takes no room.
        let blocks = fs::metadata(folder.path("back")).unwrap().blocks();
        assert!(blocks * 512 <= (2 << 20) + 65536, "{blocks} blocks");
        let done = folder.line("image unpack packed -");
        assert!(done.succeeded().stdout == plain, "{codec}");
        assert_eq!(folder.names(), ["back", "disk.img", "packed"]);
    }
}

#[test]
fn pipes_give_the_same_as_files() {
    let folder = folder();
    folder.line("image pack disk.img packed").succeeded();
    let wanted = content(&folder, "packed");
    let done = piped(&folder, "image pack - -", &image());
    assert!(done.succeeded().stdout == wanted);
    // Where a pipe ends with a unit.
    let whole = &image()[..2 << 20];
    let done = piped(&folder, "image pack - whole --codec lz4", whole);
    done.succeeded();
    assert!(folder.line("image unpack whole -").succeeded().stdout == whole);
}

#[test]
fn images_are_described() {
    let folder = folder();
    folder
        .line("image pack disk.img packed --level 1")
        .succeeded();
    let text = folder.line("image info packed").succeeded().text();
    for part in [
        "format    zstd",
        "3 MiB (3146505 bytes)",
        "64 KiB",
        "zero      16 blocks",
        "root ",
    ] {
        assert!(text.contains(part), "no '{part}' in {text}");
    }
    let told = json(&folder.line("image info --json packed").succeeded().stdout);
    assert_eq!(told["size"], 3_146_505);
    assert_eq!(told["codecs"]["zstd"]["blocks"], 33);
    assert_eq!(told["zero_blocks"], 16);
    assert_eq!(told["packed_size"], content(&folder, "packed").len());
    let root = told["root"].as_str().unwrap();
    assert_eq!(root.len(), 64);
    folder
        .line("image pack disk.img other --codec lz4")
        .succeeded();
    let other = json(&folder.line("image info --json other").succeeded().stdout);
    assert_eq!(other["root"], root);
    assert_eq!(other["codecs"]["none"]["blocks"], 17);
    let raw = json(
        &folder
            .line("image info --json --format raw packed")
            .succeeded()
            .stdout,
    );
    assert_eq!(raw["format"], "raw");
}

#[test]
fn good_images_are_verified() {
    let folder = folder();
    folder.line("image pack disk.img packed").succeeded();
    let done = folder.line("image verify packed --workers 2");
    let text = done.succeeded().text();
    assert!(
        text.starts_with("packed: good: 33 blocks match BLAKE3, "),
        "{text}"
    );
    // What has no checksum is read, and not called good.
    let done = folder.line("image verify disk.img");
    let text = done.succeeded().text();
    assert!(
        text.starts_with("disk.img: all of it can be read; raw has no checksums"),
        "{text}"
    );
    let told = json(
        &folder
            .line("image verify --json packed --plan farm")
            .succeeded()
            .stdout,
    );
    assert_eq!(
        (&told["good"], &told["root_good"]),
        (&true.into(), &true.into())
    );
}

#[test]
fn programs_get_json_and_a_trace() {
    let folder = folder();
    let flags = "--json r.json --trace t.json --explain --no-memory";
    let done = folder.line(&format!("image pack disk.img packed {flags}"));
    let said = &done.succeeded().stderr;
    for part in [
        "input   disk.img, raw, ",
        "kernel  pack, zstd level 3",
        "output  packed",
    ] {
        assert!(said.contains(part), "no '{part}' in {said}");
    }
    let report = json(&content(&folder, "r.json"));
    assert!(
        report["service"]
            .as_str()
            .unwrap()
            .starts_with("pack, zstd"),
        "{report}"
    );
    assert!(!content(&folder, "t.json").is_empty());
    let done = folder.line("image unpack packed back --json -");
    assert_eq!(json(&done.succeeded().stdout)["cancelled"], false);
}

#[test]
fn info_and_verify_count_the_same_blocks() {
    let folder = folder();
    for codec in ["zstd", "lz4"] {
        let line = format!("image pack disk.img packed --codec {codec} --block 4K");
        folder.line(&line).succeeded();
        let info = json(&folder.line("image info packed --json").succeeded().stdout);
        let found = json(&folder.line("image verify packed --json").succeeded().stdout);
        let checked = &found["checked"];
        assert_eq!(info["zero_blocks"], 256);
        assert_eq!(checked["zero"], info["zero_blocks"], "{codec}: {found}");
        assert_eq!(
            checked["BLAKE3"],
            info["codecs"]
                .as_object()
                .unwrap()
                .values()
                .map(|used| used["blocks"].as_u64().unwrap())
                .sum::<u64>(),
            "{codec}: {found}"
        );
    }
}
