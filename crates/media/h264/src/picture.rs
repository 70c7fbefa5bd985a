//! All that is kept of a picture while it is in work, and while others are predicted from it.

use std::sync::{Mutex, OnceLock, RwLock};

use crate::decide::{Budget, RowWork};
use crate::entropy::SliceWriter;
use crate::entropy::cost::Costs;
use crate::estimate::Estimate;
use crate::filter::Band;
use crate::geometry::Geometry;
use crate::macroblock::{Levels, Macroblock};
use crate::neighbours::{Neighbour, NeighbourRow};
use crate::reference::Reference;
use crate::search::SearchResult;
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
    pub found: Vec<RwLock<Vec<[SearchResult; 4]>>>,
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
    /// Their levels, from when they are decided until they are written.
    pub levels: RwLock<Option<Vec<Levels>>>,
    /// Reconstructed samples, from when they are decided until the row below is filtered.
    pub band: Mutex<Option<Band>>,
    /// What it tells the row below.
    pub neighbours: NeighbourRow,
}

impl Picture {
    /// Room for pictures of a size, searched in `references` others.
    pub fn new(geometry: Geometry, references: usize, parameters: &Parameters) -> Picture {
        let cells = geometry.columns.div_ceil(2);
        let row = |_| Row {
            work: Mutex::new(RowWork::new()),
            macroblocks: RwLock::new(vec![Macroblock::default(); geometry.columns]),
            levels: RwLock::new(None),
            band: Mutex::new(None),
            neighbours: NeighbourRow::new(geometry.columns),
        };
        let found = |_| RwLock::new(vec![[SearchResult::default(); 4]; cells * references]);
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

    /// About how many bytes a picture of a size takes that is searched in `references` others. Its bits are few beside.
    pub fn bytes(geometry: Geometry, references: usize) -> usize {
        let luma = geometry.stride * geometry.padded_height();
        let coded = geometry.coded_width() * geometry.coded_height();
        // Luma, its two smaller versions, chroma.
        let source = luma + luma / 4 + luma / 16 + coded / 2;
        // Luma, the planes between its samples, chroma.
        let reference = 4 * luma + luma / 2;
        let each = size_of::<Macroblock>()
            + size_of::<Neighbour>()
            + size_of::<Estimate>()
            + references * size_of::<SearchResult>();
        source + reference + geometry.columns * geometry.rows * each
    }

    /// About how many bytes all its rows take at most while they are in work.
    pub fn bytes_in_work(geometry: Geometry) -> usize {
        let coded = geometry.coded_width() * geometry.coded_height();
        // A band has a quarter more rows: those of the row above.
        let bands = (coded + coded / 2) * 5 / 4;
        bands + geometry.columns * geometry.rows * size_of::<Levels>()
    }

    /// Forgets the picture.
    pub fn reset(&mut self) {
        self.source.reset();
        self.reference.reset();
        self.coding.take();
        self.costs.take();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Config, Settings};
    use crate::padded::Padded;
    use crate::session;
    use evener_image::{Chroma, ColourRange, Depth, Format, Timing};

    #[test]
    fn bytes_are_those_of_all_that_is_kept() {
        let format = Format {
            width: 1280,
            height: 720,
            chroma: Chroma::C420,
            depth: Depth::U8,
            range: ColourRange::Limited,
        };
        let (config, timing) = (
            Config::new(&Settings::default()).unwrap(),
            Timing::default(),
        );
        let vui = session::vui(&format, &timing, None, false);
        let parameters = session::parameters(&config, &format, timing.rate, vui).unwrap();
        let geometry = Geometry::new(1280, 720);
        for references in [1, 4] {
            let picture = Picture::new(geometry, references, &parameters);
            let plane = |plane: &Padded| {
                let shape = plane.shape();
                shape.stride * (shape.height + 2 * shape.pad_rows)
            };
            let Source {
                luma,
                half,
                quarter,
                chroma,
                ..
            } = &picture.source;
            let source: usize = [luma, half, quarter, chroma].map(plane).iter().sum();
            let reference = &picture.reference;
            let between: usize = reference.half.iter().map(|p| p.width() * p.rows()).sum();
            let reference = plane(&reference.luma) + between + plane(&reference.chroma);
            let found =
                |line: &RwLock<Vec<[SearchResult; 4]>>| size_of_val(&line.read().unwrap()[..]);
            let found: usize = picture.found.iter().map(found).sum();
            let row = |row: &Row| size_of_val(&row.macroblocks.read().unwrap()[..]);
            let rows: usize = picture.rows.iter().map(row).sum();
            let kept = source + reference + found + rows;
            let told = Picture::bytes(geometry, references);
            assert!(
                (kept..kept + kept / 10).contains(&told),
                "{kept} are kept, {told} told"
            );
        }
        let levels = geometry.columns * size_of::<Levels>();
        let rows = geometry.rows * (Band::new(geometry).bytes() + levels);
        assert_eq!(Picture::bytes_in_work(geometry), rows);
    }
}
