//! The service that decodes and checks blocks.

use evener_files::FirstError;
use evener_runtime::{Part, Service, Shape};

use super::findings::{BadBlock, Findings};
use super::unit::{Piece, UnitIn, UnitOut};
use crate::block::{Block, Place};
use crate::decoder::Decoder;
use crate::error::Error;
use crate::merged::Merged;
use crate::units::{DECODING, shapes, unit_blocks};

/// The purpose of decoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Verification. A bad block is recorded, and the others are still checked.
    Verify,
    /// Unpacking. A bad block ends the run.
    Unpack,
}

/// Decodes and verifies an image. An item is a block.
pub struct Decode {
    merged: Merged,
    purpose: Purpose,
    findings: Findings,
    first_error: FirstError<Error>,
}

/// The private memory of a worker.
pub struct Scratch {
    decoder: Decoder,
    plain: Vec<u8>,
}

impl Decode {
    /// Creates a service for an image and its overlay.
    pub fn new(merged: Merged, purpose: Purpose) -> Decode {
        Decode {
            merged,
            purpose,
            findings: Findings::default(),
            first_error: FirstError::default(),
        }
    }

    /// The place for the findings.
    pub fn findings(&self) -> Findings {
        self.findings.clone()
    }

    /// Where the first error will be.
    pub(crate) fn first_error(&self) -> FirstError<Error> {
        self.first_error.clone()
    }

    fn decode(&self, decoder: &mut Decoder, block: &Block, plain: &mut [u8]) -> Result<(), Error> {
        let image = self.merged.image();
        if block.len == 0 {
            return image.check_empty(decoder, block);
        }
        image.read_block(decoder, block, plain)?;
        image.check(block, plain)
    }

    fn verify(&self, block: &Block, scratch: &mut Scratch) -> Result<(), Error> {
        let mut block = block.clone();
        // A run of zeros counts as the blocks that it would be otherwise.
        let blocks = match block.place {
            Place::Zero { .. } => block.len.div_ceil(self.merged.image().block_size().into()),
            _ => 1,
        };
        if let Place::Zero { packed } = block.place {
            let Some((offset, packed)) = packed else {
                self.findings.good(block.check.name(), blocks);
                return Ok(());
            };
            // The frame is checked too, since other programs decode it.
            let (codec, plain) = (&crate::codec::ZSTD, block.len as u32);
            block.place = Place::Packed {
                offset,
                packed,
                codec,
                plain,
                sum: None,
            };
        }
        let len = block.len as usize;
        if scratch.plain.len() < len {
            scratch.plain.resize(len, 0);
        }
        match self.decode(&mut scratch.decoder, &block, &mut scratch.plain[..len]) {
            Ok(()) if len == 0 => {}
            Ok(()) => self.findings.good(block.check.name(), blocks),
            Err(error) => self
                .findings
                .bad(BadBlock::of(error, block.start, block.len)?),
        }
        Ok(())
    }

    /// Whether the overlay has bytes of a block.
    fn has_overlay(&self, block: &Block) -> bool {
        let end = block.start + block.len;
        self.merged.run(block.start, end) != (false, end)
    }

    fn process(
        &self,
        item: usize,
        block: &Block,
        output: &UnitOut,
        scratch: &mut Scratch,
    ) -> Result<(), Error> {
        match (self.purpose, &block.place) {
            (Purpose::Verify, _) => self.verify(block, scratch),
            (Purpose::Unpack, Place::Zero { .. }) if !self.has_overlay(block) => Ok(()),
            (Purpose::Unpack, place) => {
                let mut row = output.rows.write(item..item + 1);
                let plain = &mut row[..block.len as usize];
                let end = block.start + block.len;
                match place {
                    // The overlay has all of its bytes.
                    _ if block.len > 0 && self.merged.run(block.start, end) == (true, end) => {}
                    Place::Zero { .. } => plain.fill(0),
                    _ => self.decode(&mut scratch.decoder, block, plain)?,
                }
                self.merged.patch(block.start, plain)
            }
        }
    }
}

impl Service for Decode {
    type Input = UnitIn;
    type Output = UnitOut;
    type Scratch = Scratch;

    fn key(&self) -> String {
        let verb = match self.purpose {
            Purpose::Verify => "verify",
            Purpose::Unpack => "unpack",
        };
        let kib = f64::from(self.merged.image().block_size()) / 1024.0;
        format!(
            "{verb}, {}, blocks of {kib} KiB",
            self.merged.image().format().name
        )
    }

    fn input(&self) -> UnitIn {
        UnitIn::default()
    }

    fn output(&self) -> UnitOut {
        let block = self.merged.image().block_size();
        let room = match self.purpose {
            Purpose::Verify => 0,
            Purpose::Unpack => block as usize,
        };
        UnitOut::new(room, unit_blocks(block))
    }

    fn scratch(&self) -> Scratch {
        Scratch {
            decoder: Decoder::new(),
            plain: Vec::new(),
        }
    }

    fn shapes(&self, _private_cache: usize) -> Vec<Shape> {
        shapes(self.merged.image().block_size(), DECODING)
    }

    fn run(
        &self,
        part: &Part,
        input: &UnitIn,
        output: &UnitOut,
        scratch: &mut Scratch,
    ) -> Result<(), String> {
        let pieces = input.blocks.iter().map(|block| Piece {
            len: block.len,
            zero: matches!(block.place, Place::Zero { .. }) && !self.has_overlay(block),
        });
        output.describe(pieces, input.last);
        for item in part.of(input.blocks.len()) {
            let block = &input.blocks[item];
            self.process(item, block, output, scratch)
                .map_err(|error| self.first_error.record(block.start, error))?;
        }
        Ok(())
    }
}
