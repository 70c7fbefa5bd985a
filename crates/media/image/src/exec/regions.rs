//! Region inference over fused nodes: what a tile of output needs of every node.

use std::ops::Range;

use super::fuse::{FusedNode, Input, Op};
use crate::geometry::Rect;
use crate::kernels::STRIP;

/// Rows of a block if no stage reads at computed positions: so few that rings stay low.
const STENCIL_ROWS: i32 = 6;

/// Output rows between two rounds of region inference. With warps they are as many as a warp computes together, since they
/// read mostly the same rows.
pub(super) fn rows_per_block(nodes: &[FusedNode]) -> i32 {
    if scattered(nodes) {
        STRIP as i32
    } else {
        STENCIL_ROWS
    }
}

/// Whether some stage reads at computed positions.
pub(super) fn scattered(nodes: &[FusedNode]) -> bool {
    nodes
        .iter()
        .any(|n| matches!(&n.op, Op::Stage(stage) if stage.scattered()))
}

/// The region that `tile` needs of every node.
pub(super) fn infer_regions(nodes: &[FusedNode], tile: Rect, needs: &mut Vec<Rect>) {
    needs.clear();
    needs.resize(nodes.len(), Rect::default());
    needs[nodes.len() - 1] = tile;
    for i in (0..nodes.len()).rev() {
        for (k, input) in nodes[i].inputs.iter().enumerate() {
            if let Input::Node(j) = input {
                let region = nodes[i].source(k, needs[i]);
                needs[*j] = needs[*j].union(&region);
            }
        }
    }
}

/// The rows that each block of `tile` needs of every node: `demands[block * nodes + node]`.
pub(super) fn infer_rows(
    nodes: &[FusedNode],
    tile: Rect,
    needs: &[Rect],
    demands: &mut Vec<Range<i32>>,
) {
    let n = nodes.len();
    let block = rows_per_block(nodes);
    let blocks = tile.height().div_ceil(block as usize);
    demands.clear();
    demands.resize(blocks * n, 0..0);
    for b in 0..blocks {
        let y0 = tile.y0 + b as i32 * block;
        let wanted = &mut demands[b * n..(b + 1) * n];
        wanted[n - 1] = y0..(y0 + block).min(tile.y1);
        for i in (0..n).rev() {
            let rows = wanted[i].clone();
            let out = Rect {
                y0: rows.start,
                y1: rows.end,
                ..needs[i]
            };
            for (k, input) in nodes[i].inputs.iter().enumerate() {
                let region = nodes[i].source(k, out);
                if let (Input::Node(j), false) = (input, region.is_empty()) {
                    let w = &mut wanted[*j];
                    *w = if w.start >= w.end {
                        region.y0..region.y1
                    } else {
                        w.start.min(region.y0)..w.end.max(region.y1)
                    };
                }
            }
        }
    }
}

/// The columns that a tile reads of `rows` of a node's output. `needs` are the regions of the tile.
pub(super) fn columns_read(
    nodes: &[FusedNode],
    node: usize,
    needs: &[Rect],
    rows: Range<i32>,
) -> Range<i32> {
    let need = needs[node];
    let mut all = need.x1..need.x0;
    for (reader, out) in nodes.iter().zip(needs).skip(node + 1) {
        for (k, input) in reader.inputs.iter().enumerate() {
            if !out.is_empty() && *input == Input::Node(node) {
                let columns = reader.source_columns(k, *out, rows.clone());
                if !columns.is_empty() {
                    all = all.start.min(columns.start)..all.end.max(columns.end);
                }
            }
        }
    }
    let start = all.start.clamp(need.x0, need.x1);
    start..all.end.clamp(start, need.x1)
}

/// Slots of a ring in which every block finds all rows that it reads.
pub(super) fn ring_slots<'a>(demands: impl Iterator<Item = &'a Range<i32>>) -> usize {
    demands
        .map(|r| r.len())
        .max()
        .unwrap_or(0)
        .next_power_of_two()
}
