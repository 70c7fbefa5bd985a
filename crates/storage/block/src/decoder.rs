//! The state that a thread needs to decode blocks.

use crate::codec::{Codec, CodecError, Decode, TABLE};
use crate::error::Fault;

/// The state that a thread needs to decode blocks: the contexts of codecs, and buffers. They are kept, so no memory
/// is allocated per block.
pub struct Decoder {
    codecs: [Option<Box<dyn Decode>>; TABLE.len()],
    pub(crate) packed: Vec<u8>,
    pub(crate) plain: Vec<u8>,
}

impl Decoder {
    /// Creates a decoder. Nothing is allocated yet.
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
    /// `packed` does not decode to exactly this number of bytes.
    pub fn decode(
        &mut self,
        codec: &'static Codec,
        packed: &[u8],
        plain: &mut [u8],
    ) -> Result<(), Fault> {
        let decode = self.codecs[usize::from(codec.id)].get_or_insert_with(codec.decoder);
        codec_fault(codec, decode.decode(packed, plain))
    }

    /// Decodes `packed` with `codec` until `plain` is full. If the codec cannot decode prefixes, `plain` must hold
    /// the whole block.
    ///
    /// # Errors
    /// `packed` decodes to fewer bytes.
    pub fn decode_prefix(
        &mut self,
        codec: &'static Codec,
        packed: &[u8],
        plain: &mut [u8],
    ) -> Result<(), Fault> {
        let decode = self.codecs[usize::from(codec.id)].get_or_insert_with(codec.decoder);
        codec_fault(codec, decode.decode_prefix(packed, plain))
    }
}

fn codec_fault(codec: &Codec, done: Result<(), CodecError>) -> Result<(), Fault> {
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
