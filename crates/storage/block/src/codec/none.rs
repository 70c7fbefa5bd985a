//! Blocks that are stored as they are.

use super::{Codec, CodecError, Decode, Encode};

/// Copies blocks.
pub static NONE: Codec = Codec {
    id: 0,
    name: "none",
    about: "no compression; zero blocks still take no space, and hashes are kept",
    levels: None,
    checked: None,
    bare: None,
    prefix: false,
    weight: 1.0,
    encoder: Some(|_| Box::new(Copy)),
    decoder: || Box::new(Copy),
};

struct Copy;

impl Encode for Copy {
    fn encode(&mut self, plain: &[u8], room: &mut [u8]) -> Option<usize> {
        room.get_mut(..plain.len())?.copy_from_slice(plain);
        Some(plain.len())
    }
}

impl Decode for Copy {
    fn decode(&mut self, packed: &[u8], plain: &mut [u8]) -> Result<(), CodecError> {
        match packed.len().cmp(&plain.len()) {
            std::cmp::Ordering::Less => return Err(CodecError::TooShort),
            std::cmp::Ordering::Greater => return Err(CodecError::TooLong),
            std::cmp::Ordering::Equal => plain.copy_from_slice(packed),
        }
        Ok(())
    }
}
