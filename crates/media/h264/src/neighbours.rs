//! What a macroblock knows of those around it, and the prediction of vectors from them (clause 8.4.1).

use std::sync::atomic::{AtomicU64, Ordering};

use crate::decide::Spent;
use crate::macroblock::{Kind, Macroblock, Mv};

/// The reference index of a sub-macroblock that is not available.
pub const UNAVAILABLE: i8 = -2;
/// The reference index of a sub-macroblock that is intra.
pub const INTRA: i8 = -1;

/// What the row below needs of a macroblock: its lowest samples before they are filtered, and how it was predicted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Neighbour {
    /// Luma.
    pub luma: [u8; 16],
    /// Chroma, interleaved.
    pub chroma: [u8; 16],
    /// Vectors of the lower two sub-macroblocks.
    pub mvs: [Mv; 2],
    /// Their reference indices.
    pub refs: [i8; 2],
    /// Whether the macroblock is in the picture.
    pub available: bool,
    /// How it is predicted.
    pub kind: Kind,
    /// Modes of the lowest 4x4 blocks; [`DC`] where there are none.
    pub modes: [u8; 4],
    /// What it and all those always decided before it have taken of the picture's bits, if those are limited.
    pub spent: Spent,
}

/// The prediction mode of 4x4 blocks that other macroblocks count as.
pub const DC: u8 = 2;

impl Neighbour {
    /// Outside the picture.
    pub const NONE: Neighbour = Neighbour {
        luma: [0; 16],
        chroma: [0; 16],
        mvs: [Mv::ZERO; 2],
        refs: [UNAVAILABLE; 2],
        available: false,
        kind: Kind::I16x16,
        modes: [DC; 4],
        spent: Spent { bits: 0, cost: 0 },
    };

    /// Of a macroblock with these lowest samples.
    pub fn of(mb: &Macroblock, luma: [u8; 16], chroma: [u8; 16]) -> Neighbour {
        let modes = match mb.kind {
            Kind::I4x4 | Kind::I8x8 => {
                let modes = &mb.intra_modes;
                [modes[10], modes[11], modes[14], modes[15]]
            }
            _ => [DC; 4],
        };
        Neighbour {
            luma,
            chroma,
            mvs: [mb.mvs[2], mb.mvs[3]],
            refs: [mb.refs[2], mb.refs[3]],
            available: true,
            kind: mb.kind,
            modes,
            spent: Spent::default(),
        }
    }
}

/// Words of a neighbour: those of samples, vectors, how it is predicted, and what is spent.
const WORDS: usize = 7;

/// What a row of macroblocks tells the row below, which reads it while it is written.
///
/// A neighbour is written once and then published by the progress of its row, which the reader has seen. So no order is
/// needed among its words.
pub struct NeighbourRow(Box<[[AtomicU64; WORDS]]>);

impl NeighbourRow {
    /// For a row of so many macroblocks.
    pub fn new(columns: usize) -> NeighbourRow {
        NeighbourRow((0..columns).map(|_| Default::default()).collect())
    }

    /// Writes what macroblock `x` tells.
    pub fn put(&self, x: usize, neighbour: &Neighbour) {
        let half = |bytes: &[u8; 16], i: usize| {
            u64::from_le_bytes(bytes[8 * i..8 * i + 8].try_into().expect("8 bytes"))
        };
        let mv = |mv: Mv| u64::from(mv.x as u16) | u64::from(mv.y as u16) << 16;
        let [a, b, c, d] = neighbour.modes;
        let rest = [
            neighbour.refs[0] as u8,
            neighbour.refs[1] as u8,
            code(neighbour.kind),
            a,
            b,
            c,
            d,
            0,
        ];
        let words = [
            half(&neighbour.luma, 0),
            half(&neighbour.luma, 1),
            half(&neighbour.chroma, 0),
            half(&neighbour.chroma, 1),
            mv(neighbour.mvs[0]) | mv(neighbour.mvs[1]) << 32,
            u64::from_le_bytes(rest),
            u64::from(neighbour.spent.bits) | u64::from(neighbour.spent.cost) << 32,
        ];
        for (cell, word) in self.0[x].iter().zip(words) {
            cell.store(word, Ordering::Relaxed);
        }
    }

    /// What macroblock `x` tells, [`Neighbour::NONE`] outside the row.
    pub fn get(&self, x: usize) -> Neighbour {
        let Some(cells) = self.0.get(x) else {
            return Neighbour::NONE;
        };
        let word = |i: usize| cells[i].load(Ordering::Relaxed);
        let bytes = |i: usize| {
            let mut bytes = [0; 16];
            bytes[..8].copy_from_slice(&word(i).to_le_bytes());
            bytes[8..].copy_from_slice(&word(i + 1).to_le_bytes());
            bytes
        };
        let mv = |word: u64| Mv {
            x: word as u16 as i16,
            y: (word >> 16) as u16 as i16,
        };
        let [r0, r1, kind, a, b, c, d, _] = word(5).to_le_bytes();
        Neighbour {
            luma: bytes(0),
            chroma: bytes(2),
            mvs: [mv(word(4)), mv(word(4) >> 32)],
            refs: [r0 as i8, r1 as i8],
            available: true,
            kind: KINDS[kind as usize],
            modes: [a, b, c, d],
            spent: Spent {
                bits: word(6) as u32,
                cost: (word(6) >> 32) as u32,
            },
        }
    }
}

const KINDS: [Kind; 9] = [
    Kind::I4x4,
    Kind::I8x8,
    Kind::I16x16,
    Kind::IPcm,
    Kind::PSkip,
    Kind::P16x16,
    Kind::P16x8,
    Kind::P8x16,
    Kind::P8x8,
];

fn code(kind: Kind) -> u8 {
    kind as u8
}

/// The parts of a macroblock that have vectors of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Partition {
    /// All of it.
    Whole,
    /// The upper or lower half.
    Rows(usize),
    /// The left or right half.
    Columns(usize),
    /// A sub-macroblock.
    SubMacroblock(usize),
}

/// Vectors and references of sub-macroblocks of a macroblock and around it.
///
/// A grid of four by three: the row above with the one to the right of it, then the left neighbour's right ones and the
/// macroblock's own two by two.
#[derive(Clone, Debug)]
pub struct Motion {
    refs: [i8; 12],
    mvs: [Mv; 12],
}

/// Where sub-macroblock `q` of the macroblock lies in the grid.
const fn own(q: usize) -> usize {
    (q / 2 + 1) * 4 + q % 2 + 1
}

impl Motion {
    /// From the macroblock to the left, if there is one, and the neighbours above: to the left, above, to the right.
    pub fn new(left: Option<&Macroblock>, above: [&Neighbour; 3]) -> Motion {
        let mut refs = [UNAVAILABLE; 12];
        let mut mvs = [Mv::ZERO; 12];
        let [corner, top, right] = above;
        let neighbours = [(0, corner, 1), (1, top, 0), (2, top, 1), (3, right, 0)];
        for (at, neighbour, q) in neighbours {
            refs[at] = neighbour.refs[q];
            mvs[at] = neighbour.mvs[q];
        }
        if let Some(left) = left {
            for (at, q) in [(4, 1), (8, 3)] {
                refs[at] = left.refs[q];
                mvs[at] = left.mvs[q];
            }
        }
        Motion { refs, mvs }
    }

    /// Sets a sub-macroblock of the macroblock itself.
    #[inline]
    pub fn set(&mut self, q: usize, reference: i8, mv: Mv) {
        self.refs[own(q)] = reference;
        self.mvs[own(q)] = mv;
    }

    /// Vectors around the macroblock that refer to a picture: left, above, above to the right.
    #[inline]
    pub fn around(&self) -> [Option<Mv>; 3] {
        let at = |at: usize| (self.refs[at] >= 0).then_some(self.mvs[at]);
        [at(4), at(1), at(3)]
    }

    /// The prediction of the vector of a partition with a reference index (clause 8.4.1.3). Partitions before it are
    /// set; those after it are not used.
    pub fn predict(&self, partition: Partition, reference: i8) -> Mv {
        let (at, width) = match partition {
            Partition::Whole => (own(0), 2),
            Partition::Rows(i) => (own(2 * i), 2),
            Partition::Columns(i) => (own(i), 1),
            Partition::SubMacroblock(q) => (own(q), 1),
        };
        let (a, b, d) = (at - 1, at - 4, at - 5);
        // To the right of the lower sub-macroblocks lies what is decoded later.
        let c = at - 4 + width;
        let later = (at >= own(2)) && c == own(1) + 1;
        let c = match later || self.refs[c] == UNAVAILABLE {
            true => d,
            false => c,
        };
        let same = |at: usize| self.refs[at] == reference;
        match partition {
            Partition::Rows(0) if same(b) => return self.mvs[b],
            Partition::Rows(1) if same(a) => return self.mvs[a],
            Partition::Columns(0) if same(a) => return self.mvs[a],
            Partition::Columns(1) if same(c) => return self.mvs[c],
            _ => {}
        }
        let none = UNAVAILABLE;
        if self.refs[b] == none && self.refs[c] == none && self.refs[a] != none {
            return self.mvs[a];
        }
        match [same(a), same(b), same(c)] {
            [true, false, false] => self.mvs[a],
            [false, true, false] => self.mvs[b],
            [false, false, true] => self.mvs[c],
            _ => median(self.mvs[a], self.mvs[b], self.mvs[c]),
        }
    }

    /// The vector of a skipped macroblock (clause 8.4.1.1).
    pub fn skip(&self) -> Mv {
        let (a, b) = (own(0) - 1, own(0) - 4);
        let still = |at: usize| self.refs[at] == 0 && self.mvs[at] == Mv::ZERO;
        if self.refs[a] == UNAVAILABLE || self.refs[b] == UNAVAILABLE || still(a) || still(b) {
            return Mv::ZERO;
        }
        self.predict(Partition::Whole, 0)
    }
}

fn median(a: Mv, b: Mv, c: Mv) -> Mv {
    let middle = |a: i16, b: i16, c: i16| a.max(b).min(a.min(b).max(c));
    Mv {
        x: middle(a.x, b.x, c.x),
        y: middle(a.y, b.y, c.y),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mv(x: i16, y: i16) -> Mv {
        Mv { x, y }
    }

    #[test]
    fn a_neighbour_is_read_as_it_was_written() {
        let row = NeighbourRow::new(2);
        for (i, kind) in KINDS.into_iter().enumerate() {
            let neighbour = Neighbour {
                luma: std::array::from_fn(|k| (k * 7 + i) as u8),
                chroma: std::array::from_fn(|k| (k * 5 + i) as u8),
                mvs: [mv(-1, 300), mv(i16::MIN, i16::MAX)],
                refs: [INTRA, 3],
                available: true,
                kind,
                modes: [1, 8, 0, 3],
                spent: Spent {
                    bits: 70_000 + i as u32,
                    cost: u32::MAX,
                },
            };
            row.put(1, &neighbour);
            assert_eq!(row.get(1), neighbour);
            assert_eq!(row.get(2), Neighbour::NONE);
        }
    }

    fn neighbour(refs: [i8; 2], mvs: [Mv; 2]) -> Neighbour {
        Neighbour {
            refs,
            mvs,
            available: true,
            ..Neighbour::NONE
        }
    }

    #[test]
    fn vectors_are_predicted_as_the_standard_says() {
        let left = Macroblock {
            refs: [0; 4],
            mvs: [mv(9, 9), mv(1, 10), mv(9, 9), mv(2, 20)],
            ..Macroblock::default()
        };
        let corner = neighbour([0, 0], [mv(90, 90), mv(7, 70)]);
        let top = neighbour([0, 0], [mv(3, 30), mv(4, 40)]);
        let right = neighbour([0, 0], [mv(5, 50), mv(90, 90)]);
        let mut motion = Motion::new(Some(&left), [&corner, &top, &right]);
        let predict = |motion: &Motion, p| motion.predict(p, 0);
        assert_eq!(predict(&motion, Partition::Whole), mv(3, 30));
        assert_eq!(predict(&motion, Partition::Rows(0)), mv(3, 30));
        assert_eq!(predict(&motion, Partition::Columns(0)), mv(1, 10));
        assert_eq!(predict(&motion, Partition::Columns(1)), mv(5, 50));
        assert_eq!(predict(&motion, Partition::Rows(1)), mv(2, 20));
        motion.set(0, 0, mv(100, 1));
        motion.set(1, 0, mv(6, 60));
        // A is its own sub-macroblock 0, B is above, C is above to the right.
        assert_eq!(predict(&motion, Partition::SubMacroblock(1)), mv(5, 40));
        // A is to the left, B sub-macroblock 0, C sub-macroblock 1.
        assert_eq!(predict(&motion, Partition::SubMacroblock(2)), mv(6, 20));
        motion.set(2, 0, mv(8, 80));
        // C lies to the right and is later, so D, sub-macroblock 0, is used: the median of 8, 6, 100.
        assert_eq!(predict(&motion, Partition::SubMacroblock(3)), mv(8, 60));
        // With another reference no neighbour has, the median of all.
        assert_eq!(motion.predict(Partition::Whole, 1), mv(3, 30));
        // Nothing above: the left one.
        let motion = Motion::new(Some(&left), [&Neighbour::NONE; 3]);
        assert_eq!(motion.predict(Partition::Whole, 0), mv(1, 10));
        assert_eq!(motion.skip(), Mv::ZERO);
        // One neighbour alone refers to the same picture.
        let intra = neighbour([INTRA; 2], [Mv::ZERO; 2]);
        let motion = Motion::new(Some(&left), [&intra, &intra, &right]);
        // Two of three refer to it: the median, with the vector of zero of what is intra.
        assert_eq!(motion.predict(Partition::Whole, 0), mv(1, 10));
        let motion = Motion::new(None, [&intra, &intra, &right]);
        assert_eq!(motion.predict(Partition::Whole, 0), mv(5, 50));
    }

    #[test]
    fn a_skipped_macroblock_stands_still_beside_one_that_does() {
        let moving = neighbour([0, 0], [mv(4, 4), mv(4, 4)]);
        let still = Macroblock::default();
        let motion = Motion::new(
            Some(&Macroblock {
                refs: [0; 4],
                ..still
            }),
            [&moving; 3],
        );
        assert_eq!(motion.skip(), Mv::ZERO);
        let left = Macroblock {
            refs: [0; 4],
            mvs: [mv(4, 0); 4],
            ..Macroblock::default()
        };
        assert_eq!(Motion::new(Some(&left), [&moving; 3]).skip(), mv(4, 4));
        assert_eq!(Motion::new(None, [&moving; 3]).skip(), Mv::ZERO);
    }
}
