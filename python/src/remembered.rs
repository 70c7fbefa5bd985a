//! Remembered plans as text for other machines.

use evener_runtime::tuner::Memory;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Returns the plans remembered for this user on this machine; empty if they are not stored.
#[pyfunction]
pub fn _plans() -> String {
    Memory::open_default().map_or_else(String::new, |memory| memory.text())
}

/// Adds plans to the remembered ones. A later plan for the same work replaces an earlier one.
#[pyfunction]
pub fn _remember(plans: &str) -> PyResult<()> {
    match Memory::open_default() {
        Some(memory) if !plans.is_empty() => memory
            .add(plans)
            .map_err(|error| PyValueError::new_err(format!("not plans: {error}"))),
        _ => Ok(()),
    }
}
