//! What is known about a session before it runs.

use std::fmt;

use evener_runtime::{Service, Shape, Topology};

use crate::exec::fuse::{FusedNode, Input, Op, fuse};
use crate::exec::moved::Moved;
use crate::exec::tiled::Tiled;
use crate::format::{Chroma, Depth, Format, Timing};
use crate::geometry::Rect;
use crate::graph::plane::{PlaneGraph, Port};
use crate::graph::{Bound, Graph, GraphError, Planes};
use crate::integer::Integer;
use crate::io::{Input as Source, Output};
use crate::structures::TILED;

/// Formats, stages, tiles and what a tile reads; made by [`Session::explain`](super::Session::explain). `Display` is a few
/// lines.
pub struct Explanation<'a> {
    pub(super) stages: Stages<'a>,
    pub(super) input: &'a Source,
    pub(super) output: &'a Output,
}

impl fmt::Display for Explanation<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Explanation {
            stages,
            input,
            output,
        } = self;
        write!(f, "input   {}: {}, ", input.name(), stages.bound.input)?;
        rate(f, input.timing())?;
        if let Some(frames) = input.frames() {
            write!(f, ", {frames} frames")?;
        }
        writeln!(f, "\noutput  {}: {}", output.name(), stages.bound.output)?;
        stages.fmt(f)
    }
}

/// What `graph` does to frames of `format`, in a few lines: formats, stages, tiles and what they read.
///
/// # Errors
/// The graph does not fit the format.
pub fn explain(
    graph: &Graph,
    format: &Format,
    planes: Planes,
    topology: &Topology,
) -> Result<String, GraphError> {
    let bound = graph.bind(format, planes)?;
    let service = graph.serve(&bound, planes, topology);
    let stages = Stages {
        graph,
        bound: &bound,
        shapes: service.shapes(topology.private_cache()),
        private_cache: topology.private_cache(),
    };
    let Bound { input, output, .. } = &bound;
    Ok(format!("input   {input}\noutput  {output}\n{stages}"))
}

/// The stages of a graph on each plane.
pub(super) struct Stages<'a> {
    pub(super) graph: &'a Graph,
    pub(super) bound: &'a Bound,
    pub(super) shapes: Vec<Shape>,
    pub(super) private_cache: usize,
}

impl fmt::Display for Stages<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "graph   {}", self.graph)?;
        for (index, plane) in self.bound.planes.iter().enumerate() {
            // The two chroma planes are alike, and those of red, green and blue.
            let label = match (index, self.bound.input.chroma) {
                (0, Chroma::Rgb) => "each",
                (0, _) => "luma",
                (1, Chroma::C420 | Chroma::C422 | Chroma::C444) => "chroma",
                _ => break,
            };
            write!(f, "\n{label:<7} ")?;
            self.plane(f, plane)?;
        }
        Ok(())
    }
}

impl Stages<'_> {
    /// Rows of a plane in a job of the usual size.
    fn job(&self, graph: &PlaneGraph) -> i32 {
        let tiled = self.shapes.iter().find(|s| *s.structure == TILED);
        tiled.map_or(1, |shape| {
            let items = shape.passes.iter().copied().max().unwrap_or(1);
            (shape.default_grain * graph.size.h / items.max(1)).max(1) as i32
        })
    }

    fn plane(&self, f: &mut fmt::Formatter<'_>, graph: &PlaneGraph) -> fmt::Result {
        match graph.result {
            Port::Constant(value) => return write!(f, "{} of {value} everywhere", graph.size),
            Port::Source | Port::Other(_) => return write!(f, "{} copied", graph.size),
            Port::Stage(_) => {}
        }
        write!(f, "{}", graph.source)?;
        for node in &graph.nodes {
            write!(f, " > {} {}", node.name(), node.size)?;
        }
        let values = self.bound.input.depth == Depth::F32;
        if Moved::new(graph, values).is_some() {
            return f.write_str("\n        samples are moved, without arithmetic");
        }
        if let Some(integer) = Integer::of(graph, self.bound.input.depth) {
            let digits = integer.error;
            return write!(
                f,
                "\n        samples are computed as integers, off by {digits:.2} codes at most before they are rounded"
            );
        }
        let tiled = Tiled::new(fuse(graph, values), graph.size, self.private_cache);
        let summary = TileSummary::of(&tiled, graph, self.job(graph));
        write!(f, "\n        a tile of {} takes ", area(summary.tile))?;
        for (name, rect) in summary.between {
            write!(f, "{} of {name}, ", area(rect))?;
        }
        write!(f, "{} of the input", area(summary.read))?;
        write!(
            f,
            "\n        {} KiB of {} KiB private cache, {:.2}x the operations of sequential",
            tiled.tile().bytes.div_ceil(1024),
            self.private_cache / 1024,
            summary.work
        )
    }
}

fn rate(f: &mut fmt::Formatter<'_>, timing: &Timing) -> fmt::Result {
    match timing.rate.den {
        1 => write!(f, "{} fps", timing.rate.num),
        den => write!(f, "{}/{den} fps", timing.rate.num),
    }
}

fn area(rect: Rect) -> String {
    format!("{}x{}", rect.width(), rect.height())
}

/// A tile in the middle of a plane and what it needs, by region inference.
struct TileSummary {
    tile: Rect,
    /// The regions that fused stages before the last compute for it.
    between: Vec<(String, Rect)>,
    /// The region that is read of the source.
    read: Rect,
    /// Operations relative to those of every stage over its whole plane.
    work: f64,
}

impl TileSummary {
    /// A tile is no higher than `job` rows.
    fn of(tiled: &Tiled, graph: &PlaneGraph, job: i32) -> TileSummary {
        let (nodes, size) = (tiled.nodes(), graph.size);
        let columns = tiled.tile().columns.min(size.w as i32);
        let rows = tiled.tile().rows.min(job);
        let (x0, y0) = ((size.w as i32 - columns) / 2, (size.h as i32 - rows) / 2);
        let tile = Rect {
            x0,
            y0,
            x1: x0 + columns,
            y1: y0 + rows,
        };
        let mut needs = vec![Rect::default(); nodes.len()];
        let mut read = Rect::default();
        if let Some(last) = needs.last_mut() {
            *last = tile;
        }
        for (i, node) in nodes.iter().enumerate().rev() {
            for (k, input) in node.inputs.iter().enumerate() {
                let source = node.source(k, needs[i]);
                match *input {
                    Input::Source | Input::Other(_) => read = read.union(&source),
                    Input::Node(j) => needs[j] = needs[j].union(&source),
                }
            }
        }
        let whole: f64 = nodes
            .iter()
            .map(|n| n.weight() * n.size.area() as f64)
            .sum();
        let before = nodes.len().saturating_sub(1);
        let between = nodes[..before].iter().zip(&needs).rev();
        TileSummary {
            tile,
            between: between
                .filter_map(|(node, rect)| Some((name(node)?, *rect)))
                .collect(),
            read,
            work: tiled.tile().ops * size.area() as f64 / whole,
        }
    }
}

/// What a fused node does, in the names of its stages; `None` for one that only loads.
fn name(node: &FusedNode) -> Option<String> {
    let op = match &node.op {
        Op::Copy => None,
        Op::Stage(stage) => Some(stage.name()),
    };
    let points = node.points.iter().map(|p| p.name());
    let names: Vec<_> = op.into_iter().chain(points).collect();
    (!names.is_empty()).then(|| names.join("+"))
}
