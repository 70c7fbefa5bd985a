//! A bound graph as a service of the runtime: what an item is, how a unit is divided, what it costs.

use std::ops::Range;
use std::sync::OnceLock;

use evener_runtime::device::OnDevice;
use evener_runtime::{Flow, Part, Service, Shape, Simd, Structure};

use super::access::{Source, Target};
use super::backward::{self, Backward, Cache, Mode};
use super::batched::{self, Batched};
use super::cost::{self, Predicted};
use super::fuse::fuse;
use super::sequential::{self, Sequential};
use super::tiled::{self, Tiled};
use crate::device::Plan;
use crate::format::{Depth, Format, Timing};
use crate::frame::{Frame, Samples};
use crate::graph::bind::Bound;
use crate::graph::plane::{PlaneGraph, Port};
use crate::kernels::BATCH;
use crate::kernels::convert::Scale;
use crate::structures::{
    BACKWARD, BACKWARD_CACHED, BACKWARD_STORE, BATCHED, FARM, SEQUENTIAL, TILED,
};

/// Most bytes that the planes between the passes of [`BATCHED`] may take: they are to stay in the outer cache.
const MAX_BATCHED_BYTES: usize = 16 << 20;

/// Private memory of one worker.
#[derive(Default)]
pub struct Scratch {
    sequential: sequential::Scratch,
    tiled: tiled::Scratch,
    batched: batched::Scratch,
    backward: backward::Scratch,
}

/// The executors of one plane. Those of a single structure are made when it first runs.
struct Plane {
    graph: PlaneGraph,
    /// The scales of codes in frames that are read and in frames that are written.
    scales: (Scale, Scale),
    /// Heights of the passes of `sequential`.
    heights: Vec<u32>,
    tiled: Tiled,
    /// `None` if the graph cannot run so.
    batched: Option<Batched>,
    sequential: OnceLock<Sequential>,
    backward: OnceLock<Backward>,
    cache: OnceLock<Cache>,
}

impl Plane {
    /// The value of every sample of the result, if it is known beforehand.
    fn constant(&self) -> Option<f32> {
        match self.graph.result {
            Port::Constant(value) => Some(value),
            Port::Source | Port::Stage(_) => None,
        }
    }

    fn source<'a>(&self, samples: &'a Samples) -> Source<'a> {
        Source::new(samples, self.graph.source, self.scales.0)
    }

    fn target<'a>(&self, samples: &'a Samples, rows: Range<usize>) -> Target<'a> {
        Target::new(samples, rows, self.scales.1)
    }

    fn sequential(&self, values: bool) -> &Sequential {
        self.sequential
            .get_or_init(|| Sequential::new(&self.graph, values))
    }

    fn backward(&self) -> &Backward {
        self.backward.get_or_init(|| Backward::new(&self.graph))
    }

    fn cache(&self) -> &Cache {
        self.cache.get_or_init(|| Cache::new(&self.graph))
    }
}

/// A graph bound to a format, ready to run frames.
///
/// An item is an equal share of the rows of every computed plane. There are as many items as the lowest plane has rows. One
/// unit runs at a time, except under `farm`. A plane whose result is known beforehand is written once, into a new output.
pub struct FilterService {
    key: String,
    input: Format,
    output: Format,
    timing: Option<Timing>,
    simd: Simd,
    planes: Vec<Plane>,
    device: Option<Plan>,
}

/// The rows of items `items` of `count` in a plane of `height`.
fn share(items: &Range<u32>, count: u32, height: u32) -> Range<usize> {
    let at = |i: u32| (u64::from(i) * u64::from(height) / u64::from(count)) as usize;
    at(items.start)..at(items.end)
}

impl FilterService {
    /// Prepares `bound`; `key` names graph and format for remembered plans. Tiles are sized to `private_cache` bytes.
    pub fn new(bound: &Bound, key: String, private_cache: usize, simd: Simd) -> Self {
        let values = bound.input.depth == Depth::F32;
        let planes = bound
            .planes
            .iter()
            .enumerate()
            .map(|(p, graph)| Plane {
                scales: (
                    Scale::new(bound.input.codes(p)),
                    Scale::new(bound.output.codes(p)),
                ),
                tiled: Tiled::new(fuse(graph, values), graph.size, private_cache),
                batched: Batched::new(fuse(graph, false), graph.size, simd),
                graph: graph.clone(),
                heights: sequential::passes(graph, values),
                sequential: OnceLock::new(),
                backward: OnceLock::new(),
                cache: OnceLock::new(),
            })
            .collect();
        FilterService {
            key,
            input: bound.input,
            output: bound.output,
            timing: None,
            simd,
            planes,
            device: Plan::new(bound),
        }
    }

    /// Format of the frames that are read.
    pub fn input_format(&self) -> &Format {
        &self.input
    }

    /// Format of the frames that are written.
    pub fn output_format(&self) -> &Format {
        &self.output
    }

    /// Sets the timing of the stream, for a sink that writes it.
    #[must_use]
    pub fn with_timing(mut self, timing: &Timing) -> Self {
        self.timing = Some(*timing);
        self
    }

    /// The timing of the stream, if it was set.
    pub fn timing(&self) -> Option<&Timing> {
        self.timing.as_ref()
    }

    /// The graph for devices, if they can compute it.
    pub(crate) fn device_plan(&self) -> Option<&Plan> {
        self.device.as_ref()
    }

    /// Computes one plane, whose result is not known beforehand, as [`TILED`] does.
    pub(crate) fn compute_plane(
        &self,
        index: usize,
        input: &Samples,
        output: &Samples,
        scratch: &mut Scratch,
    ) {
        let plane = &self.planes[index];
        let rows = 0..plane.graph.size.h as usize;
        let mut target = plane.target(output, rows.clone());
        let (source, scratch) = (plane.source(input), &mut scratch.tiled);
        plane
            .tiled
            .rows(self.simd, &source, rows, &mut target, scratch);
    }

    /// Writes the planes of an output whose result is known beforehand.
    pub(crate) fn fill_constant(&self, frame: &Frame) {
        for (p, plane) in self.planes.iter().enumerate() {
            if let Some(value) = plane.constant() {
                let rows = 0..plane.graph.size.h as usize;
                plane.target(frame.plane(p), rows).fill(value);
            }
        }
    }

    fn values(&self) -> bool {
        self.input.depth == Depth::F32
    }

    /// The number of planes of a frame that are read, from the first one on. The content of later planes changes nothing.
    pub fn planes_read(&self) -> usize {
        self.computed().map(|(p, _)| p + 1).max().unwrap_or(0)
    }

    /// Items of a unit under every structure with one computing pass.
    fn items(&self) -> u32 {
        let heights = self.computed().map(|(_, plane)| plane.graph.size.h);
        heights.min().unwrap_or(1)
    }

    /// Items of a pass of `sequential`: the rows of the lowest plane that has this pass.
    fn sequential_items(&self, pass: usize) -> Option<u32> {
        let heights = self.computed().filter_map(|(_, p)| p.heights.get(pass));
        heights.min().copied()
    }

    /// The planes whose result is not known beforehand, with their indices.
    fn computed(&self) -> impl Iterator<Item = (usize, &Plane)> {
        let planes = self.planes.iter().enumerate();
        planes.filter(|(_, plane)| plane.constant().is_none())
    }

    /// Items of the passes of [`BATCHED`]; `None` if a plane cannot run so, or the planes between passes are too large.
    fn batched_passes(&self) -> Option<Vec<u32>> {
        let planes: Option<Vec<&Batched>> =
            self.computed().map(|(_, p)| p.batched.as_ref()).collect();
        let planes = planes.filter(|planes| !planes.is_empty())?;
        let bytes: usize = planes.iter().map(|plane| plane.intermediate_bytes()).sum();
        let items = |pass: usize| self.batched_items(pass);
        (bytes <= MAX_BATCHED_BYTES).then(|| (0..).map_while(items).collect())
    }

    /// Items of a pass of [`BATCHED`]: the rows of the lowest plane that has this pass.
    fn batched_items(&self, pass: usize) -> Option<u32> {
        let planes = self.computed().filter_map(|(_, p)| p.batched.as_ref());
        let heights = planes.filter_map(|plane| plane.passes().nth(pass));
        heights.map(|(_, need)| need.height().max(1) as u32).min()
    }

    /// Calls `body` with each plane's rows of a part of the last pass, held for writing.
    fn each(
        &self,
        part: &Part,
        input: &Frame,
        output: &Frame,
        mut body: impl FnMut(&Plane, &Source<'_>, Range<usize>, &mut Target<'_>),
    ) {
        let count = self.items();
        for (p, plane) in self.computed() {
            let rows = share(&part.items, count, plane.graph.size.h);
            if rows.is_empty() {
                continue;
            }
            let mut target = plane.target(output.plane(p), rows.clone());
            let source = plane.source(input.plane(p));
            body(plane, &source, rows, &mut target);
        }
    }

    fn sequential(&self, part: &Part, input: &Frame, output: &Frame, scratch: &mut Scratch) {
        let count = self.sequential_items(part.pass).unwrap_or(1);
        for (p, plane) in self.computed() {
            let Some(&height) = plane.heights.get(part.pass) else {
                continue;
            };
            let rows = share(&part.items, count, height);
            if rows.is_empty() {
                continue;
            }
            let stages = plane.sequential(self.values());
            let source = plane.source(input.plane(p));
            let mut target = stages
                .is_last(part.pass)
                .then(|| plane.target(output.plane(p), rows.clone()));
            let scratch = &mut scratch.sequential;
            stages.rows(
                self.simd,
                &source,
                part.pass,
                rows,
                target.as_mut(),
                scratch,
            );
        }
    }

    fn backward(&self, part: &Part, input: &Frame, output: &Frame, scratch: &mut Scratch) {
        let cached = *part.structure == BACKWARD_CACHED;
        if cached && part.pass == 0 {
            for (_, plane) in self.computed() {
                plane.cache().clear(part.items.clone(), self.items());
            }
            return;
        }
        self.each(part, input, output, |plane, source, rows, target| {
            let executor = plane.backward();
            let mode = match part.structure {
                _ if cached => Mode::Cached(plane.cache()),
                s if *s == BACKWARD_STORE => Mode::Store,
                _ => Mode::Plain,
            };
            executor.rows(self.simd, source, rows, target, &mut scratch.backward, mode);
        });
    }
}

fn is_backward(structure: &Structure) -> bool {
    [&BACKWARD, &BACKWARD_CACHED, &BACKWARD_STORE].contains(&structure)
}

impl Service for FilterService {
    type Input = Frame;
    type Output = Frame;
    type Scratch = Scratch;

    fn key(&self) -> String {
        self.key.clone()
    }

    fn input(&self) -> Frame {
        Frame::new(&self.input)
    }

    fn output(&self) -> Frame {
        let frame = Frame::new(&self.output);
        self.fill_constant(&frame);
        frame
    }

    fn scratch(&self) -> Scratch {
        Scratch::default()
    }

    fn prepare(&self, structure: &'static Structure) {
        for (_, plane) in self.computed() {
            if *structure == SEQUENTIAL {
                plane.sequential(self.values());
            }
            if is_backward(structure) {
                plane.backward();
            }
            if *structure == BACKWARD_CACHED {
                plane.cache();
            }
            if *structure == BATCHED
                && let Some(batched) = &plane.batched
            {
                batched.prepare();
            }
        }
    }

    fn shapes(&self, _private_cache: usize) -> Vec<Shape> {
        let items = self.items();
        let predicted: Vec<Predicted> = self
            .computed()
            .map(|(_, p)| Predicted::of(&p.graph, &p.tiled, p.batched.as_ref(), self.input.depth))
            .collect();
        let shape = |structure: &'static Structure, passes: Vec<u32>| {
            let grains = match structure.flow {
                Flow::Farm => (1, 1),
                // A row of a batch has eight frames.
                Flow::Grouped => (items.div_ceil(8).max(1), (items / 256).max(1)),
                _ => (items.div_ceil(16).max(1), (items / 256).max(1)),
            };
            Shape {
                structure,
                default_grain: grains.0,
                min_grain: grains.1,
                passes,
                steps: Vec::new(),
                lines: Vec::new(),
                pass_names: Vec::new(),
                device_pass: None,
                units: match structure.flow {
                    Flow::Grouped => BATCH as u32,
                    _ => 1,
                },
                work: cost::total(&predicted, structure),
            }
        };
        let mut shapes = vec![
            shape(
                &SEQUENTIAL,
                (0..)
                    .map_while(|pass| self.sequential_items(pass))
                    .collect(),
            ),
            shape(&BACKWARD, vec![items]),
            shape(&BACKWARD_CACHED, vec![items, items]),
            shape(&BACKWARD_STORE, vec![items]),
            shape(&TILED, vec![items]),
            shape(&FARM, vec![items]),
        ];
        if let Some(passes) = self.batched_passes() {
            shapes.push(shape(&BATCHED, passes));
        }
        shapes
    }

    fn run(
        &self,
        part: &Part,
        input: &Frame,
        output: &Frame,
        scratch: &mut Scratch,
    ) -> Result<(), String> {
        let structure = part.structure;
        if *structure == TILED || *structure == FARM {
            self.each(part, input, output, |plane, source, rows, target| {
                plane
                    .tiled
                    .rows(self.simd, source, rows, target, &mut scratch.tiled);
            });
        } else if *structure == SEQUENTIAL {
            self.sequential(part, input, output, scratch);
        } else if is_backward(structure) {
            self.backward(part, input, output, scratch);
        } else if *structure == BATCHED {
            return self.run_group(part, &[input], &[output], scratch);
        } else {
            return Err(format!("filters have no structure {structure}"));
        }
        Ok(())
    }

    fn run_group(
        &self,
        part: &Part,
        inputs: &[&Frame],
        outputs: &[&Frame],
        scratch: &mut Scratch,
    ) -> Result<(), String> {
        let count = self.batched_items(part.pass).unwrap_or(1);
        for (p, plane) in self.computed() {
            let held = |rows: &Range<usize>| -> Vec<Target<'_>> {
                let samples = outputs.iter().map(|output| output.plane(p));
                samples
                    .map(|samples| plane.target(samples, rows.clone()))
                    .collect()
            };
            let batched = plane.batched.as_ref();
            let batched =
                batched.ok_or_else(|| format!("this graph has no structure {BATCHED}"))?;
            let Some((_, need)) = batched.passes().nth(part.pass) else {
                continue;
            };
            let rows = share(&part.items, count, need.height() as u32);
            if rows.is_empty() {
                continue;
            }
            // Sources are read by the first pass, targets written by the last.
            let inputs = if part.pass == 0 { inputs } else { &[] };
            let sources = inputs.iter().map(|input| input.plane(p));
            let sources: Vec<_> = sources.map(|samples| plane.source(samples)).collect();
            let mut targets = match batched.is_last(part.pass) {
                true => held(&rows),
                false => Vec::new(),
            };
            let (simd, scratch) = (self.simd, &mut scratch.batched);
            batched.rows(simd, &sources, part.pass, rows, &mut targets, scratch);
        }
        Ok(())
    }

    fn device(&self) -> Option<&dyn OnDevice<Frame, Frame>> {
        self.device.as_ref().map(|_| self as _)
    }
}
