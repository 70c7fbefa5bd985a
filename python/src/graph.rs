//! Graphs: values that are called with frames.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

use evener_image::Format;
use evener_image::filters::{self as image_filters, Role};
use evener_image::graph::Graph as Filters;
use evener_image::open::OpenGraph;
use evener_image::session::explain;
use evener_runtime::Topology;
use evener_runtime::stream::Turn;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::arrays::{self, Shape};
use crate::errors::{self, FrameError};
use crate::frames::{Frames, Kind};
use crate::kept::{self, Key};
use crate::lend::{self, Access};
use crate::pump::{self, Lender};
use crate::report;
use crate::setup::Setup;
use crate::stream::Stream;
use crate::video;

/// A chain of filters, built by the functions of the package and the methods of `Graph`. It is lazy, immutable and
/// hashable. `str(graph)` is the text that the command `evener filter` takes.
#[pyclass(frozen, module = "evener", subclass)]
pub struct Graph {
    pub filters: Filters,
    pub text: String,
}

impl Graph {
    fn of(filters: Filters) -> Graph {
        Graph {
            text: filters.to_string(),
            filters,
        }
    }
}

#[pymethods]
impl Graph {
    #[new]
    fn new(text: &str) -> PyResult<Graph> {
        let filters = Filters::parse(text).map_err(|error| errors::graph(&error))?;
        Ok(Graph::of(filters))
    }

    /// Returns this graph with the filters of `other`, a graph or its text, appended.
    fn then(&self, other: &Bound<'_, PyAny>) -> PyResult<Graph> {
        let other = match other.cast::<Graph>() {
            Ok(graph) => graph.get().text.clone(),
            Err(_) => other.extract()?,
        };
        Graph::new(&format!("{},{other}", self.text))
    }

    fn __str__(&self) -> &str {
        &self.text
    }

    fn __repr__(&self) -> String {
        format!("evener.graph('{}')", self.text)
    }

    fn __eq__(&self, other: &Graph) -> bool {
        self.text == other.text
    }

    fn __hash__(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.text.hash(&mut hasher);
        hasher.finish()
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (&str,))> {
        Ok((py.import("evener")?.getattr("graph")?, (&self.text,)))
    }

    /// Returns the results of all frames, in order. See docs/python.md.
    #[pyo3(signature = (frames, out=None, *, planes="auto", workers=None, plan="auto"))]
    fn __call__<'py>(
        &self,
        frames: &Bound<'py, PyAny>,
        out: Option<Bound<'py, PyAny>>,
        planes: &str,
        workers: Option<u32>,
        plan: &str,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = frames.py();
        let setup = Setup::new(planes, workers, plan)?;
        let (mut lender, format, result) = self.lender(frames, out, &setup)?;
        if lender.count() > 0 {
            let key = Key {
                text: self.text.clone(),
                format,
                setup,
            };
            let stream = kept::take(py, &key, &self.filters)?;
            let turn = pump::all(py, &stream, &mut lender);
            match turn {
                Ok(Turn::Done(())) => kept::keep(py, key, stream),
                turn => return Err(ended(py, stream, turn.err())),
            }
        }
        drop(lender);
        lend::collect(py);
        Ok(result)
    }

    /// Does the same on a separate stream, and returns the results and a report.
    #[pyo3(signature = (frames, out=None, *, planes="auto", workers=None, plan="auto"))]
    fn profile<'py>(
        &self,
        frames: &Bound<'py, PyAny>,
        out: Option<Bound<'py, PyAny>>,
        planes: &str,
        workers: Option<u32>,
        plan: &str,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        let py = frames.py();
        let setup = Setup::new(planes, workers, plan)?;
        let (mut lender, format, result) = self.lender(frames, out, &setup)?;
        let stream = setup.open(py, &self.filters, &format)?;
        let turn = pump::all(py, &stream, &mut lender);
        let Ok(Turn::Done(())) = turn else {
            return Err(ended(py, stream, turn.err()));
        };
        let report = py
            .detach(|| stream.close())
            .map_err(|error| errors::stream(&error))?;
        drop(lender);
        lend::collect(py);
        Ok((result, report::of_frames(py, report)?))
    }

    /// Describes formats, stages and tiles, in a few lines of text.
    #[pyo3(signature = (frames, *, dtype=None, planes="auto"))]
    fn explain(
        &self,
        frames: &Bound<'_, PyAny>,
        dtype: Option<&Bound<'_, PyAny>>,
        planes: &str,
    ) -> PyResult<String> {
        let kind = match frames.extract::<Vec<usize>>() {
            Ok(axes) if frames.is_instance_of::<PyTuple>() => {
                Kind::Array(Shape::new(&axes, arrays::depth_named(dtype)?)?)
            }
            _ => Frames::new(frames, Access::Read, "frames")?.kind(),
        };
        let planes = Setup::new(planes, None, "auto")?.planes;
        let topology = Topology::detect();
        explain(&self.filters, &kind.format(), planes, &topology)
            .map_err(|error| errors::graph(&error))
    }

    /// Opens a stream; see `Stream`.
    #[pyo3(signature = (height, width, dtype=None, *, channels=1, format=None, planes="auto", workers=None, plan="auto"))]
    #[allow(clippy::too_many_arguments)] // Each has a name and a default in Python.
    fn open(
        &self,
        py: Python<'_>,
        height: usize,
        width: usize,
        dtype: Option<&Bound<'_, PyAny>>,
        channels: usize,
        format: Option<&str>,
        planes: &str,
        workers: Option<u32>,
        plan: &str,
    ) -> PyResult<Stream> {
        let setup = Setup::new(planes, workers, plan)?;
        let kind = match format {
            Some(name) => Kind::Video(video::format_named(name, height, width)?),
            None => {
                let axes = [height, width, channels];
                let axes = if channels == 1 { &axes[..2] } else { &axes };
                Kind::Array(Shape::new(axes, arrays::depth_named(dtype)?)?)
            }
        };
        let stream = setup.open(py, &self.filters, &kind.format())?;
        Ok(Stream::new(stream, kind))
    }
}

impl Graph {
    /// Lends frames and the memory for their results. Returns them with the format of the frames and the object for
    /// the results.
    fn lender<'py>(
        &self,
        frames: &Bound<'py, PyAny>,
        out: Option<Bound<'py, PyAny>>,
        setup: &Setup,
    ) -> PyResult<(Lender, Format, Bound<'py, PyAny>)> {
        let input = Frames::new(frames, Access::Read, "frames")?;
        let format = input.kind().format();
        let bound = self.filters.bind(&format, setup.planes);
        let bound = bound.map_err(|error| errors::graph(&error))?;
        let (output, result) = results(&input.kind().resulting(&bound.output), frames, out)?;
        Ok((Lender::new(input, output), format, result))
    }
}

/// Lends the memory for the `expected` results of `frames`. Returns it with its object.
pub fn results<'py>(
    expected: &Kind,
    frames: &Bound<'py, PyAny>,
    out: Option<Bound<'py, PyAny>>,
) -> PyResult<(Frames, Bound<'py, PyAny>)> {
    let result = match out {
        Some(out) => out,
        None => expected.empty(frames)?,
    };
    let output = Frames::expected(&result, Access::Write, "out", Some(expected))?;
    let given = output.kind();
    if given != *expected {
        return Err(FrameError::new_err(format!(
            "out is {given}; give {expected}"
        )));
    }
    Ok((output, result))
}

/// Ends a stream that did not finish its work, because of `error` or by itself, and returns the reason. Its loans
/// have ended.
fn ended(py: Python<'_>, stream: OpenGraph<()>, error: Option<PyErr>) -> PyErr {
    let why = match error {
        Some(error) => {
            py.detach(|| drop(stream));
            error
        }
        None => match py.detach(|| stream.close()) {
            Err(error) => errors::stream(&error),
            Ok(_) => errors::StreamError::new_err("the stream was cancelled"),
        },
    };
    lend::collect(py);
    why
}

/// Returns the filters as a list of dictionaries: name, aliases, about, args (name, default, about, alone, expression),
/// luma_only.
#[pyfunction]
pub fn filters(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyDict>>> {
    let frames = image_filters::all().filter(|entry| !entry.is_of_streams());
    let entries = frames.map(|entry| {
        let dict = PyDict::new(py);
        dict.set_item("name", entry.name)?;
        dict.set_item("aliases", entry.aliases.to_vec())?;
        dict.set_item("about", entry.about)?;
        let args = entry.args.iter();
        let args: Vec<_> = args
            .map(|arg| (arg.name, arg.default, arg.about, arg.alone, arg.expression))
            .collect();
        dict.set_item("args", args)?;
        dict.set_item("luma_only", entry.role == Role::Luma)?;
        Ok(dict)
    });
    entries.collect()
}
