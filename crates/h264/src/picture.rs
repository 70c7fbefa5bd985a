//! All that is kept of a picture while it is in work, and while others are predicted from it.

use std::sync::{Mutex, OnceLock, RwLock};

use crate::decide::{Budget, RowWork};
use crate::entropy::SliceWriter;
use crate::entropy::cost::Costs;
use crate::estimate::Estimate;
use crate::filter::Band;
use crate::geometry::Geometry;
use crate::macroblock::{Levels, Macroblock};
use crate::neighbours::EdgeRow;
use crate::reference::Reference;
use crate::search::Found;
use crate::source::Source;
use crate::syntax::{Parameters, SliceHeader};

/// What is decided about a picture before its macroblocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Coding {
    /// What its slice says.
    pub header: SliceHeader,
    /// The quantisation parameter that macroblocks deviate from, in units of 1/[`STEP`](crate::energy::STEP).
    pub fine: i32,
    /// The bits that it may have, if there is a limit.
    pub budget: Option<Budget>,
    /// Pictures since the last key picture.
    pub since_key: u64,
    /// Pictures since the key picture before it.
    pub since_other: u64,
    /// Key pictures before it, or itself.
    pub keys: u64,
}

/// A picture.
pub struct Picture {
    /// What is to be coded.
    pub source: Source,
    /// What motion search found: a row of cells in each, by reference and by macroblock of the row's two.
    pub found: Vec<RwLock<Vec<[Found; 4]>>>,
    /// What macroblocks cost, a row of cells in each; if that is asked for.
    pub estimates: Vec<RwLock<Vec<[Estimate; 4]>>>,
    /// How it is coded, once that is decided.
    pub coding: OnceLock<Coding>,
    /// What bits cost, as far as is known beforehand.
    pub costs: OnceLock<Costs>,
    /// Rows of macroblocks.
    pub rows: Vec<Row>,
    /// What is reconstructed.
    pub reference: Reference,
    /// The picture's bits.
    pub writer: Mutex<SliceWriter>,
}

/// A row of macroblocks.
pub struct Row {
    /// Where deciding has got to.
    pub work: Mutex<RowWork>,
    /// What was decided.
    pub macroblocks: RwLock<Vec<Macroblock>>,
    /// Their levels.
    pub levels: RwLock<Vec<Levels>>,
    /// Reconstructed samples.
    pub band: Mutex<Band>,
    /// What the row below needs.
    pub edges: EdgeRow,
}

impl Picture {
    /// Room for pictures of a size, searched in `references` others.
    pub fn new(geometry: Geometry, references: usize, parameters: &Parameters) -> Picture {
        let cells = geometry.columns.div_ceil(2);
        let row = |_| Row {
            work: Mutex::new(RowWork::new()),
            macroblocks: RwLock::new(vec![Macroblock::default(); geometry.columns]),
            levels: RwLock::new(Vec::with_capacity(geometry.columns)),
            band: Mutex::new(Band::new(geometry)),
            edges: EdgeRow::new(geometry.columns),
        };
        let found = |_| RwLock::new(vec![[Found::default(); 4]; cells * references]);
        let estimates = |_| RwLock::new(vec![[Estimate::default(); 4]; cells]);
        Picture {
            source: Source::new(geometry),
            found: (0..geometry.rows.div_ceil(2)).map(found).collect(),
            estimates: (0..geometry.rows.div_ceil(2)).map(estimates).collect(),
            coding: OnceLock::new(),
            costs: OnceLock::new(),
            rows: (0..geometry.rows).map(row).collect(),
            reference: Reference::new(geometry),
            writer: Mutex::new(SliceWriter::new(parameters)),
        }
    }

    /// Forgets the picture.
    pub fn reset(&mut self) {
        self.source.reset();
        self.reference.reset();
        self.coding.take();
        self.costs.take();
    }
}
