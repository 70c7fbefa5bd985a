//! How strongly edges are filtered (clause 8.7.2.1).

use crate::macroblock::{BLOCK_X, BLOCK_Y, Kind, Macroblock};

/// Strengths of an edge of a macroblock, for each four samples of luma along it: 0 not filtered to 4.
pub type Strengths = [u8; 4];

/// Which 4x4 blocks have levels: bit `4 * y + x`.
pub fn coded(mb: &Macroblock) -> u16 {
    if mb.cbp & 15 == 0 && mb.kind != Kind::I16x16 {
        return 0;
    }
    let mut mask = 0;
    for (b, &count) in mb.nonzero[..16].iter().enumerate() {
        if count != 0 {
            mask |= 1 << (4 * BLOCK_Y[b] + BLOCK_X[b]);
        }
    }
    if !mb.transform_8x8 {
        return mask;
    }
    // A block of 8x8 has levels if one of its quarters has.
    [0x0033, 0x00cc, 0x3300, 0xcc00]
        .into_iter()
        .filter(|quarter| mask & quarter != 0)
        .fold(0, |all, quarter| all | quarter)
}

/// A macroblock beside others, as filtering sees it.
#[derive(Clone, Copy)]
pub struct Filtered<'a> {
    /// The macroblock.
    pub mb: &'a Macroblock,
    /// Its [`coded`] blocks.
    pub coded: u16,
}

impl<'a> Filtered<'a> {
    /// Of a macroblock.
    pub fn of(mb: &'a Macroblock) -> Self {
        Filtered {
            mb,
            coded: coded(mb),
        }
    }

    fn moves_apart(&self, q: usize, other: &Macroblock, p: usize) -> bool {
        let (a, b) = (self.mb.mvs[q], other.mvs[p]);
        self.mb.refs[q] != other.refs[p]
            || (i32::from(a.x) - i32::from(b.x)).abs() >= 4
            || (i32::from(a.y) - i32::from(b.y)).abs() >= 4
    }

    /// The strengths of the edge between it and `other`, to the left of it or above it.
    pub fn outer(&self, other: &Filtered<'_>, vertical: bool) -> Strengths {
        if self.mb.kind.is_intra() || other.mb.kind.is_intra() {
            return [4; 4];
        }
        let strength = |i: usize| {
            let (mine, theirs) = match vertical {
                true => (4 * i, 4 * i + 3),
                false => (i, 12 + i),
            };
            let (q, p) = match vertical {
                true => (i / 2 * 2, i / 2 * 2 + 1),
                false => (i / 2, 2 + i / 2),
            };
            match (self.coded >> mine | other.coded >> theirs) & 1 {
                1 => 2,
                _ => u8::from(self.moves_apart(q, other.mb, p)),
            }
        };
        [strength(0), strength(1), strength(2), strength(3)]
    }

    /// The strengths of edge 1 to 3 inside it.
    pub fn inner(&self, edge: usize, vertical: bool) -> Strengths {
        if self.mb.kind.is_intra() {
            return [3; 4];
        }
        let strength = |i: usize| {
            let (mine, theirs) = match vertical {
                true => (4 * i + edge, 4 * i + edge - 1),
                false => (4 * edge + i, 4 * edge + i - 4),
            };
            if (self.coded >> mine | self.coded >> theirs) & 1 == 1 {
                return 2;
            }
            let (q, p) = match vertical {
                true => (i / 2 * 2 + 1, i / 2 * 2),
                false => (2 + i / 2, i / 2),
            };
            u8::from(edge == 2 && self.moves_apart(q, self.mb, p))
        };
        [strength(0), strength(1), strength(2), strength(3)]
    }

    /// Whether no edge inside it is filtered.
    pub fn is_smooth(&self) -> bool {
        self.coded == 0 && matches!(self.mb.kind, Kind::PSkip | Kind::P16x16)
    }
}
