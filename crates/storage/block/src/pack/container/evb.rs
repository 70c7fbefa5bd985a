//! Writing `evb`; see `FORMAT.md`.

use libdeflater::crc32;

use super::{BlockRecord, Container, ContainerFile};
use crate::error::Error;
use crate::format::evb::{ENTRY, ZEROS, header};
use crate::format::tail::{IN_EVB, Tail};
use crate::hash::Hash;

/// Writes an `evb`.
pub struct Evb {
    block: u32,
    index: Vec<u8>,
    leaves: Vec<u8>,
}

impl Evb {
    /// A container for blocks of `block` bytes.
    pub fn new(block: u32) -> Evb {
        Evb {
            block,
            index: Vec::new(),
            leaves: Vec::new(),
        }
    }

    fn entry(&mut self, number: u32, codec: u8) {
        let mut entry = [0; ENTRY];
        entry[..4].copy_from_slice(&number.to_le_bytes());
        entry[4] = codec;
        self.index.extend(entry);
    }
}

impl Container for Evb {
    fn start(&mut self, out: &mut ContainerFile) -> Result<(), Error> {
        out.put(&header(self.block))
    }

    fn block(&mut self, out: &mut ContainerFile, block: &BlockRecord) -> Result<(), Error> {
        self.entry(block.packed.len() as u32, block.codec);
        self.leaves.extend(block.hash.0);
        out.put(block.packed)
    }

    fn zeros(&mut self, _: &mut ContainerFile, bytes: u64) -> Result<(), Error> {
        let mut blocks = bytes.div_ceil(self.block.into());
        while blocks > 0 {
            let now = blocks.min(u32::MAX.into());
            self.entry(now as u32, ZEROS);
            blocks -= now;
        }
        Ok(())
    }

    fn finish(&mut self, out: &mut ContainerFile, size: u64, root: Hash) -> Result<(), Error> {
        let tail = Tail {
            block: self.block,
            container: IN_EVB,
            entries: self.entries() as u32,
            leaves: (self.leaves.len() / Hash::LEN) as u32,
            index_sum: crc32(&self.index),
            size,
            root,
            bits_sum: 0,
            sums_sum: None,
        };
        out.put(&self.index)?;
        out.put(&self.leaves)?;
        out.put(&tail.to_bytes())
    }

    fn entries(&self) -> usize {
        self.index.len() / ENTRY
    }

    fn entries_of_zeros(&self, bytes: u64) -> u64 {
        bytes.div_ceil(self.block.into()).div_ceil(u32::MAX.into())
    }
}
