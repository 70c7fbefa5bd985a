//! Binding a graph to a format: the stages of each plane, and the format of the output.

use std::collections::HashMap;

use super::error::GraphError;
use super::parse::{Call, Graph};
use super::plane::{OtherPlane, PlaneGraph, Port};
use super::recipe::{Recipe, Step};
use super::wiring::Link;
use crate::filters::{Filter, Role};
use crate::format::{Chroma, Format, Timing, Video};
use crate::sequence::Moment;
use crate::stage::{GREY, Plane};

/// The most samples of a plane after any filter: 4 GiB of floats.
pub const MAX_SAMPLES: usize = 1 << 30;

/// The planes that a graph is applied to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Planes {
    /// Luma gets every filter. Chroma gets geometry and smoothing with fill 0.5, and is 0.5 from the first filter of edges
    /// or brightness on.
    #[default]
    Auto,
    /// Every filter on every plane, fill 0.5 on chroma.
    Each,
    /// Luma alone; the output has no chroma.
    Luma,
}

/// A graph bound to a format.
#[derive(Clone, Debug)]
pub struct Bound {
    /// Format of the input.
    pub input: Format,
    /// Formats of the further frames of a unit.
    pub others: Vec<Format>,
    /// Format of the output.
    pub output: Format,
    /// One for each plane of the output.
    pub planes: Vec<PlaneGraph>,
}

impl Graph {
    /// Binds the filters to the planes of `input`.
    ///
    /// # Errors
    /// A filter does not fit the size of its input, such as a crop that reaches outside. [`GraphError::NoLuma`]. The graph
    /// needs a stream, or several.
    pub fn bind(&self, input: &Format, planes: Planes) -> Result<Bound, GraphError> {
        if let Some(call) = self.filters.iter().find(|call| {
            let other = |link: &Link| matches!(link, Link::Input(1..));
            let filter = &call.filter;
            filter.sequence().is_some()
                || filter.at(&Moment::default()).is_some()
                || call.inputs.iter().any(other)
        }) {
            return Err(GraphError::NeedsStream {
                filter: call.name,
                column: call.column,
            });
        }
        let video = Video {
            format: *input,
            timing: Timing::default(),
        };
        let videos = self.videos(&[video])?;
        let other = |(_, video): &(&Call, &Video)| video.format.chroma != input.chroma;
        if let Some((call, _)) = self.filters.iter().zip(&videos).find(other) {
            return Err(GraphError::Impossible {
                filter: call.name,
                column: call.column,
                why: "frames that are filtered one by one keep their planes".to_owned(),
            });
        }
        let recipe = self.recipe();
        self.bind_recipe(&recipe, &[video], planes)
    }

    /// What the graph gives of one stream.
    ///
    /// # Errors
    /// As [`Graph::bind`].
    pub fn video(&self, input: Video) -> Result<Video, GraphError> {
        let videos = self.videos(&[input])?;
        Ok(video_of(&[input], &videos, self.result))
    }

    /// What each filter gives, for streams `inputs`.
    ///
    /// # Errors
    /// As [`Graph::bind`].
    pub(crate) fn videos(&self, inputs: &[Video]) -> Result<Vec<Video>, GraphError> {
        for Video { format, .. } in inputs {
            let (width, height) = (format.width, format.height);
            if width == 0 || height == 0 {
                return Err(GraphError::NoSamples { width, height });
            }
        }
        let mut videos: Vec<Video> = Vec::with_capacity(self.filters.len());
        for call in &self.filters {
            let of = |link: &Link| video_of(inputs, &videos, *link);
            let read: Vec<Video> = call.inputs.iter().map(of).collect();
            if read.is_empty() {
                // A file, which only a session opens.
                return Err(GraphError::NeedsStream {
                    filter: call.name,
                    column: call.column,
                });
            }
            videos.push(call.video_of(&*call.filter, &read)?);
        }
        Ok(videos)
    }

    /// Binds the filters of a recipe to frames of `inputs`, of which each step that is a frame names one.
    ///
    /// # Errors
    /// As [`Graph::bind`].
    pub(crate) fn bind_recipe(
        &self,
        recipe: &Recipe,
        inputs: &[Video],
        planes: Planes,
    ) -> Result<Bound, GraphError> {
        let mut frames: Vec<Format> = Vec::new();
        let mut videos: Vec<Video> = Vec::with_capacity(recipe.steps.len());
        for step in &recipe.steps {
            videos.push(match step {
                Step::Frame { input } => {
                    frames.push(inputs[*input].format);
                    inputs[*input]
                }
                Step::Filtered {
                    call,
                    filter,
                    inputs,
                } => {
                    let read: Vec<Video> = inputs.iter().map(|&step| videos[step]).collect();
                    self.filters[*call].video_of(&**filter, &read)?
                }
            });
        }
        let (Some(result), Some(input)) = (videos.last(), frames.first()) else {
            return Err(GraphError::Empty);
        };
        let mut output = result.format;
        if planes == Planes::Luma {
            if frames.iter().any(|frame| frame.chroma == Chroma::Rgb) {
                return Err(GraphError::NoLuma);
            }
            output.chroma = Chroma::Mono;
        }
        let plane = |index: usize| {
            let own = index.min(input.planes() - 1);
            let mut binder = Binder {
                graph: self,
                recipe,
                videos: &videos,
                frames: &frames,
                planes,
                own,
                made: HashMap::new(),
                plane: PlaneGraph::new(input.plane_size(own)),
            };
            let result = binder.port(recipe.steps.len() - 1, index);
            let mut plane = binder.plane;
            plane.end(result, output.plane_size(index));
            plane.recodes = input.codes(own) != output.codes(index);
            plane
        };
        Ok(Bound {
            input: *input,
            others: frames[1..].to_vec(),
            output,
            planes: (0..output.planes()).map(plane).collect(),
        })
    }
}

/// What a link gives, of the inputs of a graph and of its filters.
pub(crate) fn video_of(inputs: &[Video], videos: &[Video], link: Link) -> Video {
    match link {
        Link::Input(number) => inputs[number.min(inputs.len() - 1)],
        Link::Output { call, .. } => videos[call],
    }
}

/// A plane of the result that is being bound.
struct Binder<'a> {
    graph: &'a Graph,
    recipe: &'a Recipe,
    videos: &'a [Video],
    frames: &'a [Format],
    planes: Planes,
    /// The plane of the first frame that is the source.
    own: usize,
    /// What steps give on planes.
    made: HashMap<(usize, usize), Port>,
    plane: PlaneGraph,
}

impl Binder<'_> {
    /// What a step gives on a plane.
    fn port(&mut self, step: usize, plane: usize) -> Port {
        if let Some(&port) = self.made.get(&(step, plane)) {
            return port;
        }
        let format = self.videos[step].format;
        let port = match &self.recipe.steps[step] {
            _ if plane >= format.planes() => Port::Constant(GREY),
            Step::Frame { .. } => self.frame(step, plane),
            Step::Filtered {
                call,
                filter,
                inputs,
            } => {
                let call = &self.graph.filters[*call];
                let grey = format.is_chroma(plane) && self.planes == Planes::Auto;
                if grey && call.entry.role == Role::Luma {
                    Port::Constant(GREY)
                } else {
                    let from = self.videos[inputs[0]].format;
                    let index = plane.min(from.planes() - 1);
                    let of = Plane::of_video(&self.videos[inputs[0]], index);
                    filter.join(
                        &of,
                        format.plane_size(plane),
                        &mut Inputs {
                            binder: self,
                            steps: inputs,
                            plane,
                            name: call.name,
                        },
                    )
                }
            }
        };
        self.made.insert((step, plane), port);
        port
    }

    fn frame(&mut self, step: usize, plane: usize) -> Port {
        let before = &self.recipe.steps[..step];
        let frame = before
            .iter()
            .filter(|step| matches!(step, Step::Frame { .. }))
            .count();
        match (frame, plane) {
            (0, plane) if plane == self.own => Port::Source,
            _ => self.plane.other(OtherPlane {
                frame,
                plane,
                size: self.frames[frame].plane_size(plane),
            }),
        }
    }
}

/// What a filter reads, while it is bound to a plane.
pub struct Inputs<'b, 'a> {
    binder: &'b mut Binder<'a>,
    steps: &'b [usize],
    plane: usize,
    name: &'static str,
}

impl Inputs<'_, '_> {
    /// The plane itself, of the first stream; it may be a constant.
    pub fn own(&mut self) -> Port {
        let port = self.binder.port(self.steps[0], self.plane);
        self.binder.plane.filter = self.name;
        port
    }

    /// How many streams there are.
    pub fn count(&self) -> usize {
        self.steps.len()
    }

    /// The plane that is bound.
    pub fn plane(&self) -> usize {
        self.plane
    }

    /// The format of a stream.
    pub fn format(&self, stream: usize) -> Format {
        self.binder.videos[self.steps[stream]].format
    }

    /// Plane `plane` of a stream, as stages read it.
    pub fn port(&mut self, stream: usize, plane: usize) -> Port {
        let port = self.binder.port(self.steps[stream], plane);
        let graph = &mut self.binder.plane;
        graph.filter = self.name;
        match port {
            Port::Constant(value) => {
                let size = self.binder.videos[self.steps[stream]]
                    .format
                    .plane_size(plane);
                graph.constant(value, size)
            }
            port => port,
        }
    }

    /// The graph of the plane.
    pub fn graph(&mut self) -> &mut PlaneGraph {
        &mut self.binder.plane
    }
}

impl Call {
    /// What `filter`, which it is at a moment, gives for `inputs`.
    fn video_of(&self, filter: &dyn Filter, inputs: &[Video]) -> Result<Video, GraphError> {
        let refuse = |why| GraphError::Impossible {
            filter: self.name,
            column: self.column,
            why,
        };
        let video = filter.video(inputs).map_err(refuse)?;
        let size = video.format.plane_size(0);
        if size.area() > MAX_SAMPLES {
            return Err(refuse(format!(
                "{size} is more than {MAX_SAMPLES} samples a plane; make it smaller"
            )));
        }
        Ok(video)
    }
}
