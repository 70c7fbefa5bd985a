//! CAVLC (clause 9.2): variable-length codes.

use crate::bits::BitWriter;
use crate::macroblock::{Levels, Macroblock};
use crate::syntax::{Picture, SliceHeader};

/// The state of a slice.
#[derive(Debug)]
pub struct Cavlc {}

impl Cavlc {
    /// For pictures `width` macroblocks wide.
    pub fn new(width: usize, picture: &Picture) -> Cavlc {
        let _ = (width, picture);
        Cavlc {}
    }

    /// Begins a slice.
    pub fn begin(&mut self, header: &SliceHeader) {
        let _ = header;
    }

    /// The next row.
    pub fn row(&mut self, macroblocks: &[Macroblock], levels: &[Levels], bits: &mut BitWriter) {
        let _ = (macroblocks, levels, bits);
        todo!()
    }

    /// Ends the slice with a whole number of bytes.
    pub fn finish(&mut self, bits: &mut BitWriter) {
        bits.trailing_bits();
    }
}
