//! The subject of a measurement: a graph on frames of one size.

use evener_image::exec::service::FilterService;
use evener_image::graph::bind::{Bound, Planes};
use evener_image::graph::parse::Graph;
use evener_image::{Chroma, ColourRange, Depth, Format, Size, pipelines};
use evener_runtime::{Runtime, Simd};

use crate::error::Error;

pub(crate) fn unusable(graph: &str, reason: impl ToString) -> Error {
    Error::Graph {
        graph: graph.to_owned(),
        reason: reason.to_string(),
    }
}

/// Binds a graph, or the pipeline of that letter, to frames of f32 planes.
pub(crate) fn bind(graph: &str, size: Size, each: bool) -> Result<Bound, Error> {
    let text = pipelines::find(graph).map_or(graph, |p| p.text);
    let (chroma, planes) = if each {
        (Chroma::C420, Planes::Each)
    } else {
        (Chroma::Mono, Planes::Luma)
    };
    let format = Format {
        width: size.w,
        height: size.h,
        chroma,
        depth: Depth::F32,
        range: ColourRange::Full,
    };
    let parsed = Graph::parse(text).map_err(|e| unusable(graph, e))?;
    parsed.bind(&format, planes).map_err(|e| unusable(graph, e))
}

/// A graph on frames of one size.
pub(crate) struct Subject {
    pub(crate) graph: String,
    pub(crate) size: Size,
    pub(crate) bound: Bound,
    pub(crate) simd: Simd,
    pub(crate) private_cache: usize,
}

impl Subject {
    pub(crate) fn new(
        graph: &str,
        size: Size,
        each: bool,
        runtime: &Runtime,
    ) -> Result<Self, Error> {
        let bound = bind(graph, size, each)?;
        Ok(Subject {
            graph: graph.to_owned(),
            size,
            bound,
            simd: evener_image::chosen::FILTERS.level(),
            private_cache: runtime.topology().private_cache(),
        })
    }

    pub(crate) fn service(&self) -> FilterService {
        let key = format!("bench {} {}", self.graph, self.bound.input);
        FilterService::new(&self.bound, key, self.private_cache, self.simd)
    }

    pub(crate) fn failed(&self, plan: &str, reason: impl ToString) -> Error {
        Error::Run {
            graph: self.graph.clone(),
            size: self.size.to_string(),
            plan: plan.to_owned(),
            reason: reason.to_string(),
        }
    }
}
