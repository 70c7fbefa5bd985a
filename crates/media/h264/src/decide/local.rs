//! The samples of the macroblock in work, with those around it that it is predicted from.

use crate::neighbours::Neighbour;

/// From a row to the next.
pub const STRIDE: usize = 64;
/// Where the first sample lies. Those to the left of it and above it belong to neighbours.
pub const ORIGIN: usize = STRIDE + 16;

/// Reconstructed samples before they are filtered.
#[repr(align(64))]
pub struct Local {
    /// 16 rows of 16, one row above with 4 further samples to the right, one column to the left.
    pub luma: [u8; 17 * STRIDE],
    /// 8 rows of 8 pairs, likewise.
    pub chroma: [u8; 9 * STRIDE],
}

impl Local {
    /// All samples are zero.
    pub fn new() -> Local {
        Local {
            luma: [0; 17 * STRIDE],
            chroma: [0; 9 * STRIDE],
        }
    }

    /// Goes on to the next macroblock of the row, whose neighbours above are these: to the left, above, to the right.
    /// Samples of the last one become those to the left.
    pub fn advance(&mut self, [corner, top, right]: [&Neighbour; 3]) {
        for y in 0..16 {
            let at = ORIGIN + y * STRIDE;
            self.luma[at - 1] = self.luma[at + 15];
        }
        for y in 0..8 {
            let at = ORIGIN + y * STRIDE;
            self.chroma.copy_within(at + 14..at + 16, at - 2);
        }
        let above = ORIGIN - STRIDE;
        self.luma[above - 1] = corner.luma[15];
        self.luma[above..above + 16].copy_from_slice(&top.luma);
        self.luma[above + 16..above + 24].copy_from_slice(&right.luma[..8]);
        self.chroma[above - 2..above].copy_from_slice(&corner.chroma[14..]);
        self.chroma[above..above + 16].copy_from_slice(&top.chroma);
    }

    /// Where the sample at `x`, `y` lies.
    #[inline]
    pub fn at(x: usize, y: usize) -> usize {
        ORIGIN + y * STRIDE + x
    }

    /// The lowest rows of luma and chroma.
    #[inline]
    pub fn lowest(&self) -> ([u8; 16], [u8; 16]) {
        let row = |plane: &[u8], y: usize| {
            let at = Local::at(0, y);
            plane[at..at + 16].try_into().expect("16 samples")
        };
        (row(&self.luma, 15), row(&self.chroma, 7))
    }

    /// Luma from the sample at `at` downwards.
    #[inline]
    pub fn column<const N: usize>(&self, at: usize) -> [u8; N] {
        let mut column = [0; N];
        for (y, sample) in column.iter_mut().enumerate() {
            *sample = self.luma[at + y * STRIDE];
        }
        column
    }

    /// The column to the left of luma.
    #[inline]
    pub fn left(&self) -> [u8; 16] {
        self.column(Local::at(0, 0) - 1)
    }
}

/// Copies 16 samples, in a register rather than by a call.
///
/// # Panics
/// There are fewer.
#[inline(always)]
pub fn copy_16(from: &[u8], to: &mut [u8]) {
    let from: &[u8; 16] = from.first_chunk().expect("16 samples");
    *to.first_chunk_mut().expect("room for 16 samples") = *from;
}
