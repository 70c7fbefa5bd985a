//! What comes of a picture: its bits, how good it is, what a decoder shows.

use std::ops::Range;

use evener_files::{lock, unpoisoned};

use super::{Encoder, Planes};
use crate::geometry::Geometry;
use crate::quality::{self, Plane, Windows};
use crate::syntax::write_timing;
use crate::unit::Coded;

impl Encoder {
    pub(super) fn write(&self, number: u64, rows: Range<usize>, out: &Coded) {
        let picture = self.picture(number);
        let coding = picture.coding.get().expect("a picture is planned first");
        let mut writer = lock(&picture.writer);
        if rows.start == 0 {
            writer.begin(&coding.header);
        }
        for row in rows.clone() {
            let row = &picture.rows[row];
            let levels = unpoisoned(row.levels.write()).take();
            let levels = levels.expect("a row is decided first");
            writer.row(&unpoisoned(row.macroblocks.read()), &levels);
            self.levels.put(levels);
        }
        if rows.end < self.geometry.rows {
            return;
        }
        let mut out = out.picture();
        out.bytes.clear();
        out.key = coding.header.idr.is_some();
        out.qp = coding.header.qp;
        if out.key {
            self.parameters.write(&mut out.bytes);
        }
        if self.has_hrd()
            && let Some((period, timing)) = lock(&self.rates).timing(number, coding)
        {
            write_timing(&mut out.bytes, period, timing);
        }
        writer.finish(&mut out.bytes);
        lock(&self.rates).written(number, 8 * out.bytes.len() as u64);
    }

    pub(super) fn measure(&self, number: u64, planes: Planes<'_>, out: &Coded) {
        if !self.measured.ssd && !self.measured.ssim {
            return;
        }
        let picture = self.picture(number);
        let Geometry { width, height, .. } = self.geometry;
        let (luma, chroma) = (&picture.reference.luma, &picture.reference.chroma);
        let ours = |component: usize| match component {
            0 => Plane {
                samples: &luma.read()[luma.at(0, 0)..],
                stride: luma.shape().stride,
                step: 1,
                width,
                height,
            },
            c => Plane {
                samples: &chroma.read()[chroma.at(0, 0) + c - 1..],
                stride: chroma.shape().stride,
                step: 2,
                width: width / 2,
                height: height / 2,
            },
        };
        let [cb, cr] = planes.chroma;
        let mut sums = [(0, 0.0); 3];
        for (c, samples) in [planes.luma, cb, cr].into_iter().enumerate() {
            let ours = ours(c);
            let frame = Plane {
                samples,
                stride: ours.width,
                step: 1,
                ..ours
            };
            if self.measured.ssd {
                sums[c].0 = quality::ssd(ours, frame);
            }
            if self.measured.ssim
                && let Some(windows) = Windows::of(ours.width, ours.height)
            {
                let rows = (0..windows.rows).map(|row| windows.row(row, ours, frame));
                sums[c].1 = windows.mean(rows);
            }
        }
        let mut out = out.picture();
        out.ssd = sums.map(|sum| sum.0);
        out.ssim = sums.map(|sum| sum.1);
    }
    /// The reconstruction of a picture that is done and was among the last ones: luma, Cb, Cr, without padding.
    pub fn reconstruction(&self, number: u64) -> [Vec<u8>; 3] {
        let picture = self.picture(number);
        let Geometry { width, height, .. } = self.geometry;
        let (luma, chroma) = (&picture.reference.luma, &picture.reference.chroma);
        let rows = (0..height as i32).flat_map(|y| {
            let at = luma.at(0, y);
            luma.read()[at..at + width].iter().copied()
        });
        let component = |c: usize| {
            let rows = (0..height as i32 / 2).flat_map(move |y| {
                let at = chroma.at(0, y);
                chroma.read()[at..at + width]
                    .iter()
                    .copied()
                    .skip(c)
                    .step_by(2)
            });
            rows.collect()
        };
        [rows.collect(), component(0), component(1)]
    }
}
