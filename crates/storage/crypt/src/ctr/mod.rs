//! AES in counter mode, as `openssl enc -aes-256-ctr` computes it.

mod portable;

use evener_runtime::Simd;
use zeroize::Zeroize;

use crate::variant::Variant;

/// A key stream: AES-128, 192 or 256 in counter mode with a big-endian 128-bit counter (NIST SP 800-38A).
///
/// Any part of a stream can be computed independently, on any number of threads at once. The plaintext is secret only
/// if no two streams share key and counters. Alterations are not detected.
pub struct Ctr {
    engine: Engine,
    iv: u128,
}

enum Engine {
    #[cfg(target_arch = "x86_64")]
    Kernel(crate::aes::CtrKernel),
    Portable(portable::Portable),
}

/// A key or an initial counter has the wrong length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// AES does not have keys of this length.
    #[error("the key has {0} bytes; AES-128, AES-192 and AES-256 take 16, 24 and 32")]
    Key(usize),
    /// The initial counter does not have the length of a block.
    #[error("the initial counter (IV) has {0} bytes; counter mode takes 16")]
    Iv(usize),
}

impl Ctr {
    /// Creates the stream of `key` (16, 24 or 32 bytes) that starts with counter `iv` (16 bytes), at SIMD level
    /// `simd`.
    ///
    /// # Errors
    /// A length is wrong.
    pub fn new(key: &[u8], iv: &[u8], simd: Simd) -> Result<Self, Error> {
        if !matches!(key.len(), 16 | 24 | 32) {
            return Err(Error::Key(key.len()));
        }
        let iv = iv.try_into().map_err(|_| Error::Iv(iv.len()))?;
        Ok(Ctr {
            engine: Engine::new(key, simd),
            iv: u128::from_be_bytes(iv),
        })
    }

    /// The implementation in use.
    pub fn variant(&self) -> Variant {
        match &self.engine {
            #[cfg(target_arch = "x86_64")]
            Engine::Kernel(kernel) => kernel.token().into(),
            Engine::Portable(_) => Variant::Portable,
        }
    }

    /// Encrypts or decrypts `buf`, which is `offset` bytes into the stream.
    pub fn apply(&self, offset: u64, buf: &mut [u8]) {
        let parts = Parts::new(self.iv, offset, buf.len());
        let (head, rest) = buf.split_at_mut(parts.head);
        let (body, tail) = rest.split_at_mut(parts.body);
        self.part(parts.first, parts.skip, head);
        match &self.engine {
            #[cfg(target_arch = "x86_64")]
            Engine::Kernel(kernel) => kernel.apply(parts.aligned, body),
            Engine::Portable(portable) => portable.apply(parts.aligned, body),
        }
        self.part(parts.last, 0, tail);
    }

    /// Encrypts or decrypts `input`, which is `offset` bytes into the stream, into `output`.
    ///
    /// # Panics
    /// The buffers differ in length.
    pub fn apply_to(&self, offset: u64, input: &[u8], output: &mut [u8]) {
        assert_eq!(input.len(), output.len(), "buffers of different lengths");
        let parts = Parts::new(self.iv, offset, input.len());
        let (head, rest) = output.split_at_mut(parts.head);
        let (body, tail) = rest.split_at_mut(parts.body);
        let end = parts.head + parts.body;
        head.copy_from_slice(&input[..parts.head]);
        tail.copy_from_slice(&input[end..]);
        self.part(parts.first, parts.skip, head);
        let input = &input[parts.head..end];
        match &self.engine {
            #[cfg(target_arch = "x86_64")]
            Engine::Kernel(kernel) => kernel.apply_to(parts.aligned, input, body),
            Engine::Portable(portable) => {
                body.copy_from_slice(input);
                portable.apply(parts.aligned, body);
            }
        }
        self.part(parts.last, 0, tail);
    }

    /// Adds the stream of block `counter`, from its byte `skip` on, to a part of a block.
    fn part(&self, counter: u128, skip: usize, buf: &mut [u8]) {
        if buf.is_empty() {
            return;
        }
        let mut stream = [0u8; 16];
        match &self.engine {
            #[cfg(target_arch = "x86_64")]
            Engine::Kernel(kernel) => kernel.apply(counter, &mut stream),
            Engine::Portable(portable) => portable.apply(counter, &mut stream),
        }
        for (byte, key) in buf.iter_mut().zip(&stream[skip..]) {
            *byte ^= key;
        }
        stream.zeroize();
    }
}

impl std::fmt::Debug for Ctr {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Ctr({})", self.variant())
    }
}

impl Engine {
    fn new(key: &[u8], simd: Simd) -> Engine {
        #[cfg(target_arch = "x86_64")]
        if let Some(token) = crate::aes::Token::new(simd) {
            return Engine::Kernel(crate::aes::CtrKernel::new(token, key));
        }
        let _ = simd;
        Engine::Portable(portable::Portable::new(key))
    }
}

/// The parts of a buffer before, in and after whole blocks of the stream.
struct Parts {
    /// Counter of the block the buffer begins in.
    first: u128,
    /// Bytes of that block before the buffer.
    skip: usize,
    /// Bytes before the first whole block.
    head: usize,
    /// Counter of the first whole block.
    aligned: u128,
    /// Bytes in whole blocks.
    body: usize,
    /// Counter of the block after these.
    last: u128,
}

impl Parts {
    fn new(iv: u128, offset: u64, length: usize) -> Parts {
        let first = iv.wrapping_add(u128::from(offset / 16));
        let skip = (offset % 16) as usize;
        let head = if skip == 0 { 0 } else { length.min(16 - skip) };
        let aligned = first.wrapping_add(u128::from(skip != 0));
        let body = (length - head) / 16 * 16;
        Parts {
            first,
            skip,
            head,
            aligned,
            body,
            last: aligned.wrapping_add(body as u128 / 16),
        }
    }
}
