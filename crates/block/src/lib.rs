//! Compressed disk images: written, read at any place, checked and unpacked, on all workers of the evener runtime.
//!
//! Two containers are written, whose layouts are in `FORMAT.md`: zstd's seekable format, which any zstd unpacks, and
//! `evb` for codecs that have no such format. Others are read as well; [`Image::open`] tells them apart.
//!
//! ```no_run
//! use evener_block::{Decoder, Image};
//!
//! let image = Image::open("disk.img.zst".as_ref())?;
//! let mut decoder = Decoder::new();
//! let mut sector = [0; 512];
//! image.read_at(&mut decoder, 1 << 20, &mut sector)?;
//! # Ok::<(), evener_block::Error>(())
//! ```
//!
//! | file | what it is for |
//! | --- | --- |
//! | `image.rs` | an image that is open: geometry, blocks, extents |
//! | `read.rs` | its bytes: read, decoded, compared |
//! | `merged.rs` | an image together with an overlay |
//! | `file.rs` | the file under it, read from any thread |
//! | `codec/` | one file per codec, one line each in `mod.rs` |
//! | `format/` | one file per format, one line each in `mod.rs` |
//! | `index.rs` | where blocks lie, for the formats that list them |
//! | `tree.rs` | hashes of blocks and their root |
//! | `pack/` | an image into a container |
//! | `check/` | an image verified or unpacked |
//! | `overlay/` | what was written to an image that is served |
//! | `serve/` | decoded blocks kept for a server, read-ahead, what is counted |
//! | `nbd/` | a server of the NBD protocol |
//! | `ublk/` | a server of the Linux driver `ublk` |
//! | `units.rs` | what packing and decoding have in common |
//! | `session/` | what the command line asks for |

pub mod check;
pub mod codec;
mod decoder;
mod error;
mod file;
pub mod format;
mod image;
mod index;
mod merged;
pub mod nbd;
pub mod overlay;
pub mod pack;
mod read;
pub mod serve;
pub mod session;
mod tree;
pub mod ublk;
mod units;
mod zero;

pub use decoder::Decoder;
pub use error::{Error, Fault};
pub use file::ImageFile;
pub use image::{Block, Check, Extent, Image, PackedSum, Place};
pub use merged::Merged;
pub use tree::{Hash, Root};
pub use units::STRUCTURES;

/// The smallest block that is written or taken from an index of blocks of one size, in bytes.
pub const MIN_BLOCK: u32 = 512;
/// The largest block that is written or read, in bytes. An index that says more is not believed.
pub const MAX_BLOCK: u32 = 4 << 20;
