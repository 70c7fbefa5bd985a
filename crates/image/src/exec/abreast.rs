//! `abreast`: several frames at once, a sample of each side by side in the lanes of registers.
//!
//! A warp spends most of its time fetching samples from anywhere, and where they lie is the same in every frame. The
//! first pass puts frames side by side, each warp is a pass over the whole plane, and the last one takes them apart.
//!
//! Only chains of warps with pointwise stages and crops between them run so: what does not depend on where a sample
//! lies is fast enough as it is. And only frames so small that planes of several stay in the outer cache: from memory
//! it takes longer to fetch them than a warp of one frame does.

use std::ops::Range;
use std::sync::OnceLock;

use evener_runtime::Simd;
use evener_runtime::buffer::Rows;

use super::access::{Source, Target};
use super::fuse::{FusedNode, Input, Op};
use super::tiled::{columns_of, demand};
use crate::format::{Depth, Size};
use crate::geometry::Rect;
use crate::kernels::abreast::{self, FRAMES};
use crate::kernels::bilinear::abreast::{Block, Out};
use crate::kernels::tones::{self, with_tone};
use crate::stage::{self, STRIP, Tone, grown};

/// Private memory of one worker.
#[derive(Default)]
pub struct Scratch {
    /// Rows side by side: one of the result, and two between pointwise stages.
    lanes: Vec<f32>,
    even: Vec<f32>,
    odd: Vec<f32>,
    /// A row of each frame.
    frames: Vec<f32>,
}

/// The executor of one plane of several frames.
pub struct Abreast {
    nodes: Vec<FusedNode>,
    size: Size,
    /// What is read of each node's output.
    needs: Vec<Rect>,
    /// That, of each node but the last, side by side.
    blocks: OnceLock<Vec<Rows<f32>>>,
}

/// The node's stage as one of several frames.
fn warp(node: &FusedNode) -> Option<&dyn stage::Abreast> {
    match &node.op {
        Op::Stage(stage) => stage.abreast(),
        Op::Copy => None,
    }
}

/// The tone that is all a node does to a sample, `Some(None)` where it does nothing.
fn tone(node: &FusedNode) -> Option<Option<Tone>> {
    match &node.points[..] {
        [] => Some(None),
        [point] if tones::has(point.tone()) => Some(Some(point.tone())),
        _ => None,
    }
}

/// Samples of a frame from one row of a block of this width to the next: an odd number of pairs of cache lines, so that
/// the rows a warp reads at once do not compete for the same places in a cache.
fn stride(width: usize) -> usize {
    width.next_multiple_of(8) + 4
}

impl Abreast {
    /// An executor for `nodes`, the first of which loads the source, if all that follow are warps in a chain.
    pub fn new(nodes: Vec<FusedNode>, size: Size) -> Option<Self> {
        let (first, rest) = nodes.split_first()?;
        let loads = matches!(first.op, Op::Copy) && first.inputs == [Input::Source];
        // A plane of one row or column has no four neighbours.
        let warps = |(i, node): (usize, &FusedNode)| {
            let size = node.input_size;
            warp(node).is_some() && node.inputs == [Input::Node(i)] && size.w >= 2 && size.h >= 2
        };
        if !loads || rest.is_empty() || !rest.iter().enumerate().all(warps) {
            return None;
        }
        let mut needs = Vec::new();
        demand(&nodes, Rect::of(size), &mut needs);
        Some(Abreast {
            nodes,
            size,
            needs,
            blocks: OnceLock::new(),
        })
    }

    /// The node that each pass computes, and what of its output.
    pub fn passes(&self) -> impl Iterator<Item = (&FusedNode, Rect)> {
        self.nodes.iter().zip(self.needs.iter().copied())
    }

    /// Bytes of the planes between passes.
    pub fn between(&self) -> usize {
        let (_, before) = self.needs.split_last().unwrap_or((&Rect::default(), &[]));
        let bytes = |need: &Rect| stride(need.width()) * need.height() * FRAMES * size_of::<f32>();
        before.iter().map(bytes).sum()
    }

    /// Makes the planes between passes.
    pub fn prepare(&self) {
        self.blocks();
    }

    fn blocks(&self) -> &[Rows<f32>] {
        self.blocks.get_or_init(|| {
            let before = &self.needs[..self.needs.len() - 1];
            let block = |need: &Rect| Rows::zeroed(stride(need.width()) * FRAMES, need.height());
            before.iter().map(block).collect()
        })
    }

    /// Whether pass `pass` writes the result.
    pub fn is_last(&self, pass: usize) -> bool {
        pass + 1 >= self.nodes.len()
    }

    /// Computes `rows` of what pass `pass` gives, of one to [`FRAMES`] frames. There are `sources` in the first pass and
    /// `targets` in the last, each of which holds those rows.
    pub fn rows(
        &self,
        simd: Simd,
        sources: &[Source<'_>],
        pass: usize,
        rows: Range<usize>,
        targets: &mut [Target<'_>],
        scratch: &mut Scratch,
    ) {
        let y0 = self.needs[pass].y0;
        let lines = y0 + rows.start as i32..y0 + rows.end as i32;
        if pass == 0 {
            return self.load(simd, sources, rows, lines, scratch);
        }
        let from = self.blocks()[pass - 1].read();
        let need = self.needs[pass - 1];
        let from = Block::new(&from, stride(need.width()), need);
        if self.is_last(pass) {
            self.finish(simd, &from, lines, targets, scratch);
        } else {
            self.warp(simd, pass, &from, rows, lines, scratch);
        }
    }

    /// Puts the sources side by side.
    fn load(
        &self,
        simd: Simd,
        sources: &[Source<'_>],
        rows: Range<usize>,
        lines: Range<i32>,
        scratch: &mut Scratch,
    ) {
        let node = &self.nodes[0];
        let (dx, dy) = node.offset;
        let Scratch {
            even, odd, frames, ..
        } = scratch;
        self.each(0, rows, lines, |(x, y), out| {
            let from = (x + dx, y + dy);
            if let Some(tone) = tone(node) {
                return beside(simd, sources, from, tone, frames, out);
            }
            let row = grown(even, out.len());
            beside(simd, sources, from, None, frames, row);
            points(simd, node, row, odd, out);
        });
    }

    /// A warp that is not the last.
    fn warp(
        &self,
        simd: Simd,
        pass: usize,
        from: &Block<'_>,
        rows: Range<usize>,
        lines: Range<i32>,
        scratch: &mut Scratch,
    ) {
        let node = &self.nodes[pass];
        self.each(pass, rows, lines, |(x, y), out| {
            for run in runs(x..x + (out.len() / FRAMES) as i32) {
                let within = (run.start - x) as usize..(run.end - x) as usize;
                let out = &mut out[within.start * FRAMES..within.end * FRAMES];
                warped(simd, node, from, (run.start, y), scratch, out);
            }
        });
    }

    /// Calls `compute` with each row of a block's rows `rows`, which are lines `lines` of the plane, as far as it is
    /// read: with where it begins and with its memory.
    fn each(
        &self,
        pass: usize,
        rows: Range<usize>,
        lines: Range<i32>,
        mut compute: impl FnMut((i32, i32), &mut [f32]),
    ) {
        let block = &self.blocks()[pass];
        let mut held = block.write(rows);
        let mut held = held.chunks_exact_mut(block.width());
        let x0 = self.needs[pass].x0;
        for first in lines.clone().step_by(STRIP) {
            let strip = first..lines.end.min(first + STRIP as i32);
            let columns = columns_of(&self.nodes, pass, &self.needs, strip.clone());
            let within = (columns.start - x0) as usize..(columns.end - x0) as usize;
            for (y, row) in strip.zip(&mut held) {
                let row = &mut row[within.start * FRAMES..within.end * FRAMES];
                if !row.is_empty() {
                    compute((columns.start, y), row);
                }
            }
        }
    }

    /// The last warp.
    fn finish(
        &self,
        simd: Simd,
        from: &Block<'_>,
        lines: Range<i32>,
        targets: &mut [Target<'_>],
        scratch: &mut Scratch,
    ) {
        let node = &self.nodes[self.nodes.len() - 1];
        let width = self.size.w as usize;
        for columns in runs(0..self.size.w as i32) {
            let (x, n) = (columns.start, columns.len());
            for (i, y) in lines.clone().enumerate() {
                let held = (i * width + x as usize, n);
                if node.points.is_empty()
                    && let Some(stage) = warp(node)
                {
                    let at = (x + node.offset.0, y + node.offset.1);
                    stored(simd, targets, held, &mut scratch.frames, |out| {
                        stage.row(simd, from, at, Out::Apart(out));
                    });
                    continue;
                }
                let mut lanes = std::mem::take(&mut scratch.lanes);
                let row = grown(&mut lanes, n * FRAMES);
                warped(simd, node, from, (x, y), scratch, row);
                stored(simd, targets, held, &mut scratch.frames, |out| {
                    abreast::deinterleave(simd, row, out);
                });
                scratch.lanes = lanes;
            }
        }
    }
}

/// A row of a warp and the pointwise stages after it, side by side.
fn warped(
    simd: Simd,
    node: &FusedNode,
    from: &Block<'_>,
    (x, y): (i32, i32),
    scratch: &mut Scratch,
    out: &mut [f32],
) {
    let at = (x + node.offset.0, y + node.offset.1);
    let stage = warp(node).expect("a chain of warps");
    if node.points.is_empty() {
        return stage.row(simd, from, at, Out::Beside(out));
    }
    let row = grown(&mut scratch.even, out.len());
    stage.row(simd, from, at, Out::Beside(row));
    points(simd, node, row, &mut scratch.odd, out);
}

/// Columns whose samples of a few rows stay in the nearest cache: a row of a warp reads some rows of its source, and
/// the next one reads most of them again.
const RUN: i32 = 64;

/// Columns a run at a time, none of them shorter than a register unless all are.
fn runs(columns: Range<i32>) -> impl Iterator<Item = Range<i32>> {
    let mut rest = columns;
    std::iter::from_fn(move || {
        let n = match rest.len() as i32 {
            0 => return None,
            n if n < RUN + 16 => n,
            _ => RUN,
        };
        let run = rest.start..rest.start + n;
        rest.start = run.end;
        Some(run)
    })
}

/// Puts the samples from (x, y) on of each source side by side, each mapped by `tone`; the last source stands for those
/// that are missing.
fn beside(
    simd: Simd,
    sources: &[Source<'_>],
    (x, y): (i32, i32),
    tone: Option<Tone>,
    frames: &mut Vec<f32>,
    to: &mut [f32],
) {
    let n = to.len() / FRAMES;
    let last = sources.len() - 1;
    let mut rows: [&[f32]; FRAMES] = [&[]; FRAMES];
    let lie = rows.iter_mut().enumerate().all(|(frame, row)| {
        let lies = sources[frame.min(last)].row(y, x, n);
        *row = lies.unwrap_or_default();
        lies.is_some()
    });
    if !lie {
        let frames = grown(frames, n * FRAMES);
        for (source, row) in sources.iter().zip(frames.chunks_exact_mut(n)) {
            source.load(simd, y, x, row);
        }
        let frames = &*frames;
        rows = std::array::from_fn(|frame| &frames[frame.min(last) * n..][..n]);
    }
    with_tone!(tone, |point| abreast::interleave(simd, &rows, point, to));
}

/// Has `compute` fill a row of each frame, and stores `n` samples from sample `at` on in every target.
fn stored(
    simd: Simd,
    targets: &mut [Target<'_>],
    (at, n): (usize, usize),
    frames: &mut Vec<f32>,
    compute: impl FnOnce(&mut [&mut [f32]; FRAMES]),
) {
    let frames = grown(frames, n * FRAMES);
    let mut rest = frames.chunks_exact_mut(n);
    let mut held = targets.iter_mut();
    let mut out: [&mut [f32]; FRAMES] =
        std::array::from_fn(|_| match held.next().and_then(Target::values) {
            Some(values) => &mut values[at..at + n],
            None => rest.next().unwrap_or_default(),
        });
    compute(&mut out);
    let codes = targets.iter_mut().filter(|t| t.depth() != Depth::F32);
    for (target, row) in codes.zip(frames.chunks_exact(n)) {
        target.store(simd, at, row);
    }
}

/// Maps `from` through the pointwise stages of a node, at least one, into `to`; `from` is used up.
fn points(simd: Simd, node: &FusedNode, from: &mut [f32], odd: &mut Vec<f32>, to: &mut [f32]) {
    let (last, before) = node.points.split_last().expect("a pointwise stage");
    let odd = grown(odd, from.len());
    for point in before {
        point.point().expect("pointwise").map(simd, from, odd);
        from.copy_from_slice(odd);
    }
    last.point().expect("pointwise").map(simd, from, to);
}
