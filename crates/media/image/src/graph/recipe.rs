//! How a frame of the result is made: of which frames, through which filters.

use std::sync::Arc;

use super::parse::Graph;
use super::wiring::Link;
use crate::filters::Filter;

/// A step of a recipe.
#[derive(Clone)]
pub(crate) enum Step {
    /// A frame of an input, each another one.
    Frame {
        /// Which input.
        input: usize,
    },
    /// What a filter of the graph makes of earlier steps.
    Filtered {
        /// The place of the filter in the graph.
        call: usize,
        /// The filter, as it is at that moment.
        filter: Arc<dyn Filter>,
        /// Earlier steps.
        inputs: Vec<usize>,
    },
}

/// How a frame of the result is made; the last step gives it.
#[derive(Clone, Default)]
pub(crate) struct Recipe {
    pub steps: Vec<Step>,
}

impl Graph {
    /// The recipe of a usual frame.
    pub(crate) fn recipe(&self) -> Recipe {
        let mut building = Building {
            graph: self,
            recipe: Recipe::default(),
            places: Vec::new(),
        };
        let last = building.link(self.result);
        let mut recipe = building.recipe;
        recipe.steps.truncate(last + 1);
        recipe
    }
}

struct Building<'a> {
    graph: &'a Graph,
    recipe: Recipe,
    /// Steps of links that are there already.
    places: Vec<(Link, usize)>,
}

impl Building<'_> {
    fn push(&mut self, step: Step) -> usize {
        self.recipe.steps.push(step);
        self.recipe.steps.len() - 1
    }

    fn link(&mut self, link: Link) -> usize {
        // All outputs of a filter are alike.
        let link = match link {
            Link::Output { call, .. } => Link::Output { call, pad: 0 },
            input => input,
        };
        if let Some((_, at)) = self.places.iter().find(|(known, _)| *known == link) {
            return *at;
        }
        let at = match link {
            Link::Input(input) => self.push(Step::Frame { input }),
            Link::Output { call, .. } => self.call(call),
        };
        self.places.push((link, at));
        at
    }

    fn call(&mut self, call: usize) -> usize {
        let of = &self.graph.filters[call];
        let (filter, inputs) = match of.filter.sequence().map(|sequence| sequence.makes()) {
            None => {
                let inputs = of.inputs.iter().map(|&link| self.link(link)).collect();
                (of.filter.clone(), inputs)
            }
            // The frames of a stream pass.
            Some(None) => return self.link(of.inputs[0]),
            Some(Some((filter, count))) => {
                let frames = (0..count).map(|_| {
                    let known = std::mem::take(&mut self.places);
                    let at = self.link(of.inputs[0]);
                    self.places = known;
                    at
                });
                (filter, frames.collect())
            }
        };
        self.push(Step::Filtered {
            call,
            filter,
            inputs,
        })
    }
}
