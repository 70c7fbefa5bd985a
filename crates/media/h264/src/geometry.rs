//! Sizes of pictures, and where samples lie in their buffers.

/// Samples around a picture on each side in a luma plane, and the rows above and below it. Vectors may point so far
/// outside, less what interpolation reads.
pub const PAD: usize = 32;
/// How far a block may begin outside the picture.
pub const OUTSIDE: i32 = PAD as i32 - 4;

/// How far vectors point to the sides, in samples (annex A.3.1: -2048 to 2047.75).
pub const FARTHEST: i32 = 2047;

/// The size of a picture in macroblocks, and of its buffers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// Samples in a row of luma.
    pub width: usize,
    /// Rows of luma.
    pub height: usize,
    /// Macroblocks in a row.
    pub columns: usize,
    /// Rows of macroblocks.
    pub rows: usize,
    /// From a row of a padded luma plane to the next.
    pub stride: usize,
    /// How far below its place a block of the reference may begin, at most.
    pub below: i32,
}

impl Geometry {
    /// For pictures of `width` by `height` samples, both even.
    pub fn new(width: usize, height: usize) -> Geometry {
        let (columns, rows) = (width.div_ceil(16), height.div_ceil(16));
        Geometry {
            width,
            height,
            columns,
            rows,
            stride: (columns * 16 + 2 * PAD).next_multiple_of(64),
            // A picture can be begun when the one before is done so much further down.
            below: (height / 8).next_multiple_of(16).clamp(32, 256) as i32 - 8,
        }
    }

    /// Samples in a row of whole macroblocks.
    #[inline]
    pub fn coded_width(&self) -> usize {
        self.columns * 16
    }

    /// Rows of whole macroblocks.
    #[inline]
    pub fn coded_height(&self) -> usize {
        self.rows * 16
    }

    /// Rows of a padded luma plane.
    #[inline]
    pub fn padded_height(&self) -> usize {
        self.coded_height() + 2 * PAD
    }

    /// Where the sample at `x`, `y` lies in a padded luma plane.
    #[inline]
    pub fn luma(&self, x: i32, y: i32) -> usize {
        let (x, y) = (x + PAD as i32, y + PAD as i32);
        debug_assert!(x >= 0 && y >= 0);
        y as usize * self.stride + x as usize
    }

    /// Where the pair of chroma samples at `x`, `y` lies in a padded plane of interleaved chroma, whose rows are as long
    /// as those of luma.
    #[inline]
    pub fn chroma(&self, x: i32, y: i32) -> usize {
        let (x, y) = (2 * x + PAD as i32, y + PAD as i32 / 2);
        debug_assert!(x >= 0 && y >= 0);
        y as usize * self.stride + x as usize
    }

    /// Rows that must be filtered and interpolated before row `row` of the next picture may be decided.
    pub fn reach(&self, row: usize) -> u32 {
        // The last row that interpolation reads. Of a row that is filtered, the lowest four are not final, and the planes
        // between samples lack three more.
        let last = 16 * row as i32 + 15 + self.below + 2;
        let rows = (last as usize + 1 + 4 + 3).div_ceil(16);
        rows.min(self.rows) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_that_vectors_reach_are_filtered() {
        for (width, height) in [(16, 16), (352, 288), (1920, 1080), (4096, 2160)] {
            let geometry = Geometry::new(width, height);
            for row in 0..geometry.rows {
                let filtered = geometry.reach(row) as usize;
                if filtered < geometry.rows {
                    let final_rows = 16 * filtered as i32 - 4 - 3;
                    let read = 16 * row as i32 + 15 + geometry.below + 2;
                    assert!(final_rows > read, "{width}x{height}, row {row}");
                }
            }
        }
    }
}
