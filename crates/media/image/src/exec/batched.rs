//! The structure `batched`: a batch of frames at once, their samples interleaved in the lanes of registers.
//!
//! A warp spends most of its time fetching samples, and their positions are the same in every frame. The first pass
//! interleaves the frames, each warp is a pass over the whole plane, and the last one writes planes of single frames. Rows
//! are written from end to end, since hardware that fetches lines ahead of writes needs long rows of each frame.
//!
//! Only chains of warps with pointwise stages and crops between them run so; other stages gain nothing by it. The planes of
//! a batch have to stay in the outer cache: fetching them from memory takes longer than a warp of one frame. If a step makes
//! samples 0 and 1 before the first warp, planes take a bit a sample, and large frames fit, too.

use std::ops::Range;
use std::sync::OnceLock;

use evener_runtime::Simd;
use evener_runtime::buffer::{Rows, Sample};

use super::access::{Source, Target};
use super::fuse::{FusedNode, Input, Op};
use super::regions::{columns_read, infer_regions};
use crate::filters;
use crate::format::Size;
use crate::geometry::Rect;
use crate::kernels::bilinear::batched::{Block, Out, Samples};
use crate::kernels::pointwise::{self, PointOp, Same, with_point_op};
use crate::kernels::{BATCH, STRIP, interleaved};
use crate::stage::{self, grown};

/// Private memory of one worker.
#[derive(Default)]
pub struct Scratch {
    /// Interleaved rows: one of the result, and two between pointwise stages.
    lanes: Vec<f32>,
    even: Vec<f32>,
    odd: Vec<f32>,
    /// A row of each frame.
    frames: Vec<f32>,
}

/// The executor of one plane of several frames.
pub struct Batched {
    nodes: Vec<FusedNode>,
    size: Size,
    /// The region that is read of each node's output.
    needs: Vec<Rect>,
    /// That region, interleaved, of each node but the last.
    blocks: OnceLock<Vec<Interleaved>>,
}

/// An interleaved plane.
enum Interleaved {
    Values(Rows<f32>),
    /// A bit a sample, which says whether it is above the step; a byte has those of all frames.
    Bits(f32, Rows<u8>),
}

/// The node's stage, if it can run batched.
fn warp(node: &FusedNode) -> Option<&dyn stage::Batched> {
    match &node.op {
        Op::Stage(stage) => stage.batched(),
        Op::Copy => None,
    }
}

/// The pointwise operation that is all a node does to a sample, `Some(None)` where it does nothing.
fn sole_op(node: &FusedNode) -> Option<Option<PointOp>> {
    match &node.points[..] {
        [] => Some(None),
        [point] if pointwise::has_kernel(point.point_op()) => Some(Some(point.point_op())),
        _ => None,
    }
}

/// The step of a node whose samples are interleaved as bits.
fn step(node: &FusedNode) -> Option<f32> {
    match (&node.op, sole_op(node)) {
        (Op::Copy, Some(Some(PointOp::Step(t)))) => Some(t),
        _ => None,
    }
}

/// Samples of a frame from one row of a node's plane to the next: an odd number of cache lines or of pairs of them, so that
/// the rows that a warp reads at once do not compete for the same cache sets.
fn stride(node: &FusedNode, need: &Rect) -> usize {
    match step(node) {
        Some(_) => need.width().next_multiple_of(128) + 64,
        None => need.width().next_multiple_of(8) + 4,
    }
}

/// Bytes of a sample of all frames in a node's plane.
fn bytes(node: &FusedNode) -> usize {
    match step(node) {
        Some(_) => 1,
        None => BATCH * size_of::<f32>(),
    }
}

/// The step that can replace the threshold of the node that loads the source. There is one if all that counts after the warp
/// is whether an output is above 0. Samples take a bit each then.
fn step_in_place(loads: &FusedNode, warps: &FusedNode, need: Rect, simd: Simd) -> Option<f32> {
    let op = sole_op(loads)??;
    let PointOp::Above(t) = op else { return None };
    let out = need.shift(warps.offset.0, warps.offset.1);
    warp(warps)?.accepts_step(simd, op, out).then_some(t)
}

impl Batched {
    /// An executor for `nodes`, the first of which loads the source, if all that follow are warps in a chain.
    pub fn new(mut nodes: Vec<FusedNode>, size: Size, simd: Simd) -> Option<Self> {
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
        infer_regions(&nodes, Rect::of(size), &mut needs);
        if let Some(t) = step_in_place(&nodes[0], &nodes[1], needs[1], simd) {
            nodes[0].points = vec![filters::point_op::step(t)];
        }
        Some(Batched {
            nodes,
            size,
            needs,
            blocks: OnceLock::new(),
        })
    }

    /// The node that each pass computes, and the region of its output.
    pub fn passes(&self) -> impl Iterator<Item = (&FusedNode, Rect)> {
        self.nodes.iter().zip(self.needs.iter().copied())
    }

    /// Whether the first pass interleaves bits.
    pub fn in_bits(&self) -> bool {
        step(&self.nodes[0]).is_some()
    }

    /// Bytes of the planes between passes.
    pub fn intermediate_bytes(&self) -> usize {
        let bytes = |(node, need)| stride(node, need) * need.height() * bytes(node);
        self.intermediate_passes().map(bytes).sum()
    }

    /// All passes but the last.
    fn intermediate_passes(&self) -> impl Iterator<Item = (&FusedNode, &Rect)> {
        self.nodes
            .iter()
            .zip(&self.needs)
            .take(self.nodes.len() - 1)
    }

    /// Makes the planes between passes.
    pub fn prepare(&self) {
        self.blocks();
    }

    fn blocks(&self) -> &[Interleaved] {
        self.blocks.get_or_init(|| {
            let block = |(node, need): (&FusedNode, &Rect)| {
                let (width, height) = (stride(node, need), need.height());
                match step(node) {
                    Some(step) => Interleaved::Bits(step, Rows::zeroed(width, height)),
                    None => Interleaved::Values(Rows::zeroed(width * BATCH, height)),
                }
            };
            self.intermediate_passes().map(block).collect()
        })
    }

    /// Whether pass `pass` writes the result.
    pub fn is_last(&self, pass: usize) -> bool {
        pass + 1 >= self.nodes.len()
    }

    /// Computes `rows` of what pass `pass` gives, of one to [`BATCH`] frames. There are `sources` in the first pass
    /// and `targets` in the last, each of which holds those rows.
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
        let (node, need) = (&self.nodes[pass - 1], self.needs[pass - 1]);
        let (values, bits);
        let samples = match &self.blocks()[pass - 1] {
            Interleaved::Values(rows) => {
                values = rows.read();
                Samples::Values(&values)
            }
            Interleaved::Bits(_, rows) => {
                bits = rows.read();
                Samples::Bits(&bits)
            }
        };
        let from = Block::new(samples, stride(node, &need), need);
        if self.is_last(pass) {
            self.finish(simd, &from, lines, targets, scratch);
        } else {
            self.warp(simd, pass, &from, rows, lines, scratch);
        }
    }

    /// Interleaves the sources.
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
        let block = match &self.blocks()[0] {
            Interleaved::Values(block) => block,
            Interleaved::Bits(step, block) => {
                return self.each((0, block, 1), rows, lines, |(x, y), out| {
                    let from = source_rows(simd, sources, (x + dx, y + dy), out.len(), frames);
                    interleaved::interleave_bits(simd, &from, *step, out);
                });
            }
        };
        self.each((0, block, BATCH), rows, lines, |(x, y), out| {
            let from = (x + dx, y + dy);
            let from = source_rows(simd, sources, from, out.len() / BATCH, frames);
            if let Some(op) = sole_op(node) {
                return with_point_op!(op, |point| interleaved::interleave(
                    simd, &from, point, out
                ));
            }
            let row = grown(even, out.len());
            interleaved::interleave(simd, &from, Same, row);
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
        let Interleaved::Values(block) = &self.blocks()[pass] else {
            unreachable!("a warp gives values");
        };
        self.each((pass, block, BATCH), rows, lines, |at, out| {
            warped(simd, node, from, at, scratch, out);
        });
    }

    /// Calls `compute` for each row of `rows` of a pass's block, with the position of its first sample that is read and with
    /// its memory from there on. The rows are `lines` of the plane. The block has `lanes` elements for a sample of all frames.
    fn each<T: Sample>(
        &self,
        (pass, block, lanes): (usize, &Rows<T>, usize),
        rows: Range<usize>,
        lines: Range<i32>,
        mut compute: impl FnMut((i32, i32), &mut [T]),
    ) {
        let mut held = block.write(rows);
        let mut held = held.chunks_exact_mut(block.width());
        let x0 = self.needs[pass].x0;
        for first in lines.clone().step_by(STRIP) {
            let strip = first..lines.end.min(first + STRIP as i32);
            let columns = columns_read(&self.nodes, pass, &self.needs, strip.clone());
            let within = (columns.start - x0) as usize..(columns.end - x0) as usize;
            for (y, row) in strip.zip(&mut held) {
                let row = &mut row[within.start * lanes..within.end * lanes];
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
        for (i, y) in lines.enumerate() {
            let held = (i * width, width);
            if node.points.is_empty()
                && let Some(stage) = warp(node)
            {
                let at = (node.offset.0, y + node.offset.1);
                store_rows(simd, targets, held, &mut scratch.frames, |out| {
                    stage.row(simd, from, at, Out::Planar(out));
                });
                continue;
            }
            let mut lanes = std::mem::take(&mut scratch.lanes);
            let row = grown(&mut lanes, width * BATCH);
            warped(simd, node, from, (0, y), scratch, row);
            store_rows(simd, targets, held, &mut scratch.frames, |out| {
                interleaved::deinterleave(simd, row, out);
            });
            scratch.lanes = lanes;
        }
    }
}

/// An interleaved row of a warp and the pointwise stages after it.
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
        return stage.row(simd, from, at, Out::Interleaved(out));
    }
    let row = grown(&mut scratch.even, out.len());
    stage.row(simd, from, at, Out::Interleaved(row));
    points(simd, node, row, &mut scratch.odd, out);
}

/// `n` samples from (x, y) on of each source. The last source stands in for missing ones.
fn source_rows<'a>(
    simd: Simd,
    sources: &'a [Source<'_>],
    (x, y): (i32, i32),
    n: usize,
    frames: &'a mut Vec<f32>,
) -> [&'a [f32]; BATCH] {
    let last = sources.len() - 1;
    let mut rows: [&[f32]; BATCH] = [&[]; BATCH];
    let lie = rows.iter_mut().enumerate().all(|(frame, row)| {
        let lies = sources[frame.min(last)].row(y, x, n);
        *row = lies.unwrap_or_default();
        lies.is_some()
    });
    if lie {
        return rows;
    }
    let frames = grown(frames, n * BATCH);
    for (source, row) in sources.iter().zip(frames.chunks_exact_mut(n)) {
        source.load(simd, y, x, row);
    }
    let frames = &*frames;
    std::array::from_fn(|frame| &frames[frame.min(last) * n..][..n])
}

/// Calls `compute` to fill a row of each frame, and stores its `n` samples from sample `at` on in every target.
fn store_rows(
    simd: Simd,
    targets: &mut [Target<'_>],
    (at, n): (usize, usize),
    frames: &mut Vec<f32>,
    compute: impl FnOnce(&mut [&mut [f32]; BATCH]),
) {
    let frames = grown(frames, n * BATCH);
    let mut rest = frames.chunks_exact_mut(n);
    let mut held = targets.iter_mut();
    let mut out: [&mut [f32]; BATCH] =
        std::array::from_fn(|_| match held.next().and_then(Target::values) {
            Some(values) => &mut values[at..at + n],
            None => rest.next().unwrap_or_default(),
        });
    compute(&mut out);
    let mut rows = frames.chunks_exact(n);
    for target in targets {
        if target.values().is_none()
            && let Some(row) = rows.next()
        {
            target.store(simd, at, row);
        }
    }
}

/// Maps `from` through the pointwise stages of a node, at least one, into `to`. The content of `from` is lost.
fn points(simd: Simd, node: &FusedNode, from: &mut [f32], odd: &mut Vec<f32>, to: &mut [f32]) {
    let (last, before) = node.points.split_last().expect("a pointwise stage");
    let odd = grown(odd, from.len());
    for point in before {
        point.point().expect("pointwise").map(simd, from, odd);
        from.copy_from_slice(odd);
    }
    last.point().expect("pointwise").map(simd, from, to);
}
