//! Decoding the first bytes of a block of LZ4, by a function of the library that the crate `lz4` does not offer.

use std::ffi::{c_char, c_int};

// Links the library.
use lz4 as _;

use super::CodecError;
use super::types::exact;

unsafe extern "C" {
    /// From lz4.h, since version 1.8. Decodes until `target` bytes are written or `src` ends, and returns how many
    /// bytes it wrote; less than 0 if `src` is damaged. It reads at most `src_len` bytes and writes at most `room`.
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
    // SAFETY: `src` has `src_len` readable bytes and `dst` has `room` writable bytes, to which `plain` is the only
    // reference.
    let done = unsafe { LZ4_decompress_safe_partial(src, dst, src_len, room, room) };
    exact(
        usize::try_from(done).map_err(|_| CodecError::Invalid)?,
        plain.len(),
    )
}
