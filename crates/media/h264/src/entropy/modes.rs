//! Intra prediction modes less what their neighbours let expect (clauses 8.3.1.1 and 8.3.2.1).

use crate::macroblock::{BLOCK_X, BLOCK_Y, Kind, Macroblock};

/// There is no macroblock.
const OUTSIDE: i8 = -1;
/// DC prediction, which stands for all macroblocks that are neither `I4x4` nor `I8x8`.
const DC: i8 = 2;

/// The modes of the blocks that adjoin the next macroblock.
///
/// An 8x8 block stands for four of 4x4 with its mode. With that, the rules of both sizes are one: the neighbours of a
/// block are those of its first 4x4 block. (In 8.3.2.1, `n` is 1 for the left, the upper right block of an 8x8 block; and
/// 2 above, the lower left one.)
#[derive(Debug)]
pub struct IntraModes {
    above: Vec<[i8; 4]>,
    left: [i8; 4],
}

impl IntraModes {
    /// For pictures `width` macroblocks wide.
    pub fn new(width: usize) -> IntraModes {
        IntraModes {
            above: vec![[OUTSIDE; 4]; width],
            left: [OUTSIDE; 4],
        }
    }

    /// Begins a picture.
    pub fn begin(&mut self) {
        self.above.fill([OUTSIDE; 4]);
    }

    /// Begins a row.
    pub fn begin_row(&mut self) {
        self.left = [OUTSIDE; 4];
    }

    /// Passes macroblock `x` of the row. Of `I4x4` and `I8x8` it calls `write` for each block in coding order: with
    /// nothing where the mode is the expected one (`prev_intra4x4_pred_mode_flag` is 1), else with
    /// `rem_intra4x4_pred_mode` (or those of 8x8).
    #[inline]
    pub fn pass(&mut self, x: usize, macroblock: &Macroblock, mut write: impl FnMut(Option<u8>)) {
        let step = match macroblock.kind {
            Kind::I4x4 => 1,
            Kind::I8x8 => 4,
            _ => {
                self.left = [DC; 4];
                self.above[x] = [DC; 4];
                return;
            }
        };
        let mut above = self.above[x];
        let mut left = self.left;
        for block in (0..16).step_by(step) {
            let (column, line) = (BLOCK_X[block] as usize, BLOCK_Y[block] as usize);
            let (a, b) = (left[line], above[column]);
            let expected = if a < 0 || b < 0 { DC } else { a.min(b) };
            let mode = macroblock.intra_modes[block] as i8;
            write(match mode - expected {
                0 => None,
                difference => Some((mode - i8::from(difference > 0)) as u8),
            });
            left[line] = mode;
            above[column] = mode;
            if step == 4 {
                left[line + 1] = mode;
                above[column + 1] = mode;
            }
        }
        self.left = left;
        self.above[x] = above;
    }
}
