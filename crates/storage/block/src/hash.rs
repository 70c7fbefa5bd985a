//! Hashes of blocks, the root hash over them, and checksums of packed bytes.

use std::fmt;

use serde::{Serialize, Serializer};
use twox_hash::XxHash3_64;

/// A BLAKE3 hash.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Hash(pub [u8; 32]);

impl Hash {
    /// The length of a hash in bytes.
    pub const LEN: usize = 32;

    /// The hash of a block: BLAKE3 of its bytes.
    pub fn of(block: &[u8]) -> Hash {
        Hash(*blake3::hash(block).as_bytes())
    }
}

/// The checksum of the packed bytes of a block: the low 32 bits of XXH3 (64 bits, seed 0).
pub fn packed_sum(packed: &[u8]) -> u32 {
    XxHash3_64::oneshot(packed) as u32
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Hash {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// The context that the root is derived with, so that no other hash is equal to it.
const CONTEXT: &str = "evener 2026-01 root of a block image, version 1";

/// Computes the root hash of an image from its blocks. It depends only on the bytes and the block size, not on the
/// container, the codec or the storage of zeros. `FORMAT.md` specifies it.
pub struct Root {
    hasher: blake3::Hasher,
    zeros: u64,
}

impl Root {
    /// Starts with an image in blocks of `block` bytes.
    pub fn new(block: u32) -> Root {
        let mut hasher = blake3::Hasher::new_derive_key(CONTEXT);
        hasher.update(&block.to_le_bytes());
        Root { hasher, zeros: 0 }
    }

    /// Adds `count` zero blocks.
    pub fn zeros(&mut self, count: u64) {
        self.zeros += count;
    }

    /// Adds a block with this hash.
    pub fn block(&mut self, hash: &Hash) {
        self.flush();
        self.hasher.update(&[1]).update(&hash.0);
    }

    fn flush(&mut self) {
        if self.zeros > 0 {
            self.hasher.update(&[0]).update(&self.zeros.to_le_bytes());
            self.zeros = 0;
        }
    }

    /// The root hash of an image of `size` bytes.
    pub fn finish(mut self, size: u64) -> Hash {
        self.flush();
        self.hasher.update(&[2]).update(&size.to_le_bytes());
        Hash(*self.hasher.finalize().as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_root_does_not_depend_on_how_runs_are_divided() {
        let hash = Hash::of(b"block");
        let root = |runs: &[u64], size| {
            let mut root = Root::new(512);
            runs.iter().for_each(|&run| root.zeros(run));
            root.block(&hash);
            root.finish(size)
        };
        assert_eq!(root(&[3], 2048), root(&[1, 2], 2048));
        assert_ne!(root(&[3], 2048), root(&[2], 2048));
        assert_ne!(root(&[3], 2048), root(&[3], 2047));
    }
}
