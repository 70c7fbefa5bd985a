//! LZ4 blocks, without a frame around them.

use lz4_flex::block::{CompressTable, DecompressError, compress_into_with_table, decompress_into};

use super::{Codec, CodecError, Decode, Encode, exact};

/// A block of LZ4, <https://github.com/lz4/lz4/blob/dev/doc/lz4_Block_format.md>.
pub static LZ4: Codec = Codec {
    id: 2,
    name: "lz4",
    about: "LZ4, the fastest to decode",
    levels: None,
    checked: None,
    weight: 60.0,
    encoder: Some(|_| Box::new(Encoder(CompressTable::large()))),
    decoder: || Box::new(Decoder),
};

struct Encoder(CompressTable);

impl Encode for Encoder {
    fn encode(&mut self, plain: &[u8], room: &mut [u8]) -> Option<usize> {
        // The crate wants room for the worst case, whether or not it is needed.
        compress_into_with_table(plain, room, &mut self.0).ok()
    }
}

struct Decoder;

impl Decode for Decoder {
    fn decode(&mut self, packed: &[u8], plain: &mut [u8]) -> Result<(), CodecError> {
        let wanted = plain.len();
        let done = decompress_into(packed, plain).map_err(|error| match error {
            DecompressError::OutputTooSmall { .. } => CodecError::TooLong,
            _ => CodecError::Invalid,
        });
        exact(done?, wanted)
    }
}
