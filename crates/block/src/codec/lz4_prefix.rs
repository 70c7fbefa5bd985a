//! The first bytes of a block of LZ4: the one function of the library that the crate `lz4` does not offer.

use std::ffi::{c_char, c_int};

// It brings the library.
use lz4 as _;

use super::{CodecError, exact};

unsafe extern "C" {
    /// Of lz4.h, since version 1.8: decodes until `target` bytes are written or `src` ends, and says how many there
    /// are; less than 0 if `src` is damaged before. Reads `src_len` bytes and writes `room` at most.
    fn LZ4_decompress_safe_partial(
        src: *const c_char,
        dst: *mut c_char,
        src_len: c_int,
        target: c_int,
        room: c_int,
    ) -> c_int;
}

/// Decodes `packed` until `plain` is full.
pub fn decode_prefix(packed: &[u8], plain: &mut [u8]) -> Result<(), CodecError> {
    let int = |len: usize| c_int::try_from(len).map_err(|_| CodecError::TooLong);
    let (src_len, room) = (int(packed.len())?, int(plain.len())?);
    let (src, dst) = (packed.as_ptr().cast(), plain.as_mut_ptr().cast());
    // SAFETY: both are of so many bytes, the one to be read and the other to be written, and nothing else has the latter.
    let done = unsafe { LZ4_decompress_safe_partial(src, dst, src_len, room, room) };
    exact(
        usize::try_from(done).map_err(|_| CodecError::Invalid)?,
        plain.len(),
    )
}
