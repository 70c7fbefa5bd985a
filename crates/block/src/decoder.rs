//! What one thread needs to decode blocks.

use crate::codec::{Codec, CodecError, Decode, TABLE};
use crate::error::Fault;

/// What one thread needs to decode blocks: contexts of codecs and room for packed bytes, kept from block to block, so
/// that nothing is allocated for one.
pub struct Decoder {
    codecs: [Option<Box<dyn Decode>>; TABLE.len()],
    pub(crate) packed: Vec<u8>,
    pub(crate) plain: Vec<u8>,
}

impl Decoder {
    /// Nothing is allocated before it is needed.
    pub fn new() -> Decoder {
        Decoder {
            codecs: [const { None }; TABLE.len()],
            packed: Vec::new(),
            plain: Vec::new(),
        }
    }

    /// Decodes `packed` with `codec` into all of `plain`.
    ///
    /// # Errors
    /// It is not what the codec made of so many bytes.
    pub fn decode(
        &mut self,
        codec: &'static Codec,
        packed: &[u8],
        plain: &mut [u8],
    ) -> Result<(), Fault> {
        let decode = self.codecs[usize::from(codec.id)].get_or_insert_with(codec.decoder);
        told(codec, decode.decode(packed, plain))
    }

    /// Decodes `packed` with `codec` until `plain` is full, which is to be all of it where the codec has no front.
    ///
    /// # Errors
    /// It is not what the codec made of so many bytes or more.
    pub fn decode_front(
        &mut self,
        codec: &'static Codec,
        packed: &[u8],
        plain: &mut [u8],
    ) -> Result<(), Fault> {
        let decode = self.codecs[usize::from(codec.id)].get_or_insert_with(codec.decoder);
        told(codec, decode.front(packed, plain))
    }
}

fn told(codec: &Codec, done: Result<(), CodecError>) -> Result<(), Fault> {
    done.map_err(|error| Fault::Codec {
        codec: codec.name,
        error,
    })
}

impl std::fmt::Debug for Decoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Decoder").finish_non_exhaustive()
    }
}

impl Default for Decoder {
    fn default() -> Decoder {
        Decoder::new()
    }
}
