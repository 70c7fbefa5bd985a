//! `sequential`: one stage after another over the whole plane, each written to memory.

use std::ops::Range;

use evener_runtime::Simd;
use evener_runtime::buffer::Rows;

use super::access::{Source, Target};
use crate::format::Size;
use crate::geometry::Rect;
use crate::graph::plane::{PlaneGraph, Port};
use crate::kernels::STRIP;
use crate::row_view::RowView;
use crate::stage::RowContext;

/// Columns computed at a time, so that the temporary rows of a kernel stay in the nearest cache.
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
    /// The source as values, where the frame holds codes.
    loaded: Option<Rows<f32>>,
    /// The output of every stage but the last.
    stored: Vec<Rows<f32>>,
}

fn plane(size: Size) -> Rows<f32> {
    Rows::zeroed(size.w as usize, size.h as usize)
}

/// Heights of the passes of a graph: the conversion of codes, where there is one, then each stage.
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
        let Scratch { temp, line } = scratch;
        let Some(index) = pass.checked_sub(usize::from(self.loaded.is_some())) else {
            let loaded = self.loaded.as_ref().expect("the first pass converts");
            let mut to = loaded.write(rows.clone());
            for (y, to) in rows.zip(to.chunks_exact_mut(loaded.width())) {
                source.load(simd, y as i32, 0, to);
            }
            return;
        };
        let Some(node) = self.graph.nodes.get(index) else {
            copy(
                simd,
                source,
                rows,
                target.expect("a graph without stages has one pass"),
                line,
            );
            return;
        };
        let mut held = Vec::with_capacity(2);
        for port in &node.inputs {
            held.push(match port {
                Port::Stage(j) => Some((self.stored[*j].read(), self.graph.nodes[*j].size)),
                _ => self.loaded.as_ref().map(|l| (l.read(), self.graph.source)),
            });
        }
        let inputs: Vec<RowView<'_>> = held
            .iter()
            .map(|h| match h {
                Some((rows, size)) => RowView::plane(rows, Rect::of(*size)),
                None => source
                    .row_view()
                    .expect("a source without conversion holds values"),
            })
            .collect();
        let width = node.size.w as usize;
        let mut context = RowContext { simd, temp };
        let mut compute = |y: usize, rows: &mut [f32]| {
            let count = rows.len() / width;
            for from in (0..width).step_by(COLUMNS) {
                let columns = from..width.min(from + COLUMNS);
                let mut rows = rows.chunks_exact_mut(width);
                let mut out: [&mut [f32]; STRIP] = std::array::from_fn(|_| match rows.next() {
                    Some(row) => &mut row[columns.clone()],
                    None => &mut [],
                });
                let out = &mut out[..count];
                node.stage
                    .rows(&mut context, &inputs, y as i32, from as i32, out);
            }
        };
        let strips = rows.clone().step_by(STRIP);
        match target {
            None => {
                let mut to = self.stored[index].write(rows);
                for (y, to) in strips.zip(to.chunks_mut(STRIP * width)) {
                    compute(y, to);
                }
            }
            Some(target) => {
                for (i, y) in strips.enumerate() {
                    let held = i * STRIP * width..rows.len().min((i + 1) * STRIP) * width;
                    if let Some(values) = target.values() {
                        compute(y, &mut values[held]);
                    } else {
                        line.resize(held.len().max(line.len()), 0.0);
                        let line = &mut line[..held.len()];
                        compute(y, line);
                        target.store(simd, held.start, line);
                    }
                }
            }
        }
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
