//! Writing zstd's seekable format with evener's hashes; see `FORMAT.md`.

use std::collections::BTreeMap;

use libdeflater::crc32;

use super::{BlockRecord, Container, ContainerFile};
use crate::MAX_BLOCK;
use crate::codec::{Encode, ZSTD};
use crate::error::Error;
use crate::format::seekable::{
    CHECKSUMS, ENTRY, FOOTER, HASHES, MAGIC, SKIPPABLE, SUM_OF_NOTHING, TABLE,
};
use crate::format::tail::{IN_SEEKABLE, TAIL, Tail};
use crate::hash::Hash;

/// Writes frames, hashes and the seek table.
pub struct Seekable {
    block: u32,
    encoder: Option<Box<dyn Encode>>,
    table: Vec<u8>,
    leaves: Vec<u8>,
    /// Checksums of packed bytes.
    sums: Vec<u8>,
    /// A bit for each frame that is zero.
    zeros: Vec<u8>,
    /// Frames of zeros that were made, by the number of zeros.
    zero_frames: BTreeMap<u64, Vec<u8>>,
}

impl Seekable {
    /// A container for blocks of `block` bytes.
    pub fn new(level: i32, block: u32) -> Seekable {
        Seekable {
            block,
            encoder: ZSTD.encoder.map(|encoder| encoder(level)),
            table: Vec::new(),
            leaves: Vec::new(),
            sums: Vec::new(),
            zeros: Vec::new(),
            zero_frames: BTreeMap::new(),
        }
    }

    /// Adds an entry of the seek table. The checksum is at the end of the frame.
    fn entry(&mut self, frame: &[u8], plain: u64, zero: bool) {
        let number = self.entries();
        if number.is_multiple_of(8) {
            self.zeros.push(0);
        }
        if let Some(last) = self.zeros.last_mut() {
            *last |= u8::from(zero) << (number % 8);
        }
        self.table.extend((frame.len() as u32).to_le_bytes());
        self.table.extend((plain as u32).to_le_bytes());
        self.table
            .extend(frame.last_chunk::<4>().copied().unwrap_or_default());
    }

    /// A frame of `bytes` zeros.
    fn zero_frame(&mut self, bytes: u64) -> Option<Vec<u8>> {
        if let Some(made) = self.zero_frames.get(&bytes) {
            return Some(made.clone());
        }
        let plain = vec![0; bytes as usize];
        let mut frame = vec![0; 1024 + plain.len() / 64];
        let encoder = self.encoder.as_mut();
        let len = encoder?.encode(&plain, &mut frame)?;
        frame.truncate(len);
        // Most runs have one of a few lengths.
        self.zero_frames.insert(bytes, frame.clone());
        Some(frame)
    }
}

impl Container for Seekable {
    fn start(&mut self, _: &mut ContainerFile) -> Result<(), Error> {
        Ok(())
    }

    fn block(&mut self, out: &mut ContainerFile, block: &BlockRecord) -> Result<(), Error> {
        self.entry(block.packed, block.plain, false);
        self.leaves.extend(block.hash.0);
        self.sums.extend(block.sum.to_le_bytes());
        out.put(block.packed)
    }

    fn zeros(&mut self, out: &mut ContainerFile, mut bytes: u64) -> Result<(), Error> {
        let most = u64::from(MAX_BLOCK);
        while bytes > 0 {
            let now = bytes.min(most);
            let frame = self
                .zero_frame(now)
                .ok_or_else(|| out.failed("zstd has no memory"))?;
            self.entry(&frame, now, true);
            out.put(&frame)?;
            bytes -= now;
        }
        Ok(())
    }

    fn finish(&mut self, out: &mut ContainerFile, size: u64, root: Hash) -> Result<(), Error> {
        let entries = self.entries() as u32;
        let content = TAIL + self.zeros.len() + self.leaves.len() + self.sums.len();
        self.table
            .extend(((content + SKIPPABLE) as u32).to_le_bytes());
        self.table.extend(0u32.to_le_bytes());
        self.table.extend(SUM_OF_NOTHING.to_le_bytes());

        let mut table = Vec::with_capacity(SKIPPABLE + self.table.len() + FOOTER);
        table.extend(TABLE.to_le_bytes());
        table.extend(((self.table.len() + FOOTER) as u32).to_le_bytes());
        table.extend(&self.table);
        table.extend((entries + 1).to_le_bytes());
        table.push(CHECKSUMS);
        table.extend(MAGIC.to_le_bytes());

        let tail = Tail {
            block: self.block,
            container: IN_SEEKABLE,
            entries,
            leaves: (self.leaves.len() / Hash::LEN) as u32,
            index_sum: crc32(&table),
            size,
            root,
            bits_sum: crc32(&self.zeros),
            sums_sum: Some(crc32(&self.sums)),
        };
        out.put(&HASHES.to_le_bytes())?;
        out.put(&(content as u32).to_le_bytes())?;
        out.put(&tail.to_bytes())?;
        out.put(&self.zeros)?;
        out.put(&self.leaves)?;
        out.put(&self.sums)?;
        out.put(&table)
    }

    fn entries(&self) -> usize {
        self.table.len() / ENTRY
    }

    fn entries_of_zeros(&self, bytes: u64) -> u64 {
        bytes.div_ceil(MAX_BLOCK.into())
    }
}
