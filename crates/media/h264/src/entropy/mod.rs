//! Entropy coding of slices: the slice data (clause 7.3.4) of macroblocks that were decided.
//!
//! A [`SliceWriter`] takes the macroblock rows of a picture in order. It keeps what it needs of the rows before, so that a
//! caller may reuse their memory. A picture is one slice.

use crate::bits::{BitWriter, NalType, write_nal_unit};
use crate::macroblock::{Levels, Macroblock};
use crate::syntax::{Entropy, Parameters, SliceHeader};

use cabac::Cabac;
use cavlc::Cavlc;
pub use cavlc::most_bits;
use cost::Costs;

pub use cabac::cost;

mod cabac;
mod cavlc;
mod modes;

/// Writes pictures, each as a slice.
#[derive(Debug)]
pub struct SliceWriter {
    parameters: Parameters,
    header: SliceHeader,
    bits: BitWriter,
    coder: Coder,
}

#[derive(Debug)]
enum Coder {
    Cavlc(Box<Cavlc>),
    Cabac(Box<Cabac>),
}

impl SliceWriter {
    /// A writer of slices that refer to `parameters`.
    pub fn new(parameters: &Parameters) -> SliceWriter {
        let width = parameters.sequence.width_in_macroblocks();
        let coder = match parameters.picture.entropy {
            Entropy::Cavlc => Coder::Cavlc(Box::new(Cavlc::new(width, &parameters.picture))),
            Entropy::Cabac => Coder::Cabac(Box::new(Cabac::new(width, &parameters.picture))),
        };
        SliceWriter {
            parameters: parameters.clone(),
            header: SliceHeader::default(),
            bits: BitWriter::new(),
            coder,
        }
    }

    /// Begins a slice. One that was not finished is dropped.
    pub fn begin(&mut self, header: &SliceHeader) {
        self.header = *header;
        self.bits.clear();
        header.write(&self.parameters, &mut self.bits);
        match &mut self.coder {
            Coder::Cavlc(coder) => coder.begin(header),
            Coder::Cabac(coder) => coder.begin(header, &mut self.bits),
        }
    }

    /// The next row: its macroblocks, and the levels that they index.
    ///
    /// # Panics
    ///
    /// If the row has another width; with CABAC, if a block has no levels that `nonzero` counts some of, or a sub-macroblock
    /// that is transformed in one block of 8x8 has none while its bit of the coded block pattern is set: CABAC cannot
    /// say that.
    pub fn row(&mut self, macroblocks: &[Macroblock], levels: &[Levels]) {
        let width = self.parameters.sequence.width_in_macroblocks();
        assert_eq!(macroblocks.len(), width, "a row of another width");
        match &mut self.coder {
            Coder::Cavlc(coder) => coder.row(macroblocks, levels, &mut self.bits),
            Coder::Cabac(coder) => coder.row(macroblocks, levels, &mut self.bits),
        }
    }

    /// Ends the slice after its last row and appends it to `out` as a NAL unit of a byte stream.
    pub fn finish(&mut self, out: &mut Vec<u8>) {
        match &mut self.coder {
            Coder::Cavlc(coder) => coder.finish(&mut self.bits),
            Coder::Cabac(coder) => coder.finish(&mut self.bits),
        }
        let kind = match self.header.idr {
            Some(_) => NalType::IdrSlice,
            None => NalType::Slice,
        };
        write_nal_unit(out, self.header.reference, kind, self.bits.bytes());
    }

    /// With CABAC, what bins cost at this point of the slice, or at the end of one that is finished.
    pub fn costs(&self) -> Option<Costs> {
        match &self.coder {
            Coder::Cavlc(_) => None,
            Coder::Cabac(coder) => Some(coder.costs()),
        }
    }

    /// The bits of the slice so far, before emulation prevention. With CABAC a few more may be pending.
    pub fn bits(&self) -> u64 {
        self.bits.bits()
    }
}

/// `mb_qp_delta` (clause 7.4.5): what makes the luma quantisation parameter of a macroblock out of that of the one before.
fn qp_delta(before: u8, qp: u8) -> i32 {
    match i32::from(qp) - i32::from(before) {
        difference @ ..-26 => difference + 52,
        difference @ 26.. => difference - 52,
        difference => difference,
    }
}
