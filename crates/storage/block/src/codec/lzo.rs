//! LZO1X.

use lzokay::compress::{Dict, compress_no_alloc};
use lzokay::decompress::decompress;

use super::types::exact;
use super::{Codec, CodecError, Decode, Encode};

/// A block of LZO1X, as `lzo1x_decompress_safe` of liblzo2 reads it.
pub static LZO: Codec = Codec {
    id: 3,
    name: "lzo",
    about: "LZO1X, fast to decode on small CPUs",
    levels: None,
    checked: None,
    bare: None,
    prefix: false,
    weight: 400.0,
    encoder: Some(|_| Box::new(Encoder(Dict::new()))),
    decoder: || Box::new(Decoder),
};

struct Encoder(Box<Dict>);

impl Encode for Encoder {
    fn encode(&mut self, plain: &[u8], room: &mut [u8]) -> Option<usize> {
        compress_no_alloc(plain, room, &mut self.0).ok()
    }
}

struct Decoder;

impl Decode for Decoder {
    fn decode(&mut self, packed: &[u8], plain: &mut [u8]) -> Result<(), CodecError> {
        let wanted = plain.len();
        let done = decompress(packed, plain).map_err(|error| match error {
            lzokay::Error::OutputOverrun => CodecError::TooLong,
            _ => CodecError::Invalid,
        });
        exact(done?, wanted)
    }
}
