//! Times the product cipher on one thread: a line for each cipher, SIMD level and direction.
//!
//! `product_speed [BLOCKS]`; 1024 blocks unless said otherwise, which stay in the nearest cache. A line is
//! `CIPHER LEVEL DIRECTION NS`, nanoseconds for a block: for one pass of a cipher, for all 64 in the last lines,
//! `product`. Levels as far as the processor has them and `EVENER_CPU` allows. `bench/peers/crypt/run.sh` runs it
//! beside Crypto++.

use std::hint::black_box;
use std::ops::Range;
use std::time::{Duration, Instant};

use evener_crypt::product::{Block, Cipher, PASSES, Product};
use evener_runtime::Simd;

/// What a figure takes at least.
const ENOUGH: Duration = Duration::from_millis(40);

fn main() {
    let count = std::env::args()
        .nth(1)
        .map_or(1024, |text| text.parse().expect("a number of blocks"));
    let product = Product::new(b"0123456789abcdef");
    let mut blocks: Vec<Block> = (1..=count)
        .map(|i: u64| i.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes())
        .collect();
    let mut first = 0;
    let mut subjects: Vec<(&str, Range<usize>, usize)> = Vec::new();
    for (cipher, passes) in Cipher::ALL {
        subjects.push((cipher.name(), first..first + passes, passes));
        first += passes;
    }
    subjects.push(("product", 0..PASSES, 1));
    for (name, passes, share) in subjects {
        // Nothing is written for SSE2; it is the reference again.
        for simd in Simd::levels()
            .into_iter()
            .filter(|&level| level != Simd::Sse2)
        {
            let way = |blocks: &mut [Block]| product.encrypt(simd, passes.clone(), blocks);
            println!(
                "{name} {simd} encrypt {:.3}",
                time(&mut blocks, way) / share as f64
            );
            let way = |blocks: &mut [Block]| product.decrypt(simd, passes.clone(), blocks);
            println!(
                "{name} {simd} decrypt {:.3}",
                time(&mut blocks, way) / share as f64
            );
        }
    }
}

/// Median time for a block, in nanoseconds.
fn time(blocks: &mut [Block], way: impl Fn(&mut [Block])) -> f64 {
    way(blocks);
    let begin = Instant::now();
    let mut times = Vec::new();
    while begin.elapsed() < ENOUGH || times.len() < 5 {
        let begin = Instant::now();
        way(black_box(blocks));
        times.push(begin.elapsed());
    }
    times.sort_unstable();
    times[times.len() / 2].as_nanos() as f64 / blocks.len() as f64
}
