//! zstd's seekable format as others may write it.

use std::fs;
use std::hash::Hasher;
use std::ops::Range;
use std::sync::Arc;

use evener_block::codec::ZSTD;
use evener_block::serve::{ReadFailure, Store, Window};
use evener_block::{Error, Image};
use evener_runtime::Rounds;

use crate::bombs::seekable;
use crate::common::{Folder, fixture, read_all, runtime, same, sample, unpacked, verified};

fn frame(plain: &[u8]) -> Vec<u8> {
    let mut room = vec![0; plain.len() * 2 + 100];
    let len = ZSTD.encoder.unwrap()(1).encode(plain, &mut room).unwrap();
    room.truncate(len);
    room
}

/// What a table of checksums has.
fn sum(plain: &[u8]) -> u32 {
    let mut hasher = twox_hash::XxHash64::with_seed(0);
    hasher.write(plain);
    hasher.finish() as u32
}

#[test]
fn frames_of_any_size_with_checksums_in_the_table() {
    let folder = Folder::in_memory();
    let plain = sample();
    let cuts = [0, 1, 700, 20_000, 20_001, 41_000, plain.len()];
    let parts: Vec<&[u8]> = cuts.windows(2).map(|w| &plain[w[0]..w[1]]).collect();
    let frames: Vec<Vec<u8>> = parts.iter().map(|part| frame(part)).collect();
    // What evener writes into the table, which others compare, are these sums too.
    for (frame, part) in frames.iter().zip(&parts) {
        assert_eq!(frame.last_chunk(), Some(&sum(part).to_le_bytes()));
    }
    let skippable = [0x55, 0x2A, 0x4D, 0x18, 3, 0, 0, 0, 1, 2, 3];
    let mut entries: Vec<(&[u8], u32, Option<u32>)> = frames
        .iter()
        .zip(&parts)
        .map(|(frame, part)| (&frame[..], part.len() as u32, Some(sum(part))))
        .collect();
    entries.insert(2, (&skippable[..], 0, Some(0)));
    let path = folder.file("frames.zst", seekable(&entries));
    same(
        &read_all(&Image::open(&path).unwrap()).unwrap(),
        &plain,
        "frames",
    );
    let found = verified(&path).unwrap();
    assert_eq!((found.good, found.checked["XXH64"]), (true, 6));

    // A frame that is whole, and another than the table says.
    entries[1].2 = Some(1);
    let path = folder.file("frames.zst", seekable(&entries));
    let found = verified(&path).unwrap();
    assert_eq!((found.bad_count, found.bad[0].at), (1, 1));
    assert!(
        found.bad[0].what.contains("XXH64 checksum differs"),
        "{found}"
    );

    // Serving compares the sums of the table too.
    let store = Store::new(
        Arc::new(Image::open(&path).unwrap()),
        1 << 20,
        Rounds::plain(2),
    );
    let mut window = Window::default();
    let mut served = |range: Range<u64>| {
        store.look_up(range, u64::MAX, &mut window).unwrap();
        store.fill(runtime().pool(), &mut window)
    };
    assert_eq!(served(0..100), Err(ReadFailure { at: 1 }));
    assert_eq!(served(700..5000), Ok(()));
}

#[test]
fn skippable_frames_in_front_are_passed_over() {
    let folder = Folder::in_memory();
    let plain = sample();
    let (first, second) = plain.split_at(20_000);
    let frames = [frame(first), frame(second)];
    // Longer than what is looked at to tell a format.
    let mut long = vec![0x5f, 0x2a, 0x4d, 0x18, 0xe8, 3, 0, 0];
    long.resize(8 + 1000, 9);
    let short = [0x50, 0x2a, 0x4d, 0x18, 4, 0, 0, 0, 1, 2, 3, 4];
    let table = seekable(&[
        (&long[..], 0, None),
        (&short[..], 0, None),
        (&frames[0][..], first.len() as u32, None),
        (&frames[1][..], second.len() as u32, None),
    ]);
    let path = folder.file("table.zst", &table);
    let image = Image::open(&path).unwrap();
    same(&read_all(&image).unwrap(), &plain, "with a table");
    assert!(verified(&path).unwrap().good);
    let without: Vec<u8> = [&long[..], &short[..], &frames[0]].concat();
    for bytes in [&without[..], &without[..1100], &short[..], &long[..500]] {
        let path = folder.file("plain.zst", bytes);
        let error = Image::open(&path).unwrap_err().to_string();
        assert!(error.contains("no seek table"), "{error}");
    }
    // Frames of LZ4 may begin so, too.
    let other = [&short[..], &[0x04, 0x22, 0x4d, 0x18][..]].concat();
    let image = Image::open(&folder.file("other", &other)).unwrap();
    assert_eq!(image.format().name, "raw");
}

#[test]
fn frames_without_a_table_are_refused_with_a_way_out() {
    let folder = Folder::in_memory();
    let path = folder.file("plain.zst", frame(&sample()));
    let error = Image::open(&path).unwrap_err().to_string();
    assert!(
        error.contains("no seek table") && error.contains("evener image pack"),
        "{error}"
    );
}

#[test]
fn a_frame_that_is_said_to_be_empty_holds_nothing() {
    let folder = Folder::in_memory();
    let plain = sample();
    let (hidden, empty) = (frame(b"hidden"), frame(b""));
    let long = [
        &0x184D_2A5Cu32.to_le_bytes()[..],
        &[0x10, 0x27, 0, 0],
        &[7; 10_000],
    ]
    .concat();
    let cut = &long[..long.len() - 1];
    let read = |entries: &[(&[u8], u32, Option<u32>)]| {
        let path = folder.file("frames.zst", seekable(entries));
        let image = Image::open(&path).unwrap();
        same(&read_all(&image).unwrap(), &plain, "frames");
        (verified(&path).unwrap(), unpacked(&folder, &path, "auto"))
    };
    let half = plain.len() / 2;
    let halves = [&plain[..half], &plain[half..]].map(frame);
    let [first, second] = [
        (&halves[0][..], half as u32),
        (&halves[1][..], (plain.len() - half) as u32),
    ]
    .map(|(frame, len)| (frame, len, None));
    // What is skipped, and what zstd makes of nothing, between frames and at the end.
    for nothing in [&long, &empty] {
        let (found, unpacked) = read(&[first, (nothing, 0, None), second, (nothing, 0, None)]);
        assert!(found.good, "{found}");
        same(&unpacked.unwrap(), &plain, "unpacked");
    }
    for (something, at) in [(&hidden[..], 1), (&hidden, 2), (cut, 1), (b"none", 2)] {
        let mut entries = vec![first, second];
        entries.insert(at, (something, 0, None));
        let (found, unpacked) = read(&entries);
        let bad: Vec<(u64, u64)> = found.bad.iter().map(|bad| (bad.at, bad.len)).collect();
        assert_eq!(
            bad,
            [(if at == 1 { half } else { plain.len() } as u64, 0)],
            "{found}"
        );
        assert!(!found.good && unpacked.is_err());
    }
}

#[test]
fn a_frame_that_is_too_large_is_not_called_damaged() {
    let folder = Folder::in_memory();
    let frame = frame(&vec![0; 8 << 20]);
    let path = folder.file("large.zst", seekable(&[(&frame, 8 << 20, None)]));
    let error = Image::open(&path).unwrap_err();
    assert!(matches!(error, Error::Unsupported { .. }), "{error}");
}

#[test]
fn files_of_the_writer_of_zstd_are_read() {
    for (name, frames, check) in [("sums.zst", 11, "XXH64"), ("plain.zst", 5, "XXH64")] {
        let path = fixture("zstd").join(name);
        let image = Image::open(&path).unwrap();
        same(&read_all(&image).unwrap(), &sample(), name);
        let found = verified(&path).unwrap();
        assert_eq!((found.good, found.checked[check]), (true, frames), "{name}");
    }
}

#[test]
fn golden_frames_of_zstd_are_read_and_bad_ones_refused() {
    let folder = Folder::in_memory();
    let read = |name: &str, len: u32| {
        let frame = fs::read(fixture("zstd/golden").join(name)).unwrap();
        let path = folder.file("golden.zst", seekable(&[(&frame, len, None)]));
        unpacked(&folder, &path, "auto")
    };
    for (name, plain) in [
        ("block-128k.zst", &[0; 131_068][..]),
        ("empty-block.zst", b""),
        ("rle-first-block.zst", &[0; 1 << 20]),
        ("zeroSeq_2B.zst", b"Hello World!\n"),
    ] {
        let got = read(name, plain.len() as u32);
        same(&got.unwrap(), plain, name);
    }
    for (name, len) in [
        ("bad-off0.bin.zst", 18),
        ("bad-truncated_huff_state.zst", 7),
        ("bad-zeroSeq_extraneous.zst", 13),
    ] {
        assert!(read(name, len).is_err(), "{name}");
    }
}
