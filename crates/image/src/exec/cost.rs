//! What a frame costs under each structure, predicted from region inference before anything runs.

use evener_runtime::{Structure, Work};

use super::tiled::Tiled;
use crate::format::{Depth, Size};
use crate::graph::plane::{PlaneGraph, Port};

/// Operations of pulling one element through the recursion of `backward`, beyond its arithmetic.
const PULL: f64 = 6.0;
/// The same with the test and setting of a valid bit.
const PULL_CACHED: f64 = 14.0;
/// Bytes of an intermediate sample.
const SAMPLE: f64 = 4.0;

/// Predicted work on one plane.
#[derive(Clone, Copy, Debug)]
pub struct Predicted {
    sequential: Work,
    backward: Work,
    cached: Work,
    store: Work,
    tiled: Work,
}

impl Predicted {
    /// Work on a plane of codes or values of `depth`.
    pub fn of(graph: &PlaneGraph, tiled: &Tiled, depth: Depth) -> Self {
        let area = |size: Size| size.area() as f64;
        let ends = (area(graph.source) + area(graph.size)) * depth.bytes() as f64;
        let arithmetic: f64 = graph
            .nodes
            .iter()
            .map(|n| n.stage.weight() * area(n.size))
            .sum();
        let between: f64 = graph
            .nodes
            .iter()
            .rev()
            .skip(1)
            .map(|n| area(n.size) * SAMPLE)
            .sum();
        let load = if depth == Depth::F32 {
            0.0
        } else {
            area(graph.source)
        };

        let pulls = multiplicities(graph);
        let pulled = |overhead: f64, at_most: f64| -> f64 {
            let outputs = area(graph.size);
            graph
                .nodes
                .iter()
                .zip(&pulls)
                .map(|(n, &(times, direct))| {
                    let overhead = if direct {
                        0.0
                    } else {
                        overhead * taps(n.stage.as_ref())
                    };
                    times.min(at_most) * outputs * (n.stage.weight() + overhead)
                })
                .sum()
        };
        let stored: f64 = pulls
            .iter()
            .map(|(times, _)| times * area(graph.size) * SAMPLE)
            .sum();
        let backward = Work {
            ops: pulled(PULL, f64::INFINITY),
            bytes: ends,
        };
        Predicted {
            sequential: Work {
                ops: arithmetic + load,
                bytes: ends + 2.0 * between + 2.0 * load * SAMPLE,
            },
            backward,
            cached: Work {
                ops: pulled(PULL_CACHED, 1.2),
                bytes: ends + between,
            },
            store: Work {
                ops: backward.ops,
                bytes: ends + stored,
            },
            tiled: Work {
                ops: tiled.tile().ops * area(graph.size),
                bytes: ends,
            },
        }
    }
}

fn taps(stage: &dyn crate::stage::Stage) -> f64 {
    stage.offsets().map_or(4.0, |o| o.len() as f64)
}

/// How often each stage is evaluated per output of the graph when nothing is stored,
/// and whether the stage reads the source itself, row by row.
fn multiplicities(graph: &PlaneGraph) -> Vec<(f64, bool)> {
    let mut times = vec![0.0; graph.nodes.len()];
    if let Port::Stage(last) = graph.result {
        times[last] = 1.0;
    }
    for (i, node) in graph.nodes.iter().enumerate().rev() {
        for port in &node.inputs {
            if let Port::Stage(j) = port {
                times[*j] += times[i] * taps(node.stage.as_ref());
            }
        }
    }
    let direct = |i: usize| {
        let node = &graph.nodes[i];
        node.stage.point().is_some() || (times[i] == 1.0 && node.inputs == [Port::Source])
    };
    (0..times.len()).map(|i| (times[i], direct(i))).collect()
}

/// The work of a frame: that of its planes together.
pub fn total(planes: &[Predicted], structure: Structure) -> Work {
    let of = |p: &Predicted| match structure {
        Structure::Sequential => p.sequential,
        Structure::Backward => p.backward,
        Structure::BackwardCached => p.cached,
        Structure::BackwardStore => p.store,
        Structure::Tiled | Structure::Farm | Structure::Pipeline => p.tiled,
    };
    planes.iter().map(of).fold(Work::default(), |sum, w| Work {
        ops: sum.ops + w.ops,
        bytes: sum.bytes + w.bytes,
    })
}
