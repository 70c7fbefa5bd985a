//! Remembered plans, as a text that goes to other machines.

use evener_runtime::tuner::Memory;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// The plans that this user's runs on this machine remember; empty if there is no place for them.
#[pyfunction]
pub fn _plans() -> String {
    Memory::open_default().map_or_else(String::new, |memory| memory.text())
}

/// Remembers plans beside those that are there. Of two for the same work the later one stays.
#[pyfunction]
pub fn _remember(plans: &str) -> PyResult<()> {
    match Memory::open_default() {
        Some(memory) if !plans.is_empty() => memory
            .add(plans)
            .map_err(|error| PyValueError::new_err(format!("these are no plans: {error}"))),
        _ => Ok(()),
    }
}
