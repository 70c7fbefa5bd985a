//! The network stack beside a bare loop over the same device, smoltcp and the kernel's; contestants take turns. Then its
//! throughput by the sizes of what is sent.

mod bare;
mod curves;
mod figures;
mod host;
mod kernel;
mod loss;
mod namespace;
mod place;
mod process;
mod program;
mod smoltcp;
mod tables;
mod tun;
mod veth;
mod wire;

use std::io;
use std::time::{Duration, Instant};

use evener_runtime::Topology;
use serde::Serialize;

use crate::error::Error;
use crate::stats::rotated;

pub use curves::{CURVES, Curves, Drawn, Line};
pub use figures::{FIGURES, Figure};
pub use program::echo;

/// What to measure.
#[derive(Clone, Debug)]
pub struct Options {
    /// What has a name that begins with one of these; all if there is none.
    pub only: Vec<String>,
    /// Times everything is measured.
    pub rounds: u32,
    /// How long each contestant runs in a round.
    pub time: Duration,
}

/// A point of a curve takes this part of the time of a contestant.
const POINTS: u32 = 4;

/// The names of all that can be measured, in order.
pub fn names() -> impl Iterator<Item = &'static str> {
    let figures = FIGURES.iter().map(|figure| figure.name);
    figures.chain(CURVES.iter().map(|curves| curves.name))
}

/// All figures of a run.
#[derive(Clone, Debug, Serialize)]
pub struct NetReport {
    /// The machine's key.
    pub machine: String,
    /// Of evener.
    pub version: &'static str,
    /// In the order of [`FIGURES`].
    pub figures: Vec<Measured>,
    /// In the order of [`CURVES`].
    pub drawn: Vec<Drawn>,
    /// Times everything was measured.
    pub rounds: u32,
    /// Seconds that each contestant ran in a round.
    pub seconds: f64,
}

/// One figure.
#[derive(Clone, Debug, Serialize)]
pub struct Measured {
    /// Its name.
    pub name: &'static str,
    /// Of its values.
    pub unit: &'static str,
    /// Evener first.
    pub contestants: Vec<Contestant>,
}

/// What one contestant reached.
#[derive(Clone, Debug, Serialize)]
pub struct Contestant {
    /// Who.
    pub name: &'static str,
    /// By round.
    pub values: Vec<f64>,
}

/// Measures.
///
/// # Errors
/// A device cannot be opened, or fails.
pub fn run(options: &Options, progress: &mut dyn FnMut(&str)) -> Result<NetReport, Error> {
    let wanted = |name: &str| {
        let begins = |text: &String| name.starts_with(text.as_str());
        options.only.is_empty() || options.only.iter().any(begins)
    };
    let mut figures = Vec::new();
    for figure in FIGURES.iter().filter(|figure| wanted(figure.name)) {
        progress(figure.name);
        figures.push(measure(figure, options).map_err(|error| Error::Net(figure.name, error))?);
    }
    let mut drawn = Vec::new();
    for curves in CURVES.iter().filter(|curves| wanted(curves.name)) {
        progress(curves.name);
        let figure = curves.draw(options.time / POINTS, options.rounds);
        drawn.push(figure.map_err(|error| Error::Net(curves.name, error))?);
    }
    Ok(NetReport {
        machine: Topology::detect().machine_key(),
        version: env!("CARGO_PKG_VERSION"),
        figures,
        drawn,
        rounds: options.rounds,
        seconds: options.time.as_secs_f64(),
    })
}

fn measure(figure: &Figure, options: &Options) -> io::Result<Measured> {
    let count = figure.contestants.len();
    let mut values = vec![Vec::new(); count];
    for round in 0..options.rounds {
        for which in rotated(count, round) {
            let (_, run) = figure.contestants[which];
            values[which].push(run(options.time)?);
        }
    }
    let contestants = (figure.contestants.iter().zip(values))
        .map(|(&(name, _), values)| Contestant { name, values })
        .collect();
    Ok(Measured {
        name: figure.name,
        unit: figure.unit,
        contestants,
    })
}

/// Billions of bits a second.
fn gbps(bytes: u64, time: Duration) -> f64 {
    bytes as f64 * 8e-9 / time.as_secs_f64()
}

/// Thousands a second.
fn thousands(count: u64, time: Duration) -> f64 {
    count as f64 / 1e3 / time.as_secs_f64()
}

/// The time in `time`, and now.
fn until(time: Duration) -> Instant {
    Instant::now() + time
}
