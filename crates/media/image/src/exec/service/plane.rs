//! What runs one plane of frames.

use std::ops::Range;
use std::sync::OnceLock;

use evener_runtime::Simd;

use crate::exec::access::{Source, Target};
use crate::exec::backward::{Backward, Cache};
use crate::exec::batched::Batched;
use crate::exec::cost::Predicted;
use crate::exec::fuse::fuse;
use crate::exec::integer::{self, Filtered};
use crate::exec::moved::Moved;
use crate::exec::sequential::{self, Sequential};
use crate::exec::tiled::{self, Tiled};
use crate::format::Depth;
use crate::frame::{Frame, Samples};
use crate::graph::plane::{PlaneGraph, Port};
use crate::kernels::convert::Scale;

/// The executors of one plane. Those of a single structure are made when it first runs.
pub(crate) struct Plane {
    pub(super) graph: PlaneGraph,
    /// The scales of codes in the plane that is read and in others, and of those that are written.
    scales: (Vec<Scale>, Scale),
    /// Whether frames that are read have values instead of codes.
    values: bool,
    /// Heights of the passes of `sequential`.
    pub(super) heights: Vec<u32>,
    pub(super) tiled: Tiled,
    /// In place of `tiled`, where samples are only moved.
    moved: Option<Moved>,
    /// In place of every executor, where samples are computed in integers.
    filtered: Option<Filtered>,
    /// `None` if the graph cannot run so.
    pub(super) batched: Option<Batched>,
    sequential: OnceLock<Sequential>,
    backward: OnceLock<Backward>,
    cache: OnceLock<Cache>,
}

impl Plane {
    pub(super) fn new(
        graph: &PlaneGraph,
        scales: (Vec<Scale>, Scale),
        depth: Depth,
        private_cache: usize,
        simd: Simd,
    ) -> Plane {
        let values = depth == Depth::F32;
        let filtered = Filtered::new(graph, depth);
        let float = filtered.is_none();
        let batched = float.then(|| Batched::new(fuse(graph, false), graph.size, simd));
        Plane {
            graph: graph.clone(),
            scales,
            values,
            heights: match float {
                true => sequential::passes(graph, values),
                false => vec![graph.size.h],
            },
            tiled: Tiled::new(fuse(graph, values), graph.size, private_cache),
            moved: Moved::new(graph, values),
            filtered,
            batched: batched.flatten(),
            sequential: OnceLock::new(),
            backward: OnceLock::new(),
            cache: OnceLock::new(),
        }
    }

    /// The value of every sample of the result, if it is known beforehand.
    pub(super) fn constant(&self) -> Option<f32> {
        match self.graph.result {
            Port::Constant(value) => Some(value),
            Port::Source | Port::Other(_) | Port::Stage(_) => None,
        }
    }

    pub(super) fn source<'a>(&self, samples: &'a Samples) -> Source<'a> {
        Source::new(samples, self.graph.source, self.scales.0[0])
    }

    /// The plane of the graph, which is `index` of the first frame, and the others that it reads.
    pub(super) fn sources<'a>(&self, frames: &[&'a Frame], index: usize) -> Vec<Source<'a>> {
        let own = index.min(frames[0].format().planes() - 1);
        let others = self.graph.others.iter().zip(&self.scales.0[1..]);
        let others = others.map(|(other, &scale)| {
            Source::new(frames[other.frame].plane(other.plane), other.size, scale)
        });
        std::iter::once(self.source(frames[0].plane(own)))
            .chain(others)
            .collect()
    }

    pub(super) fn target<'a>(&self, samples: &'a Samples, rows: Range<usize>) -> Target<'a> {
        Target::new(samples, rows, self.scales.1)
    }

    /// Computes output rows `rows` in integers, under every structure; false if that is not how they are computed.
    pub(super) fn integer_rows(
        &self,
        simd: Simd,
        source: &Source<'_>,
        rows: &Range<usize>,
        target: &mut Target<'_>,
        scratch: &mut integer::Scratch,
    ) -> bool {
        if let Some(filtered) = &self.filtered {
            filtered.rows(simd, source, rows.clone(), target, scratch);
        }
        self.filtered.is_some()
    }

    /// Whether rows are computed in integers.
    pub(super) fn in_integers(&self) -> bool {
        self.filtered.is_some()
    }

    /// Computes output rows `rows`, as `tiled` does where they are not computed in integers.
    pub(super) fn rows(
        &self,
        simd: Simd,
        sources: &[Source<'_>],
        rows: Range<usize>,
        target: &mut Target<'_>,
        scratch: &mut tiled::Scratch,
    ) {
        match &self.moved {
            Some(moved) => moved.rows(simd, &sources[0], rows, target),
            None => self.tiled.rows(simd, sources, rows, target, scratch),
        }
    }

    /// What it is predicted to cost.
    pub(super) fn predicted(&self, depth: Depth) -> Predicted {
        let computed = Predicted::of(&self.graph, &self.tiled, self.batched.as_ref(), depth);
        match (&self.filtered, &self.moved) {
            (Some(filtered), _) => computed.integer(filtered.operations()),
            (None, Some(_)) => computed.moved(self.graph.size),
            (None, None) => computed,
        }
    }

    pub(super) fn sequential(&self) -> &Sequential {
        self.sequential
            .get_or_init(|| Sequential::new(&self.graph, self.values))
    }

    pub(super) fn backward(&self) -> &Backward {
        self.backward.get_or_init(|| Backward::new(&self.graph))
    }

    pub(super) fn cache(&self) -> &Cache {
        self.cache.get_or_init(|| Cache::new(&self.graph))
    }
}

/// The rows of items `items` of `count` in a plane of `height`.
pub(super) fn share(items: &Range<u32>, count: u32, height: u32) -> Range<usize> {
    let at = |i: u32| (u64::from(i) * u64::from(height) / u64::from(count)) as usize;
    at(items.start)..at(items.end)
}
