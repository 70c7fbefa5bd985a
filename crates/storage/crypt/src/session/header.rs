//! The header of an encrypted file alone, for programs that encrypt and decrypt single chunks.
//!
//! ```
//! use evener_crypt::chunked::{CHUNK, SEALED_CHUNK, sealed_len};
//! use evener_crypt::keys::Key;
//! use evener_crypt::session::{Secret, header_len, key_of_header, new_header};
//!
//! let secret = Secret::Key(Key::generate()?);
//! let (key, header) = new_header(&secret, b"")?;
//! let text = vec![7; CHUNK + 100];
//! let mut chunks = vec![0; sealed_len(text.len(), true)];
//! key.seal(0, &text, true, &mut chunks)?;
//! // A file is the header and the chunks. Here the second chunk is opened without the first.
//! assert_eq!(header.len(), header_len(&secret));
//! let mut rest = [0; 100];
//! key_of_header(&secret, b"", &header)?.open_chunks(1, &chunks[SEALED_CHUNK..], true, &mut rest)?;
//! assert_eq!(rest, [7; 100]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use super::decrypt::unlock;
use super::encrypt::new_key;
use super::memory::NAME;
use super::{Error, Secret};
use crate::chunked::{FileKey, HEADER, Layout, SizeError};
use crate::keys::PASSPHRASE_HEADER;

/// Creates the key of a new file, and the header that the file starts with. `context` is needed to decrypt it.
///
/// # Errors
/// There is no randomness or memory for a key.
pub fn new_header(secret: &Secret, context: &[u8]) -> Result<(FileKey, Vec<u8>), Error> {
    new_key(NAME, secret, context)
}

/// Returns the key of the file that starts with `header`. Only the first [`header_len`] bytes are read.
///
/// # Errors
/// The header is invalid, or was made with another secret or `context`.
pub fn key_of_header(secret: &Secret, context: &[u8], header: &[u8]) -> Result<FileKey, Error> {
    let (key, _) = unlock(NAME, secret, context, |buffer, byte| {
        let rest = header.get(byte as usize..).unwrap_or_default();
        let len = rest.len().min(buffer.len());
        buffer[..len].copy_from_slice(&rest[..len]);
        Ok(len)
    })?;
    Ok(key)
}

/// The header size of files encrypted with `secret`.
pub fn header_len(secret: &Secret) -> usize {
    match secret {
        Secret::Key(_) => HEADER,
        Secret::Passphrase(_) => PASSPHRASE_HEADER + HEADER,
    }
}

/// The encrypted size of a file of `len` bytes.
///
/// # Errors
/// The format does not allow this size.
pub fn encrypted_len(secret: &Secret, len: u64) -> Result<u64, Error> {
    let sizes = layout(secret).of_plain(len).map_err(size_error)?;
    Ok(sizes.sealed())
}

/// The size of the plaintext in an encrypted file of `len` bytes.
///
/// # Errors
/// No file has this size.
pub fn decrypted_len(secret: &Secret, len: u64) -> Result<u64, Error> {
    let sizes = layout(secret).of_sealed(len).map_err(size_error)?;
    Ok(sizes.plain())
}

fn layout(secret: &Secret) -> Layout {
    Layout::CHUNKED.after(header_len(secret) as u64)
}

fn size_error(cause: SizeError) -> Error {
    Error::Size {
        name: NAME.to_owned(),
        cause,
    }
}
