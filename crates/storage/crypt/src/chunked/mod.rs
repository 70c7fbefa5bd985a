//! Files of independently encrypted chunks: the C2SP specification "chunked encryption",
//! <https://c2sp.org/chunked-encryption>.
//!
//! An encrypted file is a header of [`HEADER`] bytes (salt, commitment to the key) and chunks of [`CHUNK`] bytes of
//! plaintext, each followed by a tag. The last chunk is shorter than the others and may be empty, so truncation is
//! detected. Any chunk can be encrypted and decrypted independently, on any thread. [`Sizes`] computes the positions
//! of chunks.

mod derive;
mod error;
mod scheme;
mod sizes;

use evener_runtime::Simd;
use zeroize::Zeroizing;

use crate::gcm::{Gcm, TAG};

pub use error::{ChunkError, HeaderError, SizeError};
pub use scheme::{CHUNK, HEADER, MAX_CHUNKS, SALT, SEALED_CHUNK, Scheme};
pub use sizes::{Layout, Needed, Sizes};

/// The key of a file. Any number of threads can use it at once.
pub struct FileKey {
    gcm: Gcm,
    base_nonce: Zeroizing<[u8; 12]>,
}

impl FileKey {
    /// Creates the key of a new file, and the header to write first.
    ///
    /// Never use a `salt` twice with `key`; [`crate::keys::salt`] generates one. `context` is any additional data,
    /// which is needed to decrypt the file.
    ///
    /// # Errors
    /// The scheme does not accept keys of this length.
    pub fn create(
        scheme: Scheme,
        key: &[u8],
        context: &[u8],
        salt: &[u8; SALT],
        simd: Simd,
    ) -> Result<(FileKey, [u8; HEADER]), HeaderError> {
        let derived = derive::derive(scheme, key, salt, context)?;
        let mut header = [0; HEADER];
        header[..SALT].copy_from_slice(salt);
        header[SALT..].copy_from_slice(derived.commitment());
        Ok((FileKey::new(&derived, simd), header))
    }

    /// Derives the key of a file that starts with `header`.
    ///
    /// # Errors
    /// The key, the context and the header do not match.
    pub fn open(
        scheme: Scheme,
        key: &[u8],
        context: &[u8],
        header: &[u8],
        simd: Simd,
    ) -> Result<FileKey, HeaderError> {
        let header: &[u8; HEADER] = header
            .get(..HEADER)
            .and_then(|header| header.try_into().ok())
            .ok_or(HeaderError::Short { got: header.len() })?;
        let (salt, commitment) = header
            .split_first_chunk()
            .expect("a header begins with a salt");
        let derived = derive::derive(scheme, key, salt, context)?;
        match derived.commits_to(commitment) {
            true => Ok(FileKey::new(&derived, simd)),
            false => Err(HeaderError::Commitment),
        }
    }

    fn new(derived: &derive::Derived, simd: Simd) -> FileKey {
        FileKey {
            gcm: Gcm::new(derived.key(), simd),
            base_nonce: Zeroizing::new(*derived.base_nonce()),
        }
    }

    /// Encrypts chunks from number `first` on: `plain` into `sealed`.
    ///
    /// Full chunks are encrypted first. With `last` the file ends here, and the remaining bytes, fewer than [`CHUNK`]
    /// or none, are its last chunk. Without `last` there must be no remaining bytes. Never encrypt a chunk twice with
    /// different plaintext.
    ///
    /// # Errors
    /// There would be more than [`MAX_CHUNKS`].
    ///
    /// # Panics
    /// There is a rest without `last`, or `sealed` does not have [`sealed_len`] bytes.
    pub fn seal(
        &self,
        first: u64,
        plain: &[u8],
        last: bool,
        sealed: &mut [u8],
    ) -> Result<(), SizeError> {
        assert!(last || plain.len().is_multiple_of(CHUNK), "half a chunk");
        assert_eq!(sealed.len(), sealed_len(plain.len(), last), "no room");
        let chunks = sealed.len().div_ceil(SEALED_CHUNK) as u64;
        if first.checked_add(chunks).is_none_or(|end| end > MAX_CHUNKS) {
            return Err(SizeError::TooLong {
                most: MAX_CHUNKS * CHUNK as u64,
            });
        }
        for (i, sealed) in sealed.chunks_mut(SEALED_CHUNK).enumerate() {
            let from = i * CHUNK;
            let plain = &plain[from..from + sealed.len() - TAG];
            self.gcm
                .seal(&self.nonce(first + i as u64), &[], plain, sealed);
        }
        Ok(())
    }

    /// Decrypts chunks from number `first` on: `sealed` into `plain`.
    ///
    /// With `last` the file ends here, so the last chunk must be short. Without `last` all chunks must be full. On
    /// failure, `plain` has the plaintext of the chunks before the failed one, followed by zeros.
    ///
    /// # Errors
    /// A chunk was altered or moved, or the last chunk of the file is missing.
    ///
    /// # Panics
    /// There is a part of a chunk without `last`, or `plain` does not have [`plain_len`] bytes.
    pub fn open_chunks(
        &self,
        first: u64,
        sealed: &[u8],
        last: bool,
        plain: &mut [u8],
    ) -> Result<(), ChunkError> {
        assert_eq!(plain.len(), plain_len(sealed.len()), "no room");
        assert!(
            last || sealed.len().is_multiple_of(SEALED_CHUNK),
            "half a chunk"
        );
        let mut result = Ok(());
        for (i, sealed) in sealed.chunks(SEALED_CHUNK).enumerate() {
            let chunk = first + i as u64;
            let from = i * CHUNK;
            if chunk >= MAX_CHUNKS {
                result = Err(ChunkError::Extra { chunk });
            } else if sealed.len() < TAG {
                result = Err(ChunkError::Truncated { chunk });
            } else {
                let plain = &mut plain[from..from + sealed.len() - TAG];
                let opened = self.gcm.open(&self.nonce(chunk), &[], sealed, plain);
                result = opened.map_err(|_| ChunkError::Altered { chunk });
            }
            if result.is_err() {
                plain[from..].fill(0);
                return result;
            }
        }
        if last && sealed.len().is_multiple_of(SEALED_CHUNK) {
            let chunk = first + (sealed.len() / SEALED_CHUNK) as u64;
            result = Err(ChunkError::Truncated { chunk });
        }
        result
    }

    fn nonce(&self, chunk: u64) -> [u8; 12] {
        let mut nonce = *self.base_nonce;
        for (byte, number) in nonce[4..].iter_mut().zip(chunk.to_be_bytes()) {
            *byte ^= number;
        }
        nonce
    }
}

impl std::fmt::Debug for FileKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "FileKey({})", self.gcm.variant())
    }
}

/// The encrypted size of `plain` bytes of plaintext, as full chunks and, with `last`, a short one.
pub fn sealed_len(plain: usize, last: bool) -> usize {
    let chunks = plain / CHUNK + usize::from(last);
    plain + chunks * TAG
}

/// The size of the plaintext in `sealed` bytes of chunks. A remainder that is too short for a chunk has none.
pub fn plain_len(sealed: usize) -> usize {
    sealed / SEALED_CHUNK * CHUNK + (sealed % SEALED_CHUNK).saturating_sub(TAG)
}
