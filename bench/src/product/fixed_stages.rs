//! A service whose steps are fewer and larger: a pipeline divided by hand.

use evener_crypt::product::PIPELINE;
use evener_runtime::{Part, Service, Shape};

/// A service that runs in pipelines only, whose steps end where they are told to, and are said to cost the same.
pub(super) struct FixedStages<S> {
    pub(super) inner: S,
    /// The step of `inner` that each step ends before.
    pub(super) ends: Vec<u32>,
}

impl<S> FixedStages<S> {
    fn begin(&self, step: u32) -> u32 {
        let before = step.checked_sub(1);
        before.map_or(0, |before| self.ends[before as usize])
    }
}

impl<S: Service> Service for FixedStages<S> {
    type Input = S::Input;
    type Output = S::Output;
    type Scratch = S::Scratch;

    fn key(&self) -> String {
        format!("{}, stages end at {:?}", self.inner.key(), self.ends)
    }

    fn input(&self) -> S::Input {
        self.inner.input()
    }

    fn output(&self) -> S::Output {
        self.inner.output()
    }

    fn scratch(&self) -> S::Scratch {
        self.inner.scratch()
    }

    fn shapes(&self, private_cache: usize) -> Vec<Shape> {
        let shapes = self.inner.shapes(private_cache).into_iter();
        shapes
            .filter(|shape| shape.structure == &PIPELINE)
            .map(|shape| Shape {
                passes: vec![self.ends.len() as u32],
                steps: Vec::new(),
                ..shape
            })
            .collect()
    }

    fn run(
        &self,
        part: &Part,
        input: &S::Input,
        output: &S::Output,
        scratch: &mut S::Scratch,
    ) -> Result<(), String> {
        let steps = self.begin(part.items.start)..self.begin(part.items.end);
        let part = Part {
            items: steps,
            ..part.clone()
        };
        self.inner.run(&part, input, output, scratch)
    }
}
