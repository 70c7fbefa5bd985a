//! CAVLC (clause 9.2): variable-length codes, each chosen by what the blocks to the left and above have.

use crate::bits::BitWriter;
use crate::macroblock::{Kind, Levels, Macroblock};
use crate::syntax::{Picture, SliceHeader, SliceKind};

use super::modes::IntraModes;
use residual::OUTSIDE;

mod macroblock;
mod residual;
mod size;
mod tables;

pub use size::most_bits;

/// The state of a slice.
#[derive(Debug)]
pub struct Cavlc {
    kind: SliceKind,
    references: u8,
    transform_8x8: bool,
    /// The quantisation parameter of the macroblock before.
    qp: u8,
    /// Skipped macroblocks that no run tells of yet.
    skipped: u32,
    modes: IntraModes,
    above: Vec<TotalCoeffs>,
    left: TotalCoeffs,
}

/// The numbers of non-zero levels of the blocks at an edge of a macroblock, or [`OUTSIDE`].
#[derive(Clone, Copy, Debug)]
struct TotalCoeffs {
    luma: [u8; 4],
    chroma: [[u8; 2]; 2],
}

impl TotalCoeffs {
    const OUTSIDE: TotalCoeffs = TotalCoeffs {
        luma: [OUTSIDE; 4],
        chroma: [[OUTSIDE; 2]; 2],
    };

    fn below(macroblock: &Macroblock) -> TotalCoeffs {
        let n = &macroblock.nonzero;
        TotalCoeffs {
            luma: [n[10], n[11], n[14], n[15]],
            chroma: [[n[18], n[19]], [n[22], n[23]]],
        }
    }

    fn right_of(macroblock: &Macroblock) -> TotalCoeffs {
        let n = &macroblock.nonzero;
        TotalCoeffs {
            luma: [n[5], n[7], n[13], n[15]],
            chroma: [[n[17], n[19]], [n[21], n[23]]],
        }
    }
}

impl Cavlc {
    /// For pictures `width` macroblocks wide.
    pub fn new(width: usize, picture: &Picture) -> Cavlc {
        Cavlc {
            kind: SliceKind::I,
            references: 1,
            transform_8x8: picture.transform_8x8,
            qp: 0,
            skipped: 0,
            modes: IntraModes::new(width),
            above: vec![TotalCoeffs::OUTSIDE; width],
            left: TotalCoeffs::OUTSIDE,
        }
    }

    /// Begins a slice.
    pub fn begin(&mut self, header: &SliceHeader) {
        self.kind = header.kind;
        self.references = header.references;
        self.qp = header.qp;
        self.skipped = 0;
        self.modes.begin();
        self.above.fill(TotalCoeffs::OUTSIDE);
    }

    /// The next row.
    pub fn row(&mut self, macroblocks: &[Macroblock], levels: &[Levels], bits: &mut BitWriter) {
        self.left = TotalCoeffs::OUTSIDE;
        self.modes.begin_row();
        for (x, macroblock) in macroblocks.iter().enumerate() {
            if macroblock.kind == Kind::PSkip {
                self.skipped += 1;
                self.modes.pass(x, macroblock, |_| {});
            } else {
                if self.kind == SliceKind::P {
                    bits.ue(self.skipped); // mb_skip_run
                    self.skipped = 0;
                }
                self.macroblock(x, macroblock, levels, bits);
            }
            self.above[x] = TotalCoeffs::below(macroblock);
            self.left = TotalCoeffs::right_of(macroblock);
        }
    }

    /// Ends the slice with a whole number of bytes.
    pub fn finish(&mut self, bits: &mut BitWriter) {
        if self.skipped > 0 {
            bits.ue(self.skipped); // mb_skip_run
        }
        bits.trailing_bits();
    }
}
