//! Bytes of an image that is open: read, decoded, compared.

use twox_hash::XxHash64;

use crate::codec::{self, Codec, CodecError};
use crate::decoder::Decoder;
use crate::error::{Error, Fault};
use crate::format::seekable::{SKIPPABLE, skippable};
use crate::image::{Access, Block, Check, Image, PackedSum, Place};
use crate::index::most_packed;
use crate::tree::{Hash, packed_sum};
use crate::zero::is_zero;

impl Image {
    /// Decodes a block of this image into all of `plain`, which has its length, and compares every checksum that lies
    /// within its packed bytes, and that of the packed bytes.
    ///
    /// # Errors
    /// The file cannot be read, or the block cannot be decoded. That it is what was packed is not checked here beyond that;
    /// see [`Image::check`].
    ///
    /// # Panics
    /// If `plain` has another length.
    pub fn read_block(
        &self,
        decoder: &mut Decoder,
        block: &Block,
        plain: &mut [u8],
    ) -> Result<(), Error> {
        whole(block, plain);
        match block.place {
            Place::Zero { .. } => plain.fill(0),
            Place::Plain { offset } => {
                if self.file().read(offset, plain)? < plain.len() {
                    return Err(self.wrong(block.start, Fault::Cut));
                }
            }
            Place::Packed { codec, .. } => {
                self.fetched(decoder, block, |decoder, packed| {
                    decode(decoder, codec, block, packed, plain)
                })?;
            }
        }
        Ok(())
    }

    /// Reads the packed bytes of a block into all of `packed`, for whoever decodes them elsewhere. There are none of a
    /// block that is zero.
    ///
    /// # Errors
    /// The file cannot be read, or ends before them.
    pub fn fetch(&self, block: &Block, packed: &mut Vec<u8>) -> Result<(), Error> {
        let (offset, len) = match block.place {
            Place::Zero { packed } => packed.unwrap_or((0, 0)),
            Place::Plain { offset } => (offset, block.len as u32),
            Place::Packed { offset, packed, .. } => (offset, packed),
        };
        packed.resize(len as usize, 0);
        match self.file().read(offset, packed)? < packed.len() {
            true => Err(self.wrong(block.start, Fault::Cut)),
            false => Ok(()),
        }
    }

    /// Does something with the packed bytes of a block, once their sum was compared.
    fn fetched(
        &self,
        decoder: &mut Decoder,
        block: &Block,
        with: impl FnOnce(&mut Decoder, &[u8]) -> Result<(), Fault>,
    ) -> Result<(), Error> {
        let mut packed = std::mem::take(&mut decoder.packed);
        let done = self.fetch(block, &mut packed).and_then(|()| {
            let done = compare(block, &packed).and_then(|()| with(decoder, &packed));
            done.map_err(|fault| self.wrong(block.start, fault))
        });
        decoder.packed = packed;
        done
    }

    /// Whether the bytes of a block are what was packed, as far as that can be told.
    ///
    /// # Errors
    /// They are not, or the file cannot be read.
    pub fn check(&self, block: &Block, plain: &[u8]) -> Result<(), Error> {
        let fits = match block.check {
            Check::Nothing | Check::Inside(_) => return Ok(()),
            Check::Zero => match is_zero(plain) {
                true => return Ok(()),
                false => return Err(self.wrong(block.start, Fault::NotZero)),
            },
            Check::Xxh64(sum) => XxHash64::oneshot(0, plain) as u32 == sum,
            Check::Leaf(number) => {
                let Some(leaves) = self.leaves() else {
                    return Ok(());
                };
                let mut leaf = Hash([0; Hash::LEN]);
                let at = leaves.offset + u64::from(number) * Hash::LEN as u64;
                self.file().read(at, &mut leaf.0)? == Hash::LEN && Hash::of(plain) == leaf
            }
        };
        match fits {
            true => Ok(()),
            false => Err(self.wrong(
                block.start,
                Fault::Sum {
                    kind: block.check.name(),
                },
            )),
        }
    }

    pub(crate) fn wrong(&self, at: u64, fault: Fault) -> Error {
        let name = self.file().name().to_owned();
        match fault {
            Fault::Codec {
                error: CodecError::Unsupported(what),
                ..
            } => Error::Unsupported {
                name,
                format: self.format().name,
                what: format!(
                    "has a block at byte {at} that {what}; unpack it with its own program and pack that"
                ),
            },
            _ => Error::Block { name, at, fault },
        }
    }

    /// Whether a [block that has no bytes](Image::empty) holds nothing.
    ///
    /// # Errors
    /// The file cannot be read, or it holds something.
    pub fn check_empty(&self, decoder: &mut Decoder, block: &Block) -> Result<(), Error> {
        if let Place::Packed {
            offset,
            packed,
            codec,
            ..
        } = block.place
        {
            // What zstd skips may be as long as a file, and what else is empty is short.
            let front = self.file().bytes(offset, SKIPPABLE as u64)?;
            if *codec == codec::ZSTD && skippable(&front) == Some(packed) {
                let cut = self.file().size().saturating_sub(offset) < packed.into();
                return match cut {
                    true => Err(self.wrong(block.start, Fault::Cut)),
                    false => Ok(()),
                };
            }
            if u64::from(packed) > most_packed(0) {
                let (codec, error) = (codec.name, CodecError::TooLong);
                return Err(self.wrong(block.start, Fault::Codec { codec, error }));
            }
        }
        self.read_block(decoder, block, &mut [])
    }

    /// As [`Image::read_block`], and sees to it that the bytes are what was packed, by the cheapest sum there is.
    ///
    /// # Errors
    /// As there, or they are something else.
    ///
    /// # Panics
    /// If `plain` has another length.
    pub fn read_whole(
        &self,
        decoder: &mut Decoder,
        block: &Block,
        plain: &mut [u8],
    ) -> Result<(), Error> {
        whole(block, plain);
        if let Place::Packed { codec, sum, .. } = block.place {
            self.fetched(decoder, block, |decoder, packed| {
                decode(decoder, quickest(codec, sum), block, packed, plain)
            })?;
            // Images of our own have a sum beside the hashes, of the packed bytes or within them.
            let ours = matches!(block.check, Check::Leaf(_));
            if ours && (sum.is_some() || codec.checked.is_some()) {
                return Ok(());
            }
        } else {
            self.read_block(decoder, block, plain)?;
        }
        self.check(block, plain)
    }

    /// Decodes the packed bytes of a block as [`Image::read_whole`] does, for whoever has them already. Only a block
    /// that is packed has any. Where that is all there is, what comes out is still to be [checked](Image::check).
    ///
    /// # Errors
    /// They have another sum, or cannot be decoded.
    ///
    /// # Panics
    /// If `plain` has another length.
    pub fn unpack(
        &self,
        decoder: &mut Decoder,
        block: &Block,
        packed: &[u8],
        plain: &mut [u8],
    ) -> Result<(), Error> {
        let Place::Packed { codec, sum, .. } = block.place else {
            return Ok(());
        };
        whole(block, plain);
        let done = compare(block, packed)
            .and_then(|()| decode(decoder, quickest(codec, sum), block, packed, plain));
        done.map_err(|fault| self.wrong(block.start, fault))
    }

    /// Whether [`Image::read_front`] reads the first bytes of a block without decoding the rest, and sees to it that
    /// they are what was packed as well as [`Image::read_whole`] does.
    pub fn has_front(&self, block: &Block) -> bool {
        let Place::Packed {
            codec, plain, sum, ..
        } = block.place
        else {
            return false;
        };
        let alone = match block.check {
            Check::Nothing | Check::Inside(_) => true,
            Check::Leaf(_) => sum.is_some() || codec.checked.is_some(),
            Check::Zero | Check::Xxh64(_) => false,
        };
        alone && quickest(codec, sum).front && u64::from(plain) == block.len
    }

    /// Reads the first bytes of a block that [has a front](Image::has_front) into all of `front`, or those of any
    /// block.
    ///
    /// # Errors
    /// As [`Image::read_whole`].
    ///
    /// # Panics
    /// If the block is shorter, or is longer and has no front.
    pub fn read_front(
        &self,
        decoder: &mut Decoder,
        block: &Block,
        front: &mut [u8],
    ) -> Result<(), Error> {
        match block.place {
            Place::Packed { codec, sum, .. }
                if (front.len() as u64) < block.len && self.has_front(block) =>
            {
                self.fetched(decoder, block, |decoder, packed| {
                    decoder.decode_front(quickest(codec, sum), packed, front)
                })
            }
            _ => self.read_whole(decoder, block, front),
        }
    }

    /// Reads bytes of the image from byte `at` on into all of `room`. Blocks of which only a part is wanted are decoded
    /// whole, each time: a cache is for whoever serves.
    ///
    /// # Errors
    /// The bytes are not all in the image, or not to be had, or not what was packed.
    pub fn read_at(
        &self,
        decoder: &mut Decoder,
        mut at: u64,
        mut room: &mut [u8],
    ) -> Result<(), Error> {
        self.inside(at, room.len() as u64)?;
        while !room.is_empty() {
            let block = self.block(at)?;
            let skip = at - block.start;
            let take = (block.len - skip).min(room.len() as u64) as usize;
            let (now, later) = room.split_at_mut(take);
            match block.access() {
                Access::Zero => now.fill(0),
                Access::File(offset) => {
                    if self.file().read(offset + skip, now)? < take {
                        return Err(self.wrong(block.start, Fault::Cut));
                    }
                }
                Access::Whole if take as u64 == block.len => {
                    self.read_whole(decoder, &block, now)?;
                }
                Access::Whole => {
                    let mut plain = std::mem::take(&mut decoder.plain);
                    plain.resize(block.len as usize, 0);
                    let done = self.read_whole(decoder, &block, &mut plain);
                    if done.is_ok() {
                        now.copy_from_slice(&plain[skip as usize..][..take]);
                    }
                    decoder.plain = plain;
                    done?;
                }
            }
            room = later;
            at += take as u64;
        }
        Ok(())
    }
}

fn whole(block: &Block, plain: &[u8]) {
    let (len, at) = (plain.len() as u64, block.start);
    assert_eq!(len, block.len, "bytes for the block at {at}");
}

/// What decodes packed bytes of `codec` that were compared with their sum, if there is one.
fn quickest(codec: &'static Codec, sum: Option<PackedSum>) -> &'static Codec {
    match (sum, codec.bare) {
        (Some(_), Some(bare)) => bare,
        _ => codec,
    }
}

/// Whether the packed bytes of a block are those that the image says.
fn compare(block: &Block, packed: &[u8]) -> Result<(), Fault> {
    let Place::Packed { sum: Some(sum), .. } = block.place else {
        return Ok(());
    };
    match sum {
        PackedSum::Xxh3(sum) if packed_sum(packed) != sum => Err(Fault::Sum { kind: "XXH3" }),
        // Where it has no length, decoding says why.
        PackedSum::Padding(padding) => match codec::xz::lengths(packed) {
            Ok(lengths) if lengths.padding() != u64::from(padding) => Err(Fault::Length),
            _ => Ok(()),
        },
        PackedSum::Xxh3(_) => Ok(()),
    }
}

/// Decodes the packed bytes of a block, of which the image may have only the front.
fn decode(
    decoder: &mut Decoder,
    codec: &'static Codec,
    block: &Block,
    packed: &[u8],
    plain: &mut [u8],
) -> Result<(), Fault> {
    match block.place {
        Place::Packed { plain: all, .. } if u64::from(all) > block.len => {
            let mut whole = vec![0; all as usize];
            decoder.decode(codec, packed, &mut whole)?;
            plain.copy_from_slice(&whole[..plain.len()]);
            Ok(())
        }
        _ => decoder.decode(codec, packed, plain),
    }
}
