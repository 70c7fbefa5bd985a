//! The settings of a run, and streams opened with them.

use std::str::FromStr;

use evener_image::graph::{Graph, Planes};
use evener_image::open::OpenGraph;
use evener_image::{Format, structures};
use evener_runtime::dispatch::MAX_WORKERS;
use evener_runtime::stream::RunOptions;
use evener_runtime::{Choice, Runtime, Structure, Topology};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::device;
use crate::errors::{self, StreamError};

/// The settings of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setup {
    pub planes: Planes,
    /// Fixes the number of workers.
    pub workers: Option<u32>,
    pub plan: Choice,
}

impl Setup {
    /// Creates the settings from the user's arguments.
    pub fn new(planes: &str, workers: Option<u32>, plan: &str) -> PyResult<Setup> {
        let found = Planes::ALL.into_iter().find(|p| p.name() == planes);
        let planes = found.ok_or_else(|| {
            PyValueError::new_err(format!(
                "planes={planes:?}: give one of 'auto', 'each', 'luma'"
            ))
        })?;
        Setup::among(planes, workers, plan, &structures::ALL)
    }

    /// The same for the encoder.
    pub fn of_encoder(workers: Option<u32>, plan: &str) -> PyResult<Setup> {
        Setup::among(
            Planes::Auto,
            workers,
            plan,
            &evener_h264::service::STRUCTURES,
        )
    }

    fn among(
        planes: Planes,
        workers: Option<u32>,
        plan: &str,
        known: &[&Structure],
    ) -> PyResult<Setup> {
        if workers.is_some_and(|n| n == 0 || n as usize > MAX_WORKERS) {
            return Err(PyValueError::new_err(format!(
                "workers: give a number from 1 to {MAX_WORKERS}, or None for one per CPU"
            )));
        }
        let plan = Choice::from_str(plan)
            .and_then(|plan| plan.among(known))
            .map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok(Setup {
            planes,
            workers,
            plan,
        })
    }

    /// Returns a runtime with the requested workers, which remembers plans as the command does.
    pub fn runtime(&self) -> PyResult<Runtime> {
        let workers = match self.workers {
            Some(workers) => workers as usize,
            None => Topology::detect().workers(),
        };
        let builder = Runtime::builder().workers(workers).memory(true);
        let runtime = device::give(builder).build();
        runtime.map_err(|error| errors::of::<StreamError>(&error))
    }

    /// Opens a stream of frames of `format`.
    pub fn open<T: Send>(
        &self,
        py: Python<'_>,
        graph: &Graph,
        format: &Format,
    ) -> PyResult<OpenGraph<T>> {
        py.detach(|| {
            let options = RunOptions {
                plan: self.plan.clone(),
                workers: self.workers,
                ..RunOptions::default()
            };
            let opened = OpenGraph::new(self.runtime()?, graph, format, self.planes, options);
            opened.map_err(|error| errors::open(&error))
        })
    }
}
