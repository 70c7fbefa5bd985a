//! zstd's seekable format as others may write it.

use std::hash::Hasher;
use std::ops::Range;
use std::sync::Arc;

use evener_block::Image;
use evener_block::codec::ZSTD;
use evener_block::serve::{Bad, Store, Window};
use evener_runtime::Rounds;

use crate::bombs::seekable;
use crate::common::{Folder, read_all, runtime, same, sample, verified};

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
    let folder = Folder::new();
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
    let path = folder.file("frames.zst", &seekable(&entries));
    same(
        &read_all(&Image::open(&path).unwrap()).unwrap(),
        &plain,
        "frames",
    );
    let found = verified(&path).unwrap();
    assert_eq!((found.good, found.checked["XXH64"]), (true, 6));

    // A frame that is whole, and another than the table says.
    entries[1].2 = Some(1);
    let path = folder.file("frames.zst", &seekable(&entries));
    let found = verified(&path).unwrap();
    assert_eq!((found.bad_count, found.bad[0].at), (1, 1));
    assert!(found.bad[0].what.contains("another XXH64"), "{found}");

    // Whoever serves it compares what the table says, too.
    let store = Store::new(
        Arc::new(Image::open(&path).unwrap()),
        1 << 20,
        Rounds::plain(2),
    );
    let mut window = Window::default();
    let mut served = |range: Range<u64>| {
        store.look(range, u64::MAX, &mut window).unwrap();
        store.fill(runtime().pool(), &mut window)
    };
    assert_eq!(served(0..100), Err(Bad { at: 1 }));
    assert_eq!(served(700..5000), Ok(()));
}

#[test]
fn frames_without_a_table_are_refused_with_a_way_out() {
    let folder = Folder::new();
    let path = folder.file("plain.zst", &frame(&sample()));
    let error = Image::open(&path).unwrap_err().to_string();
    assert!(
        error.contains("no seek table") && error.contains("zstd -d"),
        "{error}"
    );
}
