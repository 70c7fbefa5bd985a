//! Blocks of levels (clauses 7.3.5.3.2 and 9.2).

use super::bits::Bits;
use super::tables::{
    COEFF_TOKENS, COEFF_TOKENS_CHROMA_DC, RUN_BEFORE, TOTAL_ZEROS, TOTAL_ZEROS_CHROMA_DC,
};

/// Which codes and contexts were read.
pub struct Coverage {
    /// By table (the last is that of chroma DC), number of levels, trailing ones.
    pub tokens: [[[u32; 4]; 17]; 5],
    /// By table (the second is that of chroma DC), number of levels less one, zeros.
    pub total_zeros: [[[u32; 16]; 15]; 2],
    /// By zeros left less one, at most 6; and run.
    pub run_before: [[u32; 15]; 7],
    /// By `suffixLength`, and `level_prefix`.
    pub prefixes: [[u32; 24]; 7],
    /// Of intra, of inter.
    pub patterns: [[u32; 48]; 2],
    /// With CABAC, the bins of each context: in I slices, and in P slices by cabac_init_idc.
    pub contexts: [[u32; 460]; 4],
    /// The bits of each macroblock that was not skipped, as clause A.3.1 counts them.
    pub sizes: Vec<usize>,
}

impl Coverage {
    pub fn new() -> Coverage {
        Coverage {
            tokens: [[[0; 4]; 17]; 5],
            total_zeros: [[[0; 16]; 15]; 2],
            run_before: [[0; 15]; 7],
            prefixes: [[0; 24]; 7],
            patterns: [[0; 48]; 2],
            contexts: [[0; 460]; 4],
            sizes: Vec::new(),
        }
    }
}

/// What `nC` depends on.
pub enum Context {
    /// The numbers of levels to the left and above, where there is a block.
    Neighbours(Option<u8>, Option<u8>),
    ChromaDc,
}

/// `residual_block_cavlc`: as many levels as there may be, in coding order; and how many are not zero.
pub fn block(
    bits: &mut Bits<'_>,
    coverage: &mut Coverage,
    context: Context,
    most: usize,
) -> (Vec<i16>, u8) {
    let mut levels = vec![0; most];
    let (table, (count, ones)) = match context {
        Context::ChromaDc => (4, token(bits, &COEFF_TOKENS_CHROMA_DC)),
        Context::Neighbours(a, b) => {
            let n = match (a, b) {
                (Some(a), Some(b)) => (a + b + 1) >> 1,
                (Some(n), None) | (None, Some(n)) => n,
                (None, None) => 0,
            };
            match n {
                0 | 1 => (0, token(bits, &COEFF_TOKENS[0])),
                2 | 3 => (1, token(bits, &COEFF_TOKENS[1])),
                4..=7 => (2, token(bits, &COEFF_TOKENS[2])),
                _ => (3, fixed_token(bits)),
            }
        }
    };
    coverage.tokens[table][count][ones] += 1;
    assert!(count <= most);
    if count == 0 {
        return (levels, 0);
    }

    let mut values = Vec::new();
    let mut suffix_length = if count > 10 && ones < 3 { 1 } else { 0 };
    for index in 0..count {
        if index < ones {
            values.push(1 - 2 * bits.bit() as i32);
            continue;
        }
        let mut prefix = 0;
        while !bits.flag() {
            prefix += 1;
        }
        coverage.prefixes[suffix_length as usize][prefix as usize] += 1;
        let mut level_code = prefix.min(15) << suffix_length;
        if suffix_length > 0 || prefix >= 14 {
            let size = match prefix {
                14 if suffix_length == 0 => 4,
                15.. => prefix - 3,
                _ => suffix_length,
            };
            level_code += bits.u(size);
        }
        if prefix >= 15 && suffix_length == 0 {
            level_code += 15;
        }
        if prefix >= 16 {
            level_code += (1 << (prefix - 3)) - 4096;
        }
        if index == ones && ones < 3 {
            level_code += 2;
        }
        let level_code = level_code as i32;
        let value = match level_code % 2 {
            0 => (level_code + 2) >> 1,
            _ => (-level_code - 1) >> 1,
        };
        values.push(value);
        if suffix_length == 0 {
            suffix_length = 1;
        }
        if value.abs() > 3 << (suffix_length - 1) && suffix_length < 6 {
            suffix_length += 1;
        }
    }

    let mut zeros_left = 0;
    if count < most {
        let chroma = table == 4;
        let codes = match chroma {
            true => &TOTAL_ZEROS_CHROMA_DC[count - 1],
            false => &TOTAL_ZEROS[count - 1],
        };
        zeros_left = symbol(bits, codes[0], codes[1]);
        coverage.total_zeros[usize::from(chroma)][count - 1][zeros_left] += 1;
    }
    let mut at = zeros_left + count;
    assert!(at <= most);
    for (index, value) in values.into_iter().enumerate() {
        at -= 1;
        levels[at] = value as i16;
        if zeros_left > 0 && index + 1 < count {
            let run = run(bits, zeros_left);
            coverage.run_before[zeros_left.min(7) - 1][run] += 1;
            zeros_left -= run;
            at -= run;
        }
    }
    (levels, count as u8)
}

/// Reads bits until they are a code.
fn symbol(bits: &mut Bits<'_>, lengths: &[u16], codes: &[u16]) -> usize {
    let (mut length, mut code) = (0, 0);
    while length < 16 {
        code = code << 1 | bits.bit() as u16;
        length += 1;
        let found = (0..lengths.len()).find(|&i| lengths[i] == length && codes[i] == code);
        if let Some(index) = found {
            return index;
        }
    }
    panic!("{code:b} is no code");
}

fn token(bits: &mut Bits<'_>, table: &[[&[u16]; 4]; 2]) -> (usize, usize) {
    let lengths: Vec<u16> = table[0].concat();
    let codes: Vec<u16> = table[1].concat();
    let index = symbol(bits, &lengths, &codes);
    let width = table[0][0].len();
    (index % width, index / width)
}

/// Six bits: the number of levels less one, and the trailing ones.
fn fixed_token(bits: &mut Bits<'_>) -> (usize, usize) {
    match bits.u(6) as usize {
        0b000011 => (0, 0),
        code => {
            let (count, ones) = ((code >> 2) + 1, code & 3);
            assert!(ones <= count);
            (count, ones)
        }
    }
}

fn run(bits: &mut Bits<'_>, zeros_left: usize) -> usize {
    if zeros_left <= 6 {
        let [lengths, codes] = RUN_BEFORE[zeros_left - 1];
        return symbol(bits, lengths, codes);
    }
    match bits.u(3) as usize {
        0 => {
            let mut run = 7;
            while !bits.flag() {
                run += 1;
            }
            run
        }
        code => 7 - code,
    }
}
