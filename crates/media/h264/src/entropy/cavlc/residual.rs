//! A block of levels (clauses 7.3.5.3.2 and 9.2).

use crate::bits::BitWriter;

use super::tables::{
    COEFF_TOKEN_0, COEFF_TOKEN_2, COEFF_TOKEN_4, COEFF_TOKEN_8, COEFF_TOKEN_CHROMA_DC, Code,
    CoeffTokens, RUN_BEFORE, TOTAL_ZEROS, TOTAL_ZEROS_CHROMA_DC, TotalZeros,
};

/// What stands for the number of levels of a block that is outside the picture: more than 16, and a multiple of 32.
pub const OUTSIDE: u8 = 64;

/// The table of `coeff_token`, by the number of levels of the blocks to the left and above, or [`OUTSIDE`].
#[inline]
pub fn tokens(left: u8, above: u8) -> &'static CoeffTokens {
    // The mean of both, rounded up; if only one is inside, that one.
    let sum = left + above;
    match if sum < OUTSIDE {
        (sum + 1) >> 1
    } else {
        sum & 31
    } {
        0..2 => &COEFF_TOKEN_0,
        2..4 => &COEFF_TOKEN_2,
        4..8 => &COEFF_TOKEN_4,
        _ => &COEFF_TOKEN_8,
    }
}

/// Writes the 16 levels of a block.
pub fn block(bits: &mut BitWriter, levels: &[i16; 16], tokens: &CoeffTokens) {
    write::<16>(bits, levels, nonzero(levels), tokens, &TOTAL_ZEROS);
}

/// Writes the levels of a block but the first.
pub fn block_without_dc(bits: &mut BitWriter, levels: &[i16; 16], tokens: &CoeffTokens) {
    write::<15>(bits, levels, nonzero(levels) & !1, tokens, &TOTAL_ZEROS);
}

/// Writes the DC levels of Cb or Cr.
pub fn chroma_dc(bits: &mut BitWriter, dc: &[i16; 4]) {
    let mut levels = [0; 16];
    levels[..4].copy_from_slice(dc);
    let mask = nonzero(&levels);
    write::<4>(
        bits,
        &levels,
        mask,
        &COEFF_TOKEN_CHROMA_DC,
        &TOTAL_ZEROS_CHROMA_DC,
    );
}

/// Writes a block without levels.
#[inline]
pub fn empty(bits: &mut BitWriter, tokens: &CoeffTokens) {
    put(bits, tokens[0][0]);
}

#[inline(always)]
fn put(bits: &mut BitWriter, code: Code) {
    bits.put(u32::from(code.bits), u32::from(code.length));
}

/// A bit for each level that is not zero.
#[inline]
fn nonzero(levels: &[i16; 16]) -> u32 {
    const LOW: u64 = 0x7fff_7fff_7fff_7fff;
    let mut mask = 0;
    for (index, four) in levels.as_chunks::<4>().0.iter().enumerate() {
        let level = |i: usize| u64::from(four[i] as u16) << (16 * i);
        let word = level(0) | level(1) | level(2) | level(3);
        // The top bit of each 16 that are not all zero, brought together.
        let tops = ((((word & LOW) + LOW) | word) & !LOW) >> 15;
        let four = tops.wrapping_mul(1 << 48 | 1 << 33 | 1 << 18 | 1 << 3) >> 48 & 15;
        mask |= (four as u32) << (4 * index);
    }
    mask
}

/// Writes the levels that `mask` has bits for, of a block of at most `MOST`.
#[inline(always)]
fn write<const MOST: usize>(
    bits: &mut BitWriter,
    levels: &[i16; 16],
    mask: u32,
    tokens: &CoeffTokens,
    total_zeros: &TotalZeros,
) {
    let count = mask.count_ones() as usize;
    if count == 0 {
        return empty(bits, tokens);
    }
    // From here on the last level is the first.
    let mut values = [0; 16];
    let mut runs = [0; 16];
    let mut rest = mask;
    let last = 31 - mask.leading_zeros();
    let mut before = last;
    for at in 0..count {
        let position = 31 - rest.leading_zeros();
        values[at] = i32::from(levels[(position & 15) as usize]);
        runs[at] = before - position;
        before = position.wrapping_sub(1);
        rest ^= 1 << position;
    }

    let mut ones = 0;
    let mut signs = 0;
    while ones < count.min(3) && values[ones].unsigned_abs() == 1 {
        signs = signs << 1 | values[ones] as u32 >> 31;
        ones += 1;
    }
    let token = tokens[count][ones];
    bits.put(
        u32::from(token.bits) << ones | signs,
        u32::from(token.length) + ones as u32,
    );
    write_levels(bits, &values[ones..count], count, ones);

    if count < MOST {
        // Without DC the first position is not one of the block.
        let mut zeros = last as usize + 1 - count - usize::from(MOST == 15);
        put(bits, total_zeros[count - 1][zeros]);
        for &run in &runs[1..count] {
            if zeros == 0 {
                break;
            }
            let run = run as usize;
            put(bits, RUN_BEFORE[zeros.min(7) - 1][run]);
            zeros -= run;
        }
    }
}

/// Writes the levels after the trailing ones (clause 9.2.2, whose inverse this is).
#[inline(always)]
fn write_levels(bits: &mut BitWriter, values: &[i32], count: usize, ones: usize) {
    // suffixLength
    let mut suffix = u32::from(count > 10 && ones < 3);
    // The first is not a one, or it would be among the trailing ones.
    let mut less = if ones < 3 { 2 } else { 0 };
    for &value in values {
        let magnitude = value.unsigned_abs();
        // levelCode
        let code = 2 * magnitude - 2 + (value as u32 >> 31) - less;
        less = 0;
        let prefix = code >> suffix;
        if prefix < if suffix == 0 { 14 } else { 15 } {
            let tail = code & ((1 << suffix) - 1);
            bits.put(1 << suffix | tail, prefix + 1 + suffix);
        } else if suffix == 0 && code < 30 {
            bits.put(1 << 4 | (code - 14), 19);
        } else {
            escape(bits, code - (15 << suffix.max(1)));
        }
        if suffix == 0 {
            suffix = 1;
        }
        if magnitude > 3 << (suffix - 1) && suffix < 6 {
            suffix += 1;
        }
    }
}

/// Writes what is left of `levelCode` with a prefix of 15 or more and a suffix of 3 bits less.
#[cold]
fn escape(bits: &mut BitWriter, rest: u32) {
    // Each prefix has room for twice as many as the one before, so that their beginnings are 2^12 less 2^12, 2^13 less 2^12…
    let number = rest + (1 << 12);
    let suffix = number.ilog2();
    bits.put(1, suffix + 4);
    bits.put(number - (1 << suffix), suffix);
}
