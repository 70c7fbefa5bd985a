//! The exceptions of the package, which `evener/_errors.py` defines.

use evener_image::graph::GraphError as Graph;
use evener_image::open::OpenError;
use evener_runtime::stream::StreamError as Stream;
use pyo3::prelude::*;
use pyo3::{PyTypeInfo, import_exception};

use crate::lend::Refused;

import_exception!(evener._errors, Error);
import_exception!(evener._errors, GraphError);
import_exception!(evener._errors, FrameError);
import_exception!(evener._errors, StreamError);
import_exception!(evener._errors, FileError);
import_exception!(evener._errors, CryptError);
import_exception!(evener._errors, ImageError);
import_exception!(evener._errors, Closed);
import_exception!(evener._errors, Full);
import_exception!(evener._errors, Empty);

/// An error as an exception of class `T`.
pub fn of<T: PyTypeInfo>(error: &dyn std::fmt::Display) -> PyErr {
    PyErr::new::<T, _>(error.to_string())
}

/// A graph that cannot be parsed or bound.
pub fn graph(error: &Graph) -> PyErr {
    of::<GraphError>(error)
}

/// A stream that cannot be opened.
pub fn open(error: &OpenError) -> PyErr {
    match error {
        OpenError::Graph(error) => graph(error),
        OpenError::Plan(error) => pyo3::exceptions::PyValueError::new_err(error.to_string()),
        OpenError::Runtime(error) => of::<StreamError>(error),
    }
}

/// A stream that failed.
pub fn stream(error: &Stream) -> PyErr {
    match error.is_request() {
        true => pyo3::exceptions::PyValueError::new_err(error.to_string()),
        false => of::<StreamError>(error),
    }
}

/// Memory that cannot be lent. `what` names the argument.
pub fn refused(what: &str, why: &Refused) -> PyErr {
    FrameError::new_err(match why {
        Refused::ReadOnly => format!("{what} is read-only; give writable memory"),
        Refused::Overlap => format!(
            "{what} overlaps memory that a stream reads or writes; give separate memory, such as a copy"
        ),
    })
}
