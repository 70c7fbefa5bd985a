//! Cipher block chaining over the whole product cipher.
//!
//! A block of a chain needs the encrypted block before it, so a chain is encrypted one block after the other.
//! Independent chains are encrypted at once, one in each lane. Decrypting needs only encrypted blocks, all of which are
//! known.

use evener_runtime::Simd;

use super::{Block, PASSES, Product};

/// A chain or a part of one.
#[derive(Debug)]
pub struct Stream<'a> {
    /// The encrypted block before the first one; the initialization vector at the beginning of a chain. Afterwards it
    /// is the last encrypted block, with which the chain goes on.
    pub previous: Block,
    /// The blocks, encrypted or decrypted in place.
    pub blocks: &'a mut [Block],
}

/// Streams that are encrypted at once, and blocks that are decrypted at once.
const ROW: usize = 256;

impl Product {
    /// Encrypts every stream, a block of each at a time. It is fastest with as many streams of one length as a register
    /// has bytes, 32 or 64, or a multiple of that up to 256.
    pub fn encrypt_chained(&self, simd: Simd, streams: &mut [Stream<'_>]) {
        let mut row = [[0; 8]; ROW];
        for streams in streams.chunks_mut(ROW) {
            let longest = streams.iter().map(|stream| stream.blocks.len()).max();
            for at in 0..longest.unwrap_or(0) {
                let mut live = 0;
                for stream in streams.iter().filter(|stream| stream.blocks.len() > at) {
                    row[live] = xor(stream.blocks[at], stream.previous);
                    live += 1;
                }
                self.encrypt(simd, 0..PASSES, &mut row[..live]);
                let streams = streams.iter_mut().filter(|stream| stream.blocks.len() > at);
                for (stream, block) in streams.zip(&row) {
                    stream.blocks[at] = *block;
                    stream.previous = *block;
                }
            }
        }
    }

    /// Decrypts a stream, many blocks at a time.
    pub fn decrypt_chained(&self, simd: Simd, stream: &mut Stream<'_>) {
        let mut encrypted = [[0; 8]; ROW];
        for blocks in stream.blocks.chunks_mut(ROW) {
            let encrypted = &mut encrypted[..blocks.len()];
            encrypted.copy_from_slice(blocks);
            self.decrypt(simd, 0..PASSES, blocks);
            for (block, own) in blocks.iter_mut().zip(encrypted) {
                *block = xor(*block, stream.previous);
                stream.previous = *own;
            }
        }
    }
}

pub(super) fn xor(a: Block, b: Block) -> Block {
    (u64::from_ne_bytes(a) ^ u64::from_ne_bytes(b)).to_ne_bytes()
}
