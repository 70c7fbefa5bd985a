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

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(packed: &[u8], len: usize) -> Result<Vec<u8>, CodecError> {
        let mut plain = vec![0; len];
        Decoder.decode(packed, &mut plain).map(|()| plain)
    }

    /// Made by hand: 17 and the number of literals, the literals, and the mark of the end.
    #[test]
    fn a_block_of_literals_is_read() {
        let packed = [17 + 5, b'e', b'v', b'e', b'n', b's', 17, 0, 0];
        assert_eq!(decoded(&packed, 5).unwrap(), b"evens");
        assert_eq!(decoded(&packed, 4), Err(CodecError::TooLong));
        assert_eq!(decoded(&packed, 6), Err(CodecError::TooShort));
        assert_eq!(decoded(&packed[..7], 5), Err(CodecError::Invalid));
    }

    #[test]
    fn what_is_packed_is_smaller_and_comes_back() {
        let plain: Vec<u8> = (0..100_000u32).map(|i| (i / 7 % 50) as u8).collect();
        let mut room = vec![0; plain.len()];
        let mut encoder = Encoder(Dict::new());
        let len = encoder.encode(&plain, &mut room).unwrap();
        assert!(len < plain.len() / 10, "{len}");
        assert!(decoded(&room[..len], plain.len()).unwrap() == plain);
        assert_eq!(encoder.encode(&plain, &mut room[..len - 1]), None);
    }
}
