//! Compresses standard input to standard output on all cores: `gzip < FILE > FILE.gz`. Any `gzip -d` reads the result.

use std::io::{Read, Write};

use evener::prelude::*;
use flate2::Compression;
use flate2::write::GzEncoder;

const PIECE: u64 = 1 << 17;

fn main() -> std::io::Result<()> {
    let mut input = std::io::stdin().lock();
    let pieces = std::iter::from_fn(|| {
        let mut piece = Vec::new();
        match input.by_ref().take(PIECE).read_to_end(&mut piece) {
            Ok(0) => None,
            Ok(_) => Some(Ok(piece)),
            Err(error) => Some(Err(error)),
        }
    });
    let mut output = std::io::stdout().lock();
    pieces
        .even()
        .map(|piece| {
            let mut member = GzEncoder::new(Vec::new(), Compression::default());
            member.write_all(&piece?)?;
            member.finish()
        })
        .for_each(|member: std::io::Result<Vec<u8>>| output.write_all(&member?))
}
