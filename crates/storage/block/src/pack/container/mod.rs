//! How packed blocks are stored in a file.

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

/// What was packed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Packed {
    /// Bytes of the image.
    pub size: u64,
    /// Bytes of the container.
    pub packed_size: u64,
    /// Blocks of the image.
    pub blocks: u64,
    /// Those of them that are zero.
    pub zero_blocks: u64,
    /// The hash over all of them.
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
