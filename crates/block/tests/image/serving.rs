//! Several ranges of an image at once, by several threads that share what is decoded.

use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use evener_block::Image;
use evener_block::serve::{Bad, Part, Round, Store};
use evener_runtime::Rounds;

use crate::common::{Folder, packed, runtime, same, sample};

/// What a request was given, and how many bytes in all.
struct Given(Mutex<Vec<u8>>, AtomicU64);

impl Given {
    fn new(len: u64) -> Given {
        Given(Mutex::new(vec![0xee; len as usize]), AtomicU64::new(0))
    }

    fn put(&self, at: u64, part: Part<'_>) {
        let mut bytes = self.0.lock().unwrap();
        let len = match part {
            Part::Zero(len) => {
                bytes[at as usize..(at + len) as usize].fill(0);
                len
            }
            Part::Bytes(part) => {
                bytes[at as usize..at as usize + part.len()].copy_from_slice(part);
                part.len() as u64
            }
        };
        self.1.fetch_add(len, Ordering::Relaxed);
    }
}

/// Reads some ranges in one round: what was given for each.
fn read(store: &Store, round: &mut Round, ranges: &[Range<u64>]) -> Vec<Result<Vec<u8>, Bad>> {
    let given: Vec<Given> = ranges.iter().map(|r| Given::new(r.end - r.start)).collect();
    let mut outcomes: Vec<Result<(), Bad>> = vec![Ok(()); ranges.len()];
    let mut cold = Vec::new();
    for (number, range) in ranges.iter().enumerate() {
        match round.look(store, range.clone()) {
            Ok(None) => cold.push(number),
            Ok(Some(pieces)) => {
                let mut at = 0;
                for piece in pieces {
                    given[number].put(at, piece.part());
                    at += piece.len();
                }
            }
            Err(bad) => outcomes[number] = Err(bad),
        }
    }
    let mut done = 0;
    store.deliver(
        runtime().pool(),
        round,
        |number, at, part| given[cold[number]].put(at, part),
        |number, outcome| {
            outcomes[cold[number]] = outcome;
            done += 1;
        },
    );
    assert_eq!(done, cold.len());
    assert!(round.is_empty());
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
fn rounds_give_every_byte_once_whoever_decodes_it() {
    let (folder, plain) = (Folder::new(), sample());
    for codec in ["zstd", "lz4", "none"] {
        packed(&folder, &plain, codec, 1024, "sequential");
        for cache in [0, 4096, 1 << 20] {
            let image = Image::open(&folder.path("packed")).unwrap();
            let store = Store::new(Arc::new(image), cache, Rounds::plain(2));
            thread::scope(|scope| {
                for seed in 1..4 {
                    let (store, plain) = (&store, &plain);
                    scope.spawn(move || {
                        let (mut state, mut round) = (seed, Round::new());
                        for _ in 0..200 {
                            let ranges = ranges(&mut state, plain.len() as u64);
                            let got = read(store, &mut round, &ranges);
                            for (range, got) in ranges.into_iter().zip(got) {
                                let range = range.start as usize..range.end as usize;
                                same(&got.unwrap(), &plain[range], codec);
                            }
                        }
                    });
                }
            });
        }
    }
}

#[test]
fn what_is_damaged_is_refused_and_the_rest_is_given() {
    let (folder, plain) = (Folder::new(), sample());
    let mut bytes = packed(&folder, &plain, "lz4", 1024, "sequential");
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
    let got = read(&store, &mut Round::new(), &all);
    let of = |range: &Range<u64>| plain[range.start as usize..range.end as usize].to_vec();
    let refused = Err(Bad { at: bad.start });
    let wanted = [Ok(of(&all[0])), refused.clone(), Ok(of(&all[2])), refused];
    assert!(got == wanted);
}

fn open(path: &Path) -> Arc<Image> {
    Arc::new(Image::open(path).unwrap())
}
