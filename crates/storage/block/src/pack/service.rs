//! The service that packs blocks.

use evener_files::FirstError;
use evener_runtime::{Part, Service, Shape};

use super::unit::{BlockResult, UnitIn, UnitOut};
use crate::Error;
use crate::codec::{Codec, Encode, NONE, ZSTD};
use crate::decoder::Decoder;
use crate::hash::{Hash, packed_sum};
use crate::merged::Merged;
use crate::units::{shapes, unit_blocks};
use crate::zero::is_zero;

/// Packs an image. An item is a block.
pub struct Pack {
    codec: &'static Codec,
    level: i32,
    block: u32,
    /// The image that workers read blocks from; `None` if units contain the bytes.
    image: Option<Merged>,
    first_error: FirstError<Error>,
}

/// The private memory of a worker.
pub struct Scratch {
    encoder: Box<dyn Encode>,
    decoder: Decoder,
    plain: Vec<u8>,
}

impl Pack {
    /// Creates a service that packs blocks of `block` bytes with `codec` at `level`. The codec must be able to
    /// encode.
    pub fn new(codec: &'static Codec, level: i32, block: u32, image: Option<Merged>) -> Pack {
        Pack {
            codec,
            level,
            block,
            image,
            first_error: FirstError::default(),
        }
    }

    /// Where the first error will be.
    pub(crate) fn first_error(&self) -> FirstError<Error> {
        self.first_error.clone()
    }

    /// Whether blocks may be stored as they are. The container of zstd can have only frames.
    fn stores_plain(&self) -> bool {
        *self.codec != ZSTD
    }

    fn pack(
        &self,
        encoder: &mut dyn Encode,
        plain: &[u8],
        output: &UnitOut,
        block: usize,
    ) -> Option<BlockResult> {
        if is_zero(plain) {
            return Some(BlockResult::Zero);
        }
        let mut room = output.rows.write(block..block + 1);
        let hash = Hash::of(plain);
        let (codec, len) = match encoder.encode(plain, &mut room) {
            Some(len) if len < plain.len() || !self.stores_plain() => (self.codec.id, len),
            _ if self.stores_plain() => {
                room.get_mut(..plain.len())?.copy_from_slice(plain);
                (NONE.id, plain.len())
            }
            _ => return None,
        };
        Some(BlockResult::Packed {
            codec,
            len,
            hash,
            sum: packed_sum(&room[..len]),
        })
    }
}

impl Service for Pack {
    type Input = UnitIn;
    type Output = UnitOut;
    type Scratch = Scratch;

    fn key(&self) -> String {
        let (name, kib) = (self.codec.name, self.block as f64 / 1024.0);
        match self.codec.levels {
            Some(_) => format!("pack, {name} level {}, blocks of {kib} KiB", self.level),
            None => format!("pack, {name}, blocks of {kib} KiB"),
        }
    }

    fn input(&self) -> UnitIn {
        UnitIn {
            span: Default::default(),
            bytes: Vec::new(),
        }
    }

    fn output(&self) -> UnitOut {
        let block = self.block as usize;
        // Enough for the codec whose output can grow the most.
        UnitOut::new(block + block / 8 + 1024, unit_blocks(self.block))
    }

    fn scratch(&self) -> Scratch {
        let encoder = self.codec.encoder.unwrap_or(|_| Box::new(NoEncoder));
        Scratch {
            encoder: encoder(self.level),
            decoder: Decoder::new(),
            plain: match self.image {
                Some(_) => vec![0; self.block as usize],
                None => Vec::new(),
            },
        }
    }

    fn shapes(&self, _private_cache: usize) -> Vec<Shape> {
        shapes(self.block, self.codec.weight)
    }

    fn run(
        &self,
        part: &Part,
        input: &UnitIn,
        output: &UnitOut,
        scratch: &mut Scratch,
    ) -> Result<(), String> {
        let span = input.span;
        output.describe(span);
        if span.zero {
            return Ok(());
        }
        let block = u64::from(self.block);
        let blocks = span.len.div_ceil(block) as usize;
        for item in part.of(blocks) {
            let from = item as u64 * block;
            let len = block.min(span.len - from) as usize;
            let plain = match &self.image {
                Some(image) => {
                    let plain = &mut scratch.plain[..len];
                    let at = span.start + from;
                    let read = image.read_at(&mut scratch.decoder, at, plain);
                    read.map_err(|error| self.first_error.record(at, error))?;
                    &*plain
                }
                None => &input.bytes[from as usize..][..len],
            };
            let result = self.pack(&mut *scratch.encoder, plain, output, item);
            output.put(item, result.ok_or("a block does not fit")?);
        }
        Ok(())
    }
}

/// The encoder of a codec that has none.
struct NoEncoder;

impl Encode for NoEncoder {
    fn encode(&mut self, _: &[u8], _: &mut [u8]) -> Option<usize> {
        None
    }
}
