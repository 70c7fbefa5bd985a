//! The product cipher on independent blocks.

use std::ops::Range;

use evener_runtime::Simd;

use super::types::{Block, Direction, KEY_BYTES};
use super::{Cipher, PASSES, Product, passes};
use crate::bulk::{Failure, Operation, UNIT_ROWS};

/// Blocks of a row, the smallest part that is worth a job: half a register of the widest kernels.
pub(super) const ROW: usize = 32;
/// Blocks of a unit: 16 KiB, which fit the nearest cache, and a multiple of 256 blocks, with which kernels are fastest.
pub(super) const UNIT: usize = UNIT_ROWS * ROW;

/// The largest number of streams in a chained file: one for each block of a unit.
pub const MAX_STREAMS: usize = UNIT;

/// Nanoseconds that a pass takes for a block on a Zen 4. They are used for the first predictions only.
const fn nanoseconds(simd: Simd, cipher: Cipher) -> f64 {
    match (simd, cipher) {
        (Simd::Avx512, Cipher::Idea) => 2.3,
        (Simd::Avx512, Cipher::Skipjack) => 3.8,
        (Simd::Avx512, Cipher::Raiden) => 2.1,
        (Simd::Avx2, Cipher::Idea) => 3.0,
        (Simd::Avx2, Cipher::Skipjack) => 24.0,
        (Simd::Avx2, Cipher::Raiden) => 2.8,
        (_, Cipher::Idea) => 73.0,
        (_, Cipher::Skipjack) => 190.0,
        (_, Cipher::Raiden) => 51.0,
    }
}

/// Vectorised operations that the same processor does in a nanosecond.
const OPS_PER_NANOSECOND: f64 = 40.0;

/// All passes over independent blocks.
pub struct Codebook {
    product: Product,
    pub(super) direction: Direction,
    simd: Simd,
}

impl Codebook {
    /// Creates all passes with a key, with the instructions that `simd` allows.
    pub fn new(key: &[u8; KEY_BYTES], direction: Direction, simd: Simd) -> Codebook {
        Codebook {
            product: Product::new(key),
            direction,
            simd,
        }
    }

    /// Runs a range of steps. Step i is pass i when encrypting, and the i-th pass from the end when decrypting.
    pub(super) fn steps(&self, steps: Range<u32>, blocks: &mut [Block]) {
        let (begin, end) = (steps.start as usize, steps.end as usize);
        let (product, simd) = (&self.product, self.simd);
        match self.direction {
            Direction::Encrypt => product.encrypt(simd, begin..end, blocks),
            Direction::Decrypt => product.decrypt(simd, PASSES - end..PASSES - begin, blocks),
        }
    }

    /// Encrypts, whatever the direction.
    pub(super) fn encrypt(&self, blocks: &mut [Block]) {
        self.product.encrypt(self.simd, 0..PASSES, blocks);
    }

    pub(super) fn all(&self, blocks: &mut [Block]) {
        self.steps(0..PASSES as u32, blocks);
    }

    /// Nanoseconds of each pass for a block.
    fn passes(&self) -> impl Iterator<Item = f64> {
        passes()
            .into_iter()
            .map(|cipher| nanoseconds(self.simd, cipher))
    }

    /// The relative costs of steps.
    pub(super) fn costs(&self) -> Vec<f64> {
        let mut costs: Vec<f64> = self.passes().collect();
        if self.direction == Direction::Decrypt {
            costs.reverse();
        }
        costs
    }
}

impl Operation for Codebook {
    const READ: usize = ROW * size_of::<Block>();
    const WRITTEN: usize = Self::READ;

    fn name(&self) -> String {
        let direction = match self.direction {
            Direction::Encrypt => "encrypt",
            Direction::Decrypt => "decrypt",
        };
        format!("product cipher, {direction}, {}", self.simd)
    }

    fn weight(&self) -> f64 {
        OPS_PER_NANOSECOND * self.passes().sum::<f64>() / size_of::<Block>() as f64
    }

    fn rows(bytes: usize, _: bool) -> usize {
        bytes.div_ceil(Self::READ)
    }

    fn written(bytes: usize, _: bool) -> usize {
        bytes
    }

    fn run(&self, _: u64, input: &[u8], _: bool, output: &mut [u8]) -> Result<(), Failure> {
        output.copy_from_slice(input);
        self.all(output.as_chunks_mut().0);
        Ok(())
    }
}
