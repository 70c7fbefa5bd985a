//! An image that is open.

use std::fmt;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use twox_hash::XxHash64;

use crate::codec::Codec;
use crate::decoder::Decoder;
use crate::error::{Error, Fault};
use crate::file::ImageFile;
use crate::format::{self, Format, Opened};
use crate::tree::Hash;
use crate::zero::is_zero;

/// A part of an image that is decoded by itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Block {
    /// Its first byte in the image.
    pub start: u64,
    /// Bytes of it. At most [`MAX_BLOCK`](crate::MAX_BLOCK), unless it need not be decoded.
    pub len: u64,
    /// Where its bytes come from.
    pub place: Place,
    /// What they can be compared with.
    pub check: Check,
}

/// Where the bytes of a block come from.
#[derive(Clone, Debug, PartialEq)]
pub enum Place {
    /// All are zero.
    Zero {
        /// Offset and length of what says so once more in the file, for programs that read all of it.
        packed: Option<(u64, u32)>,
    },
    /// They lie in the file as they are.
    Plain {
        /// The first of them in the file.
        offset: u64,
    },
    /// They are decoded.
    Packed {
        /// The first packed byte in the file.
        offset: u64,
        /// Packed bytes.
        packed: u32,
        /// What decodes them.
        codec: &'static Codec,
        /// Bytes that are decoded; those behind the block's length lie beyond the end of the image.
        plain: u32,
    },
}

/// What the bytes of a block can be compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check {
    /// Nothing.
    Nothing,
    /// They are zero, or they are not.
    Zero,
    /// A checksum of that kind within the packed bytes, which decoding compares.
    Inside(&'static str),
    /// The low 32 bits of their XXH64.
    Xxh64(u32),
    /// Their BLAKE3, of that number in the image's list.
    Leaf(u32),
}

/// A run of bytes of an image, as `base:allocation` of NBD tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extent {
    /// The bytes.
    pub bytes: Range<u64>,
    /// They are zero and take no room.
    pub zero: bool,
}

/// An image that is open. All of it works from any number of threads at once, without a lock: each needs a [`Decoder`].
pub struct Image {
    file: Arc<ImageFile>,
    opened: Opened,
    format: &'static Format,
}

/// How some bytes of a block are had.
pub(crate) enum Access {
    /// They are zero.
    Zero,
    /// From the file, where the block begins here: there is nothing to decode, nor to compare them with.
    File(u64),
    /// With all others of the block, which is decoded or compared whole.
    Whole,
}

impl Block {
    pub(crate) fn access(&self) -> Access {
        match (&self.place, self.check) {
            (Place::Zero { .. }, _) => Access::Zero,
            (Place::Plain { offset }, Check::Nothing) => Access::File(*offset),
            _ => Access::Whole,
        }
    }
}

impl Image {
    /// Opens an image of any format this crate knows; a file that is of none is a raw image.
    ///
    /// # Errors
    /// The file cannot be read, or is damaged, or uses something that is not read.
    pub fn open(path: &Path) -> Result<Image, Error> {
        Image::of(ImageFile::open(path)?, None)
    }

    /// The image in an open file, of a known format if one is given.
    ///
    /// # Errors
    /// As for [`Image::open`].
    pub fn of(file: ImageFile, known: Option<&'static Format>) -> Result<Image, Error> {
        let file = Arc::new(file);
        let format = match known {
            Some(format) => format,
            None => format::recognise(&file)?,
        };
        let opened = (format.open)(&file)?;
        Ok(Image {
            file,
            opened,
            format,
        })
    }

    /// Bytes of the image.
    pub fn size(&self) -> u64 {
        self.opened.size
    }

    /// Bytes of its largest block that has to be decoded; most have as many.
    pub fn block_size(&self) -> u32 {
        self.opened.block
    }

    /// Its format.
    pub fn format(&self) -> &'static Format {
        self.format
    }

    /// The file it lies in.
    pub fn file(&self) -> &ImageFile {
        &self.file
    }

    /// The hash over all of it, as the image itself says.
    pub fn root(&self) -> Option<Hash> {
        self.opened.leaves.as_ref().map(|leaves| leaves.root)
    }

    /// The block that holds byte `at`.
    ///
    /// # Errors
    /// There is no such byte, or the file cannot be read.
    pub fn block(&self, at: u64) -> Result<Block, Error> {
        self.inside(at, 1)?;
        self.opened.layout.block(at)
    }

    fn inside(&self, from: u64, bytes: u64) -> Result<(), Error> {
        let to = from.saturating_add(bytes);
        match to <= self.size() {
            true => Ok(()),
            false => Err(Error::Beyond {
                name: self.file.name().to_owned(),
                from,
                to,
                size: self.size(),
            }),
        }
    }

    /// Decodes a block of this image into all of `plain`, which has its length.
    ///
    /// # Errors
    /// The file cannot be read, or the block cannot be decoded. That it is what was packed is not checked here beyond what its
    /// codec does; see [`Image::check`].
    ///
    /// # Panics
    /// If `plain` has another length.
    pub fn read_block(
        &self,
        decoder: &mut Decoder,
        block: &Block,
        plain: &mut [u8],
    ) -> Result<(), Error> {
        assert_eq!(
            plain.len() as u64,
            block.len,
            "bytes for the block at {}",
            block.start
        );
        match block.place {
            Place::Zero { .. } => plain.fill(0),
            Place::Plain { offset } => {
                if self.file.read(offset, plain)? < plain.len() {
                    return Err(self.wrong(block.start, Fault::Cut));
                }
            }
            Place::Packed {
                codec, plain: all, ..
            } => {
                let mut packed = std::mem::take(&mut decoder.packed);
                let done = self.fetch(block, &mut packed).and_then(|()| {
                    let done = match all as usize {
                        all if all == plain.len() => decoder.decode(codec, &packed, plain),
                        all => decode_front(decoder, codec, &packed, all, plain),
                    };
                    done.map_err(|fault| self.wrong(block.start, fault))
                });
                decoder.packed = packed;
                done?;
            }
        }
        Ok(())
    }

    /// Reads the packed bytes of a block into all of `packed`, for whoever decodes them elsewhere. There are none of a block
    /// that is zero.
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
        match self.file.read(offset, packed)? < packed.len() {
            true => Err(self.wrong(block.start, Fault::Cut)),
            false => Ok(()),
        }
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
                let Some(leaves) = &self.opened.leaves else {
                    return Ok(());
                };
                let mut leaf = Hash([0; Hash::LEN]);
                let at = leaves.offset + u64::from(number) * Hash::LEN as u64;
                self.file.read(at, &mut leaf.0)?;
                Hash::of(plain) == leaf
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

    fn wrong(&self, at: u64, fault: Fault) -> Error {
        let name = self.file.name().to_owned();
        Error::Block { name, at, fault }
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
        self.read_block(decoder, block, plain)?;
        match (&block.place, &block.check) {
            // Beside their hashes, frames of our own have a checksum that decoding compared.
            (Place::Packed { codec, .. }, Check::Leaf(_)) if codec.checked.is_some() => Ok(()),
            _ => self.check(block, plain),
        }
    }

    /// Whether [`Image::read_front`] reads the first bytes of a block without decoding the rest, and sees to it that they are
    /// what was packed as well as [`Image::read_whole`] does.
    pub fn has_front(&self, block: &Block) -> bool {
        let Place::Packed { codec, plain, .. } = block.place else {
            return false;
        };
        let alone = match block.check {
            Check::Nothing | Check::Inside(_) => true,
            Check::Leaf(_) => codec.checked.is_some(),
            Check::Zero | Check::Xxh64(_) => false,
        };
        alone && codec.front.is_some() && u64::from(plain) == block.len
    }

    /// Reads the first bytes of a block that [has a front](Image::has_front) into all of `front`, or those of any block.
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
            Place::Packed { codec, .. }
                if (front.len() as u64) < block.len && self.has_front(block) =>
            {
                let mut packed = std::mem::take(&mut decoder.packed);
                let done = self.fetch(block, &mut packed).and_then(|()| {
                    let done = decoder.decode_front(codec, &packed, front);
                    done.map_err(|fault| self.wrong(block.start, fault))
                });
                decoder.packed = packed;
                done
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
            let block = self.opened.layout.block(at)?;
            let skip = at - block.start;
            let take = (block.len - skip).min(room.len() as u64) as usize;
            let (now, later) = room.split_at_mut(take);
            match block.access() {
                Access::Zero => now.fill(0),
                Access::File(offset) => {
                    if self.file.read(offset + skip, now)? < take {
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

    /// The run of bytes from `at` on that take room, or do not, up to byte `end` at most. Bytes that take room may be zero.
    ///
    /// # Errors
    /// There is no byte `at`, or the file cannot be read.
    pub fn extent(&self, at: u64, end: u64) -> Result<Extent, Error> {
        let mut blocks = usize::MAX;
        self.extent_of(at, end, &mut blocks)
    }

    /// As [`Image::extent`], but ends after `blocks` blocks, and takes off those that were looked at. It looks at one
    /// in any case.
    ///
    /// # Errors
    /// As there.
    pub(crate) fn extent_of(&self, at: u64, end: u64, blocks: &mut usize) -> Result<Extent, Error> {
        self.inside(at, 1)?;
        let end = end.min(self.size()).max(at + 1);
        let mut to = at;
        let mut zero = None;
        while to < end && (to == at || *blocks > 0) {
            let block = self.opened.layout.block(to)?;
            *blocks = blocks.saturating_sub(1);
            let hole = matches!(block.place, Place::Zero { .. });
            if *zero.get_or_insert(hole) != hole {
                break;
            }
            to = block.start + block.len;
        }
        Ok(Extent {
            bytes: at..to.min(end),
            zero: zero.unwrap_or(false),
        })
    }

    /// Tells the system that the file's bytes behind these of the image will be read soon.
    pub(crate) fn will_need(&self, at: u64, len: u64) {
        if let Ok(Block {
            start,
            place: Place::Plain { offset },
            ..
        }) = self.block(at)
        {
            self.file.will_need(offset + (at - start), len);
        }
    }

    /// Hashes of blocks, where the image has them.
    pub(crate) fn leaves(&self) -> Option<&format::Leaves> {
        self.opened.leaves.as_ref()
    }
}

/// The front of a block that has more bytes than the image has left.
fn decode_front(
    decoder: &mut Decoder,
    codec: &'static Codec,
    packed: &[u8],
    all: usize,
    plain: &mut [u8],
) -> Result<(), Fault> {
    let mut whole = vec![0; all];
    decoder.decode(codec, packed, &mut whole)?;
    plain.copy_from_slice(&whole[..plain.len()]);
    Ok(())
}

impl Check {
    /// What it is called.
    pub fn name(&self) -> &'static str {
        match self {
            Check::Nothing => "nothing",
            Check::Zero => "zero",
            Check::Inside(kind) => kind,
            Check::Xxh64(_) => "XXH64",
            Check::Leaf(_) => "BLAKE3",
        }
    }
}

impl fmt::Debug for Image {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Image")
            .field("name", &self.file.name())
            .field("format", &self.format.name)
            .field("size", &self.size())
            .field("block", &self.block_size())
            .finish_non_exhaustive()
    }
}
