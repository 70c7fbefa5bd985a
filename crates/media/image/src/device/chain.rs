//! The graph of a plane as launches of kernels.
//!
//! A launch computes a stage that reads neighbours or computed positions. What moves samples or maps each by itself
//! before the first such stage is done as it loads, and what follows any of them as it stores. So there are as many
//! launches as such stages, or one, and planes of floats between them.

use std::sync::Arc;

use super::stage::{DeviceStage, Kernel, Operation, View};
use crate::exec::fuse::diamonds;
use crate::filters::point_op;
use crate::format::Size;
use crate::geometry::Rect;
use crate::graph::bind::MAX_SAMPLES;
use crate::graph::plane::{PlaneGraph, Port};
use crate::stage::Stage;

/// One launch.
#[derive(Clone, Debug)]
pub(super) struct Pass {
    pub kernel: Kernel,
    /// Size of the input, seen through `before`.
    pub input: Size,
    /// What is read of it, or more.
    pub need: Rect,
    pub before: Moved,
    /// Output (x, y) is what the kernel gives at `after.view` of (x, y), mapped.
    pub after: Moved,
    /// Size of the output.
    pub size: Size,
    /// The outputs that are computed.
    pub computed: Rect,
}

/// A view of a plane, and operations on what is seen.
#[derive(Clone, Debug)]
pub(super) struct Moved {
    pub view: View,
    pub operations: Vec<Operation>,
}

/// The launches for a plane; the first reads the source.
#[derive(Debug)]
pub(super) struct Chain {
    pub passes: Vec<Pass>,
    pub source: Size,
    /// What is read of the source, or more.
    pub need: Rect,
}

impl Chain {
    /// `None` if a stage is for cores alone, if stages are not in a row, or if kernels cannot count the samples.
    pub fn new(graph: &PlaneGraph) -> Option<Chain> {
        if graph.source.area() > MAX_SAMPLES {
            return None;
        }
        let mut building = Building::new(graph.source);
        for Link {
            stage,
            input,
            output,
        } in links(graph)?
        {
            building.push(&stage, input, output)?;
        }
        building.finish(graph)
    }

    /// Whether it takes square roots.
    pub fn sqrt(&self) -> bool {
        self.passes.iter().any(|pass| pass.kernel.sqrt)
    }

    /// Whether it divides.
    pub fn divides(&self) -> bool {
        let moved = self
            .passes
            .iter()
            .flat_map(|pass| [&pass.before, &pass.after]);
        let mut operations = moved.flat_map(|moved| &moved.operations);
        operations.any(|operation| operation.divides())
    }
}

/// A stage with the sizes of its input and output.
struct Link {
    stage: Arc<dyn Stage>,
    input: Size,
    output: Size,
}

/// The stages of a graph from the source to the result, if each reads the one before it alone.
fn links(graph: &PlaneGraph) -> Option<Vec<Link>> {
    let (absorbed, replaced) = diamonds(graph, &graph.readers());
    let mut links = Vec::new();
    let mut before = Port::Source;
    for (i, node) in graph.nodes.iter().enumerate() {
        if absorbed[i] {
            continue;
        }
        let (stage, inputs) = match &replaced[i] {
            Some((stage, inputs)) => (stage, inputs),
            None => (&node.stage, &node.inputs),
        };
        if *inputs != [before] {
            return None;
        }
        before = Port::Stage(i);
        links.push(Link {
            stage: stage.clone(),
            input: node.input_size,
            output: node.size,
        });
    }
    (graph.result == before).then_some(links)
}

/// A chain that is being built from the source on.
struct Building {
    /// What precedes the first kernel, and the size of what is seen then.
    before: Moved,
    seen: Size,
    passes: Vec<Pass>,
    /// The stage of each pass, which knows what it reads.
    stages: Vec<Option<Arc<dyn Stage>>>,
    /// The pointwise stages since the last kernel, joined where that gives the same bits.
    points: Vec<Arc<dyn Stage>>,
}

impl Building {
    fn new(source: Size) -> Building {
        Building {
            before: Moved::nothing(),
            seen: source,
            passes: Vec::new(),
            stages: Vec::new(),
            points: Vec::new(),
        }
    }

    fn push(&mut self, stage: &Arc<dyn Stage>, input: Size, output: Size) -> Option<()> {
        match stage.device()? {
            DeviceStage::Point(_) => {
                let mut stage = stage.clone();
                while let Some(joined) = self
                    .points
                    .last()
                    .and_then(|last| point_op::join(&**last, &*stage))
                {
                    self.points.pop();
                    stage = joined;
                }
                self.points.push(stage);
            }
            DeviceStage::View(view) => match self.passes.last_mut() {
                Some(pass) => {
                    pass.after.view = view.after(pass.after.view);
                    pass.size = output;
                }
                None => {
                    self.before.view = view.after(self.before.view);
                    self.seen = output;
                }
            },
            DeviceStage::Kernels(kernels) => {
                self.place_points()?;
                let last = kernels.len() - 1;
                for (k, kernel) in kernels.into_iter().enumerate() {
                    let size = if k == last { output } else { input };
                    self.launch(kernel, input, size);
                    self.stages.push(Some(stage.clone()));
                }
            }
        }
        Some(())
    }

    fn launch(&mut self, kernel: Kernel, input: Size, size: Size) {
        let before = match self.passes.is_empty() {
            true => std::mem::replace(&mut self.before, Moved::nothing()),
            false => Moved::nothing(),
        };
        self.passes.push(Pass {
            kernel,
            input,
            need: Rect::default(),
            before,
            after: Moved::nothing(),
            size,
            computed: Rect::default(),
        });
    }

    /// Puts the pointwise stages behind the last kernel or, if there is none, before the first.
    fn place_points(&mut self) -> Option<()> {
        let moved = match self.passes.last_mut() {
            Some(pass) => &mut pass.after,
            None => &mut self.before,
        };
        for point in self.points.drain(..) {
            let Some(DeviceStage::Point(operation)) = point.device() else {
                return None;
            };
            moved.operations.push(operation);
        }
        Some(())
    }

    fn finish(mut self, graph: &PlaneGraph) -> Option<Chain> {
        self.place_points()?;
        if self.passes.is_empty() {
            let seen = self.seen;
            self.launch(Kernel::new("filters_copy", Vec::new()), seen, seen);
            self.stages.push(None);
        }
        let mut need = Rect::of(graph.size);
        for (pass, stage) in self.passes.iter_mut().zip(&self.stages).rev() {
            if need.is_empty() {
                break;
            }
            pass.computed = need;
            let out = pass.after.view.source(need);
            pass.need = match stage {
                Some(stage) => stage.source(out).clamp_to(pass.input),
                None => out,
            };
            need = pass.need;
        }
        let source = graph.source;
        let need = match need.is_empty() {
            true => need,
            false => self.passes[0].before.view.source(need),
        };
        Some(Chain {
            passes: self.passes,
            source,
            need,
        })
    }
}

impl Moved {
    fn nothing() -> Moved {
        Moved {
            view: View::SAME,
            operations: Vec::new(),
        }
    }
}
