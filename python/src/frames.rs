//! The objects that may be given as frames: arrays, tensors and PyAV frames.

use evener_image::Format;
use evener_image::frame::Frame;
use pyo3::buffer::PyUntypedBuffer;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use crate::arrays::{Array, Shape};
use crate::errors::FrameError;
use crate::lend::Access;
use crate::video::{self, Video};

/// Frames with lent memory.
pub enum Frames {
    Array(Array),
    Video(Video),
}

/// The kind of frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Array(Shape),
    /// A PyAV frame.
    Video(Format),
}

impl Frames {
    /// Lends the memory of `object`. `what` names it in errors.
    pub fn new(object: &Bound<'_, PyAny>, access: Access, what: &str) -> PyResult<Frames> {
        Frames::expected(object, access, what, None)
    }

    /// As [`Frames::new`]; an array with two possible interpretations is read as `kind`.
    pub fn expected(
        object: &Bound<'_, PyAny>,
        access: Access,
        what: &str,
        kind: Option<&Kind>,
    ) -> PyResult<Frames> {
        let shape = match kind {
            Some(Kind::Array(shape)) => Some(shape),
            _ => None,
        };
        if let Ok(buffer) = PyUntypedBuffer::get(object) {
            return Array::new(object.py(), buffer, access, what, shape).map(Frames::Array);
        }
        if video::is_video(object)? {
            return Video::new(object, access, what).map(Frames::Video);
        }
        if object.hasattr("__dlpack__")? {
            let numpy = object.py().import("numpy")?;
            let array = numpy.call_method1("from_dlpack", (object,)).map_err(|error| {
                FrameError::new_err(format!(
                    "{what} cannot be read by NumPy ({error}); give a tensor in CPU memory, e.g. tensor.cpu()"
                ))
            })?;
            let buffer = PyUntypedBuffer::get(&array)?;
            return Array::new(object.py(), buffer, access, what, shape).map(Frames::Array);
        }
        Err(PyTypeError::new_err(format!(
            "{what} is {}; give a NumPy array, another object with the buffer protocol or DLPack, or a PyAV frame",
            object.get_type().name()?
        )))
    }

    pub fn kind(&self) -> Kind {
        match self {
            Frames::Array(array) => Kind::Array(*array.shape()),
            Frames::Video(video) => Kind::Video(*video.format()),
        }
    }

    /// A frame in the lent memory. Not for colour frames.
    pub fn frame(&self, index: usize) -> Frame {
        match self {
            Frames::Array(array) => array.frame(index),
            Frames::Video(video) => video.frame(),
        }
    }

    /// The array, if it has colour frames, which are copied.
    pub fn colour(&self) -> Option<&Array> {
        match self {
            Frames::Array(array) if array.shape().colour => Some(array),
            _ => None,
        }
    }
}

impl Kind {
    /// Of each frame.
    pub fn format(&self) -> Format {
        match self {
            Kind::Array(shape) => shape.format(),
            Kind::Video(format) => *format,
        }
    }

    /// How many frames there are.
    pub fn count(&self) -> usize {
        match self {
            Kind::Array(shape) => shape.count(),
            Kind::Video(_) => 1,
        }
    }

    /// The kind of results with `format`.
    pub fn resulting(&self, format: &Format) -> Kind {
        match self {
            Kind::Array(shape) => Kind::Array(shape.resulting(format)),
            Kind::Video(_) => Kind::Video(*format),
        }
    }

    /// New memory for results of frames `of`.
    pub fn empty<'py>(&self, of: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        match self {
            Kind::Array(shape) => shape.empty(of.py()),
            Kind::Video(format) => video::empty(format, of),
        }
    }
}

impl std::fmt::Display for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Kind::Array(shape) => shape.fmt(f),
            Kind::Video(format) => write!(f, "a PyAV frame, {format}"),
        }
    }
}
