//! CABAC (clause 9.3).

use crate::bits::BitWriter;
use crate::macroblock::{Levels, Macroblock};
use crate::syntax::{Picture, SliceHeader};

/// The state of a slice.
#[derive(Debug)]
pub struct Cabac {}

impl Cabac {
    /// For pictures `width` macroblocks wide.
    pub fn new(width: usize, picture: &Picture) -> Cabac {
        let _ = (width, picture);
        todo!()
    }

    /// Begins a slice whose header `bits` holds.
    pub fn begin(&mut self, header: &SliceHeader, bits: &mut BitWriter) {
        let _ = (header, bits);
        todo!()
    }

    /// The next row.
    pub fn row(&mut self, macroblocks: &[Macroblock], levels: &[Levels], bits: &mut BitWriter) {
        let _ = (macroblocks, levels, bits);
        todo!()
    }

    /// Ends the slice with a whole number of bytes.
    pub fn finish(&mut self, bits: &mut BitWriter) {
        let _ = bits;
        todo!()
    }
}
