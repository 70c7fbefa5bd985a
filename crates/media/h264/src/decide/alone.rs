//! Vectors of a macroblock that knows no neighbours.

use crate::neighbours::{Motion, Neighbour};
use crate::search::SearchResult;

use super::SliceContext;
use super::cost;
use super::inter::InterSearch;

/// Macroblocks of a picture, each by itself.
pub struct Alone<'a> {
    /// The picture.
    pub slice: &'a SliceContext<'a>,
    /// The quantisation parameter of all of them.
    pub qp: u8,
}

impl Alone<'_> {
    /// The cost of the best prediction of macroblock `x`, `y` from the first reference.
    pub fn inter(&self, (x, y): (usize, usize), found: &SearchResult) -> u32 {
        let at = (16 * x as i32, 16 * y as i32);
        let luma = &self.slice.source.luma;
        let none = &Neighbour::NONE;
        let search = InterSearch {
            slice: self.slice,
            at,
            source: (&luma.read()[luma.at(at.0, at.1)..], luma.shape().stride),
            motion: &Motion::new(None, [none; 3]),
            found: std::slice::from_ref(found),
            lambda: cost::lambda(self.qp),
        };
        search.run().cost
    }
}
