//! Codecs, which compress and decompress blocks.
//!
//! A codec is a file beside this one and a line in [`TABLE`]. `types.rs` defines the interface.

mod deflate;
mod lz4;
#[allow(unsafe_code)]
mod lz4_prefix;
mod lzo;
mod none;
mod types;
pub(crate) mod xz;
mod zstd;

/// All codecs. The index of each is its [`Codec::id`].
pub static TABLE: [&Codec; 14] = [
    &none::NONE,
    &zstd::ZSTD,
    &lz4::BARE,
    &lzo::LZO,
    &deflate::ZLIB,
    &deflate::DEFLATE,
    &xz::XZ,
    &zstd::FIRST,
    &xz::BLOCK,
    &xz::BLOCK_CRC32,
    &xz::BLOCK_CRC64,
    &xz::BLOCK_SHA256,
    &lz4::LZ4,
    &zstd::BARE,
];

pub use deflate::{DEFLATE, ZLIB};
pub use lz4::{BARE as LZ4_BARE, LZ4};
pub use lzo::LZO;
pub use none::NONE;
pub use types::{Codec, CodecError, Decode, Encode, Levels};
pub use xz::{BLOCK as XZ_BLOCK, BLOCK_CRC32, BLOCK_CRC64, BLOCK_SHA256, XZ};
pub use zstd::{BARE as ZSTD_BARE, FIRST as ZSTD_FIRST, ZSTD};

impl Codec {
    /// The codec with this number.
    pub fn of_id(id: u8) -> Option<&'static Codec> {
        TABLE.get(usize::from(id)).copied()
    }

    /// The codec with this name, if it can encode.
    pub fn of_name(name: &str) -> Option<&'static Codec> {
        Codec::encoders().find(|codec| codec.name == name)
    }

    /// The codecs that can encode.
    pub fn encoders() -> impl Iterator<Item = &'static Codec> {
        TABLE.into_iter().filter(|codec| codec.encoder.is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_numbers_and_names_are_told_apart() {
        for (place, codec) in TABLE.into_iter().enumerate() {
            assert_eq!(usize::from(codec.id), place);
            let same = TABLE.into_iter().filter(|other| other.name == codec.name);
            assert_eq!(same.count(), 1, "{}", codec.name);
        }
        assert_eq!(Codec::of_name("zstd"), Some(&ZSTD));
        assert_eq!(Codec::of_name("zlib"), None);
        assert_eq!(Codec::of_id(200), None);
    }
}
