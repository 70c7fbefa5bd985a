//! The recursion: a stage computes a run of its outputs from runs of its inputs.

use evener_runtime::Simd;

use super::super::access::Source;
use super::cache::{self, Cache, Missing};
use super::run::{RUN, Run, sized};
use super::source;
use super::step::{Kind, Step};
use crate::format::Size;
use crate::geometry::Rect;
use crate::graph::plane::Port;
use crate::kernels::taps::{self, TapRun};
use crate::row_view::RowView;
use crate::stage::RowContext;

/// What becomes of intermediates.
#[derive(Clone, Copy)]
pub enum Mode<'a> {
    /// Nothing is kept.
    Plain,
    /// Each is computed once and kept for every worker. [`Cache::clear`] must have cleared the bits for this unit.
    Cached(&'a Cache),
    /// Each is also written to memory of the worker, which no stage reads.
    Store,
}

/// Memory of one stage. A stage pulls only stages before it, so one for each is enough.
#[derive(Default)]
pub(super) struct StageScratch {
    pub work: Work,
    pub missing: Missing,
    /// What `backward-store` writes.
    pub stored: Vec<f32>,
}

/// What the kinds of stages need while they pull.
#[derive(Default)]
pub(super) struct Work {
    samples: Vec<f32>,
    xs: Vec<i32>,
    ys: Vec<i32>,
    temp: Vec<f32>,
    boxed: Vec<f32>,
    taps: TapRun,
    places: Vec<usize>,
    positions: Vec<(i32, i32)>,
}

/// One call of the executor.
pub(super) struct Pull<'a> {
    pub steps: &'a [Step],
    pub simd: Simd,
    pub source: &'a Source<'a>,
    pub mode: Mode<'a>,
}

impl Pull<'_> {
    /// The run from a port. `stages` is the memory of all stages the port may lead to.
    pub fn port(&self, port: Port, run: Run<'_>, stages: &mut [StageScratch], out: &mut [f32]) {
        match port {
            Port::Source => source::read(self.simd, self.source, run, out),
            Port::Other(_) => unreachable!("not offered for graphs of several planes"),
            Port::Constant(value) => out.fill(value),
            Port::Stage(i) => self.stage(i, run, stages, out),
        }
    }

    fn stage(&self, i: usize, run: Run<'_>, stages: &mut [StageScratch], out: &mut [f32]) {
        let (below, rest) = stages.split_at_mut(i);
        let StageScratch {
            work,
            missing,
            stored,
        } = &mut rest[0];
        let step = &self.steps[i];
        let intermediate = i + 1 < self.steps.len();
        match self.mode {
            Mode::Cached(cache) if intermediate => {
                let compute =
                    |run: Run<'_>, out: &mut [f32]| self.compute(step, run, work, below, out);
                cache::read_or_compute(cache.plane(i), run, missing, out, compute);
            }
            Mode::Store if intermediate => {
                self.compute(step, run, work, below, out);
                store(step.size, run, out, stored);
            }
            _ => self.compute(step, run, work, below, out),
        }
    }

    fn compute(
        &self,
        step: &Step,
        run: Run<'_>,
        work: &mut Work,
        below: &mut [StageScratch],
        out: &mut [f32],
    ) {
        if step.reads_source() && self.in_place(step, run, work, out) {
            return;
        }
        match &step.kind {
            Kind::Point => {
                self.port(step.inputs[0], run, below, out);
                step.point().apply(self.simd, out);
            }
            Kind::Shift(dx, dy) => {
                let lists = (&mut work.xs, &mut work.ys);
                self.shifted(step, step.inputs[0], run, (*dx, *dy), lists, below, out);
            }
            Kind::Stencil(offsets) => self.stencil(step, offsets, run, work, below, out),
            Kind::Resample => self.resample(step, run, work, below, out),
            Kind::Taps => self.taps(step, run, work, below, out),
        }
    }

    /// Computes a row with the stage's own kernel on the source in place. Returns `false` if that is not possible.
    fn in_place(&self, step: &Step, run: Run<'_>, work: &mut Work, out: &mut [f32]) -> bool {
        /// Inputs a stage may have here; none has more than two.
        const INPUTS: usize = 4;
        let Run::Row { x0, y, n } = run else {
            return false;
        };
        let inputs = step.inputs.len();
        if inputs > INPUTS || matches!(step.kind, Kind::Shift(..)) {
            return false;
        }
        let Work { temp, boxed, .. } = work;
        let lines: RowView<'_> = if let Some(lines) = self.source.row_view() {
            lines
        } else if let Kind::Stencil(offsets) = &step.kind {
            let rect = Rect {
                x0,
                y0: y,
                x1: x0 + n as i32,
                y1: y + 1,
            };
            let rect = step.stage.source(rect).clamp_to(step.input_size);
            // Of a box of offsets far apart, most samples are not read.
            if rect.width() * rect.height() > 2 * n * offsets.len() {
                return false;
            }
            source::load_box(self.simd, self.source, rect, boxed)
        } else {
            return false;
        };
        let mut context = RowContext {
            simd: self.simd,
            temp,
        };
        step.stage
            .row(&mut context, &[lines; INPUTS][..inputs], y, x0, out);
        true
    }

    /// The run of a port, shifted by an offset. Beyond the plane it is the edge sample, pulled for each output that reads it.
    #[allow(clippy::too_many_arguments)]
    fn shifted(
        &self,
        step: &Step,
        port: Port,
        run: Run<'_>,
        (dx, dy): (i32, i32),
        (xs, ys): (&mut Vec<i32>, &mut Vec<i32>),
        below: &mut [StageScratch],
        out: &mut [f32],
    ) {
        let Size { w, h } = step.input_size;
        let (last_x, last_y) = (w as i32 - 1, h as i32 - 1);
        match run {
            Run::Row { x0, y, n } => {
                let (x0, y) = (x0 + dx, (y + dy).clamp(0, last_y));
                let left = (-x0).clamp(0, n as i32) as usize;
                let right = (last_x + 1 - x0).clamp(0, n as i32) as usize;
                if right > left {
                    let inside = Run::Row {
                        x0: x0 + left as i32,
                        y,
                        n: right - left,
                    };
                    self.port(port, inside, below, &mut out[left..right]);
                }
                for (beyond, x) in [(0..left, 0), (right..n, last_x)] {
                    if beyond.is_empty() {
                        continue;
                    }
                    let (xs, ys) = (sized(xs, beyond.len()), sized(ys, beyond.len()));
                    xs.fill(x);
                    ys.fill(y);
                    self.port(port, Run::List { xs, ys }, below, &mut out[beyond]);
                }
            }
            Run::List {
                xs: from_x,
                ys: from_y,
            } => {
                let (xs, ys) = (sized(xs, from_x.len()), sized(ys, from_x.len()));
                taps::moved(self.simd, from_x, dx, last_x, xs);
                taps::moved(self.simd, from_y, dy, last_y, ys);
                self.port(port, Run::List { xs, ys }, below, out);
            }
        }
    }

    fn stencil(
        &self,
        step: &Step,
        offsets: &[(i32, i32)],
        run: Run<'_>,
        work: &mut Work,
        below: &mut [StageScratch],
        out: &mut [f32],
    ) {
        let n = out.len();
        let samples = sized(&mut work.samples, step.inputs.len() * offsets.len() * n);
        let reads = step
            .inputs
            .iter()
            .flat_map(|&port| offsets.iter().map(move |&by| (port, by)));
        for ((port, by), tap) in reads.zip(samples.chunks_exact_mut(n)) {
            self.shifted(
                step,
                port,
                run,
                by,
                (&mut work.xs, &mut work.ys),
                below,
                tap,
            );
        }
        step.stage.combine_run(self.simd, samples, out);
    }

    fn resample(
        &self,
        step: &Step,
        run: Run<'_>,
        work: &mut Work,
        below: &mut [StageScratch],
        out: &mut [f32],
    ) {
        let n = out.len();
        let Work {
            samples,
            xs,
            ys,
            taps,
            places,
            ..
        } = work;
        let (stage, port) = (step.resample(), step.inputs[0]);
        let (out_x, out_y) = positions(run, xs, ys);
        stage.taps_run(self.simd, out_x, out_y, taps);

        // Outputs without taps pull nothing. The others move to the front.
        let mut inside = n;
        if taps.x.iter().any(|&x| x < 0) {
            inside = taps.keep_inside(sized(places, n));
            out.fill(stage.fill());
        }
        if inside == 0 {
            return;
        }
        let (x, y) = (&taps.x[..inside], &taps.y[..inside]);
        let (samples, blended) = sized(samples, 5 * inside).split_at_mut(4 * inside);
        if port == Port::Source {
            source::quads(self.source, x, y, samples);
        } else {
            let corners = [(0, 0), (1, 0), (0, 1), (1, 1)];
            for (by, corner) in corners.into_iter().zip(samples.chunks_exact_mut(inside)) {
                self.shifted(
                    step,
                    port,
                    Run::List { xs: x, ys: y },
                    by,
                    (xs, ys),
                    below,
                    corner,
                );
            }
        }
        let (fx, fy) = (&taps.fx[..inside], &taps.fy[..inside]);
        if inside == n {
            taps::blend_run(self.simd, samples, fx, fy, out);
        } else {
            taps::blend_run(self.simd, samples, fx, fy, blended);
            for (&place, &v) in places.iter().zip(&*blended) {
                out[place] = v;
            }
        }
    }

    /// Output by output, from the definition of the stage.
    fn taps(
        &self,
        step: &Step,
        run: Run<'_>,
        work: &mut Work,
        below: &mut [StageScratch],
        out: &mut [f32],
    ) {
        let Work {
            samples,
            xs,
            ys,
            positions,
            ..
        } = work;
        for (i, o) in out.iter_mut().enumerate() {
            let (x, y) = match run {
                Run::Row { x0, y, .. } => (x0 + i as i32, y),
                Run::List { xs, ys } => (xs[i], ys[i]),
            };
            positions.clear();
            step.stage.taps(x, y, positions);
            let n = positions.len();
            let (xs, ys) = (sized(xs, n), sized(ys, n));
            for ((tap, x), y) in positions.iter().zip(&mut *xs).zip(&mut *ys) {
                *x = tap.0.clamp(0, step.input_size.w as i32 - 1);
                *y = tap.1.clamp(0, step.input_size.h as i32 - 1);
            }
            let samples = sized(samples, n * step.inputs.len());
            if n > 0 {
                for (&port, of_input) in step.inputs.iter().zip(samples.chunks_exact_mut(n)) {
                    for at in (0..n).step_by(RUN) {
                        let part = at..n.min(at + RUN);
                        let list = Run::List {
                            xs: &xs[part.clone()],
                            ys: &ys[part.clone()],
                        };
                        self.port(port, list, below, &mut of_input[part]);
                    }
                }
            }
            *o = step.stage.combine(x, y, samples);
        }
    }
}

/// The positions of a run, one by one.
fn positions<'a>(
    run: Run<'a>,
    xs: &'a mut Vec<i32>,
    ys: &'a mut Vec<i32>,
) -> (&'a [i32], &'a [i32]) {
    match run {
        Run::List { xs, ys } => (xs, ys),
        Run::Row { x0, y, n } => {
            let (xs, ys) = (sized(xs, n), sized(ys, n));
            for (i, x) in xs.iter_mut().enumerate() {
                *x = x0 + i as i32;
            }
            ys.fill(y);
            (xs, ys)
        }
    }
}

/// Writes a run to a plane of its own.
fn store(size: Size, run: Run<'_>, values: &[f32], plane: &mut Vec<f32>) {
    let plane = sized(plane, size.area());
    let width = size.w as usize;
    match run {
        Run::Row { x0, y, n } => {
            let at = y as usize * width + x0 as usize;
            plane[at..at + n].copy_from_slice(values);
        }
        Run::List { xs, ys } => {
            for ((&x, &y), &v) in xs.iter().zip(ys).zip(values) {
                plane[y as usize * width + x as usize] = v;
            }
        }
    }
}
