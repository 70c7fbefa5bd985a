//! The arithmetic encoder (clause 9.3.4).

use std::hint::select_unpredictable;

use super::contexts::Contexts;
use super::tables::{AFTER_LPS, RANGE_LPS};

/// The state that follows, by the state and the bin: `state * 2 + bin`.
///
/// A state is pStateIdx times two, plus valMPS.
const AFTER: [u8; 256] = after();

const fn after() -> [u8; 256] {
    let mut table = [0; 256];
    let mut i = 0;
    while i < 256 {
        let (index, most, bin) = (i >> 2, (i >> 1 & 1) as u8, (i & 1) as u8);
        table[i] = if bin == most {
            let next = if index < 62 { index + 1 } else { index };
            (next as u8) << 1 | most
        } else {
            let most = if index == 0 { 1 - most } else { most };
            AFTER_LPS[index] << 1 | most
        };
        i += 1;
    }
    table
}

/// rangeTabLPS by pStateIdx: that of bits 6 and 7 of codIRange is in as many bytes from the lowest.
const RANGES: [u32; 64] = ranges();

const fn ranges() -> [u32; 64] {
    let mut table = [0; 64];
    let mut i = 0;
    while i < 64 {
        table[i] = u32::from_le_bytes(RANGE_LPS[i]);
        i += 1;
    }
    table
}

/// How the less probable symbol is renormalised, by pStateIdx and bits 6 and 7 of codIRange.
#[derive(Clone, Copy)]
struct Less {
    /// By how many bits.
    shift: u8,
    /// The range after that, less 256.
    range: u8,
}

const LESS: [[Less; 4]; 64] = less();

const fn less() -> [[Less; 4]; 64] {
    let mut table = [[Less { shift: 0, range: 0 }; 4]; 64];
    let mut i = 0;
    while i < 256 {
        let range = RANGE_LPS[i >> 2][i & 3];
        let shift = range.leading_zeros() as u8 + 1;
        table[i >> 2][i & 3] = Less {
            shift,
            range: ((range as u16) << shift) as u8,
        };
        i += 1;
    }
    table
}

/// The registers of the arithmetic encoder.
///
/// `low` is codILow together with the bits that have left its ten and are not yet written. What is written is final but
/// for a carry, which is added to it when it comes, so no bits are outstanding.
#[derive(Clone, Copy, Debug)]
pub struct Registers {
    low: u64,
    /// codIRange, which is 256 to 510 between bins, less 256.
    range: u8,
    /// Bits of `low` above its ten, less the first of all, which is always 0 and is not written (clause 9.3.4.2,
    /// firstBitFlag).
    pending: i32,
}

impl Registers {
    /// Clause 9.3.4.1.
    pub const START: Registers = Registers {
        low: 0,
        range: 254,
        pending: -1,
    };
}

/// The arithmetic encoder, which appends to bytes.
///
/// Where its methods are inlined, its registers are in those of the processor; so code that encodes many bins makes a
/// coder of its own with [`Coder::fork`].
#[derive(Debug)]
pub struct Coder<'a> {
    /// Its state, from which another one may go on.
    pub registers: Registers,
    bytes: &'a mut Vec<u8>,
}

impl<'a> Coder<'a> {
    /// Goes on behind `bytes`, which only a coder appends to after the first.
    pub fn new(registers: Registers, bytes: &'a mut Vec<u8>) -> Coder<'a> {
        Coder { registers, bytes }
    }

    /// Encodes by `code` with another coder in place of this one.
    #[inline(always)]
    pub fn fork(&mut self, code: impl FnOnce(&mut Coder)) {
        let mut coder = Coder::new(self.registers, self.bytes);
        code(&mut coder);
        self.registers = coder.registers;
    }

    /// Encodes a bin by the context `ctx`, its ctxIdx (clause 9.3.4.2).
    #[inline(always)]
    pub fn decision(&mut self, contexts: &mut Contexts, ctx: usize, bin: bool) {
        let state = &mut contexts.states[ctx];
        let Registers { low, range, .. } = self.registers;
        let index = usize::from(*state >> 1) & 63;
        let is_less = bin != (*state & 1 != 0);
        *state = AFTER[usize::from(*state & 127) << 1 | usize::from(bin)];

        // Shifted out of a word and not looked up, because a bin waits for the range of the one before.
        let less = (RANGES[index] >> (u32::from(range) >> 3 & 24)) as u8;
        let rest = i32::from(range) - i32::from(less);
        let (most, halved) = if rest < 0 {
            (2 * rest + 256, 1)
        } else {
            (rest, 0)
        };
        let less = LESS[index][usize::from(range >> 6)];
        let range = select_unpredictable(is_less, less.range, most as u8);
        let shift = select_unpredictable(is_less, less.shift, halved);
        let add = select_unpredictable(is_less, (rest + 256) as u64, 0);
        self.registers.range = range;
        self.shift(low + add, u32::from(shift));
    }

    /// Encodes a bin of equal probabilities (clause 9.3.4.4).
    #[inline(always)]
    pub fn bypass(&mut self, bin: bool) {
        self.bypass_bits(u32::from(bin), 1);
    }

    /// Encodes the last `count` bits of `bits` so, the highest first. `count` is at most 16, `bits` has no others.
    #[inline(always)]
    pub fn bypass_bits(&mut self, bits: u32, count: u32) {
        debug_assert!(count <= 16 && bits >> count == 0);
        let Registers { low, range, .. } = self.registers;
        self.registers.low = (low << count) + u64::from(bits) * (u64::from(range) + 256);
        self.registers.pending += count as i32;
        self.flush();
    }

    /// Encodes `value` as the suffix of UEGk, `k` at most 3 (clause 9.3.2.3), `value` less than 65,529.
    #[inline(always)]
    pub fn exp_golomb(&mut self, value: u32, k: u32) {
        let value = value + (1 << k);
        let length = 31 - value.leading_zeros();
        let ones = length - k;
        self.bypass_bits((1 << (ones + 1)) - 2, ones + 1);
        self.bypass_bits(value - (1 << length), length);
    }

    /// Encodes that arithmetic code goes on: a bin 0 of end_of_slice_flag, or of mb_type where that is not I_PCM
    /// (clause 9.3.4.5).
    #[inline(always)]
    pub fn go_on(&mut self) {
        let range = self.registers.range;
        let halved = u32::from(range < 2);
        self.registers.range = range.wrapping_sub(2) << halved;
        self.shift(self.registers.low, halved);
    }

    /// Encodes that it ends for samples of I_PCM, writes these, and starts again (clause 9.3.1.2).
    pub fn samples(&mut self, samples: impl Iterator<Item = u8>) {
        self.end();
        self.bytes.extend(samples);
    }

    /// Encodes that arithmetic code ends, a bin 1 of the same, and writes what remains. The last bit before the zeros
    /// that complete a byte is a 1: at the end of a slice it is rbsp_stop_one_bit.
    pub fn end(&mut self) {
        self.terminate();
        self.registers = Registers::START;
    }

    fn terminate(&mut self) {
        let low = self.registers.low + u64::from(self.registers.range) + 254;
        self.shift(low, 7);
        // Of the ten bits of codILow three are written, the last as 1.
        let padding = 7 - ((self.registers.pending + 2) & 7);
        let low = self.registers.low | 1 << 7;
        self.registers.low = low << (3 + padding);
        self.registers.pending += 3 + padding;
        self.write(self.registers.pending as usize / 8);
    }

    #[inline(always)]
    fn shift(&mut self, low: u64, count: u32) {
        self.registers.low = low << count;
        self.registers.pending += count as i32;
        self.flush();
    }

    /// Writes four bytes if there are as many.
    #[inline(always)]
    fn flush(&mut self) {
        if self.registers.pending >= 32 {
            self.write(4);
        }
    }

    #[inline(always)]
    fn write(&mut self, count: usize) {
        self.registers.pending -= 8 * count as i32;
        let Registers { low, pending, .. } = self.registers;
        self.registers.low = write(self.bytes, low, count, 10 + pending as u32);
    }
}

/// Writes `count` bytes, at most five, that are in `low` above its lowest `rest` bits, which it gives back.
#[inline(never)]
fn write(bytes: &mut Vec<u8>, low: u64, count: usize, rest: u32) -> u64 {
    let bits = low >> rest;
    if bits >> (8 * count) != 0 {
        carry(bytes);
    }
    bytes.extend_from_slice(&bits.to_be_bytes()[8 - count..]);
    low & ((1 << rest) - 1)
}

/// Adds 1 to what is written.
#[cold]
fn carry(bytes: &mut [u8]) {
    for byte in bytes.iter_mut().rev() {
        *byte = byte.wrapping_add(1);
        if *byte != 0 {
            return;
        }
    }
}

#[cfg(test)]
mod tests;
