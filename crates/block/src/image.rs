//! An image that is open.

use std::fmt;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use crate::codec::Codec;
use crate::error::Error;
use crate::file::ImageFile;
use crate::format::{self, Format, Opened};
use crate::tree::Hash;

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
        /// What the packed bytes can be compared with, where the image says it beside them.
        sum: Option<PackedSum>,
    },
}

/// What the packed bytes of a block can be compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PackedSum {
    /// The low 32 bits of their XXH3.
    Xxh3(u32),
    /// How many of them fill a block of xz up.
    Padding(u8),
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

/// An image that is open. All of it works from any number of threads at once, without a lock: each needs a
/// [`Decoder`](crate::Decoder).
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
    /// With others of the block, which is decoded from its front or compared whole.
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

    /// Block `number` of those that have no bytes, in the order of the image. Who reads bytes needs none of them; see
    /// [`Image::check_empty`].
    pub fn empty(&self, number: usize) -> Option<Block> {
        self.opened.layout.empty(number)
    }

    /// What is wrong in the file although all of the image can be read: lines, a few, without the name of the file.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn faults(&self) -> Result<Vec<String>, Error> {
        self.opened.layout.faults()
    }

    pub(crate) fn inside(&self, from: u64, bytes: u64) -> Result<(), Error> {
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

    /// The run of bytes from `at` on that take room, or do not, up to byte `end` at most. Bytes that take room may be
    /// zero. Those of a block that is damaged, or is not in the file, count among them: to say that they are zero would
    /// have readers pass over the fault.
    ///
    /// # Errors
    /// There is no byte `at`.
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
            let (hole, end) = match self.opened.layout.block(to) {
                Ok(block) => {
                    let hole = matches!(block.place, Place::Zero { .. });
                    (hole, block.start + block.len)
                }
                Err(_) => (false, self.after(to)),
            };
            *blocks = blocks.saturating_sub(1);
            if *zero.get_or_insert(hole) != hole {
                break;
            }
            to = end;
        }
        Ok(Extent {
            bytes: at..to.min(end),
            zero: zero.unwrap_or(false),
        })
    }

    /// Where the block ends that holds byte `at`, if nothing says where it lies: all are as long then.
    pub(crate) fn after(&self, at: u64) -> u64 {
        let block = u64::from(self.block_size());
        ((at / block + 1) * block).min(self.size())
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
