//! CABAC (clause 9.3): the slice data (clause 7.3.4) as arithmetic code.
//!
//! With CABAC a sub-macroblock that is transformed in one block of 8x8, and whose bit of the coded block pattern is set,
//! has a level that is not 0: there is no way to say that it has none.

use crate::bits::BitWriter;
use crate::macroblock::{Kind, Levels, Macroblock};
use crate::syntax::{Picture, SliceHeader, SliceKind};

use super::modes::IntraModes;
use super::qp_delta;
use contexts::Contexts;
use cost::Costs;
use engine::{Coder, Registers};
use macroblock::Bins;
use neighbours::{AbsMvd, CodedBlockFlags, Neighbour, Neighbours};
use residual::residual;

mod contexts;
pub mod cost;
mod engine;
mod initial;
mod macroblock;
mod neighbours;
mod residual;
mod tables;

/// The state of a slice.
#[derive(Debug)]
pub struct Cabac {
    registers: Registers,
    contexts: Contexts,
    modes: IntraModes,
    /// The lower sides of the macroblocks above those to come.
    above: Vec<Neighbour>,
    /// transform_8x8_mode_flag.
    allows_8x8: bool,
    kind: SliceKind,
    /// Whether ref_idx_l0 is coded.
    has_references: bool,
    /// Whether no macroblock is coded yet.
    is_empty: bool,
    /// Of the macroblock before.
    qp: u8,
    /// Whether the macroblock before has an mb_qp_delta other than 0.
    has_delta: bool,
}

impl Cabac {
    /// For pictures `width` macroblocks wide.
    pub fn new(width: usize, picture: &Picture) -> Cabac {
        Cabac {
            registers: Registers::START,
            contexts: Contexts::new(None, 0),
            modes: IntraModes::new(width),
            above: vec![Neighbour::OUTSIDE; width],
            allows_8x8: picture.transform_8x8,
            kind: SliceKind::I,
            has_references: false,
            is_empty: true,
            qp: 0,
            has_delta: false,
        }
    }

    /// Begins a slice whose header `bits` holds.
    pub fn begin(&mut self, header: &SliceHeader, bits: &mut BitWriter) {
        bits.align(true); // cabac_alignment_one_bit
        let init = match header.kind {
            SliceKind::I => None,
            SliceKind::P => Some(header.cabac_init),
        };
        self.registers = Registers::START;
        self.contexts = Contexts::new(init, header.qp);
        self.modes.begin();
        self.above.fill(Neighbour::OUTSIDE);
        self.kind = header.kind;
        self.has_references = header.references > 1;
        self.is_empty = true;
        self.qp = header.qp;
        self.has_delta = false;
    }

    /// What bins cost at this point of the slice.
    pub fn costs(&self) -> Costs {
        Costs::new(&self.contexts)
    }

    /// The next row.
    pub fn row(&mut self, macroblocks: &[Macroblock], levels: &[Levels], bits: &mut BitWriter) {
        let mut coder = Coder::new(self.registers, bits.bytes());
        let mut left = Neighbour::OUTSIDE;
        self.modes.begin_row();
        for (x, macroblock) in macroblocks.iter().enumerate() {
            if !self.is_empty {
                coder.go_on(); // end_of_slice_flag
            }
            self.is_empty = false;
            let around = Neighbours {
                left,
                above: self.above[x],
            };
            (left, self.above[x]) = self.macroblock(&mut coder, x, &around, macroblock, levels);
        }
        self.registers = coder.registers;
    }

    /// Ends the slice with a whole number of bytes.
    pub fn finish(&mut self, bits: &mut BitWriter) {
        let mut coder = Coder::new(self.registers, bits.bytes());
        coder.end(); // end_of_slice_flag and rbsp_slice_trailing_bits
        self.registers = coder.registers;
    }

    /// The next macroblock. Gives its right and lower side.
    fn macroblock(
        &mut self,
        coder: &mut Coder,
        x: usize,
        around: &Neighbours,
        macroblock: &Macroblock,
        levels: &[Levels],
    ) -> (Neighbour, Neighbour) {
        let kind = macroblock.kind;
        let mut bins = Bins {
            coder,
            contexts: &mut self.contexts,
        };
        if self.kind == SliceKind::P {
            bins.skip(around, kind == Kind::PSkip);
        }
        if kind == Kind::PSkip {
            self.modes.pass(x, macroblock, |_| {});
            self.has_delta = false;
            return (Neighbour::SKIPPED, Neighbour::SKIPPED);
        }
        match self.kind {
            SliceKind::I => bins.type_in_i(around, macroblock),
            SliceKind::P => bins.type_in_p(macroblock),
        }
        if kind == Kind::IPcm {
            let Levels {
                luma, chroma_ac, ..
            } = &levels[macroblock.levels as usize];
            let chroma = chroma_ac.as_flattened().as_flattened();
            let samples = luma.as_flattened().iter().chain(chroma);
            bins.coder.samples(samples.map(|sample| *sample as u8));
            self.modes.pass(x, macroblock, |_| {});
            self.has_delta = false;
            return (Neighbour::SAMPLES, Neighbour::SAMPLES);
        }

        let is_nxn = matches!(kind, Kind::I4x4 | Kind::I8x8);
        if is_nxn && self.allows_8x8 {
            bins.transform_8x8(around, macroblock.transform_8x8);
        }
        self.modes.pass(x, macroblock, |mode| bins.mode(mode));
        let mut vectors = [AbsMvd::default(); 4];
        if kind.is_intra() {
            bins.chroma_mode(around, macroblock.chroma_mode);
        } else {
            if kind == Kind::P8x8 {
                bins.sub_types();
            }
            if self.has_references {
                bins.references(around, macroblock);
            }
            vectors = bins.vectors(around, macroblock);
        }
        if kind != Kind::I16x16 {
            bins.pattern(around, macroblock.cbp);
            if macroblock.cbp & 15 != 0 && self.allows_8x8 && !is_nxn {
                bins.transform_8x8(around, macroblock.transform_8x8);
            }
        }
        let mut coded = (CodedBlockFlags::default(), CodedBlockFlags::default());
        let before = std::mem::take(&mut self.has_delta);
        if macroblock.has_qp_delta() {
            let delta = qp_delta(self.qp, macroblock.qp);
            bins.qp_delta(before, delta);
            self.has_delta = delta != 0;
            self.qp = macroblock.qp;
            coded = residual(
                &mut bins,
                macroblock,
                &levels[macroblock.levels as usize],
                around.left.coded_for(kind.is_intra()),
                around.above.coded_for(kind.is_intra()),
            );
        }
        (
            Neighbour::of(macroblock, [1, 3], &vectors, coded.0),
            Neighbour::of(macroblock, [2, 3], &vectors, coded.1),
        )
    }
}
