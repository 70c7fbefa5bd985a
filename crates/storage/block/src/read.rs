//! Reading, decoding and checking the bytes of an image.

use twox_hash::XxHash64;

use crate::block::{Access, Block, Check, PackedSum, Place};
use crate::codec::{self, Codec, CodecError};
use crate::decoder::Decoder;
use crate::error::{Error, Fault};
use crate::format::index::max_packed;
use crate::format::seekable::{SKIPPABLE, skippable};
use crate::hash::{Hash, packed_sum};
use crate::image::Image;
use crate::zero::is_zero;

impl Image {
    /// Decodes a block of this image into `plain`, which must have its length. The checksums within and over the
    /// packed bytes are verified.
    ///
    /// # Errors
    /// The file cannot be read, or the block cannot be decoded. [`Image::check`] verifies other checksums.
    ///
    /// # Panics
    /// If `plain` has another length.
    pub fn read_block(
        &self,
        decoder: &mut Decoder,
        block: &Block,
        plain: &mut [u8],
    ) -> Result<(), Error> {
        check_length(block, plain);
        match block.place {
            Place::Zero { .. } => plain.fill(0),
            Place::Backing => self.read_backing(decoder, block.start, plain)?,
            Place::Stored { offset } => {
                if self.file().read(offset, plain)? < plain.len() {
                    return Err(self.block_error(block.start, Fault::Cut));
                }
            }
            Place::Packed { codec, .. } => {
                self.with_packed(decoder, block, |decoder, packed| {
                    decode(decoder, codec, block, packed, plain)
                })?;
            }
        }
        Ok(())
    }

    /// Reads bytes of the image under this one.
    fn read_backing(&self, decoder: &mut Decoder, at: u64, plain: &mut [u8]) -> Result<(), Error> {
        let backing = self.backing();
        let there = backing.map_or(0, |backing| backing.size().saturating_sub(at));
        let there = there.min(plain.len() as u64) as usize;
        let (there, beyond) = plain.split_at_mut(there);
        beyond.fill(0);
        match backing {
            Some(backing) if !there.is_empty() => {
                // Its blocks may be other ones, and are decoded into the buffers of this thread.
                let packed = std::mem::take(&mut decoder.packed);
                let done = backing.read_at(decoder, at, there);
                decoder.packed = packed;
                done
            }
            _ => Ok(()),
        }
    }

    /// Reads the packed bytes of a block into `packed`, to be decoded elsewhere. A zero block may have none, and a
    /// block of the backing image has none.
    ///
    /// # Errors
    /// The file cannot be read, or ends within them.
    pub fn fetch(&self, block: &Block, packed: &mut Vec<u8>) -> Result<(), Error> {
        let (offset, len) = match block.place {
            Place::Zero { packed } => packed.unwrap_or((0, 0)),
            Place::Backing => (0, 0),
            Place::Stored { offset } => (offset, block.len as u32),
            Place::Packed { offset, packed, .. } => (offset, packed),
        };
        packed.resize(len as usize, 0);
        match self.file().read(offset, packed)? < packed.len() {
            true => Err(self.block_error(block.start, Fault::Cut)),
            false => Ok(()),
        }
    }

    /// Reads the packed bytes of a block, compares their checksum and calls `with` with them.
    fn with_packed(
        &self,
        decoder: &mut Decoder,
        block: &Block,
        with: impl FnOnce(&mut Decoder, &[u8]) -> Result<(), Fault>,
    ) -> Result<(), Error> {
        let mut packed = std::mem::take(&mut decoder.packed);
        let done = self.fetch(block, &mut packed).and_then(|()| {
            let done = compare_packed(block, &packed).and_then(|()| with(decoder, &packed));
            done.map_err(|fault| self.block_error(block.start, fault))
        });
        decoder.packed = packed;
        done
    }

    /// Verifies the bytes of a block against the stored checksum or hash.
    ///
    /// # Errors
    /// They differ, or the file cannot be read.
    pub fn check(&self, block: &Block, plain: &[u8]) -> Result<(), Error> {
        let fits = match block.check {
            Check::Nothing | Check::Inside(_) => return Ok(()),
            Check::Zero => match is_zero(plain) {
                true => return Ok(()),
                false => return Err(self.block_error(block.start, Fault::NotZero)),
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
            false => Err(self.block_error(
                block.start,
                Fault::Sum {
                    kind: block.check.name(),
                },
            )),
        }
    }

    pub(crate) fn block_error(&self, at: u64, fault: Fault) -> Error {
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

    /// Checks that a [block without bytes](Image::empty) decodes to nothing.
    ///
    /// # Errors
    /// It does not, or the file cannot be read.
    pub fn check_empty(&self, decoder: &mut Decoder, block: &Block) -> Result<(), Error> {
        if let Place::Packed {
            offset,
            packed,
            codec,
            ..
        } = block.place
        {
            // A skippable frame of zstd may be as long as a file. Other empty blocks are short.
            let front = self.file().bytes(offset, SKIPPABLE as u64)?;
            if *codec == codec::ZSTD && skippable(&front) == Some(packed) {
                let cut = self.file().size().saturating_sub(offset) < packed.into();
                return match cut {
                    true => Err(self.block_error(block.start, Fault::Cut)),
                    false => Ok(()),
                };
            }
            if u64::from(packed) > max_packed(0) {
                let (codec, error) = (codec.name, CodecError::TooLong);
                return Err(self.block_error(block.start, Fault::Codec { codec, error }));
            }
        }
        self.read_block(decoder, block, &mut [])
    }

    /// As [`Image::read_block`], and verifies the bytes with the cheapest checksum available.
    ///
    /// # Errors
    /// Those of [`Image::read_block`], or the checksum is wrong.
    ///
    /// # Panics
    /// If `plain` has another length.
    pub fn read_whole(
        &self,
        decoder: &mut Decoder,
        block: &Block,
        plain: &mut [u8],
    ) -> Result<(), Error> {
        check_length(block, plain);
        if let Place::Packed { codec, sum, .. } = block.place {
            self.with_packed(decoder, block, |decoder, packed| {
                decode(decoder, unchecked(codec, sum), block, packed, plain)
            })?;
            // Images that evener packed have a checksum of the packed bytes beside the hashes.
            let ours = matches!(block.check, Check::Leaf(_));
            if ours && (sum.is_some() || codec.checked.is_some()) {
                return Ok(());
            }
        } else {
            self.read_block(decoder, block, plain)?;
        }
        self.check(block, plain)
    }

    /// Decodes packed bytes that were [fetched](Image::fetch), as [`Image::read_whole`] does. A block that is not
    /// packed is left unchanged. If the packed bytes have no checksum, the result must be [checked](Image::check).
    ///
    /// # Errors
    /// The checksum is wrong, or the bytes cannot be decoded.
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
        check_length(block, plain);
        let done = compare_packed(block, packed)
            .and_then(|()| decode(decoder, unchecked(codec, sum), block, packed, plain));
        done.map_err(|fault| self.block_error(block.start, fault))
    }

    /// Whether [`Image::read_prefix`] reads the first bytes of a block without decoding the rest, and verifies them
    /// as well as [`Image::read_whole`] does.
    pub fn has_prefix(&self, block: &Block) -> bool {
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
        alone && unchecked(codec, sum).prefix && u64::from(plain) == block.len
    }

    /// Reads the first bytes of a block that [can be decoded in part](Image::has_prefix), or all bytes of any block.
    ///
    /// # Errors
    /// As [`Image::read_whole`].
    ///
    /// # Panics
    /// If the block is shorter, or is longer and cannot be decoded in part.
    pub fn read_prefix(
        &self,
        decoder: &mut Decoder,
        block: &Block,
        prefix: &mut [u8],
    ) -> Result<(), Error> {
        match block.place {
            Place::Packed { codec, sum, .. }
                if (prefix.len() as u64) < block.len && self.has_prefix(block) =>
            {
                self.with_packed(decoder, block, |decoder, packed| {
                    decoder.decode_prefix(unchecked(codec, sum), packed, prefix)
                })
            }
            _ => self.read_whole(decoder, block, prefix),
        }
    }

    /// Reads bytes of the image from byte `at` on into `room`. A partly requested block is decoded as a whole each
    /// time; servers have a cache for that.
    ///
    /// # Errors
    /// The bytes are not all in the image, cannot be read, or have a wrong checksum.
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
                        return Err(self.block_error(block.start, Fault::Cut));
                    }
                }
                Access::Decode if take as u64 == block.len => {
                    self.read_whole(decoder, &block, now)?;
                }
                Access::Decode => {
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

fn check_length(block: &Block, plain: &[u8]) {
    let (len, at) = (plain.len() as u64, block.start);
    assert_eq!(len, block.len, "bytes for the block at {at}");
}

/// The codec that decodes packed bytes whose checksum `sum` was compared: one that compares no other checksum, if there
/// is one.
fn unchecked(codec: &'static Codec, sum: Option<PackedSum>) -> &'static Codec {
    match (sum, codec.bare) {
        (Some(_), Some(bare)) => bare,
        _ => codec,
    }
}

/// Compares the packed bytes of a block with their checksum.
fn compare_packed(block: &Block, packed: &[u8]) -> Result<(), Fault> {
    let Place::Packed { sum: Some(sum), .. } = block.place else {
        return Ok(());
    };
    match sum {
        PackedSum::Xxh3(sum) if packed_sum(packed) != sum => Err(Fault::Sum { kind: "XXH3" }),
        // If there are no lengths, decoding says why.
        PackedSum::Padding(padding) => match codec::xz::lengths(packed) {
            Ok(lengths) if lengths.padding() != u64::from(padding) => Err(Fault::Length),
            _ => Ok(()),
        },
        PackedSum::Xxh3(_) => Ok(()),
    }
}

/// Decodes the packed bytes of a block. The block may be longer than its part in the image.
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
