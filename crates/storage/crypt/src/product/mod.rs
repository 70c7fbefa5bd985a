//! The product cipher: IDEA twenty times, Skipjack twenty-four times, Raiden twenty times, on blocks of 64 bits.
//!
//! **A workload, not protection.** Three old ciphers take the same 128-bit key, in codebook or chained mode, and read
//! tables at secret indices. The cipher is here because its 64 passes can be divided anywhere into the stages of a
//! pipeline, as in the work by Nawinne and others that it is taken from. To protect something, encrypt it with AES-GCM.
//!
//! A pass is a whole encryption of a block by one of the ciphers. All passes of a cipher use the same subkeys. Skipjack
//! takes the first 80 bits of the key. [`Product::encrypt`] runs any contiguous range of the passes, so that stages
//! which together run all 64 in order give the result of one call.
//!
//! | file | what it is for |
//! | --- | --- |
//! | `idea.rs`, `skipjack.rs`, `raiden.rs` | the ciphers, one block after the other |
//! | `kernels/` | the same for many blocks at once |
//! | `chain.rs` | chains in memory |
//! | `codebook.rs` | all passes over blocks, each block by itself |
//! | `costs.rs` | what passes cost |
//! | `batch.rs` | batches of a file, and how chains lie in it |
//! | `service.rs` | how a batch is divided, and run in stages |
//! | `session.rs` | files and pipes, as `evener product` encrypts them |

mod batch;
mod chain;
mod codebook;
pub mod costs;
mod idea;
#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
mod kernels;
mod raiden;
mod service;
pub mod session;
mod skipjack;
mod types;

use std::ops::Range;

use evener_runtime::Simd;

pub use batch::{Batch, BatchSource, BlockSource, Chain, ChainError, LengthError, ReadError};
pub use chain::Stream;
pub use codebook::{Codebook, MAX_STREAMS};
pub use service::{PIPELINE, ProductService, STRUCTURES};
pub use types::{Block, Direction, KEY_BYTES};

/// One of the three ciphers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cipher {
    /// IDEA, 8.5 rounds, 128-bit key.
    Idea,
    /// Skipjack, 32 rounds, 80-bit key.
    Skipjack,
    /// Raiden, 16 cycles, 128-bit key.
    Raiden,
}

impl Cipher {
    /// Every cipher with its number of passes, in the order they encrypt.
    pub const ALL: [(Cipher, usize); 3] = [
        (Cipher::Idea, 20),
        (Cipher::Skipjack, 24),
        (Cipher::Raiden, 20),
    ];

    /// The name, as it is printed.
    pub const fn name(self) -> &'static str {
        match self {
            Cipher::Idea => "idea",
            Cipher::Skipjack => "skipjack",
            Cipher::Raiden => "raiden",
        }
    }
}

/// Passes of the whole product cipher.
pub const PASSES: usize = 64;

/// The cipher of each pass, in the order they encrypt.
pub const fn passes() -> [Cipher; PASSES] {
    let mut passes = [Cipher::Idea; PASSES];
    let (mut at, mut cipher) = (0, 0);
    while cipher < Cipher::ALL.len() {
        let (which, mut count) = Cipher::ALL[cipher];
        while count > 0 {
            passes[at] = which;
            at += 1;
            count -= 1;
        }
        cipher += 1;
    }
    passes
}

/// The product cipher with a key. Subkeys are wiped when it is dropped. The caller has to wipe the key.
pub struct Product {
    idea: idea::Schedule,
    skipjack: skipjack::Schedule,
    raiden: raiden::Schedule,
    #[cfg(target_arch = "x86_64")]
    wide: kernels::Keys,
}

/// Shows no key.
impl std::fmt::Debug for Product {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Product").finish_non_exhaustive()
    }
}

impl Product {
    /// Expands a key for all ciphers and both directions.
    pub fn new(key: &[u8; KEY_BYTES]) -> Self {
        let idea = idea::Schedule::new(key);
        let skipjack =
            skipjack::Schedule::new(key.first_chunk().expect("sixteen are ten and more"));
        let raiden = raiden::Schedule::new(key);
        Product {
            #[cfg(target_arch = "x86_64")]
            wide: kernels::Keys::new(&idea, &skipjack, &raiden),
            idea,
            skipjack,
            raiden,
        }
    }

    /// Runs a range of the passes over every block, in place, with the instructions that `simd` allows.
    ///
    /// There are kernels for AVX2, and for AVX-512 with VBMI. Every other level runs the reference. Multiples of 128
    /// blocks are fastest with AVX2, of 256 with AVX-512.
    ///
    /// # Panics
    /// If the range begins after its end or ends after [`PASSES`].
    pub fn encrypt(&self, simd: Simd, passes: Range<usize>, blocks: &mut [Block]) {
        self.run(simd, Direction::Encrypt, passes, blocks);
    }

    /// Undoes [`Product::encrypt`] of the same range. A pipeline that decrypts runs its ranges last to first.
    ///
    /// # Panics
    /// As [`Product::encrypt`].
    pub fn decrypt(&self, simd: Simd, passes: Range<usize>, blocks: &mut [Block]) {
        self.run(simd, Direction::Decrypt, passes, blocks);
    }

    /// What runs at a level.
    pub(crate) fn variant(simd: Simd) -> &'static str {
        #[cfg(target_arch = "x86_64")]
        return kernels::variant(simd);
        #[cfg(not(target_arch = "x86_64"))]
        {
            let _ = simd;
            "scalar"
        }
    }

    fn run(&self, simd: Simd, direction: Direction, passes: Range<usize>, blocks: &mut [Block]) {
        let work = counts(passes);
        #[cfg(target_arch = "x86_64")]
        let done = {
            let keys = &self.wide;
            kernels::run(
                simd,
                &kernels::Job {
                    keys,
                    direction,
                    work,
                },
                blocks,
            )
        };
        #[cfg(not(target_arch = "x86_64"))]
        let (done, _) = (0, simd);
        self.reference(direction, work, &mut blocks[done..]);
    }

    /// One block after the other, pass by pass, over as many blocks as fit the nearest cache.
    fn reference(&self, direction: Direction, work: [usize; 3], blocks: &mut [Block]) {
        const CHUNK: usize = 256;
        let [idea, skipjack, raiden] = work;
        for blocks in blocks.chunks_mut(CHUNK) {
            match direction {
                Direction::Encrypt => {
                    (0..idea).for_each(|_| self.idea.encrypt(blocks));
                    (0..skipjack).for_each(|_| self.skipjack.encrypt(blocks));
                    (0..raiden).for_each(|_| self.raiden.encrypt(blocks));
                }
                Direction::Decrypt => {
                    (0..raiden).for_each(|_| self.raiden.decrypt(blocks));
                    (0..skipjack).for_each(|_| self.skipjack.decrypt(blocks));
                    (0..idea).for_each(|_| self.idea.decrypt(blocks));
                }
            }
        }
    }
}

/// How many passes of each cipher lie in a range.
fn counts(passes: Range<usize>) -> [usize; 3] {
    assert!(
        passes.start <= passes.end && passes.end <= PASSES,
        "passes {passes:?} of {PASSES}"
    );
    let mut first = 0;
    Cipher::ALL.map(|(_, count)| {
        let own = first..first + count;
        first = own.end;
        passes
            .end
            .min(own.end)
            .saturating_sub(passes.start.max(own.start))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_range_counts_the_passes_in_it() {
        let all = passes();
        for start in 0..=PASSES {
            for end in start..=PASSES {
                let expected = Cipher::ALL
                    .map(|(cipher, _)| all[start..end].iter().filter(|&&c| c == cipher).count());
                assert_eq!(counts(start..end), expected, "{start}..{end}");
            }
        }
    }

    #[test]
    #[should_panic(expected = "passes 60..65 of 64")]
    fn a_range_beyond_the_last_pass_is_refused() {
        Product::new(&[0; 16]).encrypt(Simd::Scalar, 60..65, &mut []);
    }
}
