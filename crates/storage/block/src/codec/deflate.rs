//! Deflate (RFC 1951), bare and in zlib's frame (RFC 1950); only read.

use libdeflater::{DecompressionError, Decompressor};

use super::types::exact;
use super::{Codec, CodecError, Decode};

/// In zlib's frame, with its Adler-32.
pub static ZLIB: Codec = Codec {
    id: 4,
    name: "zlib",
    about: "zlib",
    levels: None,
    checked: Some("Adler-32"),
    bare: None,
    prefix: false,
    weight: 150.0,
    encoder: None,
    decoder: || {
        Box::new(Inflate {
            zlib: true,
            inner: Decompressor::new(),
        })
    },
};

/// Bare. Bytes after its end are ignored, as in the sectors of a qcow2 image.
pub static DEFLATE: Codec = Codec {
    id: 5,
    name: "deflate",
    about: "deflate without a frame",
    levels: None,
    checked: None,
    bare: None,
    prefix: false,
    weight: 150.0,
    encoder: None,
    decoder: || {
        Box::new(Inflate {
            zlib: false,
            inner: Decompressor::new(),
        })
    },
};

struct Inflate {
    zlib: bool,
    inner: Decompressor,
}

impl Decode for Inflate {
    fn decode(&mut self, packed: &[u8], plain: &mut [u8]) -> Result<(), CodecError> {
        let wanted = plain.len();
        let done = match self.zlib {
            true => self.inner.zlib_decompress(packed, plain),
            false => self.inner.deflate_decompress(packed, plain),
        };
        let got = done.map_err(|error| match error {
            DecompressionError::BadData => CodecError::Invalid,
            DecompressionError::InsufficientSpace => CodecError::TooLong,
        });
        exact(got?, wanted)
    }
}
