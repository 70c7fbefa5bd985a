//! Compressed disk images: written, read at any place, checked and unpacked, on all workers of the evener runtime.
//!
//! Two containers are written: zstd's seekable format, which any zstd unpacks, and `evb` for codecs that have no such
//! format. `FORMAT.md` describes them. Other formats are read as well; [`Image::open`] recognises them.
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
//! | `image.rs` | an open image: size, blocks, extents |
//! | `block.rs` | blocks: where their bytes come from and what they are compared with |
//! | `read.rs` | reading, decoding and checking the bytes of an image |
//! | `merged.rs` | an image merged with its overlay |
//! | `file.rs` | the file of an image |
//! | `compressed.rs` | streams that other programs compressed |
//! | `codec/` | one file per codec, one line each in `mod.rs` |
//! | `format/` | one file per format, one line each in `mod.rs` |
//! | `hash.rs` | hashes of blocks and their root |
//! | `pack/` | an image into a container |
//! | `check/` | an image verified or unpacked |
//! | `overlay/` | what was written to an image that is served |
//! | `serve/` | what servers share: decoded blocks, read-ahead, counters |
//! | `nbd/` | a server of the NBD protocol |
//! | `ublk/` | a server of the Linux driver `ublk` |
//! | `archive/` | images in tars |
//! | `remote/` | images on NBD and web servers |
//! | `certificates.rs` | certificates in files, and what is wrong with TLS |
//! | `units.rs` | what packing and decoding have in common |
//! | `session/` | what the command line asks for |

mod archive;
mod block;
mod certificates;
pub mod check;
pub mod codec;
mod compressed;
mod decoder;
mod error;
mod file;
pub mod format;
mod hash;
mod image;
mod merged;
pub mod nbd;
pub mod overlay;
pub mod pack;
mod read;
mod remote;
pub mod serve;
pub mod session;
pub mod ublk;
mod units;
mod zero;

pub use block::{Block, Check, Extent, PackedSum, Place};
pub use decoder::Decoder;
pub use error::{Error, Fault};
pub use file::ImageFile;
pub use hash::{Hash, Root};
pub use image::Image;
pub use merged::Merged;
pub use units::STRUCTURES;

/// The smallest block that is written or taken from an index of blocks of one size, in bytes.
pub const MIN_BLOCK: u32 = 512;
/// The largest block that is written or read, in bytes. An index with a larger one is refused.
pub const MAX_BLOCK: u32 = 4 << 20;
