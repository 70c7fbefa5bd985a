//! How a picture is made, of which frames.

use std::collections::HashMap;
use std::sync::Arc;

use crate::filters::Filter;
use crate::frame::Frame;
use crate::graph::recipe::{Recipe, Step};

/// How a picture is made.
#[derive(Clone)]
pub enum Picture {
    /// It is a frame of an input.
    Frame {
        /// Which input.
        input: usize,
        /// The frame.
        frame: Arc<Frame>,
    },
    /// A filter makes it of others.
    Made(Arc<Made>),
}

/// What a filter makes.
pub struct Made {
    /// The place of the filter in the graph.
    pub(super) call: usize,
    pub(super) filter: Arc<dyn Filter>,
    /// Tells what the filter does from what it does at other moments.
    pub(super) key: Vec<u64>,
    pub(super) inputs: Vec<Picture>,
}

/// A recipe and the frames that it is for.
pub(crate) struct Written {
    pub recipe: Recipe,
    pub frames: Vec<Arc<Frame>>,
    /// Equal for recipes that are.
    pub key: Vec<u64>,
}

impl Picture {
    /// The recipe. A frame or a picture that is used twice is one step.
    pub(crate) fn write(&self) -> Written {
        let mut writing = Writing {
            written: Written {
                recipe: Recipe::default(),
                frames: Vec::new(),
                key: Vec::new(),
            },
            steps: HashMap::new(),
        };
        writing.step(self);
        writing.written
    }

    /// The frame, if it is one as it is.
    pub fn frame(&self) -> Option<&Arc<Frame>> {
        match self {
            Picture::Frame { frame, .. } => Some(frame),
            Picture::Made(_) => None,
        }
    }

    /// The first frame that it is made of.
    pub fn first_frame(&self) -> Option<&Arc<Frame>> {
        match self {
            Picture::Frame { frame, .. } => Some(frame),
            Picture::Made(made) => made.inputs.first()?.first_frame(),
        }
    }
}

struct Writing {
    written: Written,
    /// The steps of frames and pictures, by where they lie in memory.
    steps: HashMap<usize, usize>,
}

impl Writing {
    fn step(&mut self, picture: &Picture) -> usize {
        let address = match picture {
            Picture::Frame { frame, .. } => Arc::as_ptr(frame) as usize,
            Picture::Made(made) => Arc::as_ptr(made) as usize,
        };
        if let Some(&step) = self.steps.get(&address) {
            return step;
        }
        let step = match picture {
            Picture::Frame { input, frame } => {
                self.written.frames.push(frame.clone());
                self.written.key.extend([0, *input as u64]);
                Step::Frame { input: *input }
            }
            Picture::Made(made) => {
                let inputs: Vec<usize> = made.inputs.iter().map(|input| self.step(input)).collect();
                let key = &mut self.written.key;
                key.extend([1, made.call as u64, made.key.len() as u64]);
                key.extend(&made.key);
                key.push(inputs.len() as u64);
                key.extend(inputs.iter().map(|&step| step as u64));
                Step::Filtered {
                    call: made.call,
                    filter: made.filter.clone(),
                    inputs,
                }
            }
        };
        let steps = &mut self.written.recipe.steps;
        steps.push(step);
        self.steps.insert(address, steps.len() - 1);
        steps.len() - 1
    }
}
