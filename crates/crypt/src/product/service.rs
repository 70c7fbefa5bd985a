//! Batches of blocks as work for the runtime.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use evener_runtime::structure::{FARM, SEQUENTIAL};
use evener_runtime::{Dispatch, Flow, Part, Service, Shape, Simd, Structure, Work};

use super::batch::{Batch, Chain};
use super::chain::xor;
use super::{Block, Cipher, Direction, KEY_BYTES, PASSES, Product, passes};
use crate::bulk::{Failure, Operation, UNIT_ROWS, UnitIn, UnitOut};

/// Passes on different workers.
pub static PIPELINE: Structure = Structure {
    name: "pipeline",
    about: "stages on different workers, joined by rings",
    flow: Flow::Pipeline,
    dispatch: Dispatch::Fifo,
    automatic: true,
};

/// The structures that product ciphers run in.
pub static STRUCTURES: [&Structure; 3] = [&SEQUENTIAL, &PIPELINE, &FARM];

/// Blocks of a row, the least that is worth a job: half a register of the widest kernels.
const ROW: usize = 32;
/// Blocks of a unit: 16 KiB, which stay in the nearest cache on their way through a stage, and a whole number of the
/// sets of 256 that kernels like best.
pub(super) const UNIT: usize = UNIT_ROWS * ROW;

/// Streams of a chained file: at most one for each block of a unit.
pub const MOST_STREAMS: usize = UNIT;

/// Nanoseconds that a pass takes for a block on a Zen 4: what predictions begin with, and only that.
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

/// Operations on an element that the same processor does in a nanosecond, where they are vectorised.
const OPS_PER_NANOSECOND: f64 = 40.0;

/// All passes over blocks, each block by itself.
pub struct Codebook {
    product: Product,
    direction: Direction,
    simd: Simd,
}

impl Codebook {
    /// Under a key, with the instructions that `simd` allows.
    pub fn new(key: &[u8; KEY_BYTES], direction: Direction, simd: Simd) -> Codebook {
        Codebook {
            product: Product::new(key),
            direction,
            simd,
        }
    }

    /// Runs some steps. Step i is pass i, or the i-th from the end where it is decrypted.
    fn steps(&self, steps: Range<u32>, blocks: &mut [Block]) {
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

    fn all(&self, blocks: &mut [Block]) {
        self.steps(0..PASSES as u32, blocks);
    }

    /// Nanoseconds of each pass for a block.
    fn passes(&self) -> impl Iterator<Item = f64> {
        passes()
            .into_iter()
            .map(|cipher| nanoseconds(self.simd, cipher))
    }

    /// What steps cost beside one another.
    fn costs(&self) -> Vec<f64> {
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

/// The product cipher on a file.
///
/// Without chains, and where chains are decrypted, every block depends on what was read alone: units are divided, go
/// whole to workers, or go through stages. Encrypting chains, a unit needs the last blocks of the unit before it, so
/// units go one by one; they are divided by streams, 512 to a job, and not at all if there are no more than that.
pub struct Batches {
    codebook: Codebook,
    chain: Option<Chain>,
    /// The last block of each stream after units of even and of odd number: a unit reads the one and writes the other,
    /// so that one that is run again finds what it found the first time.
    ends: [Vec<AtomicU64>; 2],
}

impl Batches {
    /// Each block by itself, or in chains.
    pub fn new(codebook: Codebook, chain: Option<Chain>) -> Batches {
        let first = chain.map_or(Vec::new(), |chain| chain.first(&codebook));
        let of = |blocks: &[Block]| {
            let words = blocks.iter().map(|&block| u64::from_ne_bytes(block));
            words.map(AtomicU64::new).collect()
        };
        Batches {
            ends: [of(&first), of(&first)],
            codebook,
            chain,
        }
    }

    /// The chains of a file that is read for this.
    pub(super) fn chain(&self) -> Option<Chain> {
        self.chain
    }

    /// What the streams of a file that is decrypted begin with.
    pub(super) fn first(&self) -> Vec<Block> {
        match self.codebook.direction {
            Direction::Decrypt => self.ends[0].iter().map(word).collect(),
            Direction::Encrypt => Vec::new(),
        }
    }

    /// The chain, where each unit needs the one before.
    fn serial(&self) -> Option<Chain> {
        self.chain
            .filter(|_| self.codebook.direction == Direction::Encrypt)
    }

    /// Encrypts some of the streams of a unit.
    fn encrypt_chains(
        &self,
        chain: Chain,
        groups: Range<usize>,
        input: &Batch,
        output: &UnitOut,
        last: &mut Vec<Block>,
    ) {
        let number = (input.unit.first / UNIT_ROWS as u64) as usize;
        let (before, after) = (&self.ends[(number + 1) % 2], &self.ends[number % 2]);
        let streams = groups.start * ROW..chain.streams().min(groups.end * ROW);
        last.clear();
        last.extend(before[streams.clone()].iter().map(word));
        let blocks: &[Block] = input.unit.bytes().as_chunks().0;
        for first in (0..blocks.len()).step_by(chain.streams()) {
            let (from, to) = (first + streams.start, first + streams.end);
            let to = to.min(blocks.len());
            if from >= to {
                break;
            }
            let rows = from / ROW..to.div_ceil(ROW);
            let begin = from - rows.start * ROW;
            let mut written = output.rows.write(rows);
            let own = &mut written.as_chunks_mut().0[begin..begin + to - from];
            for ((own, text), last) in own.iter_mut().zip(&blocks[from..to]).zip(&*last) {
                *own = xor(*text, *last);
            }
            self.codebook.all(own);
            last[..own.len()].copy_from_slice(own);
        }
        for (end, last) in after[streams].iter().zip(last) {
            end.store(u64::from_ne_bytes(*last), Ordering::Relaxed);
        }
    }

    /// Takes off what blocks were mixed with before they were encrypted. `first` is the number of the first in the
    /// unit.
    fn unchain(&self, input: &Batch, first: usize, blocks: &mut [Block]) {
        let Some(chain) = self.chain else {
            return;
        };
        let encrypted: &[Block] = input.unit.bytes().as_chunks().0;
        for (block, at) in blocks.iter_mut().zip(first..) {
            let previous = match at.checked_sub(chain.streams()) {
                Some(before) => encrypted[before],
                None => input.before[at],
            };
            *block = xor(*block, previous);
        }
    }
}

fn word(end: &AtomicU64) -> Block {
    end.load(Ordering::Relaxed).to_ne_bytes()
}

impl Service for Batches {
    type Input = Batch;
    type Output = UnitOut;
    type Scratch = Vec<Block>;

    fn key(&self) -> String {
        let name = self.codebook.name();
        match self.chain {
            Some(chain) => format!("{name}, {} chains, units of {UNIT} blocks", chain.streams()),
            None => format!("{name}, units of {UNIT} blocks"),
        }
    }

    fn input(&self) -> Batch {
        Batch {
            unit: UnitIn::new::<Codebook>(),
            before: Vec::new(),
            streams: 0,
        }
    }

    fn output(&self) -> UnitOut {
        UnitOut::new::<Codebook>()
    }

    fn scratch(&self) -> Vec<Block> {
        Vec::new()
    }

    fn shapes(&self, _private_cache: usize) -> Vec<Shape> {
        let bytes = (UNIT * size_of::<Block>()) as f64;
        let work = Work {
            ops: self.codebook.weight() * bytes,
            bytes: 2.0 * bytes,
            fresh: 0.0,
        };
        let shape = |structure, items: usize, (min_grain, default_grain), steps| Shape {
            structure,
            passes: vec![items as u32],
            steps,
            default_grain,
            min_grain,
            units: 1,
            work,
        };
        if let Some(chain) = self.serial() {
            let groups = chain.streams().div_ceil(ROW);
            return vec![shape(&SEQUENTIAL, groups, (1, 2), Vec::new())];
        }
        vec![
            shape(&SEQUENTIAL, UNIT_ROWS, (4, 8), Vec::new()),
            shape(&PIPELINE, PASSES, (1, 1), self.codebook.costs()),
            shape(&FARM, UNIT_ROWS, (4, 8), Vec::new()),
        ]
    }

    fn run(
        &self,
        part: &Part,
        input: &Batch,
        output: &UnitOut,
        scratch: &mut Vec<Block>,
    ) -> Result<(), String> {
        let bytes = input.unit.bytes();
        let rows = Codebook::rows(bytes.len(), input.unit.last);
        output.describe(bytes.len(), input.unit.last);
        if input.streams != self.chain.map_or(0, Chain::streams) {
            return Err("the batch was not read for these chains".to_owned());
        }
        if let Some(chain) = self.serial() {
            let groups = part.of(chain.streams().div_ceil(ROW));
            self.encrypt_chains(chain, groups, input, output, scratch);
            return Ok(());
        }
        let (rows, steps) = match part.structure {
            s if *s == PIPELINE => (0..rows, part.items.clone()),
            _ => (part.of(rows), 0..PASSES as u32),
        };
        if rows.is_empty() {
            return Ok(());
        }
        let first = rows.start;
        let read = &bytes[first * Codebook::READ..bytes.len().min(rows.end * Codebook::READ)];
        let mut written = output.rows.write(rows);
        let own = &mut written[..read.len()];
        if steps.start == 0 {
            own.copy_from_slice(read);
        }
        let own = own.as_chunks_mut().0;
        self.codebook.steps(steps.clone(), own);
        if steps.end as usize == PASSES {
            self.unchain(input, first * ROW, own);
        }
        Ok(())
    }
}
