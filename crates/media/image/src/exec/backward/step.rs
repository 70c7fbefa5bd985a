//! Stages prepared for pulling.

use std::sync::Arc;

use crate::format::Size;
use crate::graph::plane::{Node, Port};
use crate::stage::{Point, Resample, Stage};

/// How a stage pulls its inputs.
#[derive(Debug, PartialEq)]
pub(super) enum Kind {
    /// The same run, mapped in place.
    Point,
    /// One run, moved.
    Shift(i32, i32),
    /// A moved run for each offset.
    Stencil(Vec<(i32, i32)>),
    /// Four lists of computed positions.
    Resample,
    /// Its taps, output by output.
    Taps,
}

/// A stage and how it pulls.
#[derive(Debug)]
pub(super) struct Step {
    pub stage: Arc<dyn Stage>,
    pub inputs: Vec<Port>,
    pub input_size: Size,
    pub size: Size,
    pub kind: Kind,
}

impl Step {
    pub fn new(node: &Node) -> Self {
        let stage = &node.stage;
        let kind = if stage.point().is_some() {
            Kind::Point
        } else if let Some((dx, dy)) = stage.translation() {
            Kind::Shift(dx, dy)
        } else if let Some(offsets) = stage.offsets() {
            Kind::Stencil(offsets)
        } else if stage.resample().is_some() {
            Kind::Resample
        } else {
            Kind::Taps
        };
        Step {
            stage: Arc::clone(stage),
            inputs: node.inputs.clone(),
            input_size: node.input_size,
            size: node.size,
            kind,
        }
    }

    /// Whether every input is the source.
    pub fn reads_source(&self) -> bool {
        self.inputs.iter().all(|&port| port == Port::Source)
    }

    /// Whether a run of outputs pulls no more than one run of another stage.
    pub fn reads_once(&self) -> bool {
        matches!(self.kind, Kind::Point | Kind::Shift(..)) || self.reads_source()
    }

    /// The stage as a pointwise one; [`Kind::Point`] says that it is.
    pub fn point(&self) -> &dyn Point {
        self.stage
            .point()
            .expect("a stage stays what it was when it was prepared")
    }

    /// The stage as a resampling one; [`Kind::Resample`] says that it is.
    pub fn resample(&self) -> &dyn Resample {
        self.stage
            .resample()
            .expect("a stage stays what it was when it was prepared")
    }
}
