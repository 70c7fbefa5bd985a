//! Deciding macroblocks: how each is predicted, its levels, its reconstruction before filtering.
//!
//! Rows run one behind the other. A macroblock needs the ones to the left and above it, up to the one above to the right.

mod alone;
mod budget;
mod cost;
#[cfg_attr(not(feature = "forced"), path = "unforced.rs")]
mod forced;
mod inter;
mod intra;
mod levels;
mod local;
mod predict;
mod range;
mod residual;
mod samples;

use std::ops::Range;

use crate::config::Tools;
use crate::energy::STEP;
use crate::entropy::cost::Costs;
use crate::estimate::Estimate;
use crate::filter::Band;
use crate::geometry::Geometry;
use crate::kernels::{BlockSize, Kernels};
use crate::macroblock::{Kind, Levels, Macroblock, Mv};
use crate::neighbours::{INTRA, Motion, Neighbour, NeighbourRow};
use crate::reference::View;
use crate::search::SearchResult;
use crate::source::Source;
use crate::syntax::{SliceHeader, SliceKind};

pub use alone::Alone;
pub use budget::{Budget, Spent};
pub use forced::Forced;
pub use local::{Local, ORIGIN, STRIDE as LOCAL_STRIDE, copy_16};
pub use residual::chroma_qp;

use inter::{Inter, InterSearch};
use intra::IntraSearch;
use local::STRIDE;
use residual::Coder;

/// What a test demands of macroblocks: by column and row.
pub type Force<'a> = dyn Fn(usize, usize) -> Forced + 'a;

/// A picture that is decided.
pub struct SliceContext<'a> {
    /// The kernels.
    pub kernels: Kernels,
    /// Its size.
    pub geometry: Geometry,
    /// What may be used.
    pub tools: &'a Tools,
    /// What its slice says.
    pub header: &'a SliceHeader,
    /// What bits cost in it.
    pub costs: &'a Costs,
    /// The quantisation parameter that macroblocks deviate from, in units of 1/[`STEP`].
    pub fine_qp: i32,
    /// The bits that it may have, if there is a limit.
    pub budget: Option<Budget>,
    /// What is to be coded.
    pub source: &'a Source,
    /// The pictures that it may refer to, by index.
    pub references: &'a [View<'a>],
    /// What a test demands of its macroblocks.
    pub force: Option<&'a Force<'a>>,
}

impl SliceContext<'_> {
    /// The quantisation parameter of macroblock `x`, `y`, raised by `raise`.
    fn qp(&self, x: usize, y: usize, raise: i32) -> u8 {
        let fine = self.fine_qp + i32::from(self.source.qp_offset(x, y));
        ((fine + STEP / 2).div_euclid(STEP) + raise).clamp(0, 51) as u8
    }
}

/// Where a row of macroblocks has got to.
pub struct RowWork {
    local: Box<Local>,
    left: Option<Macroblock>,
    /// By the row's own macroblocks.
    spent: Spent,
    /// The neighbours above the next macroblock: to the left, above.
    above: [Neighbour; 2],
}

impl RowWork {
    /// A row that has not begun.
    pub fn new() -> RowWork {
        RowWork {
            local: Box::new(Local::new()),
            left: None,
            spent: Spent::default(),
            above: [Neighbour::NONE; 2],
        }
    }
}

/// What deciding a row reads and writes beside the picture.
pub struct RowParts<'a> {
    /// Which row.
    pub row: usize,
    /// Where it has got to.
    pub work: &'a mut RowWork,
    /// What the row above tells, if there is one.
    pub above: Option<&'a NeighbourRow>,
    /// What it tells the row below.
    pub neighbours: &'a NeighbourRow,
    /// What was found in each reference: those of two rows and two macroblocks by cell.
    pub found: &'a [[SearchResult; 4]],
    /// What its macroblocks cost by expectation: those of two rows and two macroblocks by cell.
    pub estimates: &'a [[Estimate; 4]],
    /// The record of each macroblock.
    pub macroblocks: &'a mut [Macroblock],
    /// Levels of those that have any.
    pub levels: &'a mut Vec<Levels>,
    /// Reconstructed samples.
    pub band: &'a mut Band,
}

/// Memory of a worker.
#[derive(Default)]
pub struct Scratch {
    coder: Coder,
}

/// Decides macroblocks `columns` of a row.
pub fn decide(
    slice: &SliceContext<'_>,
    parts: RowParts<'_>,
    columns: Range<usize>,
    scratch: &mut Scratch,
) {
    let RowParts {
        row,
        work,
        above,
        neighbours,
        found,
        estimates,
        macroblocks,
        levels,
        band,
    } = parts;
    let neighbour = |x: usize| above.map_or(Neighbour::NONE, |row| row.get(x));
    if columns.start == 0 {
        work.left = None;
        work.spent = Spent::default();
        work.above = [Neighbour::NONE, neighbour(0)];
        levels.clear();
    }
    let cells = slice.geometry.columns.div_ceil(2);
    for x in columns {
        let [corner, top] = work.above;
        let right = neighbour(x + 1);
        let around = [&corner, &top, &right];
        work.local.advance(around);
        let mut references = [SearchResult::default(); MOST_REFERENCES];
        for (r, to) in references
            .iter_mut()
            .take(slice.references.len())
            .enumerate()
        {
            *to = found[r * cells + x / 2][row % 2 * 2 + x % 2];
        }
        let before = match right.available {
            true => right.spent,
            false => top.spent,
        };
        let raise = slice.budget.map(|b| b.raise(work.spent.and(before)));
        let forced = slice.force.map(|force| force(x, row));
        let qp = match &forced {
            Some(forced) => forced.qp(),
            None => slice.qp(x, row, raise.unwrap_or(0)),
        };
        let mut decision = ModeDecision {
            slice,
            at: (16 * x as i32, 16 * row as i32),
            around,
            motion: Motion::new(work.left.as_ref(), around),
            left: work.left.as_ref(),
            found: &references[..slice.references.len()],
            qp,
            local: &mut work.local,
            coder: &mut scratch.coder,
        };
        let mut mb = match &forced {
            Some(forced) => decision.forced(forced),
            None => decision.run(),
        };
        if decision.needs_samples(&mb) {
            mb = decision.samples();
        }
        if mb.has_levels() {
            mb.levels = levels.len() as u32;
            levels.push((*scratch.coder.levels).clone());
        }
        let (luma, chroma) = work.local.lowest();
        let mut neighbour = Neighbour::of(&mb, luma, chroma);
        if slice.budget.is_some() {
            let estimate = &estimates[x / 2][row % 2 * 2 + x % 2];
            let cost = match slice.header.kind {
                SliceKind::I => estimate.intra,
                SliceKind::P => estimate.inter,
            };
            let bits = budget::estimate(&mb, &scratch.coder.levels);
            work.spent = work.spent.and(Spent { bits, cost });
            neighbour.spent = work.spent.and(before);
        }
        neighbours.put(x, &neighbour);
        band.put(x, &work.local);
        macroblocks[x] = mb;
        work.left = Some(mb);
        work.above = [top, right];
    }
}

/// References of a picture, at most.
pub const MOST_REFERENCES: usize = 4;

/// The mode decision of one macroblock.
struct ModeDecision<'a> {
    slice: &'a SliceContext<'a>,
    at: (i32, i32),
    around: [&'a Neighbour; 3],
    motion: Motion,
    left: Option<&'a Macroblock>,
    found: &'a [SearchResult],
    qp: u8,
    local: &'a mut Local,
    coder: &'a mut Coder,
}

impl ModeDecision<'_> {
    fn run(&mut self) -> Macroblock {
        if self.slice.header.kind == SliceKind::P {
            self.inter_or_intra()
        } else {
            let intra = self.intra(u32::MAX, true);
            intra.expect("a limit that nothing reaches")
        }
    }

    fn source(&self) -> (&[u8], usize) {
        let plane = &self.slice.source.luma;
        (
            &plane.read()[plane.at(self.at.0, self.at.1)..],
            plane.shape().stride,
        )
    }

    fn lambda(&self) -> u32 {
        cost::lambda(self.qp)
    }

    fn inter_or_intra(&mut self) -> Macroblock {
        let skip = self.motion.skip();
        if let Some(mb) = self.skip(skip) {
            return mb;
        }
        let search = InterSearch {
            slice: self.slice,
            at: self.at,
            source: self.source(),
            motion: &self.motion,
            found: self.found,
            lambda: self.lambda(),
        };
        let inter = search.run();
        let intra_from = match self.slice.tools.rare_intra {
            true => RARE_INTRA_FROM,
            false => INTRA_FROM,
        };
        if inter.cost > self.lambda() * intra_from
            && let Some(mb) = self.intra(inter.cost, self.slice.tools.small_intra)
        {
            return mb;
        }
        self.code_inter(&inter, skip)
    }

    /// The macroblock as a skipped one, if nothing remains to be coded.
    fn skip(&mut self, mv: Mv) -> Option<Macroblock> {
        let search = InterSearch {
            slice: self.slice,
            at: self.at,
            source: self.source(),
            motion: &self.motion,
            found: self.found,
            lambda: self.lambda(),
        };
        if !search.allows(mv) || search.whole_distortion(mv) > self.lambda() * SKIP_UNTIL {
            return None;
        }
        let inter = Inter::skipped(mv);
        let mb = self.code_inter(&inter, mv);
        (mb.kind == Kind::PSkip).then_some(mb)
    }

    /// Predicts from references and codes what remains.
    fn code_inter(&mut self, inter: &Inter, skip: Mv) -> Macroblock {
        let mut mb = Macroblock {
            qp: self.qp,
            ..Macroblock::default()
        };
        inter.put(&mut mb);
        self.predict(&mb);
        self.coder.inter(self.slice, self.at, self.local, &mut mb);
        let still = mb.kind == Kind::P16x16 && mb.refs[0] == 0 && mb.mvs[0] == skip;
        if still && mb.cbp == 0 {
            mb.kind = Kind::PSkip;
            mb.mvds = [Mv::ZERO; 4];
        }
        mb
    }

    /// Writes the prediction of a macroblock from references.
    fn predict(&mut self, mb: &Macroblock) {
        let (kernels, geometry) = (self.slice.kernels, &self.slice.geometry);
        let parts: &[(BlockSize, usize, usize, usize)] = match mb.kind {
            Kind::P16x8 => &[(BlockSize::B16x8, 0, 0, 0), (BlockSize::B16x8, 2, 0, 8)],
            Kind::P8x16 => &[(BlockSize::B8x16, 0, 0, 0), (BlockSize::B8x16, 1, 8, 0)],
            Kind::P8x8 => &[
                (BlockSize::B8x8, 0, 0, 0),
                (BlockSize::B8x8, 1, 8, 0),
                (BlockSize::B8x8, 2, 0, 8),
                (BlockSize::B8x8, 3, 8, 8),
            ],
            _ => &[(BlockSize::B16x16, 0, 0, 0)],
        };
        for &(size, q, x, y) in parts {
            let view = &self.slice.references[mb.refs[q] as usize];
            let place = (self.at.0 + x as i32, self.at.1 + y as i32);
            let block = view.block(geometry, place, mb.mvs[q]);
            let to = &mut self.local.luma[Local::at(x, y)..];
            view.predict_luma(kernels, size, block, to, STRIDE);
            // A pair of chroma samples is as wide as two of luma.
            let to = &mut self.local.chroma[Local::at(x, y / 2)..];
            view.predict_chroma(kernels, geometry, place, size, mb.mvs[q], (to, STRIDE));
        }
    }

    /// The best prediction from the picture itself, coded, if it costs less than `limit`.
    fn intra(&mut self, limit: u32, small: bool) -> Option<Macroblock> {
        let mut mb = Macroblock {
            qp: self.qp,
            refs: [INTRA; 4],
            ..Macroblock::default()
        };
        let search = IntraSearch {
            slice: self.slice,
            at: self.at,
            around: self.around,
            left: self.left,
            lambda: self.lambda(),
        };
        search
            .run(limit, small, self.local, self.coder, &mut mb)
            .then_some(mb)
    }
}

/// Prices of a bit above which prediction from the picture itself is tried in P pictures.
const INTRA_FROM: u32 = 20;
/// The same with `rare_intra`.
const RARE_INTRA_FROM: u32 = 60;
/// Prices of a bit above which a macroblock is not skipped: levels would remain.
const SKIP_UNTIL: u32 = 30;
