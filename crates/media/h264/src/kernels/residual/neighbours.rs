//! The reconstructed samples that intra prediction works from, and the names of its modes.

/// Modes of 16x16 luma (table 8-4).
pub mod intra_16x16 {
    /// Each column repeats the sample above.
    pub const VERTICAL: u8 = 0;
    /// Each row repeats the sample to the left.
    pub const HORIZONTAL: u8 = 1;
    /// The mean of neighbours.
    pub const DC: u8 = 2;
    /// A plane through the neighbours.
    pub const PLANE: u8 = 3;
}

/// Modes of chroma (table 8-5).
pub mod intra_chroma {
    /// The mean of neighbours, in each 4x4 block.
    pub const DC: u8 = 0;
    /// Each row repeats the sample to the left.
    pub const HORIZONTAL: u8 = 1;
    /// Each column repeats the sample above.
    pub const VERTICAL: u8 = 2;
    /// A plane through the neighbours.
    pub const PLANE: u8 = 3;
}

/// Modes of 4x4 and 8x8 luma (tables 8-2 and 8-3).
pub mod intra_4x4 {
    /// Each column repeats the sample above.
    pub const VERTICAL: u8 = 0;
    /// Each row repeats the sample to the left.
    pub const HORIZONTAL: u8 = 1;
    /// The mean of neighbours.
    pub const DC: u8 = 2;
    /// From above and above right, downwards to the left.
    pub const DIAGONAL_DOWN_LEFT: u8 = 3;
    /// From above and left, downwards to the right.
    pub const DIAGONAL_DOWN_RIGHT: u8 = 4;
    /// Steeper than `DIAGONAL_DOWN_RIGHT`.
    pub const VERTICAL_RIGHT: u8 = 5;
    /// Flatter than `DIAGONAL_DOWN_RIGHT`.
    pub const HORIZONTAL_DOWN: u8 = 6;
    /// Steeper than `DIAGONAL_DOWN_LEFT`.
    pub const VERTICAL_LEFT: u8 = 7;
    /// From the left, upwards to the right.
    pub const HORIZONTAL_UP: u8 = 8;
}

/// Neighbours of 16x16 samples of luma. What is not available is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Neighbours16x16 {
    /// The row above, left to right.
    pub top: Option<[u8; 16]>,
    /// The column to the left, downwards.
    pub left: Option<[u8; 16]>,
    /// The sample above the left column. Only the plane needs it, and takes it as available.
    pub corner: u8,
}

/// Neighbours of 8x8 interleaved pairs of chroma. What is not available is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NeighboursChroma {
    /// The row above, 8 pairs left to right.
    pub top: Option<[u8; 16]>,
    /// The column to the left, 8 pairs downwards.
    pub left: Option<[u8; 16]>,
    /// The pair above the left column. Only the plane needs it, and takes it as available.
    pub corner: [u8; 2],
}

/// Neighbours of 4x4 samples of luma. What is not available is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Neighbours4x4 {
    /// The row above and 4 samples to its right. Where those are not available they repeat the fourth.
    pub top: Option<[u8; 8]>,
    /// The column to the left, downwards.
    pub left: Option<[u8; 4]>,
    /// The sample above the left column. The modes that need it take it as available.
    pub corner: u8,
}

/// Neighbours of 8x8 samples of luma. What is not available is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Neighbours8x8 {
    /// The row above and 8 samples to its right. Where those are not available they repeat the eighth.
    pub top: Option<[u8; 16]>,
    /// The column to the left, downwards.
    pub left: Option<[u8; 8]>,
    /// The sample above the left column.
    pub corner: Option<u8>,
}

impl Neighbours8x8 {
    /// The neighbours, smoothed as prediction of 8x8 samples wants them (clause 8.3.2.2.1).
    pub fn filtered(&self) -> Neighbours8x8 {
        let three =
            |a: u8, b: u8, c: u8| ((u32::from(a) + 2 * u32::from(b) + u32::from(c) + 2) >> 2) as u8;
        let top = self.top.map(|t| {
            let mut filtered = [0; 16];
            filtered[0] = three(self.corner.unwrap_or(t[0]), t[0], t[1]);
            for x in 1..15 {
                filtered[x] = three(t[x - 1], t[x], t[x + 1]);
            }
            filtered[15] = three(t[14], t[15], t[15]);
            filtered
        });
        let left = self.left.map(|l| {
            let mut filtered = [0; 8];
            filtered[0] = three(self.corner.unwrap_or(l[0]), l[0], l[1]);
            for y in 1..7 {
                filtered[y] = three(l[y - 1], l[y], l[y + 1]);
            }
            filtered[7] = three(l[6], l[7], l[7]);
            filtered
        });
        let corner = self.corner.map(|c| {
            let above = self.top.map_or(c, |t| t[0]);
            let beside = self.left.map_or(c, |l| l[0]);
            three(above, c, beside)
        });
        Neighbours8x8 { top, left, corner }
    }
}
