//! Encryption of batches of blocks as a service of the runtime.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use evener_files::InputFile;
use evener_runtime::structure::{FARM, SEQUENTIAL};
use evener_runtime::{Dispatch, Flow, Part, Service, Shape, Structure, Work};

use super::batch::{Batch, BatchSource, Chain};
use super::chain::xor;
use super::codebook::{Codebook, ROW, UNIT};
use super::{Block, Direction, PASSES};
use crate::bulk::{Operation, UNIT_ROWS, UnitIn, UnitOut};

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

/// The product cipher on a file.
///
/// Without chains, and when chains are decrypted, every block depends only on the input. Units are divided, go whole to
/// workers, or go through stages. When chains are encrypted, a unit needs the last blocks of the unit before it. So
/// units are encrypted one after the other, and divided by streams.
pub struct ProductService {
    codebook: Codebook,
    chain: Option<Chain>,
    /// The last block of each stream, after units of even and of odd number. A unit reads one and writes the other, so
    /// that a unit that is run again finds the same blocks.
    ends: [Vec<AtomicU64>; 2],
}

impl ProductService {
    /// Creates a service for independent blocks, or for chains.
    pub fn new(codebook: Codebook, chain: Option<Chain>) -> ProductService {
        let first = chain.map_or(Vec::new(), |chain| chain.first(&codebook));
        let of = |blocks: &[Block]| {
            let words = blocks.iter().map(|&block| u64::from_ne_bytes(block));
            words.map(AtomicU64::new).collect()
        };
        ProductService {
            ends: [of(&first), of(&first)],
            codebook,
            chain,
        }
    }

    /// The batches of `input`, to be processed by this service.
    pub fn source(&self, input: InputFile) -> BatchSource {
        let before = match self.codebook.direction {
            Direction::Decrypt => self.ends[0].iter().map(word).collect(),
            Direction::Encrypt => Vec::new(),
        };
        BatchSource::new(input, self.chain, before)
    }

    /// The chain, if each unit needs the one before.
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

    /// Removes what blocks were combined with before they were encrypted. `first` is the number of the first block in
    /// the unit.
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

impl Service for ProductService {
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
            lines: Vec::new(),
            pass_names: Vec::new(),
            device_pass: None,
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
