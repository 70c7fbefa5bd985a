//! The graph of one plane: stages joined into a DAG with one source and one result.

use std::sync::Arc;

use crate::filters::ffmpeg;
use crate::format::Size;
use crate::stage::Stage;

/// The origin of a stage's input or of a graph's result.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Port {
    /// The plane as read.
    Source,
    /// Every sample has this value.
    Constant(f32),
    /// The output of a stage, by index.
    Stage(usize),
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
    /// Size of the result.
    pub size: Size,
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
            Port::Stage(i) => self.nodes[i].size,
            Port::Constant(_) => self.size,
        }
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

    /// Makes the result a constant and drops all stages, which are not read any more.
    pub fn set_constant(&mut self, value: f32) {
        self.nodes.clear();
        self.result = Port::Constant(value);
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
