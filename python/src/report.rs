//! Reports of runs, shown by `evener/_report.py`.

use evener_runtime::Report;
use evener_runtime::stream::Names;
use pyo3::prelude::*;
use serde::Serialize;

use crate::errors::{self, StreamError};

/// Returns the Python object for a report on frames.
pub fn of_frames(py: Python<'_>, mut report: Report) -> PyResult<Bound<'_, PyAny>> {
    report.names = Names {
        units: "frames".to_owned(),
        items: "rows".to_owned(),
        rate: "fps".to_owned(),
    };
    of(py, &report.to_string(), &report)
}

/// Returns the Python object for a report with its printed line.
pub fn of<'py>(
    py: Python<'py>,
    text: &str,
    report: &impl Serialize,
) -> PyResult<Bound<'py, PyAny>> {
    let json = serde_json::to_string(report).map_err(|error| errors::of::<StreamError>(&error))?;
    let module = py.import("evener._report")?;
    module.call_method1("of", (text, json))
}
