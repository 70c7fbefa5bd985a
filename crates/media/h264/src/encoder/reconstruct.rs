//! Passes from decided macroblocks to a picture that others are predicted from.

use std::ops::Range;

use evener_files::{lock, unpoisoned};

use super::{Encoder, Scratch};
use crate::decide::{self, Force, RowParts, SliceContext};
use crate::filter::{Band, FilterRow};
use crate::syntax::SliceKind;

impl Encoder {
    pub(super) fn decide(
        &self,
        number: u64,
        row: usize,
        columns: Range<usize>,
        scratch: &mut Scratch,
    ) {
        let picture = self.picture(number);
        let coding = picture.coding.get().expect("a picture is planned first");
        let count = match coding.header.kind {
            SliceKind::I => 0,
            SliceKind::P => u64::from(coding.header.references),
        };
        let earlier: Vec<_> = (1..=count)
            .map(|back| self.picture(number - back))
            .collect();
        let references: Vec<_> = earlier.iter().map(|p| p.reference.view()).collect();
        let force = self.forced.as_deref();
        let force = force.map(|force| move |x, y| force(number, x, y));
        let slice = SliceContext {
            kernels: self.kernels,
            geometry: self.geometry,
            tools: &self.tools,
            header: &coding.header,
            costs: picture.costs.get().expect("a picture is planned first"),
            fine_qp: coding.fine,
            budget: coding.budget,
            source: &picture.source,
            references: &references,
            force: force.as_ref().map(|force| force as &Force<'_>),
        };
        let this = &picture.rows[row];
        let found = unpoisoned(picture.found[row / 2].read());
        let estimates = unpoisoned(picture.estimates[row / 2].read());
        let mut work = lock(&this.work);
        let mut macroblocks = unpoisoned(this.macroblocks.write());
        let mut levels = unpoisoned(this.levels.write());
        let levels = levels.get_or_insert_with(|| {
            let room = || Vec::with_capacity(self.geometry.columns);
            self.levels.take(room)
        });
        let mut band = lock(&this.band);
        let band = band.get_or_insert_with(|| self.bands.take(|| Band::new(self.geometry)));
        let parts = RowParts {
            row,
            work: &mut work,
            above: row
                .checked_sub(1)
                .map(|above| &picture.rows[above].neighbours),
            neighbours: &this.neighbours,
            found: &found,
            estimates: &estimates,
            macroblocks: &mut macroblocks,
            levels,
            band,
        };
        decide::decide(&slice, parts, columns, scratch);
    }

    pub(super) fn filter(&self, number: u64, rows: Range<usize>) {
        let picture = self.picture(number);
        let coding = picture.coding.get().expect("a picture is planned first");
        for row in rows {
            let above = row.checked_sub(1).map(|above| {
                let above = &picture.rows[above];
                let band = lock(&above.band).take();
                let band = band.expect("a row is filtered after the one above");
                (unpoisoned(above.macroblocks.read()), band)
            });
            let this = &picture.rows[row];
            let mut band = lock(&this.band);
            let mut filter = FilterRow {
                kernels: self.kernels,
                macroblocks: &unpoisoned(this.macroblocks.read()),
                band: band.as_mut().expect("a row is decided first"),
                above: above.as_ref().map(|(mbs, band)| (&mbs[..], band)),
                qp: coding.header.qp,
            };
            filter.run(self.tools.deblocking);
            filter.append(row, &self.geometry, &picture.reference);
            let last = match row + 1 == self.geometry.rows {
                true => band.take(),
                false => None,
            };
            let done = above.map(|(_, band)| band).into_iter().chain(last);
            done.for_each(|band| self.bands.put(band));
        }
    }

    pub(super) fn interpolate(&self, number: u64, rows: Range<usize>) {
        let picture = self.picture(number);
        for row in rows {
            picture.reference.interpolate(row, self.kernels);
        }
    }
}
