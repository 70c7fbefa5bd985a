//! `sequential`: one stage after the other over the whole plane, each written to memory.

use std::ops::Range;

use evener_runtime::Simd;
use evener_runtime::buffer::Rows;

use super::access::{Source, Target};
use crate::format::Size;
use crate::geometry::Rect;
use crate::graph::plane::{Node, PlaneGraph, Port};
use crate::kernels::STRIP;
use crate::row_view::RowView;
use crate::stage::RowContext;

/// Columns computed at a time, so that the temporary rows of a kernel stay in the level-1 cache.
const COLUMNS: usize = 1024;

/// Private memory of one worker.
#[derive(Default)]
pub struct Scratch {
    temp: Vec<f32>,
    line: Vec<f32>,
}

/// The sequential executor of one plane: the planes between its stages.
pub struct Sequential {
    graph: PlaneGraph,
    /// The source as values, if the frame holds codes.
    loaded: Option<Rows<f32>>,
    /// The output of every stage but the last.
    stored: Vec<Rows<f32>>,
}

fn plane(size: Size) -> Rows<f32> {
    Rows::zeroed(size.w as usize, size.h as usize)
}

/// Heights of the passes of a graph: the conversion of codes, if there is one, then each stage.
pub fn passes(graph: &PlaneGraph, values: bool) -> Vec<u32> {
    let load = (!values && !graph.nodes.is_empty()).then_some(graph.source.h);
    let stages = graph.nodes.iter().map(|n| n.size.h);
    let passes: Vec<u32> = load.into_iter().chain(stages).collect();
    if passes.is_empty() {
        vec![graph.size.h]
    } else {
        passes
    }
}

impl Sequential {
    /// Allocates the planes between stages.
    pub fn new(graph: &PlaneGraph, values: bool) -> Self {
        let between = graph.nodes.len().saturating_sub(1);
        Sequential {
            graph: graph.clone(),
            loaded: (!values && !graph.nodes.is_empty()).then(|| plane(graph.source)),
            stored: graph.nodes[..between]
                .iter()
                .map(|n| plane(n.size))
                .collect(),
        }
    }

    /// Whether pass `pass` writes the result.
    pub fn is_last(&self, pass: usize) -> bool {
        pass + 1 >= self.graph.nodes.len() + usize::from(self.loaded.is_some())
    }

    /// Computes `rows` of what pass `pass` gives. `target` holds those rows in the last pass, and is absent before.
    pub fn rows(
        &self,
        simd: Simd,
        source: &Source<'_>,
        pass: usize,
        rows: Range<usize>,
        target: Option<&mut Target<'_>>,
        scratch: &mut Scratch,
    ) {
        let Some(stage) = pass.checked_sub(usize::from(self.loaded.is_some())) else {
            return self.load(simd, source, rows);
        };
        match target {
            Some(target) if self.graph.nodes.is_empty() => {
                copy(simd, source, rows, target, &mut scratch.line);
            }
            Some(target) => self.result(simd, source, stage, rows, target, scratch),
            None => self.intermediate(simd, source, stage, rows, scratch),
        }
    }

    /// Converts rows of the source.
    fn load(&self, simd: Simd, source: &Source<'_>, rows: Range<usize>) {
        let loaded = self.loaded.as_ref().expect("the first pass converts");
        let mut to = loaded.write(rows.clone());
        for (y, to) in rows.zip(to.chunks_exact_mut(loaded.width())) {
            source.load(simd, y as i32, 0, to);
        }
    }

    /// Computes rows of a stage whose output is stored.
    fn intermediate(
        &self,
        simd: Simd,
        source: &Source<'_>,
        stage: usize,
        rows: Range<usize>,
        scratch: &mut Scratch,
    ) {
        let width = self.graph.nodes[stage].size.w as usize;
        let temp = &mut scratch.temp;
        self.with_inputs(source, stage, |node, inputs| {
            let mut context = RowContext { simd, temp };
            let mut to = self.stored[stage].write(rows.clone());
            for (y, to) in rows.step_by(STRIP).zip(to.chunks_mut(STRIP * width)) {
                strip(&mut context, node, inputs, y, to);
            }
        });
    }

    /// Computes rows of the last stage, in place where the target holds values.
    fn result(
        &self,
        simd: Simd,
        source: &Source<'_>,
        stage: usize,
        rows: Range<usize>,
        target: &mut Target<'_>,
        scratch: &mut Scratch,
    ) {
        let width = self.graph.nodes[stage].size.w as usize;
        let Scratch { temp, line } = scratch;
        self.with_inputs(source, stage, |node, inputs| {
            let mut context = RowContext { simd, temp };
            for (i, y) in rows.clone().step_by(STRIP).enumerate() {
                let held = i * STRIP * width..rows.len().min((i + 1) * STRIP) * width;
                if let Some(values) = target.values() {
                    strip(&mut context, node, inputs, y, &mut values[held]);
                } else {
                    line.resize(held.len().max(line.len()), 0.0);
                    let line = &mut line[..held.len()];
                    strip(&mut context, node, inputs, y, line);
                    target.store(simd, held.start, line);
                }
            }
        });
    }

    /// Calls `compute` with a node and the planes that it reads.
    fn with_inputs(
        &self,
        source: &Source<'_>,
        stage: usize,
        compute: impl FnOnce(&Node, &[RowView<'_>]),
    ) {
        let node = &self.graph.nodes[stage];
        let held = node.inputs.iter().map(|port| match port {
            Port::Stage(j) => Some((self.stored[*j].read(), self.graph.nodes[*j].size)),
            _ => self.loaded.as_ref().map(|l| (l.read(), self.graph.source)),
        });
        let held: Vec<_> = held.collect();
        let inputs = held.iter().map(|held| match held {
            Some((rows, size)) => RowView::plane(rows, rows.stride(), Rect::of(*size)),
            None => source
                .row_view()
                .expect("a source without conversion holds values"),
        });
        compute(node, &inputs.collect::<Vec<_>>());
    }
}

/// Computes whole rows from `y` on, a few columns at a time.
fn strip(
    context: &mut RowContext<'_>,
    node: &Node,
    inputs: &[RowView<'_>],
    y: usize,
    rows: &mut [f32],
) {
    let width = node.size.w as usize;
    let count = rows.len() / width;
    for from in (0..width).step_by(COLUMNS) {
        let columns = from..width.min(from + COLUMNS);
        let mut rows = rows.chunks_exact_mut(width);
        let mut out: [&mut [f32]; STRIP] = std::array::from_fn(|_| match rows.next() {
            Some(row) => &mut row[columns.clone()],
            None => &mut [],
        });
        let out = &mut out[..count];
        node.stage.rows(context, inputs, y as i32, from as i32, out);
    }
}

/// Rows of the source itself.
fn copy(
    simd: Simd,
    source: &Source<'_>,
    rows: Range<usize>,
    target: &mut Target<'_>,
    line: &mut Vec<f32>,
) {
    let width = source.size().w as usize;
    line.resize(width.max(line.len()), 0.0);
    for (i, y) in rows.enumerate() {
        source.load(simd, y as i32, 0, &mut line[..width]);
        target.store(simd, i * width, &line[..width]);
    }
}
