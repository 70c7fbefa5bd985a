//! Counts on one thread: `count N [LEVEL] [DEPTH]` prints N, the total, seconds and nodes.
//!
//! LEVEL is a SIMD level, at most the processor's and `EVENER_CPU`'s, or `reference`: the plain search without
//! symmetry. `bench/peers/queens/run.sh` runs it beside other programs.

use std::time::Instant;

use evener_queens::{Searcher, Starts, reference};
use evener_runtime::Simd;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let n = args
        .next()
        .ok_or("usage: count N [LEVEL] [DEPTH]")?
        .parse()?;
    let level = args.next().unwrap_or_else(|| Simd::detect().to_string());
    let depth = args.next().map(|depth| depth.parse()).transpose()?;
    let begin = Instant::now();
    let (total, nodes) = if level == "reference" {
        (reference::total(n)?, 0)
    } else {
        let simd = Simd::detect().min(level.parse()?);
        let starts = match depth {
            Some(depth) => Starts::with_depth(n, depth)?,
            None => Starts::new(n)?,
        };
        let found = Searcher::new(simd).search(&starts, 0..starts.len());
        (found.solutions, found.nodes)
    };
    let seconds = begin.elapsed().as_secs_f64();
    println!("{n} {total} {seconds:.6} {nodes}");
    Ok(())
}
