//! Graphs in streams: `rt.stream(reader).through(graph).into(writer)`.
#![forbid(unsafe_code)]

use std::io::Read;

use evener_runtime::{Through, Topology};

use crate::chosen;
use crate::exec::service::FilterService;
use crate::format::{Format, Timing, Video};
use crate::graph::{Bound, Graph, GraphError, Planes};
use crate::io::ffmpeg::Decoder;
use crate::io::{Input, TestSource, y4m};

/// A source that knows the format of its frames before it reads the first.
pub trait VideoSource {
    /// Size, chroma layout and depth of every frame.
    fn format(&self) -> &Format;
    /// Properties of the stream besides that.
    fn timing(&self) -> &Timing;
}

macro_rules! video {
    ($($of:tt)*) => {
        impl $($of)* {
            fn format(&self) -> &Format {
                self.format()
            }

            fn timing(&self) -> &Timing {
                self.timing()
            }
        }
    };
}

video!(VideoSource for Input);
video!(VideoSource for Decoder);
video!(VideoSource for TestSource);
video!(<R: Read> VideoSource for y4m::Reader<R>);

/// A graph and the planes it is applied to; made by [`Graph::on`].
#[derive(Clone, Debug)]
pub struct OnPlanes {
    graph: Graph,
    planes: Planes,
}

impl Graph {
    /// Chooses the planes that the graph is applied to; [`Planes::Auto`] otherwise.
    pub fn on(self, planes: Planes) -> OnPlanes {
        OnPlanes {
            graph: self,
            planes,
        }
    }

    /// The service that runs this graph on frames of `format` on this machine.
    ///
    /// # Errors
    /// Those of [`Graph::bind`].
    pub fn service(&self, format: &Format, planes: Planes) -> Result<FilterService, GraphError> {
        let topology = Topology::detect();
        Ok(self.serve(&Graph::bind(self, format, planes)?, planes, &topology))
    }

    /// Names the graph and its inputs for remembered plans.
    pub(crate) fn key(&self, inputs: &[Video], planes: Planes) -> String {
        let formats: Vec<Format> = inputs.iter().map(|video| video.format).collect();
        self.key_of(&formats, planes)
    }

    fn key_of(&self, inputs: &[Format], planes: Planes) -> String {
        let inputs: Vec<String> = inputs.iter().map(Format::to_string).collect();
        format!("{self} | {} | planes {}", inputs.join(", "), planes.name())
    }

    /// The same for a graph that is bound already.
    pub(crate) fn serve(
        &self,
        bound: &Bound,
        planes: Planes,
        topology: &Topology,
    ) -> FilterService {
        FilterService::new(
            bound,
            self.key_of(&[bound.input], planes),
            topology.private_cache(),
            chosen::FILTERS.level(),
        )
    }
}

impl Planes {
    /// All choices, in the order they are listed to users.
    pub const ALL: [Planes; 3] = [Planes::Auto, Planes::Each, Planes::Luma];

    /// The name used on command lines and in results.
    pub fn name(self) -> &'static str {
        match self {
            Planes::Auto => "auto",
            Planes::Each => "each",
            Planes::Luma => "luma",
        }
    }
}

impl<Src: VideoSource> Through<Src> for OnPlanes {
    type Service = FilterService;
    type Error = GraphError;

    fn bind(self, source: &Src, topology: &Topology) -> Result<FilterService, GraphError> {
        let bound = Graph::bind(&self.graph, source.format(), self.planes)?;
        let service = self.graph.serve(&bound, self.planes, topology);
        Ok(service.with_timing(source.timing()))
    }
}

impl<Src: VideoSource> Through<Src> for Graph {
    type Service = FilterService;
    type Error = GraphError;

    fn bind(self, source: &Src, topology: &Topology) -> Result<FilterService, GraphError> {
        Through::bind(self.on(Planes::Auto), source, topology)
    }
}
