//! Fusion: the graph of a plane with fewer nodes, each of which does more while its row is in cache.
//!
//! Pointwise stages are computed in place on the rows of the stage they read. Crops become an offset of that stage. A
//! diamond becomes one stage if there is one. A stage with several readers stays as it is.

use std::ops::Range;
use std::sync::Arc;

use crate::filters::point_op;
use crate::format::Size;
use crate::geometry::Rect;
use crate::graph::plane::{Node, PlaneGraph, Port};
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
    /// Another plane that is read, by index.
    Other(usize),
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
    /// Whether a reader takes samples at computed positions and so needs contiguous rows.
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

    /// Adds a pointwise stage, joined with the one before it if that gives the same bits.
    fn follow(&mut self, mut stage: Arc<dyn Stage>) {
        while let Some(joined) = self
            .points
            .last()
            .and_then(|p| point_op::join(&**p, &*stage))
        {
            self.points.pop();
            stage = joined;
        }
        if let (Op::Stage(op), true) = (&self.op, self.points.is_empty())
            && let Some(fused) = op.fuse_after(stage.point_op())
        {
            self.op = Op::Stage(fused);
            return;
        }
        self.points.push(stage);
    }

    /// Region inference: the samples of input `input` that the outputs in `out` read, all inside the plane.
    pub fn source(&self, input: usize, out: Rect) -> Rect {
        if out.is_empty() {
            return Rect::default();
        }
        let out = out.shift(self.offset.0, self.offset.1);
        match &self.op {
            Op::Copy => out,
            Op::Stage(stage) => stage
                .piece(input, out)
                .unwrap_or_else(|| stage.source(out).clamp_to(self.input_size)),
        }
    }

    /// The columns of rows `rows` of input `input` that the outputs in `out` read, all inside the plane.
    pub fn source_columns(&self, input: usize, out: Rect, rows: Range<i32>) -> Range<i32> {
        let out = out.shift(self.offset.0, self.offset.1);
        match &self.op {
            Op::Copy => out.x0..out.x1,
            Op::Stage(stage) => {
                if let Some(piece) = stage.piece(input, out) {
                    return piece.x0..piece.x1;
                }
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

/// Fuses a graph whose result is not a constant. With `values` the source holds values, which stages can read in place. The
/// last node gives the result.
pub fn fuse(graph: &PlaneGraph, values: bool) -> Vec<FusedNode> {
    let readers = graph.readers();
    let (absorbed, replaced) = diamonds(graph, &readers);
    let mut fusion = Fusion {
        graph,
        values,
        readers,
        nodes: Vec::new(),
        node_of: vec![None; graph.nodes.len()],
        loaded: vec![None; graph.others.len() + 1],
    };
    for (i, node) in graph.nodes.iter().enumerate() {
        if absorbed[i] {
            continue;
        }
        let (stage, ports) = match &replaced[i] {
            Some((stage, ports)) => (stage, ports),
            None => (&node.stage, &node.inputs),
        };
        let at = match stage.point().is_some() || stage.translation().is_some() {
            true => fusion.append(node, stage, ports[0]),
            false => fusion.push(node, stage.clone(), ports),
        };
        fusion.node_of[i] = Some(at);
    }
    match graph.result {
        Port::Source => _ = fusion.copy(Input::Source, graph.source),
        Port::Other(i) => _ = fusion.copy(Input::Other(i), graph.others[i].size),
        Port::Constant(_) => _ = fusion.copy(Input::Source, graph.source),
        Port::Stage(_) => {}
    }
    fusion.nodes
}

/// A graph that is being fused.
struct Fusion<'a> {
    graph: &'a PlaneGraph,
    values: bool,
    readers: Vec<usize>,
    nodes: Vec<FusedNode>,
    /// The fused node that computes each stage.
    node_of: Vec<Option<usize>>,
    /// The nodes that convert the source and other planes.
    loaded: Vec<Option<usize>>,
}

impl Fusion<'_> {
    fn node_of(&self, stage: usize) -> usize {
        self.node_of[stage].expect("inputs come first")
    }

    /// Whether a port is a stage without another reader.
    fn is_sole(&self, port: Port) -> bool {
        matches!(port, Port::Stage(j) if self.readers[j] == 1)
    }

    /// Adds a node that copies `input`.
    fn copy(&mut self, input: Input, size: Size) -> usize {
        self.nodes.push(FusedNode::copy(input, size));
        self.nodes.len() - 1
    }

    /// Appends a pointwise stage or a crop to the node that it reads, or to a copy of what has other readers.
    fn append(&mut self, node: &Node, stage: &Arc<dyn Stage>, port: Port) -> usize {
        let at = match port {
            Port::Stage(j) if self.is_sole(port) => self.node_of(j),
            Port::Stage(j) => self.copy(Input::Node(self.node_of(j)), node.input_size),
            Port::Other(i) => self.copy(Input::Other(i), node.input_size),
            _ => self.copy(Input::Source, node.input_size),
        };
        let to = &mut self.nodes[at];
        match stage.translation() {
            Some((dx, dy)) => {
                to.offset.0 += dx;
                to.offset.1 += dy;
                to.size = node.size;
            }
            None => to.follow(stage.clone()),
        }
        at
    }

    /// Adds a node for a stage, with the operation before it where the stage can fuse that.
    fn push(&mut self, node: &Node, mut stage: Arc<dyn Stage>, ports: &[Port]) -> usize {
        let mut inputs: Vec<Input> = ports.iter().map(|&port| self.input(port)).collect();
        if self.values
            && self.is_sole(ports[0])
            && let Some(fused) = fuse_before(&self.nodes, &inputs, &*stage)
        {
            self.nodes.pop();
            (stage, inputs) = (fused, vec![Input::Source]);
        }
        if stage.scattered() {
            for input in &inputs {
                if let Input::Node(j) = input {
                    self.nodes[*j].scattered = true;
                }
            }
        }
        self.nodes.push(FusedNode {
            op: Op::Stage(stage),
            inputs,
            input_size: node.input_size,
            points: Vec::new(),
            offset: (0, 0),
            size: node.size,
            scattered: false,
        });
        self.nodes.len() - 1
    }

    /// Where a stage reads what a port gives; codes of the source are converted once.
    fn input(&mut self, port: Port) -> Input {
        match port {
            Port::Stage(j) => Input::Node(self.node_of(j)),
            Port::Other(i) => self.loaded(i + 1, Input::Other(i), self.graph.others[i].size),
            _ => self.loaded(0, Input::Source, self.graph.source),
        }
    }
}

impl Fusion<'_> {
    /// Where a stage reads a plane: in place if it holds values, otherwise from the node that converts it.
    fn loaded(&mut self, slot: usize, input: Input, size: Size) -> Input {
        if self.values {
            return input;
        }
        let at = match self.loaded[slot] {
            Some(at) => at,
            None => self.copy(input, size),
        };
        self.loaded[slot] = Some(at);
        Input::Node(at)
    }
}

/// The stage that reads the source itself, if all that the last node does for it is an operation that it can fuse.
fn fuse_before(fused: &[FusedNode], inputs: &[Input], stage: &dyn Stage) -> Option<Arc<dyn Stage>> {
    let (last, at) = (fused.last()?, fused.len() - 1);
    let op = match (&last.op, &last.points[..]) {
        (Op::Copy, [point]) if last.inputs == [Input::Source] => point.point_op(),
        _ => return None,
    };
    // A crop at the source's corner has no offset, but it hides samples that the stage must not read.
    let whole = last.offset == (0, 0) && last.size == last.input_size;
    (whole && inputs == [Input::Node(at)]).then(|| stage.fuse_before(op))?
}

/// The stage that takes the place of a diamond, and what it reads.
pub(crate) type Replacement = Option<(Arc<dyn Stage>, Vec<Port>)>;

/// Which stages another one absorbs, and what that one becomes.
pub(crate) fn diamonds(graph: &PlaneGraph, readers: &[usize]) -> (Vec<bool>, Vec<Replacement>) {
    let mut absorbed = vec![false; graph.nodes.len()];
    let mut replaced: Vec<Replacement> = vec![None; graph.nodes.len()];
    for (i, node) in graph.nodes.iter().enumerate() {
        let Some(stage) = node.stage.fuse_inputs() else {
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
                absorbed[j] = true;
            }
            replaced[i] = Some((stage, common.clone()));
        }
    }
    (absorbed, replaced)
}
