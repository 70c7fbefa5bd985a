//! The interface of formats.

use std::sync::Arc;

use crate::block::Block;
use crate::error::Error;
use crate::file::ImageFile;
use crate::hash::Hash;
use crate::image::Image;

/// The largest number of blocks in an image: 2 TiB in blocks of 64 KiB. Their index takes a gigabyte of memory.
pub const MAX_BLOCKS: u64 = 1 << 25;

/// A format of images.
#[derive(Debug)]
pub struct Format {
    /// Its name.
    pub name: &'static str,
    /// A one-line description.
    pub about: &'static str,
    /// Whether a file with this start and end has this format.
    pub recognise: fn(&Ends) -> bool,
    /// Reads the index of a file.
    pub open: fn(&Arc<ImageFile>) -> Result<Opened, Error>,
}

/// The start and the end of a file, by which its format is recognised.
#[derive(Debug, Default)]
pub struct Ends {
    /// Up to 512 bytes from its start.
    pub head: Vec<u8>,
    /// Up to 512 bytes from its end.
    pub tail: Vec<u8>,
    /// If it starts with skippable zstd frames, up to 8 bytes after them.
    pub skipped: Option<Vec<u8>>,
}

/// The contents of an image's index.
pub struct Opened {
    /// The size of the image in bytes.
    pub size: u64,
    /// The length of the largest block that must be decoded.
    pub block: u32,
    /// The positions of blocks.
    pub layout: Box<dyn Layout>,
    /// The hashes of blocks.
    pub leaves: Option<Leaves>,
    /// The backing image, which has the bytes of [`Place::Backing`](crate::Place::Backing).
    pub backing: Option<Arc<Image>>,
}

/// Hashes of the blocks that are not zero, one after the other in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leaves {
    /// The root hash over them, as stored in the image.
    pub root: Hash,
    /// The offset of the first hash.
    pub offset: u64,
    /// The number of hashes.
    pub count: u32,
    /// The block size in bytes.
    pub block: u32,
}

/// The positions of blocks.
pub trait Layout: Send + Sync {
    /// The block that contains byte `at` of the image. The `start` of a zero block may be any byte before `at` if all
    /// bytes from there on are zero.
    ///
    /// # Errors
    /// The index cannot be read or is damaged.
    fn block(&self, at: u64) -> Result<Block, Error>;

    /// Block `number` among those without bytes, in the order of the image. They are only verified.
    fn empty(&self, _number: usize) -> Option<Block> {
        None
    }

    /// Problems of the file that do not affect the bytes of the image.
    ///
    /// # Errors
    /// The file cannot be read.
    fn faults(&self) -> Result<Faults, Error> {
        Ok(Faults::new())
    }
}

/// Problems of a file beyond its blocks: a few lines, one for each kind.
pub type Faults = Vec<String>;

impl Format {
    pub(super) fn cut(&self, file: &ImageFile, what: impl Into<String>) -> Error {
        Error::Cut {
            name: file.name().to_owned(),
            format: self.name,
            what: what.into(),
        }
    }

    pub(super) fn damaged(&self, file: &ImageFile, what: impl Into<String>) -> Error {
        Error::Damaged {
            name: file.name().to_owned(),
            format: self.name,
            what: what.into(),
        }
    }

    pub(crate) fn unsupported(&self, file: &ImageFile, what: impl Into<String>) -> Error {
        Error::Unsupported {
            name: file.name().to_owned(),
            format: self.name,
            what: what.into(),
        }
    }

    pub(super) fn refused(&self, file: &ImageFile, reason: Refused) -> Error {
        match reason {
            Refused::Damaged(what) => self.damaged(file, what),
            Refused::Unsupported(what) => self.unsupported(file, what),
        }
    }
}

/// Why an image is rejected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refused {
    /// It is invalid, for this reason.
    Damaged(String),
    /// It uses this unsupported feature; with what to do instead.
    Unsupported(String),
}

impl Refused {
    /// The block at byte `at` has more bytes than a read may decode.
    pub(super) fn longer_than_any(at: u64, len: u64) -> Refused {
        let most = crate::MAX_BLOCK >> 20;
        Refused::Unsupported(format!(
            "has a block of {len} bytes at byte {at}, and any read in it would decode all of that; up to {most} MiB are \
             read; pack it again in smaller ones"
        ))
    }

    pub(super) fn newer(version: u8) -> Refused {
        Refused::Unsupported(format!(
            "is of version {version}, which a newer evener reads"
        ))
    }
}

impl From<String> for Refused {
    fn from(what: String) -> Refused {
        Refused::Damaged(what)
    }
}

impl From<&str> for Refused {
    fn from(what: &str) -> Refused {
        Refused::Damaged(what.to_owned())
    }
}
