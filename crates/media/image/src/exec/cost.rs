//! What a frame costs under each structure, predicted from region inference before anything runs.

use evener_runtime::Work;

use super::batched::Batched;
use super::tiled::Tiled;
use crate::format::{Depth, Size};
use crate::graph::plane::{Node, PlaneGraph, Port};

/// Operations of pulling one element through the recursion of `backward`, beyond its arithmetic: for a pointwise stage, in
/// rows, and in lists of scattered elements, which is how a warp pulls. Fitted to the published pipelines.
const PULL: Pull = Pull {
    point: 3.0,
    row: 6.0,
    list: 150.0,
};
/// The same with the test and setting of valid bits.
const PULL_CACHED: Pull = Pull {
    point: 3.0,
    row: 20.0,
    list: 550.0,
};

#[derive(Clone, Copy)]
struct Pull {
    point: f64,
    row: f64,
    list: f64,
}

/// Transfers of a byte of an intermediate plane between memory and workers: it is written and read, and a cache line that is
/// written is fetched first.
const WRITTEN_AND_READ: f64 = 3.0;
/// Operations of passing a sample through a plane between two stages, if the arithmetic on it does not hide them.
const PASSED: f64 = 5.0;
/// Bytes of an intermediate sample.
const SAMPLE: f64 = 4.0;

/// Cost of a batched warp relative to one of a single frame, and operations of transposing a sample both ways between
/// frames and lanes.
const BATCHED_WARP: f64 = 0.45;
const TRANSPOSE: f64 = 7.0;
/// The same for a first warp that reads bits.
const BATCHED_WARP_BITS: f64 = 0.4;
const TRANSPOSE_BITS: f64 = 3.0;

/// Operations of moving a code.
const MOVED: f64 = 0.25;

/// Predicted work on one plane.
#[derive(Clone, Copy, Debug)]
pub struct Predicted {
    pub(super) sequential: Work,
    pub(super) backward: Work,
    pub(super) cached: Work,
    pub(super) store: Work,
    pub(super) tiled: Work,
    pub(super) batched: Work,
}

impl Predicted {
    /// Work on a plane of codes or values of `depth`.
    pub fn of(graph: &PlaneGraph, tiled: &Tiled, batched: Option<&Batched>, depth: Depth) -> Self {
        let ends = (area(graph.source) + area(graph.size)) * depth.bytes() as f64;
        let in_place = |ops: f64| Work {
            ops,
            bytes: ends,
            fresh: 0.0,
        };
        let pulls = multiplicities(graph);
        let stored = pulls
            .iter()
            .map(|(times, _)| times * area(graph.size) * SAMPLE);
        let backward = in_place(pulled(graph, &pulls, PULL, f64::INFINITY));
        let between = intermediate_bytes(graph);
        Predicted {
            sequential: sequential(graph, ends, depth),
            backward,
            cached: Work {
                ops: pulled(graph, &pulls, PULL_CACHED, 1.2),
                bytes: ends + between,
                fresh: between,
            },
            store: Work {
                bytes: ends + stored.sum::<f64>(),
                ..backward
            },
            tiled: in_place(tiled.tile().ops * area(graph.size)),
            batched: Work {
                fresh: batched.map_or(0.0, |batched| batched.intermediate_bytes() as f64),
                ..in_place(batched.map_or(0.0, |batched| operations(batched, area(graph.source))))
            },
        }
    }
}

impl Predicted {
    /// The same, of a graph that only moves codes, into a plane of `size`.
    pub fn moved(mut self, size: Size) -> Self {
        self.tiled.ops = MOVED * area(size);
        self
    }

    /// The same, of a plane that is computed in integers by so many operations under every structure.
    pub fn integer(mut self, ops: f64) -> Self {
        self.tiled.ops = ops;
        Predicted {
            sequential: self.tiled,
            backward: self.tiled,
            cached: self.tiled,
            store: self.tiled,
            ..self
        }
    }
}

fn area(size: Size) -> f64 {
    size.area() as f64
}

/// All stages but the last.
fn intermediate(graph: &PlaneGraph) -> impl Iterator<Item = &Node> {
    graph.nodes.iter().rev().skip(1)
}

/// Bytes of the planes between stages.
fn intermediate_bytes(graph: &PlaneGraph) -> f64 {
    intermediate(graph).map(|n| area(n.size) * SAMPLE).sum()
}

/// A pass per stage; `ends` are the bytes of source and result.
fn sequential(graph: &PlaneGraph, ends: f64, depth: Depth) -> Work {
    let arithmetic = graph.nodes.iter();
    let arithmetic: f64 = arithmetic.map(|n| n.stage.weight() * area(n.size)).sum();
    let passed = intermediate(graph).filter(|n| n.stage.offsets().is_some());
    let passed: f64 = passed.map(|n| area(n.size) * PASSED).sum();
    let load = if depth == Depth::F32 {
        0.0
    } else {
        area(graph.source)
    };
    let planes = intermediate_bytes(graph) + load * SAMPLE;
    Work {
        ops: arithmetic + passed + load,
        bytes: ends + WRITTEN_AND_READ * planes,
        fresh: planes,
    }
}

/// Operations of pulling every output, if an element is computed `at_most` times for each.
fn pulled(graph: &PlaneGraph, pulls: &[(f64, Read)], pull: Pull, at_most: f64) -> f64 {
    let outputs = area(graph.size);
    let stages = graph.nodes.iter().zip(pulls);
    let of = |(node, &(times, read)): (&Node, &(f64, Read))| {
        let taps = taps(node.stage.as_ref());
        let overhead = match read {
            Read::Direct => 0.0,
            Read::Point => pull.point,
            Read::Row => pull.row * taps,
            Read::List => pull.list * taps,
        };
        times.min(at_most) * outputs * (node.stage.weight() + overhead)
    };
    stages.map(of).sum()
}

/// Operations for one frame of a batch, whose source has `source` samples.
fn operations(batched: &Batched, source: f64) -> f64 {
    let (first, between) = match batched.in_bits() {
        true => (BATCHED_WARP_BITS, TRANSPOSE_BITS),
        false => (BATCHED_WARP, TRANSPOSE),
    };
    let each = std::iter::once(first).chain(std::iter::repeat(BATCHED_WARP));
    let warps = batched.passes().skip(1).zip(each);
    let warps = warps
        .map(|((node, need), each)| each * node.weight() * (need.width() * need.height()) as f64);
    warps.sum::<f64>() + between * source
}

fn taps(stage: &dyn crate::stage::Stage) -> f64 {
    stage.reads() as f64
}

/// How a stage pulls its input.
#[derive(Clone, Copy, PartialEq)]
enum Read {
    /// Rows of the source in place.
    Direct,
    /// The run itself, which it maps.
    Point,
    /// Runs of rows.
    Row,
    /// Scattered elements.
    List,
}

/// How often each stage is evaluated per output of the graph when nothing is stored, and how it reads.
fn multiplicities(graph: &PlaneGraph) -> Vec<(f64, Read)> {
    let mut times = vec![0.0; graph.nodes.len()];
    let mut listed = vec![false; graph.nodes.len()];
    if let Port::Stage(last) = graph.result {
        times[last] = 1.0;
    }
    let resamples = |i: usize| graph.nodes[i].stage.offsets().is_none();
    for (i, node) in graph.nodes.iter().enumerate().rev() {
        for port in &node.inputs {
            if let Port::Stage(j) = port {
                times[*j] += times[i] * taps(node.stage.as_ref());
                listed[*j] |= listed[i] || resamples(i);
            }
        }
    }
    let read = |i: usize| {
        let node = &graph.nodes[i];
        if node.stage.point().is_some() {
            Read::Point
        } else if times[i] == 1.0 && node.inputs == [Port::Source] {
            // A warp's rows are cut into short runs.
            if resamples(i) {
                Read::Row
            } else {
                Read::Direct
            }
        } else if listed[i] || resamples(i) {
            Read::List
        } else {
            Read::Row
        }
    };
    (0..times.len()).map(|i| (times[i], read(i))).collect()
}

/// The work of a frame: that of its planes together.
pub fn total(planes: impl Iterator<Item = Work>) -> Work {
    planes.fold(Work::default(), |sum, w| Work {
        ops: sum.ops + w.ops,
        bytes: sum.bytes + w.bytes,
        fresh: sum.fresh + w.fresh,
    })
}
