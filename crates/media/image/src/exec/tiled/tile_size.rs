//! The size of a tile, by region inference: the least work that fits in the cache.

use crate::exec::fuse::FusedNode;
use crate::exec::regions::{
    columns_read, infer_regions, infer_rows, ring_slots, rows_per_block, scattered,
};
use crate::format::Size;
use crate::geometry::Rect;
use crate::kernels::STRIP;

/// A tile of output and what it predicts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TileSize {
    /// Columns of a tile.
    pub columns: i32,
    /// Most rows of a tile; a job with fewer has lower tiles.
    pub rows: i32,
    /// Vectorisable operations per output sample, including those that are repeated.
    pub ops: f64,
    /// Calls and region inference, in operations per output sample.
    pub overhead: f64,
    /// Bytes of rings that a tile keeps and reads.
    pub bytes: usize,
    /// Bytes that its rings take. The bounding box of what a warp reads is stored whole.
    pub memory: usize,
}

/// Rows assumed for a tile as high as its job.
const JOB: i32 = 128;
/// Level-1 cache that is assumed, so that the choice does not differ from machine to machine without need.
const L1_BYTES: usize = 32 << 10;

/// Most bytes that the rings of a worker take, if a smaller tile can help it.
const MAX_RING_BYTES: usize = 1 << 20;

/// The tile with the lowest predicted cost per output sample.
pub fn choose(nodes: &[FusedNode], size: Size, private_cache: usize) -> TileSize {
    let (w, h) = (size.w as i32, size.h as i32);
    let columns = [w, 1024, 512, 256, 128, 64].into_iter().filter(|&c| c <= w);
    // A warp's box grows with the height of its tile; a stencil's rows roll however high it is.
    let highest = if scattered(nodes) { JOB } else { i32::MAX };
    let rows = [highest, 64, 32];
    let mut best: Option<(f64, TileSize)> = None;
    for columns in columns {
        for rows in rows {
            let tile = predict(nodes, size, columns, rows.min(JOB).min(h));
            let tile = TileSize { rows, ..tile };
            let cost = tile.ops * pressure(tile.bytes, private_cache) + tile.overhead;
            let beyond = tile.memory.max(MAX_RING_BYTES);
            let better = best.as_ref().is_none_or(|(least, b)| {
                let most = b.memory.max(MAX_RING_BYTES);
                beyond < most || beyond == most && cost < least * 0.999
            });
            if better {
                best = Some((cost, tile));
            }
        }
    }
    best.map(|(_, tile)| tile).unwrap_or(TileSize {
        columns: w,
        rows: i32::MAX,
        ops: 0.0,
        overhead: 0.0,
        bytes: 0,
        memory: 0,
    })
}

/// Slowdown from rings that exceed the level-1 cache, and then the private one.
fn pressure(bytes: usize, private_cache: usize) -> f64 {
    let beyond = |limit: usize| (bytes as f64 / limit as f64 - 1.0).clamp(0.0, 4.0);
    1.0 + 0.02 * beyond(L1_BYTES / 2) + 1.0 * beyond(private_cache / 2)
}

/// A call of a kernel on a row costs about 200 cycles; an operation, vectorised, about a quarter of one.
const CALL: f64 = 800.0;
/// Operations of region inference of one node, for a block of rows or for a strip.
const INFERENCE: f64 = 2400.0;

/// Work and memory of a tile of this size, averaged over a few places in the plane.
fn predict(nodes: &[FusedNode], size: Size, columns: i32, rows: i32) -> TileSize {
    let (w, h) = (size.w as i32, size.h as i32);
    let (mut needs, mut demands) = (Vec::new(), Vec::new());
    let (mut ops, mut overhead, mut outputs) = (0.0, 0.0, 0.0);
    let (mut bytes, mut memory) = (0, 0);
    for (fx, fy) in [(0.5, 0.5), (0.25, 0.5), (0.5, 0.25), (0.75, 0.75)] {
        let x0 = (((w - columns) as f64) * fx) as i32;
        let y0 = (((h - rows) as f64) * fy) as i32;
        let tile = Rect {
            x0,
            y0,
            x1: x0 + columns,
            y1: y0 + rows,
        };
        infer_regions(nodes, tile, &mut needs);
        infer_rows(nodes, tile, &needs, &mut demands);
        let blocks = tile.height().div_ceil(rows_per_block(nodes) as usize);
        let (mut kept, mut held) = (0, 0);
        for (i, node) in nodes.iter().enumerate() {
            let area = if i + 1 < nodes.len() {
                let spans = (needs[i].y0..needs[i].y1).step_by(STRIP).map(|y| {
                    let rows = y..needs[i].y1.min(y + STRIP as i32);
                    columns_read(nodes, i, &needs, rows.clone()).len() * rows.len()
                });
                spans.sum()
            } else {
                needs[i].width() * needs[i].height()
            };
            ops += node.weight() * area as f64;
            let calls = needs[i].height() * (1 + node.points.len());
            let inferences = blocks + needs[i].height() / STRIP;
            overhead += CALL * calls as f64 + INFERENCE * inferences as f64;
            if i + 1 < nodes.len() {
                let slots = ring_slots((0..blocks).map(|b| &demands[b * nodes.len() + i]));
                kept += area.min(slots * needs[i].width()) * 4;
                let rows = if node.scattered {
                    needs[i].height()
                } else {
                    slots
                };
                held += rows * needs[i].width() * 4;
            } else {
                kept += needs[i].width() * 4;
            }
        }
        outputs += (tile.width() * tile.height()) as f64;
        bytes = bytes.max(kept);
        memory = memory.max(held);
    }
    TileSize {
        columns,
        rows,
        ops: ops / outputs,
        overhead: overhead / outputs,
        bytes,
        memory,
    }
}
