//! Containers: the storage of packed blocks in a file.

mod evb;
mod output;
mod seekable;

use serde::Serialize;

use crate::codec::{Codec, ZSTD};
use crate::error::Error;
use crate::format::MAX_BLOCKS;
use crate::hash::Hash;

pub use output::{BlockRecord, Container, ContainerFile};

/// The container for blocks of `codec`.
pub fn of(codec: &'static Codec, level: i32, block: u32) -> Box<dyn Container> {
    match *codec == ZSTD {
        true => Box::new(seekable::Seekable::new(level, block)),
        false => Box::new(evb::Evb::new(block)),
    }
}

/// The result of packing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Packed {
    /// The size of the image in bytes.
    pub size: u64,
    /// The size of the container in bytes.
    pub packed_size: u64,
    /// The number of blocks in the image.
    pub blocks: u64,
    /// The number of zero blocks among them.
    pub zero_blocks: u64,
    /// The root hash.
    pub root: Option<Hash>,
}

/// Refuses an image with more blocks than are read. `zeros` is the number of zeros that are not written yet.
pub fn check_entries(
    container: &dyn Container,
    out: &ContainerFile,
    zeros: u64,
) -> Result<(), Error> {
    match container.entries() as u64 + container.entries_of_zeros(zeros) > MAX_BLOCKS {
        true => Err(Error::Unsupported {
            name: out.name().to_owned(),
            format: "packed",
            what: format!(
                "would have more than {MAX_BLOCKS} blocks; choose larger ones with --block"
            ),
        }),
        false => Ok(()),
    }
}
