//! Pictures and what is found in them, as they lie in the memory of devices.

use crate::geometry::Geometry;
use crate::macroblock::Mv;
use crate::padded::{Plane, Shape};
use crate::search::{self, SearchResult};
use crate::source::{Pyramid, pyramid_shapes};

/// Bytes of a word.
pub(super) const WORD: usize = size_of::<u32>();
/// Words of what is found for a macroblock in one reference.
pub(super) const FOUND: usize = 8;
/// The largest sums of absolute differences and of transformed ones at half the size.
const MOST_SAD: u32 = 256 * 255;
const MOST_SATD: u32 = 4 * 32 * 255;

/// Sizes of what lies on a device.
#[derive(Clone, Copy)]
pub(super) struct Sizes {
    pub geometry: Geometry,
    /// The planes of a picture, one after the other: full size, half, quarter.
    pub planes: [Shape; 3],
}

impl Sizes {
    pub fn new(geometry: Geometry) -> Sizes {
        Sizes {
            geometry,
            planes: pyramid_shapes(&geometry),
        }
    }

    /// Where each plane begins, and where the last one ends.
    pub fn places(&self) -> [usize; 4] {
        let [full, half, quarter] = self.planes.map(|plane| plane.bytes());
        [0, full, full + half, full + half + quarter]
    }

    /// Columns and rows of cells.
    pub fn cells(&self) -> (usize, usize) {
        let Geometry { columns, rows, .. } = self.geometry;
        (columns.div_ceil(2), rows.div_ceil(2))
    }

    /// Macroblocks of all cells, with those outside the picture.
    pub fn macroblocks(&self) -> usize {
        let (across, down) = self.cells();
        4 * across * down
    }

    /// Those in the picture: the cell's column and row, the place in the cell, and in all cells.
    pub fn inside(&self) -> impl Iterator<Item = ((usize, usize), usize, usize)> + use<> {
        let Geometry { columns, rows, .. } = self.geometry;
        let (across, _) = self.cells();
        (0..self.macroblocks()).filter_map(move |at| {
            let (cell, i) = (at / 4, at % 4);
            let (x, y) = (cell % across, cell / across);
            let inside = 2 * x + i % 2 < columns && 2 * y + i / 2 < rows;
            inside.then_some(((x, y), i, at))
        })
    }

    /// The picture that lies in a buffer.
    pub fn pyramid<'a>(&self, bytes: &'a [u8]) -> Pyramid<'a> {
        let places = self.places();
        let [full, half, quarter] = [0, 1, 2].map(|i| Plane {
            samples: &bytes[places[i]..places[i + 1]],
            shape: self.planes[i],
        });
        Pyramid {
            full,
            half,
            quarter,
        }
    }
}

/// The bytes of what was found, as kernels write them.
pub(super) fn pack(found: &SearchResult) -> impl Iterator<Item = u8> + use<> {
    let vectors = [found.whole[0], found.whole[1]];
    let vectors = vectors.into_iter().chain(found.sub_macroblocks);
    let words = vectors.map(|mv| u32::from(mv.x as u16) | u32::from(mv.y as u16) << 16);
    let words = words.chain([found.sad, found.half_satd]);
    words.flat_map(u32::to_ne_bytes)
}

/// What was found for macroblock `x`, `y`; `None` if no search finds that.
pub(super) fn unpack(
    bytes: &[u8],
    geometry: &Geometry,
    (x, y): (usize, usize),
) -> Option<SearchResult> {
    let (words, _) = bytes.as_chunks::<WORD>();
    let word = |i: usize| u32::from_ne_bytes(words[i]);
    let (left, right, up, down) = search::limits(geometry, (16 * x as i32, 16 * y as i32), 1);
    let vector = |i: usize| {
        let (x, y) = (word(i) as i16, (word(i) >> 16) as i16);
        let whole = |v: i16, least: i32, most: i32| {
            v % 4 == 0 && (least..=most).contains(&(i32::from(v) / 4))
        };
        let sound = whole(x, left, right) && whole(y, up, down);
        sound.then_some(Mv { x, y })
    };
    let (sad, half_satd) = (word(6), word(7));
    if sad > MOST_SAD || half_satd > MOST_SATD {
        return None;
    }
    Some(SearchResult {
        whole: [vector(0)?, vector(1)?],
        sub_macroblocks: [vector(2)?, vector(3)?, vector(4)?, vector(5)?],
        sad,
        half_satd,
    })
}

/// What predicting a macroblock from its own picture costs; `None` if nothing costs that.
pub(super) fn unpack_intra(bytes: [u8; WORD]) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes)).filter(|&cost| cost <= MOST_SATD)
}
