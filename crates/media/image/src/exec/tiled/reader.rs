//! One node of a tile, computed from what it reads.

use super::ring::Ring;
use crate::exec::access::Source;
use crate::exec::fuse::{FusedNode, Input, Op};
use crate::kernels::STRIP;
use crate::row_view::RowView;
use crate::stage::RowContext;

/// The most inputs of a stage.
pub const MOST_INPUTS: usize = 4;

/// Samples of rows between pointwise stages that stay in the level-1 cache.
const L1_SAMPLES: usize = 4096;

/// A node and its inputs.
pub(super) struct Reader<'a> {
    node: &'a FusedNode,
    /// The plane that a copy converts.
    source: &'a Source<'a>,
    inputs: [Option<RowView<'a>>; MOST_INPUTS],
}

impl<'a> Reader<'a> {
    /// `sources` has the plane of the graph first, then the others.
    pub(super) fn new(node: &'a FusedNode, sources: &'a [Source<'a>], rings: &'a [Ring]) -> Self {
        let mut inputs = [None; MOST_INPUTS];
        for (slot, input) in inputs.iter_mut().zip(&node.inputs) {
            *slot = match input {
                Input::Node(j) if !rings[*j].is_empty() => Some(rings[*j].view()),
                Input::Node(_) => Some(RowView::empty()),
                Input::Source => sources[0].row_view(),
                Input::Other(i) => sources[i + 1].row_view(),
            };
        }
        let source = match node.inputs[..] {
            [Input::Other(i)] => &sources[i + 1],
            _ => &sources[0],
        };
        Reader {
            node,
            source,
            inputs,
        }
    }

    /// Rows from `y` on of the node's output, from column `x0` on. `steps` holds rows between pointwise stages.
    pub(super) fn compute(
        &self,
        context: &mut RowContext<'_>,
        steps: &mut Vec<f32>,
        y: i32,
        x0: i32,
        out: &mut [&mut [f32]],
    ) {
        let points = &self.node.points;
        let n = out.first().map_or(0, |row| row.len());
        let Some(last) = points.len().checked_sub(1) else {
            return self.op(context, y, x0, out);
        };
        if n == 0 {
            return;
        }
        let most = (L1_SAMPLES / n).clamp(1, out.len());
        if steps.len() < (most + 2) * n {
            steps.resize((most + 2) * n, 0.0);
        }
        let (between, computed) = steps.split_at_mut(2 * n);
        let (even, odd) = between.split_at_mut(n);
        let simd = context.simd;
        let map = |k: usize, from: &[f32], to: &mut [f32]| {
            points[k].point().expect("pointwise").map(simd, from, to);
        };
        for (out, y) in out.chunks_mut(most).zip((y..).step_by(most)) {
            // Values in memory are mapped without a copy.
            let lies = match (&self.node.op, &self.inputs[0]) {
                (Op::Copy, Some(lines)) => Some(lines),
                _ => None,
            };
            if lies.is_none() {
                let mut rows = computed.chunks_exact_mut(n);
                let mut rows: [&mut [f32]; STRIP] =
                    std::array::from_fn(|_| rows.next().unwrap_or_default());
                self.op(context, y, x0, &mut rows[..out.len()]);
            }
            for (i, out) in out.iter_mut().enumerate() {
                let first = match lies {
                    Some(lines) => Self::copied(self.node, lines, y + i as i32, x0, n),
                    None => &computed[i * n..(i + 1) * n],
                };
                if last == 0 {
                    map(0, first, out);
                    continue;
                }
                map(0, first, even);
                for k in 1..last {
                    if k % 2 == 1 {
                        map(k, even, odd);
                    } else {
                        map(k, odd, even);
                    }
                }
                map(last, if last % 2 == 1 { even } else { odd }, out);
            }
        }
    }

    /// The samples that a copying node gives from (x0, y) on, in place.
    fn copied<'l>(node: &FusedNode, lines: &RowView<'l>, y: i32, x0: i32, n: usize) -> &'l [f32] {
        let from = (x0 + node.offset.0 - lines.rect().x0) as usize;
        &lines.row(y + node.offset.1)[from..from + n]
    }

    /// What the node computes before its pointwise stages.
    fn op(&self, context: &mut RowContext<'_>, y: i32, x0: i32, out: &mut [&mut [f32]]) {
        let (x, sy) = (x0 + self.node.offset.0, y + self.node.offset.1);
        match (&self.node.op, &self.inputs) {
            (Op::Copy, [None, ..]) => {
                for (out, y) in out.iter_mut().zip(sy..) {
                    self.source.load(context.simd, y, x, out);
                }
            }
            (Op::Copy, [Some(lines), ..]) => {
                for (out, y) in out.iter_mut().zip(y..) {
                    out.copy_from_slice(Self::copied(self.node, lines, y, x0, out.len()));
                }
            }
            (Op::Stage(stage), inputs) => {
                let inputs = inputs.map(|view| view.unwrap_or(RowView::empty()));
                let count = self.node.inputs.len();
                stage.rows(context, &inputs[..count], sy, x, out);
            }
        }
    }
}
