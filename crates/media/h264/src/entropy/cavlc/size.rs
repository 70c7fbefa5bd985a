//! How many bits a macroblock takes at most.

use crate::bits::BitWriter;
use crate::macroblock::{Kind, Levels, Macroblock};

use super::macroblock::interleave;
use super::residual::{block, block_without_dc, chroma_dc};
use super::tables::COEFF_TOKEN_LONGEST;

/// The most bits before the residual: types, four references and vectors, or 16 modes; the pattern; the difference of the
/// quantisation parameter.
const HEADER: u32 = 320;

/// At least as many bits as a macroblock takes in CAVLC, whatever its neighbours are; a few more than it does. It is not
/// for `IPcm`.
pub fn most_bits(macroblock: &Macroblock, levels: &Levels) -> u32 {
    let mut bits = BitWriter::new();
    let tokens = &COEFF_TOKEN_LONGEST;
    let whole = macroblock.kind == Kind::I16x16;
    if whole {
        block(&mut bits, &levels.luma_dc, tokens);
    }
    for sub_macroblock in (0..4).filter(|sub_macroblock| macroblock.cbp >> sub_macroblock & 1 != 0)
    {
        let blocks = &levels.luma[4 * sub_macroblock..][..4];
        match macroblock.transform_8x8 {
            true => interleave(blocks)
                .iter()
                .for_each(|levels| block(&mut bits, levels, tokens)),
            false if whole => blocks
                .iter()
                .for_each(|levels| block_without_dc(&mut bits, levels, tokens)),
            false => blocks
                .iter()
                .for_each(|levels| block(&mut bits, levels, tokens)),
        }
    }
    if macroblock.cbp >> 4 != 0 {
        levels
            .chroma_dc
            .iter()
            .for_each(|dc| chroma_dc(&mut bits, dc));
    }
    if macroblock.cbp >> 4 == 2 {
        for levels in levels.chroma_ac.as_flattened() {
            block_without_dc(&mut bits, levels, tokens);
        }
    }
    HEADER + bits.bits() as u32
}
