//! The passes that a picture goes through, in a table.

use std::ops::Range;

use super::{Encoder, Planes, Scratch};
use crate::geometry::Geometry;
use crate::unit::Coded;

/// What is done to a picture. Each pass is divided in lines, and those in steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pass {
    /// Takes the frame and makes smaller ones.
    Prepare,
    /// Searches motion in source frames.
    Search,
    /// Decides how the picture is coded.
    Plan,
    /// Decides macroblocks.
    Decide,
    /// Deblocks.
    Filter,
    /// Makes the planes between the samples of what was deblocked.
    Interpolate,
    /// Writes bits.
    Write,
    /// Compares the reconstruction with the frame, if that is asked for.
    Measure,
}

/// What must be done before steps may run: so many steps of a line of a pass of a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Needed {
    /// The picture.
    pub number: u64,
    /// The pass.
    pub pass: Pass,
    /// The line.
    pub line: u32,
    /// Its steps.
    pub steps: u32,
}

/// Pictures from one that is decided to one whose size is known. A constant, so that the stream does not depend on how
/// many are in work.
pub const RATE_DELAY: u64 = 3;

/// Steps of a line of a picture.
pub(super) struct Steps {
    pub number: u64,
    pub line: u32,
    pub range: Range<u32>,
}

/// What steps read and write beside the pictures of the encoder.
pub(super) struct Operands<'a> {
    pub planes: Planes<'a>,
    pub out: &'a Coded,
    pub scratch: &'a mut Scratch,
}

/// A line of the table.
pub(super) struct Entry {
    pass: Pass,
    name: &'static str,
    /// Lines of a picture, and steps of each.
    lines: fn(&Geometry) -> (u32, u32),
    /// What steps of a line need.
    pub needs: fn(&Encoder, &Steps, &mut Needs<'_>),
    /// Runs steps of a line.
    pub run: fn(&Encoder, &Steps, Operands<'_>),
}

/// The passes, in the order of [`Pass`].
static TABLE: [Entry; 8] = [
    Entry {
        pass: Pass::Prepare,
        name: "prepare",
        lines: by_rows,
        needs: |_, _, _| {},
        run: |encoder, steps, with| encoder.prepare(steps.number, steps.range(), with.planes),
    },
    Entry {
        pass: Pass::Search,
        name: "search",
        // Cells of 2x2 macroblocks.
        lines: |geometry| {
            (
                geometry.rows.div_ceil(2) as u32,
                geometry.columns.div_ceil(2) as u32,
            )
        },
        needs: |encoder, steps, needs| {
            let own = (2 * steps.line + 2).min(encoder.geometry.rows as u32);
            needs.steps(steps.number, Pass::Prepare, 0, own);
            for back in 1..=encoder.references().min(steps.number) {
                needs.pass(steps.number - back, Pass::Prepare);
            }
        },
        run: |encoder, steps, _| {
            encoder.search(steps.number, steps.line as usize, steps.range());
        },
    },
    Entry {
        pass: Pass::Plan,
        name: "plan",
        lines: |_| (1, 1),
        needs: |_, steps, needs| {
            needs.pass(steps.number, Pass::Search);
            if let Some(before) = steps.number.checked_sub(1) {
                needs.pass(before, Pass::Plan);
            }
            if let Some(known) = steps.number.checked_sub(RATE_DELAY) {
                needs.pass(known, Pass::Write);
            }
        },
        run: |encoder, steps, _| encoder.plan(steps.number),
    },
    Entry {
        pass: Pass::Decide,
        name: "decide",
        lines: |geometry| (geometry.rows as u32, geometry.columns as u32),
        needs: |encoder, steps, needs| {
            needs.pass(steps.number, Pass::Plan);
            if let Some(above) = steps.line.checked_sub(1) {
                let ahead = (steps.range.end + 1).min(encoder.geometry.columns as u32);
                needs.steps(steps.number, Pass::Decide, above, ahead);
            }
            if let Some(before) = steps.number.checked_sub(1) {
                let reached = encoder.geometry.reach(steps.line as usize);
                needs.steps(before, Pass::Interpolate, 0, reached);
            }
        },
        run: |encoder, steps, with| {
            encoder.decide(
                steps.number,
                steps.line as usize,
                steps.range(),
                with.scratch,
            );
        },
    },
    Entry {
        pass: Pass::Filter,
        name: "filter",
        lines: by_rows,
        needs: |_, steps, needs| needs.rows_decided(steps),
        run: |encoder, steps, _| encoder.filter(steps.number, steps.range()),
    },
    Entry {
        pass: Pass::Interpolate,
        name: "interpolate",
        lines: by_rows,
        needs: |_, steps, needs| needs.steps(steps.number, Pass::Filter, 0, steps.range.end),
        run: |encoder, steps, _| encoder.interpolate(steps.number, steps.range()),
    },
    Entry {
        pass: Pass::Write,
        name: "write",
        lines: by_rows,
        needs: |encoder, steps, needs| {
            needs.rows_decided(steps);
            // How full the buffer is depends on all pictures before.
            let last = steps.range.end == encoder.geometry.rows as u32;
            if let Some(before) = steps.number.checked_sub(1)
                && last
                && encoder.has_hrd()
            {
                needs.pass(before, Pass::Write);
            }
        },
        run: |encoder, steps, with| encoder.write(steps.number, steps.range(), with.out),
    },
    Entry {
        pass: Pass::Measure,
        name: "measure",
        lines: |_| (1, 1),
        needs: |_, steps, needs| needs.pass(steps.number, Pass::Filter),
        run: |encoder, steps, with| encoder.measure(steps.number, with.planes, with.out),
    },
];

/// One line, a row of macroblocks in each step.
fn by_rows(geometry: &Geometry) -> (u32, u32) {
    (1, geometry.rows as u32)
}

impl Pass {
    /// All of them, in their order.
    pub const ALL: [Pass; TABLE.len()] = {
        let mut all = [Pass::Prepare; TABLE.len()];
        let mut i = 0;
        while i < all.len() {
            all[i] = TABLE[i].pass;
            assert!(all[i] as usize == i, "the table has another order");
            i += 1;
        }
        all
    };

    pub(super) fn entry(self) -> &'static Entry {
        &TABLE[self as usize]
    }

    /// The name in traces.
    pub fn name(self) -> &'static str {
        self.entry().name
    }

    /// Lines of a picture, and steps of each.
    pub fn lines(self, geometry: &Geometry) -> (u32, u32) {
        (self.entry().lines)(geometry)
    }
}

impl Steps {
    fn range(&self) -> Range<usize> {
        self.range.start as usize..self.range.end as usize
    }
}

/// Tells what steps need.
pub(super) struct Needs<'a> {
    geometry: &'a Geometry,
    need: &'a mut dyn FnMut(Needed),
}

impl<'a> Needs<'a> {
    pub fn new(geometry: &'a Geometry, need: &'a mut dyn FnMut(Needed)) -> Needs<'a> {
        Needs { geometry, need }
    }

    /// So many steps of a line.
    fn steps(&mut self, number: u64, pass: Pass, line: u32, steps: u32) {
        (self.need)(Needed {
            number,
            pass,
            line,
            steps,
        });
    }

    /// A whole pass.
    fn pass(&mut self, number: u64, pass: Pass) {
        let (lines, steps) = pass.lines(self.geometry);
        for line in 0..lines {
            self.steps(number, pass, line, steps);
        }
    }

    /// The rows that steps are about, decided.
    fn rows_decided(&mut self, steps: &Steps) {
        let (_, columns) = Pass::Decide.lines(self.geometry);
        for row in steps.range.clone() {
            self.steps(steps.number, Pass::Decide, row, columns);
        }
    }
}
