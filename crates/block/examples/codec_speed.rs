//! What one core decodes in a second, codec by codec, beside copying the same bytes:
//!
//! ```text
//! cargo run --release -p evener-block --example codec_speed -- disk.img.zst disk.evb disk.qcow2 …
//! ```
//!
//! Every image is one codec, as most are. Blocks that are zero or stored as they are do not count. All packed bytes are
//! in memory before; the median of the rounds is printed, in MB of unpacked bytes a second.

use std::error::Error;
use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

use evener_block::{Block, Decoder, Image, Place};

/// Unpacked bytes that are decoded in a round, at most.
const MOST: u64 = 256 << 20;
const ROUNDS: usize = 5;

fn main() -> Result<(), Box<dyn Error>> {
    println!(
        "{:40}{:>9}{:>11}{:>11}{:>9}",
        "image", "blocks", "decode", "copy", "ratio"
    );
    for name in std::env::args().skip(1) {
        let image = Image::open(Path::new(&name))?;
        let (blocks, bytes) = blocks(&image)?;
        let mut decoder = Decoder::new();
        let mut plain = vec![0; image.block_size() as usize];
        let (mut decode, mut copy) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            let begin = Instant::now();
            for (block, packed) in &blocks {
                if let Place::Packed {
                    codec, plain: len, ..
                } = block.place
                {
                    let room = &mut plain[..len as usize];
                    decoder
                        .decode(codec, packed, room)
                        .map_err(|fault| fault.to_string())?;
                    black_box(room);
                }
            }
            decode.push(begin.elapsed().as_secs_f64());
            // As many bytes from as many places, of which none is in a cache.
            let from = vec![1; bytes as usize];
            let begin = Instant::now();
            let mut at = 0;
            for (block, _) in &blocks {
                let len = block.len as usize;
                plain[..len].copy_from_slice(&from[at..at + len]);
                black_box(&mut plain);
                at += len;
            }
            copy.push(begin.elapsed().as_secs_f64());
        }
        let rate = |times: &mut Vec<f64>| {
            times.sort_by(f64::total_cmp);
            bytes as f64 / 1e6 / times[ROUNDS / 2]
        };
        let (decode, copy) = (rate(&mut decode), rate(&mut copy));
        let count = blocks.len();
        println!(
            "{name:40}{count:>9}{decode:>11.0}{copy:>11.0}{:>9.3}",
            decode / copy
        );
    }
    Ok(())
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
