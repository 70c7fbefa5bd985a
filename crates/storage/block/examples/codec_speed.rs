//! What cores decode in a second, codec by codec, beside copying the same bytes:
//!
//! ```text
//! cargo run --release -p evener-block --example codec_speed -- [--threads N] disk.img.zst disk.evb disk.qcow2 …
//! ```
//!
//! Every image is one codec, as most are. Blocks that are zero or stored as they are do not count. All packed bytes are
//! in memory before; the median of the rounds is printed, in MB of unpacked bytes a second, of all threads together.

use std::error::Error;
use std::hint::black_box;
use std::path::Path;
use std::sync::Barrier;
use std::time::Instant;

use evener_block::{Block, Decoder, Image, Place};

/// Unpacked bytes that are decoded in a round, at most.
const MOST: u64 = 256 << 20;
const ROUNDS: usize = 5;

fn main() -> Result<(), Box<dyn Error>> {
    let mut names: Vec<String> = std::env::args().skip(1).collect();
    let mut threads = 1;
    if names.first().is_some_and(|name| name == "--threads") {
        let number = names.get(1).ok_or("--threads needs a number")?;
        threads = number.parse::<usize>()?.max(1);
        names.drain(..2);
    }
    println!(
        "{:40}{:>9}{:>11}{:>11}{:>9}",
        "image", "blocks", "decode", "copy", "ratio"
    );
    for name in names {
        let image = Image::open(Path::new(&name))?;
        let (blocks, bytes) = blocks(&image)?;
        // As many bytes from as many places, of which none is in a cache.
        let from = vec![1; bytes as usize];
        let decode = rate(bytes, threads, |plain, decoder, share| {
            for (block, packed) in blocks.iter().skip(share).step_by(threads) {
                let room = &mut plain[..block.len as usize];
                let done = image.unpack(decoder, block, packed, room);
                assert!(done.is_ok(), "the block at {}", block.start);
                black_box(room);
            }
        });
        let copy = rate(bytes, threads, |plain, _, share| {
            let mut at = 0;
            for (number, (block, _)) in blocks.iter().enumerate() {
                let len = block.len as usize;
                if number % threads == share {
                    plain[..len].copy_from_slice(&from[at..at + len]);
                    black_box(&mut *plain);
                }
                at += len;
            }
        });
        let count = blocks.len();
        println!(
            "{name:40}{count:>9}{decode:>11.0}{copy:>11.0}{:>9.3}",
            decode / copy
        );
    }
    Ok(())
}

/// MB a second of `threads` that each do their share of `bytes`.
fn rate(
    bytes: u64,
    threads: usize,
    share: impl Fn(&mut Vec<u8>, &mut Decoder, usize) + Sync,
) -> f64 {
    let start = Barrier::new(threads);
    let mut rounds: Vec<f64> = std::thread::scope(|scope| {
        let (start, share) = (&start, &share);
        let body = move |number| {
            let mut plain = vec![0; evener_block::MAX_BLOCK as usize];
            let mut decoder = Decoder::new();
            let mut round = || {
                start.wait();
                let begin = Instant::now();
                share(&mut plain, &mut decoder, number);
                start.wait();
                begin.elapsed().as_secs_f64()
            };
            (0..ROUNDS).map(|_| round()).collect()
        };
        let others: Vec<_> = (1..threads)
            .map(|number| scope.spawn(move || -> Vec<f64> { body(number) }))
            .collect();
        let rounds = body(0);
        others.into_iter().for_each(|other| drop(other.join()));
        rounds
    });
    rounds.sort_by(f64::total_cmp);
    bytes as f64 / 1e6 / rounds[ROUNDS / 2]
}

/// Blocks with their packed bytes, and how many bytes they unpack to.
type Packed = (Vec<(Block, Vec<u8>)>, u64);

/// Packed blocks and how many bytes they unpack to.
fn blocks(image: &Image) -> Result<Packed, Box<dyn Error>> {
    let (mut all, mut bytes, mut at) = (Vec::new(), 0, 0);
    while at < image.size() && bytes < MOST {
        let block = image.block(at)?;
        at = block.start + block.len;
        if let Place::Packed { .. } = block.place {
            let mut packed = Vec::new();
            image.fetch(&block, &mut packed)?;
            bytes += block.len;
            all.push((block, packed));
        }
    }
    Ok((all, bytes))
}
