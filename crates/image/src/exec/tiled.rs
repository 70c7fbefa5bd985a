//! `tiled`: a tile of output is pulled through all stages in a worker's own memory.
//!
//! Inside a tile rows roll: a block of output rows asks each stage, last to first, for the rows it lacks; those are
//! computed, first to last, into a ring that holds just the rows still needed. So a stencil computes no row
//! twice within a tile, and a warp computes the box its tile reads.

use std::ops::Range;

use evener_runtime::Simd;

use super::access::{Source, Target};
use super::fuse::{FusedNode, Input, Op};
use super::tile_size::{self, TileSize};
use crate::format::Size;
use crate::geometry::Rect;
use crate::kernels::STRIP;
use crate::row_view::RowView;
use crate::stage::RowContext;

/// Output rows of [`block`] where no stage reads at computed positions: rings are as low as that allows.
const STENCIL_ROWS: i32 = 6;
/// Samples of a row between pointwise stages that are sure to stay in the nearest cache.
const L1_SAMPLES: usize = 4096;

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

/// The latest rows of a node's output.
#[derive(Default)]
struct Ring {
    data: Vec<f32>,
    /// Samples from one row to the next.
    stride: usize,
    /// Slots, a power of two.
    slots: usize,
    /// Whether no row ever takes the place of another.
    whole: bool,
    /// Row that lies in slot 0, and all columns ever kept.
    area: Rect,
    /// Rows computed, without a gap; those that have been overwritten are no longer counted.
    held: Range<i32>,
}

impl Ring {
    fn view(&self) -> RowView<'_> {
        let rect = Rect {
            y0: self.held.start,
            y1: self.held.end,
            ..self.area
        };
        let data = &self.data[..self.slots * self.stride];
        if self.whole {
            RowView::block(data, self.stride, rect, self.area.y0)
        } else {
            RowView::ring(data, self.stride, rect, self.area.y0)
        }
    }

    /// Rows `rows`, at most a strip, over the columns `columns` of the plane.
    fn rows(&mut self, rows: &Range<i32>, columns: &Range<i32>) -> [&mut [f32]; STRIP] {
        let first = (rows.start - self.area.y0) as usize;
        let slot = if self.whole {
            first
        } else {
            first & (self.slots - 1)
        };
        let within = (columns.start - self.area.x0) as usize..(columns.end - self.area.x0) as usize;
        let data = &mut self.data[..self.slots * self.stride];
        let (begin, end) = data.split_at_mut(slot * self.stride);
        let mut slots = end
            .chunks_exact_mut(self.stride)
            .chain(begin.chunks_exact_mut(self.stride))
            .take(rows.len());
        std::array::from_fn(|_| match slots.next() {
            Some(row) => &mut row[within.clone()],
            None => &mut [],
        })
    }
}

/// The tiled executor of one plane.
pub struct Tiled {
    nodes: Vec<FusedNode>,
    tile: TileSize,
    size: Size,
    /// Whether some stage reads at computed positions.
    scattered: bool,
}

/// Output rows between two rounds of region inference: as many as a warp can compute together, for they read mostly the
/// same lines.
pub(super) fn block(nodes: &[FusedNode]) -> i32 {
    if tile_size::scattered(nodes) {
        STRIP as i32
    } else {
        STENCIL_ROWS
    }
}

impl Tiled {
    /// Chooses a tile so that what a tile keeps fits in `private_cache` bytes.
    pub fn new(nodes: Vec<FusedNode>, size: Size, private_cache: usize) -> Self {
        let tile = tile_size::choose(&nodes, size, private_cache);
        let scattered = tile_size::scattered(&nodes);
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

    /// Computes output rows `rows`, which are those `target` holds.
    pub fn rows(
        &self,
        simd: Simd,
        source: &Source<'_>,
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
        // Nobody asked for what the first tile reads; it does so itself, a step ahead.
        let mut own = tile.map_or(Rect::default(), |first| self.reads(source, first, scratch));
        while let Some(this) = tile {
            tile = self.after(this, job);
            let next = tile.map_or(Rect::default(), |next| self.reads(source, next, scratch));
            self.tile_at(simd, source, this, [own, next], top, target, scratch);
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

    /// What of codes `tile` reads for warps, where no hardware sees a pattern. Values are read by the warps themselves,
    /// which know better what they are about to read.
    fn reads(&self, source: &Source<'_>, tile: Rect, scratch: &mut Scratch) -> Rect {
        let rows = tile.width() == self.size.w as usize;
        if !self.scattered || rows || source.row_view().is_some() {
            return Rect::default();
        }
        demand(&self.nodes, tile, &mut scratch.needs);
        let reading = self.nodes.iter().zip(&scratch.needs);
        reading
            .filter(|(node, _)| node.inputs.contains(&Input::Source))
            .fold(Rect::default(), |all, (node, need)| {
                all.union(&node.source(*need))
            })
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "a tile, its surroundings, and where it goes"
    )]
    fn tile_at(
        &self,
        simd: Simd,
        source: &Source<'_>,
        tile: Rect,
        [own, next]: [Rect; 2],
        top: i32,
        target: &mut Target<'_>,
        scratch: &mut Scratch,
    ) {
        let n = self.nodes.len();
        let Scratch {
            rings,
            demands,
            needs,
            temp,
            line,
            steps,
        } = scratch;
        demand(&self.nodes, tile, needs);
        block_demands(&self.nodes, tile, needs, demands);
        let blocks = demands.len() / n;
        for i in 0..n - 1 {
            let demands = (0..blocks).map(|b| &demands[b * n + i]);
            prepare(&mut rings[i], needs[i], self.nodes[i].scattered, demands);
        }
        let last = n - 1;
        let mut context = RowContext { simd, temp };
        let backwards = reads_upwards(demands, n, blocks);
        for step in 0..blocks {
            let b = if backwards { blocks - 1 - step } else { step };
            let wanted = &demands[b * n..(b + 1) * n];
            if step + 1 < blocks {
                source.prefetch(part(own, step + 1, blocks));
            }
            source.prefetch(part(next, step, blocks));
            for (i, rows) in wanted[..last].iter().enumerate() {
                if rows.is_empty() {
                    continue;
                }
                let (before, rest) = rings.split_at_mut(i);
                let ring = &mut rest[0];
                let missing = ring.missing(rows);
                let reader = Reader::new(&self.nodes[i], source, before);
                let mut y = missing.start;
                while y < missing.end {
                    let rows = y..missing.end.min(y + STRIP as i32);
                    y = rows.end;
                    let columns = columns_of(&self.nodes, i, needs, rows.clone());
                    let out = &mut ring.rows(&rows, &columns)[..rows.len()];
                    reader.compute(&mut context, steps, rows.start, columns.start, out);
                }
                ring.keep(rows, missing);
            }
            let reader = Reader::new(&self.nodes[last], source, &rings[..last]);
            let (rows, stride) = (wanted[last].clone(), self.size.w as usize);
            let (width, x0) = (tile.width(), tile.x0 as usize);
            if let Some(values) = target.values() {
                let from = (rows.start - top) as usize * stride;
                let mut held = values[from..].chunks_exact_mut(stride).take(rows.len());
                let mut out: [&mut [f32]; STRIP] = std::array::from_fn(|_| match held.next() {
                    Some(row) => &mut row[x0..x0 + width],
                    None => &mut [],
                });
                let out = &mut out[..rows.len()];
                reader.compute(&mut context, steps, rows.start, tile.x0, out);
                continue;
            }
            line.resize(line.len().max(rows.len() * width), 0.0);
            let mut held = line.chunks_exact_mut(width);
            let mut out: [&mut [f32]; STRIP] =
                std::array::from_fn(|_| held.next().unwrap_or_default());
            let out = &mut out[..rows.len()];
            reader.compute(&mut context, steps, rows.start, tile.x0, out);
            for (values, y) in out.iter().zip(rows) {
                let at = (y - top) as usize * stride + x0;
                target.store(simd, at, values);
            }
        }
    }
}

/// The columns of `rows` of a node's output that a tile with these needs reads.
pub(super) fn columns_of(
    nodes: &[FusedNode],
    node: usize,
    needs: &[Rect],
    rows: Range<i32>,
) -> Range<i32> {
    let need = needs[node];
    let mut all = need.x1..need.x0;
    for (reader, out) in nodes.iter().zip(needs).skip(node + 1) {
        if !out.is_empty() && reader.inputs.contains(&Input::Node(node)) {
            let columns = reader.source_columns(*out, rows.clone());
            all = all.start.min(columns.start)..all.end.max(columns.end);
        }
    }
    let start = all.start.clamp(need.x0, need.x1);
    start..all.end.clamp(start, need.x1)
}

/// Rows of `rect` that step `step` of `steps` is to ask for.
fn part(rect: Rect, step: usize, steps: usize) -> Rect {
    let at = |s: usize| rect.y0 + (rect.height() * s / steps) as i32;
    Rect {
        y0: at(step),
        y1: at(step + 1),
        ..rect
    }
}

/// The region of every node that `tile` needs.
pub(super) fn demand(nodes: &[FusedNode], tile: Rect, needs: &mut Vec<Rect>) {
    needs.clear();
    needs.resize(nodes.len(), Rect::default());
    needs[nodes.len() - 1] = tile;
    for i in (0..nodes.len()).rev() {
        let region = nodes[i].source(needs[i]);
        for input in &nodes[i].inputs {
            if let Input::Node(j) = input {
                needs[*j] = needs[*j].union(&region);
            }
        }
    }
}

/// The rows of every node that each block of `tile` reads: `demands[block * nodes + node]`.
pub(super) fn block_demands(
    nodes: &[FusedNode],
    tile: Rect,
    needs: &[Rect],
    demands: &mut Vec<Range<i32>>,
) {
    let n = nodes.len();
    let block = block(nodes);
    let blocks = tile.height().div_ceil(block as usize);
    demands.clear();
    demands.resize(blocks * n, 0..0);
    for b in 0..blocks {
        let y0 = tile.y0 + b as i32 * block;
        let wanted = &mut demands[b * n..(b + 1) * n];
        wanted[n - 1] = y0..(y0 + block).min(tile.y1);
        for i in (0..n).rev() {
            let rows = wanted[i].clone();
            let region = nodes[i].source(Rect {
                y0: rows.start,
                y1: rows.end,
                ..needs[i]
            });
            for input in &nodes[i].inputs {
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

/// Whether some node is read upwards while blocks go down, so that blocks should go up.
fn reads_upwards(demands: &[Range<i32>], n: usize, blocks: usize) -> bool {
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

/// Slots a ring needs so that a block finds all rows it reads.
pub(super) fn slots<'a>(demands: impl Iterator<Item = &'a Range<i32>>) -> usize {
    demands
        .map(|r| r.len())
        .max()
        .unwrap_or(0)
        .next_power_of_two()
}

fn prepare<'a>(
    ring: &mut Ring,
    need: Rect,
    whole: bool,
    demands: impl Iterator<Item = &'a Range<i32>>,
) {
    ring.area = need;
    ring.whole = whole;
    ring.slots = if whole { need.height() } else { slots(demands) };
    // Rows at cache lines.
    ring.stride = need.width().next_multiple_of(16);
    ring.held = need.y0..need.y0;
    let len = ring.slots * ring.stride;
    if ring.data.len() < len {
        ring.data.resize(len, 0.0);
    }
}

impl Ring {
    /// The rows of `wanted` that are not there. Forgets everything when they do not continue what is there.
    fn missing(&mut self, wanted: &Range<i32>) -> Range<i32> {
        let continues = wanted.start >= self.held.start && wanted.start <= self.held.end;
        if !continues {
            self.held = wanted.start..wanted.start;
        }
        self.held.end..wanted.end.max(self.held.end)
    }

    fn keep(&mut self, wanted: &Range<i32>, computed: Range<i32>) {
        self.held.end = computed.end;
        self.held.start = self.held.start.max(computed.end - self.slots as i32);
        debug_assert!(self.held.start <= wanted.start);
    }
}

/// A node with its inputs at hand.
struct Reader<'a> {
    node: &'a FusedNode,
    source: &'a Source<'a>,
    inputs: [Option<RowView<'a>>; 2],
}

impl<'a> Reader<'a> {
    fn new(node: &'a FusedNode, source: &'a Source<'a>, rings: &'a [Ring]) -> Self {
        let mut inputs = [None, None];
        for (slot, input) in inputs.iter_mut().zip(&node.inputs) {
            *slot = match input {
                Input::Node(j) if rings[*j].slots > 0 && !rings[*j].held.is_empty() => {
                    Some(rings[*j].view())
                }
                Input::Node(_) => Some(RowView::empty()),
                Input::Source => source.row_view(),
            };
        }
        Reader {
            node,
            source,
            inputs,
        }
    }

    /// Rows from `y` on of the node's output, from column `x0` on. `steps` holds rows between pointwise stages.
    fn compute(
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
            // What lies in memory as values needs no copy before it is mapped.
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

    /// The samples that a copying node gives from (x0, y) on, where they lie.
    fn copied<'l>(node: &FusedNode, lines: &RowView<'l>, y: i32, x0: i32, n: usize) -> &'l [f32] {
        let from = (x0 + node.offset.0 - lines.rect().x0) as usize;
        &lines.row(y + node.offset.1)[from..from + n]
    }

    /// What the node computes before its pointwise stages.
    fn op(&self, context: &mut RowContext<'_>, y: i32, x0: i32, out: &mut [&mut [f32]]) {
        let (x, sy) = (x0 + self.node.offset.0, y + self.node.offset.1);
        match (&self.node.op, &self.inputs) {
            (Op::Copy, [None, _]) => {
                for (out, y) in out.iter_mut().zip(sy..) {
                    self.source.load(context.simd, y, x, out);
                }
            }
            (Op::Copy, [Some(lines), _]) => {
                for (out, y) in out.iter_mut().zip(y..) {
                    out.copy_from_slice(Self::copied(self.node, lines, y, x0, out.len()));
                }
            }
            (Op::Stage(stage), [Some(a), None]) => stage.rows(context, &[*a], sy, x, out),
            (Op::Stage(stage), [Some(a), Some(b)]) => stage.rows(context, &[*a, *b], sy, x, out),
            (Op::Stage(_), [None, _]) => unreachable!("a stage reads values"),
        }
    }
}
