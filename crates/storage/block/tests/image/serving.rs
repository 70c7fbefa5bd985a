//! Several ranges of an image at once, by several threads that share what is decoded.

use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use evener_block::codec::{Codec, ZSTD};
use evener_block::overlay::{Base, Overlay, WriteError};
use evener_block::serve::{PieceBytes, ReadBatch, ReadFailure, Store, Window};
use evener_block::{Decoder, Image};
use evener_runtime::Rounds;

use crate::common::{Folder, packed, runtime, same, sample};

/// What a request was given, and how many bytes in all.
struct Given(Mutex<Vec<u8>>, AtomicU64);

impl Given {
    fn new(len: u64) -> Given {
        Given(Mutex::new(vec![0xee; len as usize]), AtomicU64::new(0))
    }

    fn put(&self, at: u64, part: PieceBytes<'_>) {
        let mut bytes = self.0.lock().unwrap();
        let len = match part {
            PieceBytes::Zero(len) => {
                bytes[at as usize..(at + len) as usize].fill(0);
                len
            }
            PieceBytes::Bytes(part) => {
                bytes[at as usize..at as usize + part.len()].copy_from_slice(part);
                part.len() as u64
            }
        };
        self.1.fetch_add(len, Ordering::Relaxed);
    }
}

/// Reads some ranges in one batch: what was given for each.
fn read(
    store: &Store,
    batch: &mut ReadBatch,
    ranges: &[Range<u64>],
) -> Vec<Result<Vec<u8>, ReadFailure>> {
    let given: Vec<Given> = ranges.iter().map(|r| Given::new(r.end - r.start)).collect();
    let mut outcomes: Vec<Result<(), ReadFailure>> = vec![Ok(()); ranges.len()];
    let mut cold = Vec::new();
    for (number, range) in ranges.iter().enumerate() {
        match batch.add(store, range.clone()) {
            Ok(None) => cold.push(number),
            Ok(Some(pieces)) => {
                let mut at = 0;
                for piece in pieces {
                    given[number].put(at, piece.piece_bytes());
                    at += piece.len();
                }
            }
            Err(bad) => outcomes[number] = Err(bad),
        }
    }
    let mut done = 0;
    store.deliver(
        runtime().pool(),
        batch,
        |number, at, part| given[cold[number]].put(at, part),
        |number, outcome| {
            outcomes[cold[number]] = outcome;
            done += 1;
        },
    );
    assert_eq!(done, cold.len());
    assert!(batch.is_empty());
    let all = given.into_iter().zip(outcomes).zip(ranges);
    all.map(|((given, outcome), range)| {
        outcome.map(|()| {
            let len = range.end - range.start;
            assert_eq!(given.1.into_inner(), len, "each byte once");
            given.0.into_inner().unwrap()
        })
    })
    .collect()
}

fn ranges(state: &mut u64, size: u64) -> Vec<Range<u64>> {
    let mut next = |below: u64| {
        *state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (*state >> 33) % below
    };
    (0..1 + next(6))
        .map(|_| {
            let from = next(size);
            from..from + 1 + next((size - from).min(9000))
        })
        .collect()
}

#[test]
fn a_batch_gives_every_byte_once() {
    let (folder, plain) = (Folder::in_memory(), sample());
    for (codec, block) in [
        ("zstd", 1024),
        ("zstd", 16_384),
        ("lz4", 16_384),
        ("none", 1024),
    ] {
        packed(&folder, &plain, codec, block, "sequential");
        for cache in [0, 4096, 1 << 20] {
            let image = Image::open(&folder.path("packed")).unwrap();
            let store = Store::new(Arc::new(image), cache, Rounds::plain(2));
            thread::scope(|scope| {
                for seed in 1..4 {
                    let (store, plain) = (&store, &plain);
                    scope.spawn(move || {
                        let (mut state, mut batch) = (seed, ReadBatch::new());
                        for _ in 0..200 {
                            let ranges = ranges(&mut state, plain.len() as u64);
                            let got = read(store, &mut batch, &ranges);
                            for (range, got) in ranges.into_iter().zip(got) {
                                let range = range.start as usize..range.end as usize;
                                same(&got.unwrap(), &plain[range], codec);
                            }
                        }
                    });
                }
            });
            // What one range leaves of a block another of the same batch may need.
            assert_eq!(store.cache().prefixes().decoded_total(), 0);
        }
    }
}

#[test]
fn what_is_damaged_is_refused_and_the_rest_is_given() {
    for codec in ["zstd", "lz4"] {
        damaged_and_served(codec);
    }
}

fn damaged_and_served(codec: &str) {
    let (folder, plain) = (Folder::in_memory(), sample());
    let mut bytes = packed(&folder, &plain, codec, 1024, "sequential");
    let image = Image::open(&folder.path("packed")).unwrap();
    let block = image.block(35_000).unwrap();
    let evener_block::Place::Packed { offset, .. } = block.place else {
        panic!("{block:?}");
    };
    bytes[offset as usize + 20] ^= 1;
    let store = Store::new(
        open(&folder.file("damaged", &bytes)),
        1 << 20,
        Rounds::plain(2),
    );
    let bad = block.start..block.start + block.len;
    let (before, after) = (bad.start - 1500..bad.start, bad.end..bad.end + 10);
    let across = bad.start - 1500..bad.end + 10;
    let all = [before, bad.clone(), after, across];
    let got = read(&store, &mut ReadBatch::new(), &all);
    let of = |range: &Range<u64>| plain[range.start as usize..range.end as usize].to_vec();
    let refused = Err(ReadFailure { at: bad.start });
    let wanted = [Ok(of(&all[0])), refused.clone(), Ok(of(&all[2])), refused];
    assert!(got == wanted);
}

/// The codecs whose images store noise as it is. The format of zstd has only frames.
fn stored_as_they_are() -> impl Iterator<Item = &'static str> {
    let others = Codec::encoders().filter(|codec| **codec != ZSTD);
    others.map(|codec| codec.name)
}

/// An image of noise, which no codec makes smaller, with a damaged block, and the bytes of that.
fn damaged_noise(folder: &Folder, codec: &str) -> (Arc<Image>, Vec<u8>, Range<u64>) {
    let mut state = 1u64;
    let noise = std::iter::repeat_with(|| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    });
    let plain: Vec<u8> = noise.take(1 << 20).collect();
    let mut bytes = packed(folder, &plain, codec, 65536, "sequential");
    let block = open(&folder.path("packed")).block(300_000).unwrap();
    let evener_block::Place::Stored { offset } = block.place else {
        panic!("{block:?}");
    };
    bytes[offset as usize + 30_000] ^= 1;
    let image = open(&folder.file("damaged", &bytes));
    (image, plain, block.start..block.start + block.len)
}

#[test]
fn blocks_that_are_stored_as_they_are_are_compared_with_their_hashes() {
    for codec in stored_as_they_are() {
        let folder = Folder::in_memory();
        let (image, plain, bad) = damaged_noise(&folder, codec);
        let store = Store::new(image, 4 << 20, Rounds::plain(2));
        let mut window = Window::default();
        for at in (0..plain.len() as u64).step_by(4096) {
            let done = store.look_up(at..at + 4096, u64::MAX, &mut window);
            let done = done.and_then(|_| store.fill(runtime().pool(), &mut window));
            assert_eq!(done.is_err(), bad.contains(&at), "{codec} at {at}");
            let mut wanted = &plain[at as usize..][..4096];
            for piece in window.pieces().iter().filter(|_| done.is_ok()) {
                let PieceBytes::Bytes(bytes) = piece.piece_bytes() else {
                    panic!("{piece:?}");
                };
                let (now, later) = wanted.split_at(bytes.len());
                same(bytes, now, codec);
                wanted = later;
            }
        }
        // Each block once, and the bad one for each who asks.
        assert_eq!(store.metrics().misses.get(), 15 + 16, "{codec}");
    }
}

#[test]
fn bytes_that_are_not_what_was_packed_cannot_be_read() {
    for codec in stored_as_they_are() {
        let folder = Folder::in_memory();
        let (image, plain, bad) = damaged_noise(&folder, codec);
        let mut decoder = Decoder::new();
        for (at, len) in [
            (0, 100_000),
            (bad.start, 65536),
            (bad.start + 5, 9),
            (bad.end, 10),
        ] {
            let mut room = vec![0; len];
            let done = image.read_at(&mut decoder, at, &mut room);
            assert_eq!(done.is_err(), bad.contains(&at), "{codec} at {at}");
            if done.is_ok() {
                same(&room, &plain[at as usize..][..len], codec);
            }
        }
    }
}

#[test]
fn no_bytes_of_a_bad_block_come_into_an_overlay() {
    let folder = Folder::in_memory();
    let (image, plain, bad) = damaged_noise(&folder, "none");
    let overlay = Overlay::open(&folder.path("overlay"), &Base::of(&image).unwrap()).unwrap();
    let mut store = Store::new(image, 1 << 20, Rounds::plain(2));
    store.set_overlay(overlay);
    let (pool, mut window) = (runtime().pool(), Window::default());
    for (at, fits) in [(bad.start - 4000, true), (bad.start + 100, false)] {
        let done = store.write(pool, at, &[7; 50], &mut window);
        match done {
            Ok(()) => assert!(fits, "{at}"),
            Err(WriteError::Base { .. }) => assert!(!fits, "{at}"),
            Err(fault) => panic!("{fault:?}"),
        }
        assert_eq!(store.overlay().unwrap().run(at, at + 50).0, fits);
    }
    let granule = bad.start - 4096..bad.start;
    let got = read(&store, &mut ReadBatch::new(), &[granule.clone(), bad]);
    let mut wanted = plain[granule.start as usize..granule.end as usize].to_vec();
    wanted[96..146].fill(7);
    same(got[0].as_ref().unwrap(), &wanted, "the granule before");
    assert!(got[1].is_err());
}

fn open(path: &Path) -> Arc<Image> {
    Arc::new(Image::open(path).unwrap())
}
