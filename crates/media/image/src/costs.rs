//! What stages cost, measured on one core: a pass of each over a luma plane, as `sequential` runs them.

use std::time::Instant;

use evener_runtime::Simd;
use evener_runtime::replay::StepCost;

use crate::exec::access::{Source, Target};
use crate::exec::sequential::{self, Scratch, Sequential};
use crate::format::Size;
use crate::frame::{Frame, Samples};
use crate::graph::plane::PlaneGraph;
use crate::graph::{Bound, Graph, Planes};
use crate::io::TestSource;
use crate::kernels::convert::Scale;
use crate::session::Error;

/// The most bytes that the planes between stages may take.
const MOST_BYTES: usize = 4 << 30;

/// The stages of a graph on frames of a size, and a frame of the test scene.
pub struct StageCosts {
    bound: Bound,
    frame: Frame,
    /// With planes between stages that are in memory from the second measurement on.
    stages: Sequential,
    output: Samples,
}

impl StageCosts {
    /// Binds a graph to 8-bit luma.
    ///
    /// # Errors
    /// The graph does not fit the size, or frames of it are too large.
    pub fn new(graph: &Graph, size: Size) -> Result<StageCosts, Error> {
        let mut scene = TestSource::parse(&format!("testsrc:{}x{}:1:mono", size.w, size.h))?;
        let bound = graph.bind(scene.format(), Planes::Luma)?;
        let samples = bound.planes[0].nodes.iter().map(|node| node.size.area());
        let bytes = size_of::<f32>() * (samples.sum::<usize>() + size.area());
        if bytes > MOST_BYTES {
            let format = bound.output;
            let frames = "the frames in flight";
            return Err(Error::Memory {
                format,
                frames,
                bytes,
            });
        }
        let mut frame = Frame::new(scene.format());
        scene.read(&mut frame)?;
        let graph = &bound.planes[0];
        Ok(StageCosts {
            stages: Sequential::new(graph, false),
            output: Samples::new(graph.size, bound.output.depth),
            bound,
            frame,
        })
    }

    fn plane(&self) -> &PlaneGraph {
        &self.bound.planes[0]
    }

    /// The names of the steps: the conversion of codes, then each stage.
    pub fn step_names(&self) -> Vec<String> {
        let stages = self.plane().nodes.iter().map(|node| node.stage.name());
        std::iter::once("load")
            .chain(stages)
            .map(str::to_owned)
            .collect()
    }

    /// Seconds of each step for a frame, measured once. The first time takes longer, until all memory is there.
    pub fn step_costs(&self, simd: Simd) -> Vec<StepCost> {
        let graph = self.plane();
        let source = Source::new(
            self.frame.plane(0),
            graph.source,
            Scale::new(self.bound.input.codes(0)),
        );
        let mut scratch = Scratch::default();
        let heights = sequential::passes(graph, false);
        let pass = |(pass, height): (usize, u32)| {
            let rows = 0..height as usize;
            let mut target = self.stages.is_last(pass).then(|| {
                Target::new(
                    &self.output,
                    rows.clone(),
                    Scale::new(self.bound.output.codes(0)),
                )
            });
            let begin = Instant::now();
            self.stages
                .rows(simd, &source, pass, rows, target.as_mut(), &mut scratch);
            StepCost::same(begin.elapsed().as_secs_f64())
        };
        heights.into_iter().enumerate().map(pass).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_stage_has_a_name_and_a_cost() {
        let size = Size { w: 64, h: 48 };
        for (text, names) in [
            (
                "blur,sobel",
                &["load", "blur", "sobel_x", "sobel_y", "magnitude"][..],
            ),
            ("crop=1", &["load", "crop"]),
        ] {
            let costs = StageCosts::new(&Graph::parse(text).unwrap(), size).unwrap();
            assert_eq!(costs.step_names(), names);
            let measured = costs.step_costs(Simd::detect());
            assert_eq!(measured.len(), names.len());
            assert!(measured.iter().all(|cost| cost.first > 0.0), "{text}");
        }
    }

    #[test]
    fn a_graph_that_does_not_fit_is_refused() {
        let graph = Graph::parse("crop=640:480:0:0").unwrap();
        assert!(StageCosts::new(&graph, Size { w: 64, h: 48 }).is_err());
    }
}
