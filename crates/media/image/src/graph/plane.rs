//! The graph of one plane: stages joined into a DAG with one source and one result.

use std::sync::Arc;

use crate::filters::{constant, ffmpeg};
use crate::format::Size;
use crate::geometry::Rect;
use crate::stage::Stage;

/// The origin of a stage's input or of a graph's result.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Port {
    /// The plane as read.
    Source,
    /// Another plane that is read, by index.
    Other(usize),
    /// Every sample has this value.
    Constant(f32),
    /// The output of a stage, by index.
    Stage(usize),
}

/// A plane of a frame, which a graph reads besides its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OtherPlane {
    /// The frame, of those of a unit.
    pub frame: usize,
    /// Its plane.
    pub plane: usize,
    /// Its size.
    pub size: Size,
}

/// A stage and what it reads.
#[derive(Clone, Debug)]
pub struct Node {
    /// The filter that it is a part of, by the name that was given; empty outside of a text.
    pub filter: &'static str,
    /// The kernel.
    pub stage: Arc<dyn Stage>,
    /// One port for each input; earlier stages only, never a constant.
    pub inputs: Vec<Port>,
    /// Size of its inputs.
    pub input_size: Size,
    /// Size of its output.
    pub size: Size,
}

/// The DAG of a plane. Nodes are in topological order, the last one being the result where there is any.
#[derive(Clone, Debug)]
pub struct PlaneGraph {
    /// Size of the plane as read.
    pub source: Size,
    /// Other planes that are read: of other frames of a unit, or of the same frame.
    pub others: Vec<OtherPlane>,
    /// Size of the result.
    pub size: Size,
    /// Whether codes of the result mean something else than those of the source.
    pub recodes: bool,
    /// Stages, each after those it reads.
    pub nodes: Vec<Node>,
    /// What is written: the last stage, the source itself, or a constant.
    pub result: Port,
    /// The filter that stages are added of.
    pub(super) filter: &'static str,
}

impl Node {
    /// What it is called in messages: FFmpeg's name of the filter where that was given, otherwise the name of the stage.
    pub fn name(&self) -> &'static str {
        let mut names = ffmpeg::NAMES.iter().map(|entry| entry.name);
        match names.any(|name| name == self.filter) {
            true => self.filter,
            false => self.stage.name(),
        }
    }
}

impl PlaneGraph {
    /// The graph that gives its source.
    pub fn new(source: Size) -> Self {
        PlaneGraph {
            source,
            others: Vec::new(),
            recodes: false,
            size: source,
            nodes: Vec::new(),
            result: Port::Source,
            filter: "",
        }
    }

    /// Size of what a port gives.
    pub fn size_of(&self, port: Port) -> Size {
        match port {
            Port::Source => self.source,
            Port::Other(i) => self.others[i].size,
            Port::Stage(i) => self.nodes[i].size,
            Port::Constant(_) => self.size,
        }
    }

    /// The port of another plane.
    pub fn other(&mut self, other: OtherPlane) -> Port {
        let known = self.others.iter().position(|known| *known == other);
        Port::Other(known.unwrap_or_else(|| {
            self.others.push(other);
            self.others.len() - 1
        }))
    }

    /// Whether all is computed from one plane of one frame, by stages whose inputs have one size.
    pub fn is_of_one_plane(&self) -> bool {
        let pieces = |node: &Node| node.stage.piece(0, Rect::of(node.size)).is_some();
        self.others.is_empty() && !self.nodes.iter().any(pieces)
    }

    /// Adds a stage reading `inputs` (all of one size) and makes it the result.
    pub fn push(&mut self, stage: Arc<dyn Stage>, inputs: &[Port], size: Size) -> Port {
        let input_size = self.size_of(inputs[0]);
        self.nodes.push(Node {
            filter: self.filter,
            stage,
            inputs: inputs.to_vec(),
            input_size,
            size,
        });
        self.size = size;
        self.result = Port::Stage(self.nodes.len() - 1);
        self.result
    }

    /// A stage that gives `value` everywhere.
    pub fn constant(&mut self, value: f32, size: Size) -> Port {
        self.push(constant::stage(value), &[Port::Source], size)
    }

    /// Ends the graph: `result` is what it gives. Stages that nothing reads are dropped.
    pub fn end(&mut self, result: Port, size: Size) {
        let mut read = vec![false; self.nodes.len()];
        if let Port::Stage(last) = result {
            read[last] = true;
        }
        for at in (0..self.nodes.len()).rev() {
            if read[at] {
                for port in &self.nodes[at].inputs {
                    if let Port::Stage(earlier) = port {
                        read[*earlier] = true;
                    }
                }
            }
        }
        let mut places = vec![0; self.nodes.len()];
        let mut kept = 0;
        for (place, read) in places.iter_mut().zip(&read) {
            *place = kept;
            kept += usize::from(*read);
        }
        let moved = |port: Port| match port {
            Port::Stage(at) => Port::Stage(places[at]),
            port => port,
        };
        let mut reads = read.iter();
        self.nodes.retain(|_| *reads.next().unwrap_or(&false));
        for node in &mut self.nodes {
            node.inputs.iter_mut().for_each(|port| *port = moved(*port));
        }
        (self.result, self.size) = (moved(result), size);
    }

    /// The number of readers of each stage; the result counts as one.
    pub fn readers(&self) -> Vec<usize> {
        let mut readers = vec![0; self.nodes.len()];
        let ports = self
            .nodes
            .iter()
            .flat_map(|n| &n.inputs)
            .chain([&self.result]);
        for port in ports {
            if let Port::Stage(i) = port {
                readers[*i] += 1;
            }
        }
        readers
    }
}
