//! The structures `backward`, `backward-cached` and `backward-store`.
//!
//! Only the last stage is divided. An output pulls the samples it reads from the stages before it, and these pull theirs,
//! down to the source. Nothing is stored, so a sample that is needed twice is computed twice. The recursion runs over a run
//! of neighbouring outputs at a time, and each tap of a stage pulls a run of its own. So calls cost little for each sample.
//! Two things that are not the work of a stage are not repeated. A stage that reads the source reads it in place with its
//! row kernel, and codes of a source that a stencil reads are converted once for a run.
//!
//! | file | what |
//! | --- | --- |
//! | `step.rs` | stages prepared for pulling |
//! | `pull.rs` | the recursion |
//! | `run.rs` | runs of outputs |
//! | `source.rs` | reading the source: rows, lists, boxes |
//! | `cache.rs` | values and valid bits that workers share |
#![forbid(unsafe_code)]

use std::ops::Range;

use evener_runtime::Simd;

use super::access::{Source, Target};
use crate::format::Size;
use crate::graph::plane::{PlaneGraph, Port};

mod cache;
mod pull;
mod run;
mod source;
mod step;

pub use cache::Cache;
pub use pull::Mode;
use pull::{Pull, StageScratch};
use run::{RUN, Run, sized};
use step::Step;

/// Outputs pulled at once if no tap is pulled by itself. Only the results of a run have to stay in the cache then.
const LONG_RUN: usize = 1024;

/// The graph of a plane, prepared for pulling.
#[derive(Debug)]
pub struct Backward {
    steps: Vec<Step>,
    result: Port,
    size: Size,
    run: usize,
}

/// Memory of one worker. It grows to what the graphs it is used for need and stays there.
#[derive(Default)]
pub struct Scratch {
    stages: Vec<StageScratch>,
    run: Vec<f32>,
}

impl Scratch {
    /// What [`Mode::Store`] wrote of stage `node` last, row after row. It is longer than the plane if the memory was used for
    /// a larger one.
    pub fn stored(&self, node: usize) -> &[f32] {
        self.stages.get(node).map_or(&[], |stage| &stage.stored)
    }
}

impl Backward {
    /// Prepares `graph`.
    pub fn new(graph: &PlaneGraph) -> Self {
        let steps: Vec<Step> = graph.nodes.iter().map(Step::new).collect();
        let run = if steps.iter().all(Step::reads_once) {
            LONG_RUN
        } else {
            RUN
        };
        Backward {
            steps,
            result: graph.result,
            size: graph.size,
            run,
        }
    }

    /// Computes rows `y` of the result. `target` holds exactly these rows, in full width.
    ///
    /// Several workers may compute different rows of one plane at once, each with its own `scratch`.
    ///
    /// # Panics
    /// If `source`, `target` or the cache are not of the graph's sizes.
    pub fn rows(
        &self,
        simd: Simd,
        source: &Source<'_>,
        y: Range<usize>,
        target: &mut Target<'_>,
        scratch: &mut Scratch,
        mode: Mode<'_>,
    ) {
        let width = self.size.w as usize;
        let Scratch {
            stages,
            run: values,
        } = scratch;
        if stages.len() < self.steps.len() {
            stages.resize_with(self.steps.len(), StageScratch::default);
        }
        let stages = &mut stages[..self.steps.len()];
        let pull = Pull {
            steps: &self.steps,
            simd,
            source,
            mode,
        };
        for (row, y) in y.enumerate() {
            for x0 in (0..width).step_by(self.run) {
                let n = self.run.min(width - x0);
                let at = row * width + x0;
                let run = Run::Row {
                    x0: x0 as i32,
                    y: y as i32,
                    n,
                };
                if let Some(all) = target.values() {
                    pull.port(self.result, run, stages, &mut all[at..at + n]);
                } else {
                    let values = sized(values, n);
                    pull.port(self.result, run, stages, values);
                    target.store(simd, at, values);
                }
            }
        }
    }
}
