//! An encoder: pictures in work, and the passes that each goes through.

use std::ops::Range;
use std::sync::{Arc, Mutex, RwLock, RwLockReadGuard};

use evener_files::{lock, unpoisoned};

use crate::config::Tools;
#[doc(hidden)]
pub use crate::decide::Forced;
pub use crate::decide::Scratch;
use crate::decide::{self, Force, Frame, MOST_REFERENCES, RowParts};
use crate::entropy::cost::Costs;
use crate::estimate::{self, Estimate};
use crate::filter::{Band, FilterRow};
use crate::geometry::Geometry;
use crate::kernels::Kernels;
use crate::macroblock::Levels;
use crate::picture::Picture;
use crate::quality::{self, Plane, Windows};
use crate::rate::{Complexity, Rates, Summary};
use crate::search::{Found, Search};
pub use crate::source::Planes;
use crate::spare::Spare;
use crate::syntax::{Parameters, SliceKind, write_timing};
use crate::unit::Coded;

/// What is done to a picture. Each pass is divided in lines, and those in steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pass {
    /// Takes the frame and makes smaller ones: one line, a row of macroblocks in each step.
    Prepare,
    /// Searches motion in source frames: a line for each row of cells, a cell in each step.
    Search,
    /// Decides how the picture is coded: one step.
    Plan,
    /// Decides macroblocks: a line for each row, a macroblock in each step.
    Decide,
    /// Deblocks: one line, a row in each step.
    Filter,
    /// Makes the planes between the samples of what was deblocked: one line, a row in each step.
    Interpolate,
    /// Writes bits: one line, a row in each step.
    Write,
    /// Compares the reconstruction with the frame, if that is asked for: one step.
    Measure,
}

impl Pass {
    /// All of them, in their order.
    pub const ALL: [Pass; 8] = [
        Pass::Prepare,
        Pass::Search,
        Pass::Plan,
        Pass::Decide,
        Pass::Filter,
        Pass::Interpolate,
        Pass::Write,
        Pass::Measure,
    ];

    /// The name in traces.
    pub fn name(self) -> &'static str {
        match self {
            Pass::Prepare => "prepare",
            Pass::Search => "search",
            Pass::Plan => "plan",
            Pass::Decide => "decide",
            Pass::Filter => "filter",
            Pass::Interpolate => "interpolate",
            Pass::Write => "write",
            Pass::Measure => "measure",
        }
    }

    /// Lines of a picture, and steps of each.
    pub fn lines(self, geometry: &Geometry) -> (u32, u32) {
        let (columns, rows) = (geometry.columns as u32, geometry.rows as u32);
        match self {
            Pass::Prepare | Pass::Filter | Pass::Interpolate | Pass::Write => (1, rows),
            Pass::Search => (rows.div_ceil(2), columns.div_ceil(2)),
            Pass::Plan | Pass::Measure => (1, 1),
            Pass::Decide => (rows, columns),
        }
    }
}

/// Codes pictures of one size.
///
/// A picture's passes may run on any threads, in any order that [`Encoder::needs`] allows. What comes out is a function
/// of frames and options.
pub struct Encoder {
    geometry: Geometry,
    kernels: Kernels,
    tools: Tools,
    parameters: Parameters,
    rates: Arc<Mutex<Rates>>,
    /// Whether what macroblocks cost is estimated.
    estimates: bool,
    pictures: Vec<RwLock<Picture>>,
    /// Memory of rows of macroblocks in work.
    bands: Spare<Band>,
    levels: Spare<Vec<Levels>>,
    in_work: usize,
    measured: Measured,
    forced: Option<Box<ForcedPicture>>,
}

/// What a test demands of macroblocks: by picture, column and row.
type ForcedPicture = dyn Fn(u64, usize, usize) -> Forced + Send + Sync;

/// Which measures of quality are wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Measured {
    /// Sums of squared differences.
    pub ssd: bool,
    /// Structural similarity.
    pub ssim: bool,
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

impl Encoder {
    /// An encoder of which `in_work` pictures are in work at once.
    pub fn new(
        parameters: &Parameters,
        tools: Tools,
        rates: Rates,
        kernels: Kernels,
        in_work: usize,
    ) -> Encoder {
        let (geometry, references) = sizes(parameters, &tools);
        let tools = Tools {
            references: references as u8,
            ..tools
        };
        let kept = kept(in_work, references);
        let picture = |_| RwLock::new(Picture::new(geometry, references, parameters));
        Encoder {
            geometry,
            kernels,
            tools,
            parameters: parameters.clone(),
            estimates: rates.uses_costs(&tools),
            rates: Arc::new(Mutex::new(rates)),
            pictures: (0..kept).map(picture).collect(),
            bands: Spare::new(),
            levels: Spare::new(),
            in_work,
            measured: Measured::default(),
            forced: None,
        }
    }

    /// About how many bytes an encoder takes of which `in_work` pictures are in work at once.
    pub fn bytes(parameters: &Parameters, tools: &Tools, in_work: usize) -> usize {
        let (geometry, references) = sizes(parameters, tools);
        let pictures = kept(in_work, references) * Picture::bytes(geometry, references);
        pictures + in_work * Picture::bytes_in_work(geometry)
    }

    /// The same, which codes macroblocks as a test demands: by picture, column and row.
    #[doc(hidden)]
    #[must_use]
    pub fn forcing(self, forced: Box<ForcedPicture>) -> Encoder {
        Encoder {
            forced: Some(forced),
            ..self
        }
    }

    /// The same, which measures quality.
    #[must_use]
    pub fn measuring(self, measured: Measured) -> Encoder {
        Encoder { measured, ..self }
    }

    /// The size of its pictures.
    pub fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// Pictures that may be in work at once.
    pub fn in_work(&self) -> usize {
        self.in_work
    }

    /// Whether the stream says when pictures leave the decoder's buffer.
    fn has_hrd(&self) -> bool {
        self.parameters.sequence.vui.hrd.is_some()
    }

    /// Functions on samples.
    pub(crate) fn kernels(&self) -> Kernels {
        self.kernels
    }

    /// Vectors that the search goes on from at full size.
    pub(crate) fn search_starts(&self) -> u8 {
        self.tools.search_starts
    }

    /// Whether the search estimates what macroblocks cost.
    pub(crate) fn estimates(&self) -> bool {
        self.estimates
    }

    /// Pictures that each is searched in, as far as there are so many before it.
    pub(crate) fn references(&self) -> u64 {
        self.tools.references.into()
    }

    /// What steps of a line of a pass need.
    pub fn needs(
        &self,
        number: u64,
        pass: Pass,
        line: u32,
        steps: &Range<u32>,
        mut need: impl FnMut(Needed),
    ) {
        let whole = |pass: Pass| pass.lines(&self.geometry).1;
        let mut add = |number: u64, pass: Pass, line: u32, steps: u32| {
            need(Needed {
                number,
                pass,
                line,
                steps,
            });
        };
        match pass {
            Pass::Prepare => {}
            Pass::Search => {
                add(
                    number,
                    Pass::Prepare,
                    0,
                    whole(Pass::Prepare).min(2 * line + 2),
                );
                for back in 1..=self.references().min(number) {
                    add(number - back, Pass::Prepare, 0, whole(Pass::Prepare));
                }
            }
            Pass::Plan => {
                let (lines, steps) = Pass::Search.lines(&self.geometry);
                for line in 0..lines {
                    add(number, Pass::Search, line, steps);
                }
                if number > 0 {
                    add(number - 1, Pass::Plan, 0, 1);
                }
                if number >= RATE_DELAY {
                    add(number - RATE_DELAY, Pass::Write, 0, whole(Pass::Write));
                }
            }
            Pass::Decide => {
                add(number, Pass::Plan, 0, 1);
                if line > 0 {
                    let above = (steps.end + 1).min(whole(Pass::Decide));
                    add(number, Pass::Decide, line - 1, above);
                }
                if number > 0 {
                    add(
                        number - 1,
                        Pass::Interpolate,
                        0,
                        self.geometry.reach(line as usize),
                    );
                }
            }
            Pass::Filter | Pass::Write => {
                for line in steps.clone() {
                    add(number, Pass::Decide, line, whole(Pass::Decide));
                }
                // How full the buffer is depends on all pictures before.
                let last = steps.end == whole(Pass::Write);
                if pass == Pass::Write && last && number > 0 && self.has_hrd() {
                    add(number - 1, Pass::Write, 0, whole(Pass::Write));
                }
            }
            Pass::Interpolate => add(number, Pass::Filter, 0, steps.end),
            Pass::Measure => add(number, Pass::Filter, 0, whole(Pass::Filter)),
        }
    }

    fn slot(&self, number: u64) -> &RwLock<Picture> {
        &self.pictures[(number % self.pictures.len() as u64) as usize]
    }

    /// A picture in work, or one that a picture in work refers to.
    pub(crate) fn picture(&self, number: u64) -> RwLockReadGuard<'_, Picture> {
        unpoisoned(self.slot(number).read())
    }

    /// Runs steps of a line of a pass of picture `number`. The last step of [`Pass::Write`] puts the picture into `out`.
    pub fn run(
        &self,
        number: u64,
        (pass, line, steps): (Pass, u32, Range<u32>),
        planes: Planes<'_>,
        out: &Coded,
        scratch: &mut Scratch,
    ) {
        let steps = steps.start as usize..steps.end as usize;
        let line = line as usize;
        match pass {
            Pass::Prepare => self.prepare(number, steps, planes),
            Pass::Search => self.search(number, line, steps),
            Pass::Plan => self.plan(number),
            Pass::Decide => self.decide(number, line, steps, scratch),
            Pass::Filter => self.filter(number, steps),
            Pass::Interpolate => self.interpolate(number, steps),
            Pass::Write => self.write(number, steps, out),
            Pass::Measure => self.measure(number, planes, out),
        }
    }

    fn prepare(&self, number: u64, rows: Range<usize>, planes: Planes<'_>) {
        if rows.start == 0 {
            unpoisoned(self.slot(number).write()).reset();
        }
        let picture = self.picture(number);
        for row in rows {
            let adaptive = self.tools.adaptive_qp;
            picture.source.append(row, planes, self.kernels, adaptive);
        }
    }

    fn search(&self, number: u64, line: usize, cells: Range<usize>) {
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
        (found, estimates): (&mut [[Found; 4]], &mut [[Estimate; 4]]),
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
        (found, estimates): (&[[Found; 4]], &mut [[Estimate; 4]]),
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

    fn plan(&self, number: u64) {
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

    fn decide(&self, number: u64, row: usize, columns: Range<usize>, scratch: &mut Scratch) {
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
        let frame = Frame {
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
            above: row.checked_sub(1).map(|above| &picture.rows[above].edges),
            edges: &this.edges,
            found: &found,
            estimates: &estimates,
            macroblocks: &mut macroblocks,
            levels,
            band,
        };
        decide::decide(&frame, parts, columns, scratch);
    }

    fn filter(&self, number: u64, rows: Range<usize>) {
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

    fn interpolate(&self, number: u64, rows: Range<usize>) {
        let picture = self.picture(number);
        for row in rows {
            picture.reference.interpolate(row, self.kernels);
        }
    }

    fn write(&self, number: u64, rows: Range<usize>, out: &Coded) {
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

    fn measure(&self, number: u64, planes: Planes<'_>, out: &Coded) {
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

    /// Its rate control, which knows after the last picture what has become of the rates that were asked for.
    pub fn rates(&self) -> Arc<Mutex<Rates>> {
        Arc::clone(&self.rates)
    }

    /// What has become of the rates that were asked for, after all pictures are written.
    pub fn summary(&self) -> Summary {
        lock(&self.rates).summary()
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

/// The size of pictures, and how many others each refers to.
fn sizes(parameters: &Parameters, tools: &Tools) -> (Geometry, usize) {
    let sequence = &parameters.sequence;
    // A level may have room for fewer; pictures that are all keys refer to none.
    let most = sequence.references.clamp(1, MOST_REFERENCES as u8);
    let geometry = Geometry::new(sequence.width as usize, sequence.height as usize);
    (geometry, tools.references.min(most).into())
}

/// Pictures that are kept: those in work, and those that the first of them refers to. More would only be further from
/// caches.
fn kept(in_work: usize, references: usize) -> usize {
    in_work + references
}
