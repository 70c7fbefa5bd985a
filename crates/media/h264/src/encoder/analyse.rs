//! Passes over source frames, before anything is decided about macroblocks.

use std::ops::Range;

use evener_files::{lock, unpoisoned};

use super::{Encoder, Planes};
use crate::entropy::cost::Costs;
use crate::estimate::{self, Estimate};
use crate::picture::Picture;
use crate::rate::Complexity;
use crate::search::{Search, SearchResult};
use crate::syntax::SliceKind;

impl Encoder {
    pub(super) fn prepare(&self, number: u64, rows: Range<usize>, planes: Planes<'_>) {
        if rows.start == 0 {
            unpoisoned(self.slot(number).write()).reset();
        }
        let picture = self.picture(number);
        for row in rows {
            let adaptive = self.tools.adaptive_qp;
            picture.source.append(row, planes, self.kernels, adaptive);
        }
    }

    pub(super) fn search(&self, number: u64, line: usize, cells: Range<usize>) {
        let picture = self.picture(number);
        let mut found = unpoisoned(picture.found[line].write());
        let mut estimates = unpoisoned(picture.estimates[line].write());
        self.search_line(
            number,
            (line, cells),
            &picture,
            (&mut found, &mut estimates),
        );
    }

    /// Searches cells of a line of picture `number`, and estimates what their macroblocks cost, if that is asked for.
    pub(crate) fn search_line(
        &self,
        number: u64,
        (line, cells): (usize, Range<usize>),
        picture: &Picture,
        (found, estimates): (&mut [[SearchResult; 4]], &mut [[Estimate; 4]]),
    ) {
        let columns = self.geometry.columns.div_ceil(2);
        for back in 1..=self.references().min(number) {
            let reference = self.picture(number - back);
            let search = Search::new(
                self.geometry,
                self.kernels,
                picture.source.pyramid(),
                reference.source.pyramid(),
            )
            .going_on_from(self.tools.search_starts);
            let found = &mut found[(back as usize - 1) * columns..][..columns];
            for cell in cells.clone() {
                search.cell(cell, line, &mut found[cell]);
            }
        }
        if self.estimates {
            self.estimate(number, picture, (line, cells), (found, estimates));
        }
    }

    /// What the macroblocks of cells cost, after their search.
    fn estimate(
        &self,
        number: u64,
        picture: &Picture,
        (line, cells): (usize, Range<usize>),
        (found, estimates): (&[[SearchResult; 4]], &mut [[Estimate; 4]]),
    ) {
        for cell in cells {
            for (i, estimate) in estimates[cell].iter_mut().enumerate() {
                let (x, y) = (2 * cell + i % 2, 2 * line + i / 2);
                if x >= self.geometry.columns || y >= self.geometry.rows {
                    continue;
                }
                let intra = estimate::intra(self.kernels, picture.source.half.plane(), x, y);
                let before = (number > 0).then_some(&found[cell][i]);
                *estimate = Estimate::new(intra, before);
            }
        }
    }

    /// The sums of a picture.
    fn complexity(&self, picture: &Picture) -> Complexity {
        let mut sum = Complexity::default();
        if self.estimates {
            for (line, estimates) in picture.estimates.iter().enumerate() {
                for (cell, estimates) in unpoisoned(estimates.read()).iter().enumerate() {
                    for (i, &estimate) in estimates.iter().enumerate() {
                        let (x, y) = (2 * cell + i % 2, 2 * line + i / 2);
                        if x < self.geometry.columns && y < self.geometry.rows {
                            sum.add(estimate);
                        }
                    }
                }
            }
        }
        sum
    }

    pub(super) fn plan(&self, number: u64) {
        let picture = self.picture(number);
        let before = number.checked_sub(1).map(|before| {
            let before = self.picture(before);
            *before.coding.get().expect("pictures are planned in order")
        });
        let costs = self.complexity(&picture);
        let mut rates = lock(&self.rates);
        let coding = rates.plan(number, before.as_ref(), &costs, &self.tools);
        drop(rates);
        let init = match coding.header.kind {
            SliceKind::I => None,
            SliceKind::P => Some(coding.header.cabac_init),
        };
        picture
            .costs
            .get_or_init(|| Costs::at_start(init, coding.header.qp));
        let fresh = picture.coding.set(coding).is_ok();
        assert!(fresh, "a picture is planned once");
    }
}
