//! Video files: graphs over them, and the encoder.

use std::path::PathBuf;

use evener_h264::config::{Config, Preset, Rate, Settings, Tune, parse_bits, parse_level};
use evener_h264::session as h264;
use evener_h264::syntax::Profile;
use evener_image::session::{Audio, Options, Session};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::beside;
use crate::errors::{self, FileError};
use crate::graph::Graph;
use crate::report;
use crate::setup::Setup;

/// A report, and warnings about what the output does not keep of the input.
type Done<'py> = (Bound<'py, PyAny>, Vec<String>);

/// Filters a file into another one.
#[pyfunction]
#[allow(clippy::too_many_arguments)] // The package calls it by name.
pub fn _filter_file<'py>(
    py: Python<'py>,
    graph: &Bound<'py, Graph>,
    input: PathBuf,
    output: PathBuf,
    audio: bool,
    keep_partial: bool,
    planes: &str,
    workers: Option<u32>,
    plan: &str,
    progress: Option<Bound<'py, PyAny>>,
) -> PyResult<Done<'py>> {
    let setup = Setup::new(planes, workers, plan)?;
    let filters = graph.get().filters.clone();
    let result = beside::run(py, progress.as_ref(), |beside| {
        let failed = |error: evener_image::session::Error| match error {
            evener_image::session::Error::Graph { reason, .. } => errors::graph(&reason),
            error => failure(&error, evener_image::session::Error::is_request),
        };
        let session = Session::open(&filters, setup.planes, input, output, kept(audio));
        let session = session.map_err(failed)?;
        let notes = session.notes().to_vec();
        let options = Options {
            plan: setup.plan.clone(),
            workers: setup.workers,
            keep_partial,
            on_progress: beside.on_progress(session.input().frames()),
            cancel: beside.cancel,
            ..Options::default()
        };
        let report = session.run(&setup.runtime()?, options).map_err(failed)?;
        PyResult::Ok((report, notes))
    });
    let (report, notes) = result??;
    Ok((report::of_frames(py, report)?, notes))
}

/// Encodes a file as H.264 into another one.
#[pyfunction]
#[allow(clippy::too_many_arguments)] // The package calls it by name.
pub fn _encode_file<'py>(
    py: Python<'py>,
    graph: Option<Bound<'py, Graph>>,
    input: PathBuf,
    output: PathBuf,
    audio: bool,
    keep_partial: bool,
    settings: Asked,
    workers: Option<u32>,
    plan: &str,
    progress: Option<Bound<'py, PyAny>>,
) -> PyResult<Done<'py>> {
    let setup = Setup::of_encoder(workers, plan)?;
    let config = settings.config()?;
    let filters = graph.map(|graph| graph.get().filters.clone());
    let result = beside::run(py, progress.as_ref(), |beside| {
        let failed = |error: h264::Error| match error {
            h264::Error::Frames(evener_image::session::Error::Graph { reason, .. }) => {
                errors::graph(&reason)
            }
            error => failure(&error, h264::Error::is_request),
        };
        let session = h264::Session::open(&config, filters.as_ref(), input, output, kept(audio));
        let session = session.map_err(failed)?;
        let mut notes = session.notes().to_vec();
        let options = h264::Options {
            plan: setup.plan.clone(),
            workers: setup.workers,
            keep_partial,
            // Bytes are what is written, and how many there will be is unknown.
            on_progress: beside.on_progress(None),
            cancel: beside.cancel,
        };
        let outcome = session.run(&setup.runtime()?, options).map_err(failed)?;
        notes.extend(outcome.notes.iter().cloned());
        PyResult::Ok((outcome, notes))
    });
    let (outcome, notes) = result??;
    Ok((
        report::of(py, &outcome.report.to_string(), &outcome)?,
        notes,
    ))
}

/// Settings of the encoder, with the option names of the command.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Asked {
    preset: String,
    crf: Option<f32>,
    qp: Option<u8>,
    bitrate: Option<String>,
    maxrate: Option<String>,
    bufsize: Option<String>,
    profile: Option<String>,
    level: Option<String>,
    keyint: Option<u32>,
    keys: Vec<u64>,
    tune: Option<String>,
    psnr: bool,
    ssim: bool,
}

impl Asked {
    fn config(&self) -> PyResult<Config> {
        let wrong = |error: &dyn std::fmt::Display| PyValueError::new_err(error.to_string());
        let bits = |text: &Option<String>| {
            let parsed = text.as_deref().map(parse_bits).transpose();
            parsed.map_err(|error| wrong(&error))
        };
        let defaults = Settings::default();
        let rates = [
            self.qp.map(Rate::Qp),
            bits(&self.bitrate)?.map(Rate::Bitrate),
            self.crf.map(Rate::Crf),
        ];
        let mut rates = rates.into_iter().flatten();
        let rate = rates.next().unwrap_or(defaults.rate);
        if rates.next().is_some() {
            return Err(PyValueError::new_err("give one of crf, qp and bitrate"));
        }
        let level = self.level.as_deref().map(parse_level).transpose();
        let settings = Settings {
            preset: named("preset", Some(&self.preset), Preset::ALL, Preset::name)?
                .unwrap_or_default(),
            rate,
            maxrate: bits(&self.maxrate)?,
            bufsize: bits(&self.bufsize)?,
            profile: named(
                "profile",
                self.profile.as_ref(),
                Profile::ALL,
                Profile::name,
            )?,
            level: level.map_err(|error| wrong(&error))?,
            keyint: self.keyint.unwrap_or(defaults.keyint),
            keys: self.keys.clone(),
            tune: named("tune", self.tune.as_ref(), Tune::ALL, Tune::name)?,
            psnr: self.psnr,
            ssim: self.ssim,
        };
        Config::new(&settings).map_err(|error| wrong(&error))
    }
}

/// Returns the element of `all` with the name `given`.
fn named<T: Copy, const N: usize>(
    what: &str,
    given: Option<&String>,
    all: [T; N],
    name: fn(T) -> &'static str,
) -> PyResult<Option<T>> {
    let Some(given) = given else {
        return Ok(None);
    };
    match all.into_iter().find(|&one| name(one) == given) {
        Some(one) => Ok(Some(one)),
        None => Err(PyValueError::new_err(format!(
            "{what}={given:?}: give one of {}",
            all.map(name).join(", ")
        ))),
    }
}

fn kept(audio: bool) -> Audio {
    match audio {
        true => Audio::Copied,
        false => Audio::Omitted,
    }
}

/// An impossible request is a `ValueError`, every other error a `FileError`.
fn failure<E: std::fmt::Display>(error: &E, is_request: fn(&E) -> bool) -> PyErr {
    match is_request(error) {
        true => PyValueError::new_err(error.to_string()),
        false => errors::of::<FileError>(error),
    }
}
