//! The graph of a plane as the tiled structure runs it: fewer nodes, each doing more while its row is in cache.
//!
//! Pointwise stages are computed in place on the rows of the stage they read, crops become an offset of it,
//! a diamond that has a fused stage becomes that stage. A value that has several readers is left alone.

use std::ops::Range;
use std::sync::Arc;

use crate::filters::tone;
use crate::format::Size;
use crate::geometry::Rect;
use crate::graph::plane::{PlaneGraph, Port};
use crate::stage::Stage;

/// What a fused node computes before its pointwise stages.
#[derive(Clone, Debug)]
pub enum Op {
    /// Copies its input; converts where that is the source plane.
    Copy,
    /// One stage.
    Stage(Arc<dyn Stage>),
}

/// Where a fused node reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// The source plane as it lies in the frame.
    Source,
    /// An earlier node.
    Node(usize),
}

/// A stage with the pointwise stages and the crop that follow it.
#[derive(Clone, Debug)]
pub struct FusedNode {
    /// Computed first.
    pub op: Op,
    /// What it reads; one or two.
    pub inputs: Vec<Input>,
    /// Size of the inputs.
    pub input_size: Size,
    /// Applied in place, in order.
    pub points: Vec<Arc<dyn Stage>>,
    /// Output (x, y) is what `op` gives at (x + dx, y + dy).
    pub offset: (i32, i32),
    /// Size of the output.
    pub size: Size,
    /// Whether a reader takes samples at computed positions, and wants rows one after the other.
    pub scattered: bool,
}

impl FusedNode {
    fn copy(input: Input, size: Size) -> Self {
        FusedNode {
            op: Op::Copy,
            inputs: vec![input],
            input_size: size,
            points: Vec::new(),
            offset: (0, 0),
            size,
            scattered: false,
        }
    }

    /// Adds a pointwise stage, joined with what is before it where that gives the same bits.
    fn follow(&mut self, mut stage: Arc<dyn Stage>) {
        while let Some(joined) = self.points.last().and_then(|p| tone::join(&**p, &*stage)) {
            self.points.pop();
            stage = joined;
        }
        if let (Op::Stage(op), true) = (&self.op, self.points.is_empty())
            && let Some(toned) = op.toned(stage.tone())
        {
            self.op = Op::Stage(toned);
            return;
        }
        self.points.push(stage);
    }

    /// Region inference: the input samples that the outputs in `out` read, all inside the plane.
    pub fn source(&self, out: Rect) -> Rect {
        if out.is_empty() {
            return Rect::default();
        }
        let out = out.shift(self.offset.0, self.offset.1);
        match &self.op {
            Op::Copy => out,
            Op::Stage(stage) => stage.source(out).clamp_to(self.input_size),
        }
    }

    /// The columns of input rows `rows` that the outputs in `out` read, all inside the plane.
    pub fn source_columns(&self, out: Rect, rows: Range<i32>) -> Range<i32> {
        let out = out.shift(self.offset.0, self.offset.1);
        match &self.op {
            Op::Copy => out.x0..out.x1,
            Op::Stage(stage) => {
                let columns = stage.source_columns(out, rows);
                let width = self.input_size.w as i32;
                columns.start.clamp(0, width)..columns.end.clamp(0, width)
            }
        }
    }

    /// Vectorisable operations per output.
    pub fn weight(&self) -> f64 {
        let op = match &self.op {
            Op::Copy => 1.0,
            Op::Stage(stage) => stage.weight(),
        };
        op + self.points.iter().map(|p| p.weight()).sum::<f64>()
    }
}

/// Fuses a graph whose result is not a constant. `values` says that the source holds values,
/// which stages can read where they lie. The last node gives the result.
pub fn fuse(graph: &PlaneGraph, values: bool) -> Vec<FusedNode> {
    let readers = graph.readers();
    let (swallowed, replaced) = diamonds(graph, &readers);
    let mut fused: Vec<FusedNode> = Vec::new();
    let mut place: Vec<Option<usize>> = vec![None; graph.nodes.len()];
    let mut loaded: Option<usize> = None;

    for (i, node) in graph.nodes.iter().enumerate() {
        if swallowed[i] {
            continue;
        }
        let stage = replaced[i].as_ref().map_or(&node.stage, |(s, _)| s);
        let ports: &[Port] = replaced[i].as_ref().map_or(&node.inputs, |(_, p)| p);
        let in_place = stage.point().is_some() || stage.translation().is_some();
        let sole = matches!(ports[0], Port::Stage(j) if readers[j] == 1);
        if in_place {
            let at = match ports[0] {
                Port::Stage(j) if sole => place[j].expect("inputs come first"),
                port => {
                    let input = match port {
                        Port::Stage(j) => Input::Node(place[j].expect("inputs come first")),
                        _ => Input::Source,
                    };
                    fused.push(FusedNode::copy(input, node.input_size));
                    fused.len() - 1
                }
            };
            if let Some((dx, dy)) = stage.translation() {
                fused[at].offset.0 += dx;
                fused[at].offset.1 += dy;
                fused[at].size = node.size;
            } else {
                fused[at].follow(stage.clone());
            }
            place[i] = Some(at);
            continue;
        }
        let mut inputs: Vec<Input> = ports
            .iter()
            .map(|port| match port {
                Port::Stage(j) => Input::Node(place[*j].expect("inputs come first")),
                _ if values => Input::Source,
                _ => Input::Node(*loaded.get_or_insert_with(|| {
                    fused.push(FusedNode::copy(Input::Source, graph.source));
                    fused.len() - 1
                })),
            })
            .collect();
        let mut stage = stage.clone();
        if sole
            && values
            && let Some(toned) = toned_source(&fused, &inputs, &*stage)
        {
            fused.pop();
            (stage, inputs) = (toned, vec![Input::Source]);
        }
        if stage.scattered() {
            for input in &inputs {
                if let Input::Node(j) = input {
                    fused[*j].scattered = true;
                }
            }
        }
        fused.push(FusedNode {
            op: Op::Stage(stage),
            inputs,
            input_size: node.input_size,
            points: Vec::new(),
            offset: (0, 0),
            size: node.size,
            scattered: false,
        });
        place[i] = Some(fused.len() - 1);
    }
    if fused.is_empty() {
        fused.push(FusedNode::copy(Input::Source, graph.source));
    }
    fused
}

/// The stage that reads the source itself, where all that the last node does for it is a tone that it can take in.
fn toned_source(
    fused: &[FusedNode],
    inputs: &[Input],
    stage: &dyn Stage,
) -> Option<Arc<dyn Stage>> {
    let (last, at) = (fused.last()?, fused.len() - 1);
    let tone = match (&last.op, &last.points[..]) {
        (Op::Copy, [point]) if last.inputs == [Input::Source] => point.tone(),
        _ => return None,
    };
    // A crop from the source's corner has no offset, yet hides samples that the stage must not see.
    let whole = last.offset == (0, 0) && last.size == last.input_size;
    (whole && inputs == [Input::Node(at)]).then(|| stage.toned_source(tone))?
}

type Replacement = Option<(Arc<dyn Stage>, Vec<Port>)>;

/// Which stages disappear into another, and what that one becomes.
fn diamonds(graph: &PlaneGraph, readers: &[usize]) -> (Vec<bool>, Vec<Replacement>) {
    let mut swallowed = vec![false; graph.nodes.len()];
    let mut replaced: Vec<Replacement> = vec![None; graph.nodes.len()];
    for (i, node) in graph.nodes.iter().enumerate() {
        let Some(stage) = node.stage.fused() else {
            continue;
        };
        let parents: Option<Vec<usize>> = node
            .inputs
            .iter()
            .map(|port| match port {
                Port::Stage(j) if readers[*j] == 1 => Some(*j),
                _ => None,
            })
            .collect();
        let Some(parents) = parents else { continue };
        let common = &graph.nodes[parents[0]].inputs;
        if parents
            .iter()
            .all(|&j| graph.nodes[j].inputs == *common && common.len() == 1)
        {
            for j in parents {
                swallowed[j] = true;
            }
            replaced[i] = Some((stage, common.clone()));
        }
    }
    (swallowed, replaced)
}
