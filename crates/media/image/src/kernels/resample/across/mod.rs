//! Sums of columns.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;

use std::ops::Range;

use evener_runtime::Simd;

use super::Code;
#[cfg(target_arch = "x86_64")]
use super::has_avx512_bytes;
use crate::for_each_level;
use crate::integer::Quantised;
#[cfg(target_arch = "x86_64")]
use crate::kernels::has_avx2;

/// Outputs that are computed together.
pub const BLOCK: usize = 16;
/// Rows that take turns.
pub const ROWS: usize = 4;

/// Outputs whose samples come from one load.
const QUAD: usize = 4;
/// Bytes of a load, and of one for a whole block.
const WINDOW: usize = 16;
const WIDE: usize = 64;

/// How the samples of four outputs are loaded.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Loads {
    /// All samples at once.
    Once,
    /// Two of each output at a time.
    Pairs,
    /// Those of each output by themselves, since the four lie too far apart.
    Each,
}

/// Sums of columns, laid out for kernels. Outputs are padded to whole blocks.
#[derive(Debug)]
pub struct Across {
    loads: Loads,
    taps: usize,
    /// Pairs of samples of an output.
    pairs: usize,
    /// Per block the first samples of its quads, in the order 0, 2, 1, 3: two are the halves of a register, and packing two
    /// registers gives the order of outputs.
    bases: Vec<[u32; 4]>,
    /// Per block, in that order, the shuffles that bring the first pair of each output there.
    shuffles: Vec<[[u8; WINDOW]; 4]>,
    /// The same for all outputs of a block with one load, in the same order.
    wide: Option<Wide>,
    /// Per block and pair, in that order, the weights.
    paired: Vec<[[i16; 8]; 4]>,
    /// Of each output the first sample, and its weights, padded to `padded`.
    first: Vec<u32>,
    weights: Vec<i16>,
    padded: usize,
    /// What sums begin with, and the bits that they lose.
    begin: i32,
    shift: u32,
    /// Samples that are read from the beginning of a row on.
    readable: usize,
}

/// Where the samples of a block are loaded from.
#[derive(Debug)]
struct Wide {
    loads: Loads,
    bases: Vec<u32>,
    shuffles: Vec<[u8; WIDE]>,
}

const ORDER: [usize; 4] = [0, 2, 1, 3];

impl Across {
    /// For samples of `bytes` bytes, of which `zero` is taken first. Sums lose `shift` bits.
    pub fn new(across: &Quantised, bytes: usize, zero: i32, shift: u32) -> Across {
        let taps = across.taps();
        let blocks = across.outputs().div_ceil(BLOCK);
        let at = |out: usize| out.min(across.outputs() - 1);
        let loads = loads(across, QUAD, WINDOW / bytes);
        let pairs = taps.div_ceil(2);
        let padded = match loads {
            Loads::Each => taps.next_multiple_of(WINDOW),
            _ => taps,
        };
        let mut all = Across {
            loads,
            taps,
            pairs,
            bases: Vec::new(),
            shuffles: Vec::new(),
            wide: None,
            paired: Vec::new(),
            first: Vec::new(),
            weights: Vec::new(),
            padded,
            begin: (1 << shift >> 1) - (zero << across.bits()),
            shift,
            readable: 0,
        };
        for out in (0..blocks * BLOCK).map(at) {
            let first = across.first(out);
            all.first.push(first as u32);
            let own = across.weights(out);
            let padding = std::iter::repeat_n(0, padded - taps);
            all.weights.extend(own.iter().copied().chain(padding));
            all.readable = all.readable.max(first + padded);
        }
        if loads == Loads::Each {
            return all;
        }
        for block in 0..blocks {
            let quads = ORDER.map(|quad| block * BLOCK + quad * QUAD);
            let base = |quad: usize| across.first(at(quad));
            all.bases.push(quads.map(|quad| base(quad) as u32));
            all.shuffles.push(quads.map(|quad| {
                let offset = |i: usize| (across.first(at(quad + i)) - base(quad)) * bytes;
                std::array::from_fn(|byte| shuffle(offset(byte / 4), byte % 4, bytes))
            }));
            for pair in 0..pairs {
                all.paired.push(quads.map(|quad| {
                    std::array::from_fn(|i| {
                        let own = across.weights(at(quad + i / 2));
                        own.get(2 * pair + i % 2).copied().unwrap_or(0)
                    })
                }));
            }
            let end = quads.map(|quad| base(quad) + loads.last(pairs) + WINDOW / bytes);
            all.readable = end.into_iter().fold(all.readable, usize::max);
        }
        let wide_loads = self::loads(across, BLOCK, WIDE / bytes);
        if wide_loads == Loads::Each {
            return all;
        }
        let mut wide = Wide {
            loads: wide_loads,
            bases: Vec::new(),
            shuffles: Vec::new(),
        };
        for block in 0..blocks {
            let base = across.first(block * BLOCK);
            wide.bases.push(base as u32);
            wide.shuffles.push(std::array::from_fn(|byte| {
                let (quad, byte) = (ORDER[byte / WINDOW], byte % WINDOW);
                let out = at(block * BLOCK + quad * QUAD + byte / 4);
                let offset = (across.first(out) - base) * bytes;
                shuffle(offset, byte % 4, bytes) & 0x7f
            }));
            let end = base + wide_loads.last(pairs) + WIDE / bytes;
            all.readable = all.readable.max(end);
        }
        all.wide = Some(wide);
        all
    }

    /// Samples of a row from its beginning that kernels may read; its weights are 0 for those beyond its windows.
    pub fn readable(&self) -> usize {
        self.readable
    }

    /// The samples that windows of the outputs of `blocks` have.
    pub fn reads(&self, blocks: &Range<usize>) -> Range<usize> {
        let last = self.first[blocks.end * BLOCK - 1] as usize;
        self.first[blocks.start * BLOCK] as usize..last + self.taps
    }

    /// The blocks of outputs.
    pub fn blocks(&self) -> usize {
        self.first.len() / BLOCK
    }

    /// Outputs of the blocks `blocks` of [`ROWS`] rows, into rows of `stride` sums in `out`.
    ///
    /// # Panics
    /// If a row is shorter than [`Across::readable`], or `out` too short.
    pub fn sums<T: Code>(
        &self,
        simd: Simd,
        blocks: Range<usize>,
        rows: [&[T]; ROWS],
        (out, stride): (&mut [i16], usize),
    ) {
        let outputs = blocks.len() * BLOCK;
        assert!(blocks.end <= self.blocks() && outputs <= stride);
        assert!(out.len() >= (ROWS - 1) * stride + outputs);
        assert!(rows.iter().all(|row| row.len() >= self.readable));
        #[cfg(target_arch = "x86_64")]
        if let Some(wide) = &self.wide
            && has_avx512_bytes(simd)
        {
            // SAFETY: the processor has the instructions; lengths were checked.
            return unsafe { avx512::sums(self, wide, blocks, rows, (out, stride)) };
        }
        #[cfg(target_arch = "x86_64")]
        if has_avx2(simd) {
            // SAFETY: the processor has AVX2; lengths were checked.
            return unsafe {
                match self.loads {
                    Loads::Each => avx2::each(self, blocks, rows, (out, stride)),
                    _ => avx2::sums(self, blocks, rows, (out, stride)),
                }
            };
        }
        for (row, out) in rows.iter().zip(out.chunks_mut(stride)) {
            each(simd, self, blocks.clone(), row, &mut out[..outputs]);
        }
    }
}

/// How the samples of `together` outputs are loaded where a load has `room`.
fn loads(across: &Quantised, together: usize, room: usize) -> Loads {
    let groups = (0..across.outputs()).step_by(together);
    let spans = groups.map(|first| {
        let last = (first + together - 1).min(across.outputs() - 1);
        across.first(last) - across.first(first)
    });
    let span = spans.max().unwrap_or(0);
    match () {
        () if span + across.taps() <= room => Loads::Once,
        () if span + 2 <= room => Loads::Pairs,
        () => Loads::Each,
    }
}

impl Loads {
    /// Where the last load begins, counted from the first.
    fn last(self, pairs: usize) -> usize {
        match self {
            Loads::Once => 0,
            _ => 2 * (pairs - 1),
        }
    }
}

/// The byte of a window that byte `byte` of the pair of an output comes from, whose first sample is at `offset`.
fn shuffle(offset: usize, byte: usize, bytes: usize) -> u8 {
    match (bytes, byte % 2) {
        (1, 0) => (offset + byte / 2) as u8,
        // Zero.
        (1, _) => 0x80,
        _ => (offset + byte) as u8,
    }
}

#[inline(always)]
fn each_body<T: Code>(across: &Across, blocks: Range<usize>, row: &[T], out: &mut [i16]) {
    let n = across.padded;
    for (output, out) in (blocks.start * BLOCK..).zip(out) {
        let weights = &across.weights[output * n..][..n];
        let samples = &row[across.first[output] as usize..][..n];
        let mut sum = 0;
        for i in 0..n {
            sum += i32::from(weights[i]) * samples[i].number();
        }
        *out = ((sum + across.begin) >> across.shift) as i16;
    }
}

for_each_level! {
    /// Output by output.
    fn each<T: Code>(across: &Across, blocks: Range<usize>, row: &[T], out: &mut [i16]) = each_body;
}
