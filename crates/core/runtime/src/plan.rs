//! Plans: how a stream's units are divided, dispatched and placed.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;

pub use crate::named::{Dispatch, ParsePlanError, Placement};
use crate::structure::Structure;

/// A complete plan: the choices of the tuner, which a user can pin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Plan {
    /// How the service runs units.
    pub structure: &'static Structure,
    /// How jobs reach workers.
    pub dispatch: Dispatch,
    /// The number of items in one job. The service defines an item: a row of output, a block, a node. In a `pipeline`
    /// it is the minimum number of steps in one stage: 1 makes one pipeline of all workers, a larger number makes
    /// shorter ones side by side. In a wavefront it is the number of consecutive steps of a line.
    pub grain: u32,
    /// The number of workers that take part, at least 1.
    pub workers: u32,
    /// The number of devices that take part too. Only a farm can have any.
    pub devices: u32,
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} \u{b7} {} \u{b7} grain {} \u{b7} {} worker{}",
            self.structure,
            self.dispatch,
            self.grain,
            self.workers,
            if self.workers == 1 { "" } else { "s" }
        )?;
        match self.devices {
            0 => Ok(()),
            1 => f.write_str(" + 1 device"),
            devices => write!(f, " + {devices} devices"),
        }
    }
}

/// The plan that a user requested. Named parts are pinned; the rest uses the service's defaults.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Choice {
    /// The tuner decides and keeps deciding.
    #[default]
    Auto,
    /// This plan for the whole stream: `STRUCTURE[/DISPATCH[/GRAIN]]`.
    Fixed {
        /// The name of a structure. The service checks it when the stream is set up.
        structure: String,
        /// How jobs reach workers; by default the structure's own flavour.
        dispatch: Option<Dispatch>,
        /// Items in one job; by default the service's.
        grain: Option<u32>,
    },
}

impl Choice {
    /// Rejects a structure name that is not among `known`, before anything is opened.
    ///
    /// # Errors
    /// [`ParsePlanError`], which lists the known names.
    pub fn among(self, known: &[&Structure]) -> Result<Choice, ParsePlanError> {
        match self {
            Choice::Fixed { structure, .. } if known.iter().all(|s| s.name != structure) => {
                let names = ["auto"].into_iter().chain(known.iter().map(|s| s.name));
                Err(ParsePlanError {
                    what: "plan",
                    given: structure,
                    known: names.collect::<Vec<_>>().join(", "),
                })
            }
            choice => Ok(choice),
        }
    }
}

impl FromStr for Choice {
    type Err = ParsePlanError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "auto" {
            return Ok(Choice::Auto);
        }
        let mut parts = text.split('/');
        let structure = parts.next().unwrap_or_default().to_owned();
        let dispatch = parts.next().map(str::parse).transpose()?;
        let grain = parts
            .next()
            .map(|g| match g.parse() {
                Ok(n) if n > 0 => Ok(n),
                _ => Err(ParsePlanError {
                    what: "grain",
                    given: g.to_owned(),
                    known: "a number of items, 1 or more".into(),
                }),
            })
            .transpose()?;
        match parts.next() {
            None => Ok(Choice::Fixed {
                structure,
                dispatch,
                grain,
            }),
            Some(_) => Err(ParsePlanError {
                what: "plan",
                given: text.to_owned(),
                known: "auto, STRUCTURE, STRUCTURE/DISPATCH, STRUCTURE/DISPATCH/GRAIN".into(),
            }),
        }
    }
}
