//! The prediction of vectors (clauses 8.4.1.1 and 8.4.1.3), on a grid of all sub-macroblocks of a picture.

use evener_h264::macroblock::{Kind, Mv};

/// Reference index and vector of each sub-macroblock that is decoded. As a picture is one slice, those are available.
pub struct MotionField {
    width: usize,
    sub_macroblocks: Vec<Option<(i8, Mv)>>,
}

/// A partition: its first sub-macroblock, how many sub-macroblocks wide it is, the index among its macroblock's.
pub fn partitions(kind: Kind) -> &'static [(usize, usize)] {
    match kind {
        Kind::PSkip | Kind::P16x16 => &[(0, 2)],
        Kind::P16x8 => &[(0, 2), (2, 2)],
        Kind::P8x16 => &[(0, 1), (1, 1)],
        Kind::P8x8 => &[(0, 1), (1, 1), (2, 1), (3, 1)],
        _ => &[],
    }
}

/// The sub-macroblocks of a partition.
pub fn sub_macroblocks(kind: Kind, partition: usize) -> &'static [usize] {
    match (kind, partition) {
        (Kind::P16x8, 0) => &[0, 1],
        (Kind::P16x8, _) => &[2, 3],
        (Kind::P8x16, 0) => &[0, 2],
        (Kind::P8x16, _) => &[1, 3],
        (Kind::P8x8, q) => [&[0], &[1], &[2], &[3]][q],
        _ => &[0, 1, 2, 3],
    }
}

impl MotionField {
    pub fn new(columns: usize, rows: usize) -> MotionField {
        MotionField {
            width: 2 * columns,
            sub_macroblocks: vec![None; 4 * columns * rows],
        }
    }

    pub fn set(&mut self, x: usize, y: usize, sub_macroblock: usize, reference: i8, mv: Mv) {
        let at = (2 * y + sub_macroblock / 2) * self.width + 2 * x + sub_macroblock % 2;
        self.sub_macroblocks[at] = Some((reference, mv));
    }

    pub fn set_all(&mut self, x: usize, y: usize, reference: i8, mv: Mv) {
        for sub_macroblock in 0..4 {
            self.set(x, y, sub_macroblock, reference, mv);
        }
    }

    fn get(&self, x: isize, y: isize) -> Option<(i8, Mv)> {
        if x < 0 || y < 0 || x >= self.width as isize {
            return None;
        }
        self.sub_macroblocks[y as usize * self.width + x as usize]
    }

    /// mvpLX of a partition of macroblock `x`, `y`.
    pub fn predict(&self, x: usize, y: usize, kind: Kind, partition: usize, reference: i8) -> Mv {
        let (sub_macroblock, wide) = partitions(kind)[partition];
        let left = (2 * x + sub_macroblock % 2) as isize;
        let top = (2 * y + sub_macroblock / 2) as isize;
        let a = self.get(left - 1, top);
        let b = self.get(left, top - 1);
        let c = self.get(left + wide as isize, top - 1);
        let c = c.or_else(|| self.get(left - 1, top - 1));
        const NONE: (i8, Mv) = (-1, Mv::ZERO);
        let directed = match (kind, partition) {
            (Kind::P16x8, 0) => b,
            (Kind::P16x8, _) => a,
            (Kind::P8x16, 0) => a,
            (Kind::P8x16, _) => c,
            _ => None,
        };
        if let Some((of, mv)) = directed
            && of == reference
        {
            return mv;
        }
        if let (Some((_, mv)), None, None) = (a, b, c) {
            return mv;
        }
        let all = [a, b, c].map(|neighbour| neighbour.unwrap_or(NONE));
        let mut same = all.iter().filter(|(of, _)| *of == reference);
        if let (Some((_, mv)), None) = (same.next(), same.next()) {
            return *mv;
        }
        let median = |component: fn(Mv) -> i16| {
            let mut values = all.map(|(_, mv)| component(mv));
            values.sort_unstable();
            values[1]
        };
        Mv {
            x: median(|mv| mv.x),
            y: median(|mv| mv.y),
        }
    }

    /// The vector of a skipped macroblock.
    pub fn skipped(&self, x: usize, y: usize) -> Mv {
        let (left, top) = (2 * x as isize, 2 * y as isize);
        let (a, b) = (self.get(left - 1, top), self.get(left, top - 1));
        let still = |neighbour| neighbour == Some((0, Mv::ZERO));
        if a.is_none() || b.is_none() || still(a) || still(b) {
            return Mv::ZERO;
        }
        self.predict(x, y, Kind::PSkip, 0, 0)
    }
}
