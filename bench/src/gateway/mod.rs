//! The gateway beside other programs that do the same, and beside a bare loop over the same sockets; contestants take turns.

mod bare;
mod content;
mod contestants;
mod distance;
mod link;
pub mod part;
mod place;
mod plain;
mod receivers;
mod rows;
mod scene;
mod sender;
mod soak;
mod tables;

use std::path::PathBuf;
use std::time::Duration;

use evener_runtime::Topology;
use serde::Serialize;

use crate::error::Error;
use crate::stats::rotated;

pub use rows::ROWS;

/// What to measure.
#[derive(Clone, Debug)]
pub struct Options {
    /// Rows whose name begins with one of these; all if there is none.
    pub only: Vec<String>,
    /// Times everything is measured.
    pub rounds: u32,
    /// How long each contestant runs in a round.
    pub time: Duration,
    /// Other programs.
    pub peers: Vec<Peer>,
    /// This program, which is run as the gateway and as what is around it.
    pub program: PathBuf,
}

/// A program that was built elsewhere.
#[derive(Clone, Debug)]
pub struct Peer {
    /// Which.
    pub kind: PeerKind,
    /// Where it lies.
    pub program: PathBuf,
}

/// The programs that this can start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PeerKind {
    /// Another build of this program.
    Evener,
    /// <https://github.com/stackia/rtp2httpd>
    Rtp2httpd,
    /// <https://github.com/AlexxIT/go2rtc>
    Go2rtc,
}

impl PeerKind {
    /// Each with the name it is asked for by.
    pub const ALL: [(&'static str, PeerKind); 3] = [
        ("evener", PeerKind::Evener),
        ("rtp2httpd", PeerKind::Rtp2httpd),
        ("go2rtc", PeerKind::Go2rtc),
    ];

    /// What it is called in tables.
    pub fn name(self) -> &'static str {
        match self {
            PeerKind::Evener => "another evener",
            PeerKind::Rtp2httpd => "rtp2httpd",
            PeerKind::Go2rtc => "go2rtc",
        }
    }
}

/// A question: what is measured for it, and what its answer should be.
pub struct Row {
    /// Its name.
    pub name: &'static str,
    /// What the figures should be.
    pub bound: &'static str,
    /// It is measured only if its whole name is given.
    pub named: bool,
    pub(crate) measure: fn(&Options) -> Result<Answer, Error>,
}

/// What was measured for a row.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    /// In the order they are shown.
    pub figures: Vec<Figure>,
    /// Curves, if there are any.
    pub drawn: Vec<Drawn>,
}

/// A figure and what each contestant reached.
#[derive(Clone, Debug, Serialize)]
pub struct Figure {
    /// The name of its row.
    pub row: &'static str,
    /// What its row should reach.
    pub bound: &'static str,
    /// Of what it is.
    pub name: String,
    /// Of its values.
    pub unit: &'static str,
    /// Evener first.
    pub contestants: Vec<Contestant>,
}

/// What one contestant reached.
#[derive(Clone, Debug, Serialize)]
pub struct Contestant {
    /// Who.
    pub name: String,
    /// By round.
    pub values: Vec<f64>,
}

/// Curves over the same places.
#[derive(Clone, Debug, Serialize)]
pub struct Drawn {
    /// What it shows.
    pub title: String,
    /// How it was measured.
    pub about: String,
    /// Of the values.
    pub unit: &'static str,
    /// What the places are, with their unit.
    pub over: &'static str,
    /// The places.
    pub at: Vec<f64>,
    /// The curves.
    pub lines: Vec<Line>,
}

/// A curve.
#[derive(Clone, Debug, Serialize)]
pub struct Line {
    /// Whose.
    pub name: String,
    /// A value for each place, if it was measured there.
    pub values: Vec<Option<f64>>,
}

/// All figures of a run.
#[derive(Clone, Debug, Serialize)]
pub struct GatewayReport {
    /// The machine's key.
    pub machine: String,
    /// Of evener.
    pub version: &'static str,
    /// In the order of [`ROWS`].
    pub figures: Vec<Figure>,
    /// Curves.
    pub drawn: Vec<Drawn>,
    /// Times everything was measured.
    pub rounds: u32,
    /// Seconds that each contestant ran in a round.
    pub seconds: f64,
}

/// Measures.
///
/// # Errors
/// A namespace cannot be made, or a process fails.
pub fn run(options: &Options, progress: &mut dyn FnMut(&str)) -> Result<GatewayReport, Error> {
    let wanted = |row: &Row| match row.named {
        true => options.only.iter().any(|text| text == row.name),
        false => {
            let begins = |text: &String| row.name.starts_with(text.as_str());
            options.only.is_empty() || options.only.iter().any(begins)
        }
    };
    let (mut figures, mut drawn) = (Vec::new(), Vec::new());
    for row in ROWS.iter().filter(|row| wanted(row)) {
        progress(row.name);
        let answer = (row.measure)(options)?;
        figures.extend(answer.figures.into_iter().map(|figure| Figure {
            row: row.name,
            bound: row.bound,
            ..figure
        }));
        drawn.extend(answer.drawn);
    }
    Ok(GatewayReport {
        machine: Topology::detect().machine_key(),
        version: env!("CARGO_PKG_VERSION"),
        figures,
        drawn,
        rounds: options.rounds,
        seconds: options.time.as_secs_f64(),
    })
}

impl Figure {
    /// A figure whose row is filled in later.
    pub(crate) fn new(name: impl Into<String>, unit: &'static str) -> Figure {
        Figure {
            row: "",
            bound: "",
            name: name.into(),
            unit,
            contestants: Vec::new(),
        }
    }

    /// With one more contestant.
    pub(crate) fn with(mut self, name: impl Into<String>, values: Vec<f64>) -> Figure {
        let name = name.into();
        self.contestants.push(Contestant { name, values });
        self
    }
}

/// Runs each contestant once a round, in turns, and returns what each reached by round.
pub(crate) fn take_turns<T>(
    rounds: u32,
    contestants: &mut [Box<dyn FnMut() -> Result<T, Error> + '_>],
) -> Result<Vec<Vec<T>>, Error> {
    let mut values: Vec<Vec<T>> = contestants.iter().map(|_| Vec::new()).collect();
    for round in 0..rounds {
        for which in rotated(contestants.len(), round) {
            values[which].push(contestants[which]()?);
        }
    }
    Ok(values)
}
