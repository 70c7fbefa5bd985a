//! The payload: 64 KiB chunks, each encrypted independently with ChaCha20-Poly1305 (STREAM).

use super::error::ChunkError;
use super::{FileKey, hkdf};
use crate::bulk::{Failure, Operation};
use crate::chacha20poly1305::ChaCha20Poly1305;
use crate::chosen;
use crate::chunked::Layout;
use crate::gcm::TAG;

/// Bytes of plaintext in every chunk but the last.
pub const CHUNK: usize = 64 << 10;
/// Bytes of a full encrypted chunk.
pub const SEALED_CHUNK: usize = CHUNK + TAG;
/// Bytes of the nonce between header and chunks.
pub const NONCE: usize = 16;

/// The positions of chunks, counted from the first.
pub const LAYOUT: Layout = Layout {
    header: 0,
    chunk: CHUNK as u64,
    // The format counts in 88 bits. These are more than a file system holds.
    max_chunks: 1 << 47,
    full_last: true,
};

/// Operations of a byte. The choice of a plan needs their order only.
const WEIGHT: f64 = 8.0;

/// The key of a payload. Any number of threads can use it at once.
pub struct PayloadKey(ChaCha20Poly1305);

impl PayloadKey {
    /// Derives the key of the payload that starts with `nonce`.
    pub fn new(key: &FileKey, nonce: &[u8; NONCE]) -> PayloadKey {
        let simd = chosen::CHACHA20_POLY1305.level();
        let key = hkdf(&key.0, nonce, b"payload");
        PayloadKey(ChaCha20Poly1305::new(&key, simd))
    }

    /// Encrypts chunks from number `first` on: `plain` into `sealed`. With `last`, the payload ends with them.
    ///
    /// # Panics
    /// `sealed` does not have the bytes that seal them, or there is a part of a chunk without `last`.
    pub fn seal(&self, first: u64, plain: &[u8], last: bool, sealed: &mut [u8]) {
        assert!(last || plain.len().is_multiple_of(CHUNK), "half a chunk");
        assert_eq!(sealed.len(), sealed_len(plain.len(), last), "no room");
        let chunks = sealed.len().div_ceil(SEALED_CHUNK);
        for (i, sealed) in sealed.chunks_mut(SEALED_CHUNK).enumerate() {
            let from = i * CHUNK;
            let text = &plain[from..from + sealed.len() - TAG];
            let nonce = nonce(first + i as u64, last && i + 1 == chunks);
            self.0.seal(&nonce, text, sealed);
        }
    }

    /// Decrypts chunks from number `first` on: `sealed` into `plain`. With `last`, the payload ends with them. On
    /// failure, `plain` has the plaintext of the chunks before the failed one, followed by zeros.
    ///
    /// # Errors
    /// A chunk was altered or moved, or the last one is missing.
    ///
    /// # Panics
    /// `plain` does not have the bytes of the text, or there is a part of a chunk without `last`.
    pub fn open(
        &self,
        first: u64,
        sealed: &[u8],
        last: bool,
        plain: &mut [u8],
    ) -> Result<(), ChunkError> {
        assert!(
            last || sealed.len().is_multiple_of(SEALED_CHUNK),
            "half a chunk"
        );
        assert_eq!(plain.len(), plain_len(sealed.len()), "no room");
        if last && sealed.is_empty() {
            return Err(ChunkError::Truncated { chunk: first });
        }
        let chunks = sealed.len().div_ceil(SEALED_CHUNK);
        for (i, sealed) in sealed.chunks(SEALED_CHUNK).enumerate() {
            let (chunk, last) = (first + i as u64, last && i + 1 == chunks);
            let from = i * CHUNK;
            let opened = match sealed.len().checked_sub(TAG) {
                Some(text) => self.open_chunk(chunk, sealed, last, &mut plain[from..from + text]),
                None => Err(ChunkError::Truncated { chunk }),
            };
            if opened.is_err() {
                plain[from..].fill(0);
                return opened;
            }
        }
        Ok(())
    }

    fn open_chunk(
        &self,
        chunk: u64,
        sealed: &[u8],
        last: bool,
        plain: &mut [u8],
    ) -> Result<(), ChunkError> {
        if plain.is_empty() && chunk > 0 {
            return Err(ChunkError::Empty { chunk });
        }
        let mut opens = |last| self.0.open(&nonce(chunk, last), sealed, plain).is_ok();
        if opens(last) {
            return Ok(());
        }
        // A chunk that is whole, but not the last of the payload, shows where the rest was cut off.
        Err(match last && opens(false) {
            true => ChunkError::Truncated { chunk: chunk + 1 },
            false => ChunkError::Altered { chunk },
        })
    }
}

fn nonce(chunk: u64, last: bool) -> [u8; 12] {
    let mut nonce = [0; 12];
    nonce[3..11].copy_from_slice(&chunk.to_be_bytes());
    nonce[11] = u8::from(last);
    nonce
}

/// The encrypted size of `plain` bytes of plaintext. With `last`, the payload ends with them.
pub fn sealed_len(plain: usize, last: bool) -> usize {
    plain + plain.div_ceil(CHUNK).max(usize::from(last)) * TAG
}

/// The size of the plaintext in `sealed` bytes of chunks.
pub fn plain_len(sealed: usize) -> usize {
    sealed / SEALED_CHUNK * CHUNK + (sealed % SEALED_CHUNK).saturating_sub(TAG)
}

/// Encrypts chunks.
pub struct Seal(pub PayloadKey);

impl Operation for Seal {
    const READ: usize = CHUNK;
    const WRITTEN: usize = SEALED_CHUNK;
    const ROWS: usize = 16;
    const FULL_LAST: bool = true;

    fn name(&self) -> String {
        "seal, age".to_owned()
    }

    fn weight(&self) -> f64 {
        WEIGHT
    }

    fn rows(bytes: usize, last: bool) -> usize {
        bytes.div_ceil(CHUNK).max(usize::from(last))
    }

    fn written(bytes: usize, last: bool) -> usize {
        sealed_len(bytes, last)
    }

    fn run(&self, first: u64, input: &[u8], last: bool, output: &mut [u8]) -> Result<(), Failure> {
        self.0.seal(first, input, last, output);
        Ok(())
    }
}

/// Decrypts chunks.
pub struct Open(pub PayloadKey);

impl Operation for Open {
    const READ: usize = SEALED_CHUNK;
    const WRITTEN: usize = CHUNK;
    const ROWS: usize = 16;
    const FULL_LAST: bool = true;

    fn name(&self) -> String {
        "open, age".to_owned()
    }

    fn weight(&self) -> f64 {
        WEIGHT
    }

    /// The missing chunk of an empty payload counts, so that it is noticed.
    fn rows(bytes: usize, last: bool) -> usize {
        bytes.div_ceil(SEALED_CHUNK).max(usize::from(last))
    }

    fn written(bytes: usize, _: bool) -> usize {
        plain_len(bytes)
    }

    fn run(&self, first: u64, input: &[u8], last: bool, output: &mut [u8]) -> Result<(), Failure> {
        Ok(self.0.open(first, input, last, output)?)
    }
}
