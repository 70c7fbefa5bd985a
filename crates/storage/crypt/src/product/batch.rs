//! Batches of blocks as they are read, and the chains in them.

use std::sync::Arc;

use evener_files::{FileId, InputFile};
use evener_runtime::{Service, Source};

use super::Block;
use super::codebook::{Codebook, MAX_STREAMS, UNIT};
use crate::bulk::{Bulk, BulkSource, UnitIn};

/// The chains of a file: the number of its streams, interleaved block by block.
///
/// Block i of the file belongs to stream i mod S. Each stream is one chain: a block is combined (XOR) with the
/// previous encrypted block of its stream, S blocks earlier in the file, and then encrypted by the whole product
/// cipher. The first block of stream s is combined with the encryption of the number s, as 64 bits in big-endian
/// order. So a file keeps its length and has no header, and S must be known to decrypt it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chain(usize);

/// A file cannot have this number of streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0} streams in a chain; choose a power of two from 1 to {MAX_STREAMS}")]
pub struct ChainError(pub usize);

impl Chain {
    /// Creates chains. `streams` must be a power of two, so that every unit has the same number of blocks of each
    /// stream.
    ///
    /// # Errors
    /// The number is not a power of two, or more than [`MAX_STREAMS`].
    pub fn new(streams: usize) -> Result<Chain, ChainError> {
        match streams.is_power_of_two() && streams <= MAX_STREAMS {
            true => Ok(Chain(streams)),
            false => Err(ChainError(streams)),
        }
    }

    /// The number of streams.
    pub fn streams(self) -> usize {
        self.0
    }

    /// What the first block of each stream is combined with.
    pub(super) fn first(self, codebook: &Codebook) -> Vec<Block> {
        let mut blocks: Vec<Block> = (0..self.0 as u64).map(u64::to_be_bytes).collect();
        codebook.encrypt(&mut blocks);
        blocks
    }
}

/// A unit of input.
pub struct Batch {
    pub(super) unit: UnitIn,
    /// The encrypted blocks before its first one, if a chained file is decrypted.
    pub(super) before: Vec<Block>,
    /// Streams of the chained file that it is a part of, otherwise 0.
    pub(super) streams: usize,
}

/// The input does not consist of whole blocks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{name}: {bytes} bytes, which is not a multiple of 8; pad it to whole blocks")]
pub struct LengthError {
    /// The input.
    pub name: String,
    /// Its length.
    pub bytes: u64,
}

impl LengthError {
    /// Checks that this number of bytes is whole blocks.
    pub(super) fn check(name: &str, bytes: u64) -> Result<(), LengthError> {
        match bytes % size_of::<Block>() as u64 {
            0 => Ok(()),
            _ => Err(LengthError {
                name: name.to_owned(),
                bytes,
            }),
        }
    }
}

/// Why a batch could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The input cannot be read.
    #[error(transparent)]
    File(#[from] evener_files::Error),
    /// It ends within a block.
    #[error(transparent)]
    Length(#[from] LengthError),
}

/// Batches of a file or a pipe.
pub struct BatchSource {
    bytes: BulkSource,
    read: u64,
    /// The last encrypted block of each stream so far, if a chained file is decrypted.
    last: Vec<Block>,
    streams: usize,
}

impl BatchSource {
    /// All of `input`. `before` are the encrypted blocks before the first of each stream, if a chained file is
    /// decrypted.
    pub(super) fn new(input: InputFile, chain: Option<Chain>, before: Vec<Block>) -> BatchSource {
        BatchSource {
            bytes: BulkSource::to_end::<Codebook>(input, 0, 0),
            read: 0,
            last: before,
            streams: chain.map_or(0, Chain::streams),
        }
    }

    pub(super) fn name(&self) -> &str {
        self.bytes.name()
    }

    pub(super) fn id(&self) -> Option<FileId> {
        self.bytes.id()
    }

    pub(super) fn bytes(&self) -> Option<u64> {
        self.bytes.bytes()
    }
}

impl<S: Service<Input = Batch>> Source<S> for BatchSource {
    type Error = ReadError;

    fn read(&mut self, batch: &mut Batch) -> Result<bool, ReadError> {
        let source: &mut dyn Source<Bulk<Codebook>, Error = evener_files::Error> = &mut self.bytes;
        if !source.read(&mut batch.unit)? {
            return Ok(false);
        }
        let bytes = batch.unit.bytes();
        self.read += bytes.len() as u64;
        LengthError::check(self.bytes.name(), self.read)?;
        batch.before.clone_from(&self.last);
        batch.streams = self.streams;
        let blocks: &[Block] = bytes.as_chunks().0;
        // Only the last unit can have fewer blocks than there are streams.
        if let Some(from) = blocks.len().checked_sub(self.last.len()) {
            self.last.copy_from_slice(&blocks[from..]);
        }
        Ok(true)
    }

    fn units(&self) -> Option<u64> {
        self.bytes.count()
    }

    fn may_wait(&self) -> bool {
        self.bytes.may_wait()
    }
}

/// Batches of independent blocks in memory. A chained service rejects them.
pub struct BlockSource {
    blocks: Arc<[Block]>,
    unit: usize,
    at: usize,
}

impl BlockSource {
    /// Creates batches of `unit` blocks, at most 2048, from `blocks`.
    pub fn new(blocks: Arc<[Block]>, unit: usize) -> BlockSource {
        BlockSource {
            blocks,
            unit: unit.clamp(1, UNIT),
            at: 0,
        }
    }
}

impl<S: Service<Input = Batch>> Source<S> for BlockSource {
    type Error = std::convert::Infallible;

    fn read(&mut self, batch: &mut Batch) -> Result<bool, Self::Error> {
        let rest = self.blocks.get(self.at..).unwrap_or_default();
        let blocks = &rest[..rest.len().min(self.unit)];
        let bytes = blocks.as_flattened();
        batch.unit.room()[..bytes.len()].copy_from_slice(bytes);
        batch.unit.keep(bytes.len());
        self.at += blocks.len();
        batch.unit.last = self.at == self.blocks.len();
        batch.streams = 0;
        Ok(!blocks.is_empty())
    }

    fn units(&self) -> Option<u64> {
        Some(self.blocks.len().div_ceil(self.unit) as u64)
    }

    fn inline(&self) -> bool {
        true
    }
}
