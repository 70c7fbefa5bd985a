//! Compressed disk images with random access: packed, read, verified, unpacked and served on all CPU cores.
//!
//! The crate writes two containers: zstd's seekable format, which any zstd unpacks, and `evb` for codecs without such a
//! format. `FORMAT.md` specifies both. It also reads other formats; [`Image::open`] recognises them.
//!
//! [`Image`] reads at any offset. [`session`] packs, verifies, unpacks and serves files.
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
//! | file | contents |
//! | --- | --- |
//! | `image.rs` | an open image: size, blocks, extents |
//! | `block.rs` | blocks: the position of their bytes, and their checksums |
//! | `read.rs` | reading, decoding and checking the bytes of an image |
//! | `merged.rs` | an image merged with its overlay |
//! | `file.rs` | the file of an image |
//! | `compressed.rs` | streams compressed by other programs |
//! | `codec/` | one file per codec, one line each in `mod.rs` |
//! | `format/` | one file per format, one line each in `mod.rs` |
//! | `hash.rs` | hashes of blocks and their root |
//! | `pack/` | packing |
//! | `check/` | verifying and unpacking |
//! | `overlay/` | writes to a served image |
//! | `serve/` | shared parts of servers: decoded blocks, read-ahead, counters |
//! | `nbd/` | an NBD server |
//! | `ublk/` | a server for the Linux driver `ublk` |
//! | `archive/` | images in tars |
//! | `remote/` | images on NBD and web servers |
//! | `certificates.rs` | certificate files, and TLS errors |
//! | `units.rs` | common parts of packing and decoding |
//! | `session/` | `evener image` as library functions |

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

/// The smallest block size that is written or accepted in an index with one block size, in bytes.
pub const MIN_BLOCK: u32 = 512;
/// The largest block size, in bytes. An index with a larger one is rejected.
pub const MAX_BLOCK: u32 = 4 << 20;

/// The examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
