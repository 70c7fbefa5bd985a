//! The device that computes beside the CPU cores, chosen once for all runs of the process.

use std::sync::{Arc, Mutex, PoisonError};

use evener_devices::open;
use evener_runtime::Device;
use evener_runtime::runtime::Builder;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::kept;

#[derive(Clone)]
enum Chosen {
    None,
    /// The best one, opened when it is needed.
    Best,
    Named(Arc<dyn Device>),
}

static CHOSEN: Mutex<Chosen> = Mutex::new(Chosen::None);

/// Selects the device that computes beside the CPU cores in all streams opened from now on: auto, none, or a name from
/// `evener topology`.
#[pyfunction]
pub fn _use_device(py: Python<'_>, name: &str) -> PyResult<()> {
    let chosen = match name {
        "none" => Chosen::None,
        "auto" => Chosen::Best,
        name => {
            let device = py.detach(|| open(Some(name)));
            let device =
                device.map_err(|error| PyValueError::new_err(format!("{name}: {error}")))?;
            device.map_or(Chosen::None, Chosen::Named)
        }
    };
    *CHOSEN.lock().unwrap_or_else(PoisonError::into_inner) = chosen;
    kept::close_all(py, false);
    Ok(())
}

/// Passes the device to a runtime.
pub fn give(builder: Builder) -> Builder {
    let chosen = CHOSEN
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .clone();
    match chosen {
        Chosen::None => builder,
        Chosen::Best => builder.devices_found_by(best),
        Chosen::Named(device) => builder.devices(vec![device]),
    }
}

fn best() -> Vec<Arc<dyn Device>> {
    let device = open(Some("auto")).ok().flatten();
    device.into_iter().collect()
}
