//! Units of graphs in which a frame is made of several, or each in another way.

use std::collections::HashMap;
use std::sync::Arc;

use evener_runtime::stream::Source;
use evener_runtime::{Part, Service, Shape, Simd, Structure, Topology};

use super::select::Chosen;
use crate::chosen;
use crate::exec::service::Scratch;
use crate::exec::service::executor::Frames;
use crate::exec::service::prepared::Prepared;
use crate::format::{Format, Video};
use crate::frame::Frame;
use crate::graph::{Bound, Graph, GraphError, Planes};
use crate::io::Error;
use crate::sequence::Picture;
use crate::sequence::flow::Flow;

/// Most recipes that are kept prepared.
const KEPT: usize = 64;

/// The frames of a unit, and what makes the result of them.
#[derive(Default)]
pub(super) struct Unit {
    frames: Vec<Arc<Frame>>,
    prepared: Option<Arc<Prepared>>,
}

/// Prepares recipes, each once.
pub(super) struct Recipes {
    graph: Graph,
    inputs: Vec<Video>,
    planes: Planes,
    private_cache: usize,
    simd: Simd,
    known: HashMap<Vec<u64>, Arc<Prepared>>,
}

impl Recipes {
    pub fn new(graph: &Graph, inputs: &[Video], planes: Planes, topology: &Topology) -> Recipes {
        Recipes {
            graph: graph.clone(),
            inputs: inputs.to_vec(),
            planes,
            private_cache: topology.private_cache(),
            simd: chosen::FILTERS.level(),
            known: HashMap::new(),
        }
    }

    pub fn prepare(&self, bound: &Bound) -> Arc<Prepared> {
        Arc::new(Prepared::new(bound, self.private_cache, self.simd))
    }

    /// The frames of a picture, and what makes it of them.
    fn of(&mut self, picture: &Picture) -> Result<(Vec<Arc<Frame>>, Arc<Prepared>), GraphError> {
        let written = picture.write();
        if let Some(prepared) = self.known.get(&written.key) {
            return Ok((written.frames, prepared.clone()));
        }
        let bound = self
            .graph
            .bind_recipe(&written.recipe, &self.inputs, self.planes)?;
        let prepared = self.prepare(&bound);
        if self.known.len() == KEPT {
            self.known.clear();
        }
        self.known.insert(written.key, prepared.clone());
        Ok((written.frames, prepared))
    }
}

/// The frames that a graph gives, of the inputs of a session.
pub(super) struct Shots {
    pub flow: Flow<Chosen>,
    /// The most frames that are given.
    pub most: Option<u64>,
    pub given: u64,
    /// How many come, if that is known.
    pub frames: Option<u64>,
    pub recipes: Recipes,
}

impl Shots {
    fn next(&mut self) -> Result<Option<Picture>, Error> {
        if self.most.is_some_and(|most| self.given >= most) {
            return Ok(None);
        }
        let shot = self.flow.next()?;
        self.given += u64::from(shot.is_some());
        Ok(shot.map(|shot| shot.picture))
    }

    /// Reads the next frame of a graph that makes each of one frame, in the same way.
    pub fn read_frame(&mut self, unit: &mut Frame) -> Result<bool, Error> {
        let Some(picture) = self.next()? else {
            return Ok(false);
        };
        let Some(frame) = picture.first_frame().cloned() else {
            return Ok(false);
        };
        drop(picture);
        match Arc::try_unwrap(frame) {
            Ok(mut frame) => {
                std::mem::swap(&mut frame, unit);
                self.flow.give_back(Arc::new(frame));
            }
            Err(shared) => {
                for p in 0..unit.format().planes() {
                    unit.plane_bytes_mut(p)
                        .copy_from_slice(&shared.plane_bytes(p));
                }
            }
        }
        Ok(true)
    }

    fn read_unit(&mut self, unit: &mut Unit) -> Result<bool, Error> {
        unit.frames
            .drain(..)
            .for_each(|frame| self.flow.give_back(frame));
        let Some(picture) = self.next()? else {
            return Ok(false);
        };
        let (frames, prepared) = self.recipes.of(&picture).map_err(|reason| Error::AtFrame {
            frame: self.given - 1,
            reason: Box::new(reason),
        })?;
        (unit.frames, unit.prepared) = (frames, Some(prepared));
        Ok(true)
    }

    /// The first input.
    pub fn input(&self) -> &crate::io::Input {
        let mut feeds = self.flow.feeds();
        &feeds.next().expect("a session has an input").input
    }

    pub fn may_wait(&self) -> bool {
        self.flow.feeds().any(|feed| feed.input.may_wait())
    }
}

/// A service whose units bring what makes them.
pub(super) struct Units {
    pub key: String,
    pub output: Format,
    /// What makes most units.
    pub usual: Arc<Prepared>,
}

impl Service for Units {
    type Input = Unit;
    type Output = Frame;
    type Scratch = Scratch;

    fn key(&self) -> String {
        self.key.clone()
    }

    fn input(&self) -> Unit {
        Unit::default()
    }

    fn output(&self) -> Frame {
        Frame::new(&self.output)
    }

    fn scratch(&self) -> Scratch {
        Scratch::default()
    }

    fn prepare(&self, _: &'static Structure) {}

    fn shapes(&self, _: usize) -> Vec<Shape> {
        self.usual.tiled_shapes()
    }

    fn run(
        &self,
        part: &Part,
        input: &Unit,
        output: &Frame,
        scratch: &mut Scratch,
    ) -> Result<(), String> {
        let prepared = input.prepared.as_ref().ok_or("a unit without a recipe")?;
        let inputs: Vec<&Frame> = input.frames.iter().map(|frame| &**frame).collect();
        let frames = Frames {
            inputs: &[&inputs],
            outputs: &[output],
            items: self.usual.items(),
        };
        prepared.fill_part(part, frames);
        prepared.run(part, frames, scratch)
    }
}

impl Source<Units> for Shots {
    type Error = Error;

    fn read(&mut self, unit: &mut Unit) -> Result<bool, Error> {
        self.read_unit(unit)
    }

    fn units(&self) -> Option<u64> {
        self.frames
    }

    fn may_wait(&self) -> bool {
        Shots::may_wait(self)
    }
}
