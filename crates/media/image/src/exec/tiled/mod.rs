//! `tiled`: a tile of output is pulled through all stages in a worker's private memory.
//!
//! Inside a tile rows roll. A block of output rows asks each stage, from the last to the first, for the rows that are
//! missing. They are computed, from the first stage to the last, into a ring of just the rows still needed. So a stencil
//! computes no row twice within a tile, and a warp computes the box that its tile reads.
//!
//! | file | what it is for |
//! | --- | --- |
//! | `tile_size.rs` | the size of a tile |
//! | `ring.rs` | the rows of a node that a tile still needs |
//! | `reader.rs` | one node computed from what it reads |

mod reader;
mod ring;
mod tile_size;

use std::ops::Range;

use evener_runtime::Simd;

use super::access::{Source, Target};
use super::fuse::{FusedNode, Input};
use super::regions::{columns_read, infer_regions, infer_rows, scattered};
use crate::format::Size;
use crate::geometry::Rect;
use crate::kernels::STRIP;
use crate::stage::RowContext;
pub use reader::MOST_INPUTS;
use reader::Reader;
use ring::Ring;
pub use tile_size::TileSize;

/// Private memory of one worker.
#[derive(Default)]
pub struct Scratch {
    rings: Vec<Ring>,
    demands: Vec<Range<i32>>,
    needs: Vec<Rect>,
    temp: Vec<f32>,
    line: Vec<f32>,
    steps: Vec<f32>,
}

/// The tiled executor of one plane.
pub struct Tiled {
    nodes: Vec<FusedNode>,
    tile: TileSize,
    size: Size,
    /// Whether some stage reads at computed positions.
    scattered: bool,
}

impl Tiled {
    /// Chooses a tile whose rings fit in `private_cache` bytes.
    pub fn new(nodes: Vec<FusedNode>, size: Size, private_cache: usize) -> Self {
        let tile = tile_size::choose(&nodes, size, private_cache);
        let scattered = scattered(&nodes);
        Tiled {
            nodes,
            tile,
            size,
            scattered,
        }
    }

    /// The nodes after fusion.
    pub fn nodes(&self) -> &[FusedNode] {
        &self.nodes
    }

    /// The tile chosen, with what it predicts.
    pub fn tile(&self) -> &TileSize {
        &self.tile
    }

    /// Computes output rows `rows`, which are those `target` holds. `sources` has the plane of the graph first, then the
    /// others.
    pub fn rows(
        &self,
        simd: Simd,
        sources: &[Source<'_>],
        rows: Range<usize>,
        target: &mut Target<'_>,
        scratch: &mut Scratch,
    ) {
        let (top, bottom) = (rows.start as i32, rows.end as i32);
        scratch.rings.resize_with(self.nodes.len(), Ring::default);
        let job = Rect {
            x0: 0,
            y0: top,
            x1: self.size.w as i32,
            y1: bottom,
        };
        let mut tile = self.first(job);
        // The first tile prefetches for itself, a step ahead; each later one was prefetched by the tile before it.
        let mut own = tile.map_or(Rect::default(), |first| self.reads(sources, first, scratch));
        while let Some(this) = tile {
            tile = self.after(this, job);
            let next = tile.map_or(Rect::default(), |next| self.reads(sources, next, scratch));
            let work = TileWork {
                tile: this,
                own,
                next,
                top,
            };
            self.compute_tile(simd, sources, &work, target, scratch);
            own = Rect::default();
        }
    }

    /// The first tile of the rows `job`.
    fn first(&self, job: Rect) -> Option<Rect> {
        let x1 = job.x1.min(self.tile.columns);
        let y1 = job.y1.min(job.y0.saturating_add(self.tile.rows));
        (!job.is_empty()).then_some(Rect { x1, y1, ..job })
    }

    /// The tile after `tile`: to the right, then at the left of the next band.
    fn after(&self, tile: Rect, job: Rect) -> Option<Rect> {
        if tile.x1 < job.x1 {
            let x1 = job.x1.min(tile.x1 + self.tile.columns);
            return Some(Rect {
                x0: tile.x1,
                x1,
                ..tile
            });
        }
        self.first(Rect { y0: tile.y1, ..job })
    }

    /// The region of codes that `tile` reads for warps, for which no hardware prefetches. For values, warps prefetch
    /// themselves, more precisely.
    fn reads(&self, sources: &[Source<'_>], tile: Rect, scratch: &mut Scratch) -> Rect {
        let rows = tile.width() == self.size.w as usize;
        if !self.scattered || rows || sources[0].row_view().is_some() {
            return Rect::default();
        }
        infer_regions(&self.nodes, tile, &mut scratch.needs);
        let reading = self.nodes.iter().zip(&scratch.needs);
        reading
            .flat_map(|(node, need)| {
                let inputs = node.inputs.iter().enumerate();
                let own = inputs.filter(|(_, input)| **input == Input::Source);
                own.map(|(k, _)| node.source(k, *need))
            })
            .fold(Rect::default(), |all, region| all.union(&region))
    }

    /// Computes a tile block by block. Blocks go up where some node is read upwards.
    fn compute_tile(
        &self,
        simd: Simd,
        sources: &[Source<'_>],
        work: &TileWork,
        target: &mut Target<'_>,
        scratch: &mut Scratch,
    ) {
        let blocks = self.prepare_rings(work.tile, scratch);
        let upwards = goes_upwards(&scratch.demands, self.nodes.len(), blocks);
        for step in 0..blocks {
            if step + 1 < blocks {
                sources[0].prefetch(share(work.own, step + 1, blocks));
            }
            sources[0].prefetch(share(work.next, step, blocks));
            let block = if upwards { blocks - 1 - step } else { step };
            self.intermediate_rows(simd, sources, block, scratch);
            self.output_rows(simd, sources, work, block, target, scratch);
        }
    }

    /// Infers what `tile` needs and makes the rings ready for it. Returns the number of blocks.
    fn prepare_rings(&self, tile: Rect, scratch: &mut Scratch) -> usize {
        let n = self.nodes.len();
        let Scratch {
            rings,
            demands,
            needs,
            ..
        } = scratch;
        infer_regions(&self.nodes, tile, needs);
        infer_rows(&self.nodes, tile, needs, demands);
        let blocks = demands.len() / n;
        for (i, ring) in rings[..n - 1].iter_mut().enumerate() {
            let demands = (0..blocks).map(|b| &demands[b * n + i]);
            ring.prepare(needs[i], self.nodes[i].scattered, demands);
        }
        blocks
    }

    /// Computes the rows that a block reads of each node but the last and that are not in its ring.
    fn intermediate_rows(
        &self,
        simd: Simd,
        sources: &[Source<'_>],
        block: usize,
        scratch: &mut Scratch,
    ) {
        let n = self.nodes.len();
        let Scratch {
            rings,
            demands,
            needs,
            temp,
            steps,
            ..
        } = scratch;
        let mut context = RowContext { simd, temp };
        let wanted = &demands[block * n..][..n - 1];
        for (i, rows) in wanted.iter().enumerate() {
            if rows.is_empty() {
                continue;
            }
            let (before, rest) = rings.split_at_mut(i);
            let ring = &mut rest[0];
            let missing = ring.missing(rows);
            let reader = Reader::new(&self.nodes[i], sources, before);
            for y in missing.clone().step_by(STRIP) {
                let strip = y..missing.end.min(y + STRIP as i32);
                let columns = columns_read(&self.nodes, i, needs, strip.clone());
                let out = &mut ring.rows(&strip, &columns)[..strip.len()];
                reader.compute(&mut context, steps, strip.start, columns.start, out);
            }
            ring.keep(rows, missing);
        }
    }

    /// Computes the output rows of a block, in place where the target holds values.
    fn output_rows(
        &self,
        simd: Simd,
        sources: &[Source<'_>],
        work: &TileWork,
        block: usize,
        target: &mut Target<'_>,
        scratch: &mut Scratch,
    ) {
        let last = self.nodes.len() - 1;
        let Scratch {
            rings,
            demands,
            temp,
            line,
            steps,
            ..
        } = scratch;
        let mut context = RowContext { simd, temp };
        let reader = Reader::new(&self.nodes[last], sources, &rings[..last]);
        let rows = demands[block * self.nodes.len() + last].clone();
        let (x0, width, stride) = (work.tile.x0, work.tile.width(), self.size.w as usize);
        let at = |y: i32| (y - work.top) as usize * stride + x0 as usize;
        if let Some(values) = target.values() {
            let mut held = values[at(rows.start)..].chunks_mut(stride).take(rows.len());
            let mut out: [&mut [f32]; STRIP] = std::array::from_fn(|_| match held.next() {
                Some(row) => &mut row[..width],
                None => &mut [],
            });
            let out = &mut out[..rows.len()];
            return reader.compute(&mut context, steps, rows.start, x0, out);
        }
        line.resize(line.len().max(rows.len() * width), 0.0);
        let mut held = line.chunks_exact_mut(width);
        let mut out: [&mut [f32]; STRIP] = std::array::from_fn(|_| held.next().unwrap_or_default());
        let out = &mut out[..rows.len()];
        reader.compute(&mut context, steps, rows.start, x0, out);
        for (values, y) in out.iter().zip(rows) {
            target.store(simd, at(y), values);
        }
    }
}

/// A tile of a job.
struct TileWork {
    tile: Rect,
    /// What is prefetched of the source meanwhile: for this tile and for the next one.
    own: Rect,
    next: Rect,
    /// The first row of the job.
    top: i32,
}

/// The rows of `rect` that step `step` of `steps` prefetches.
fn share(rect: Rect, step: usize, steps: usize) -> Rect {
    let at = |s: usize| rect.y0 + (rect.height() * s / steps) as i32;
    Rect {
        y0: at(step),
        y1: at(step + 1),
        ..rect
    }
}

/// Whether some node is read upwards while blocks go down: then blocks should go up.
fn goes_upwards(demands: &[Range<i32>], n: usize, blocks: usize) -> bool {
    (0..n - 1).any(|i| {
        let mut wanted = (0..blocks)
            .map(|b| &demands[b * n + i])
            .filter(|r| !r.is_empty());
        match (wanted.next(), wanted.next_back()) {
            (Some(first), Some(last)) => last.start < first.start && last.end < first.end,
            _ => false,
        }
    })
}
