//! Plans: how a stream's units are divided, dispatched and placed.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;

pub use crate::named::{Dispatch, ParsePlanError, Placement};
use crate::structure::Structure;

/// A complete plan: what the tuner chooses and what a user can pin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Plan {
    /// How the service runs units.
    pub structure: &'static Structure,
    /// How jobs reach workers.
    pub dispatch: Dispatch,
    /// Items in one job; what an item is, the service says (a row of output, a block, a node). In a `pipeline` the
    /// fewest steps in one stage: 1 makes one pipeline of all workers, more make shorter ones side by side. In a
    /// wavefront the steps of a line that run on end.
    pub grain: u32,
    /// Workers that take part, at least 1.
    pub workers: u32,
    /// Devices that take part as well. Only a farm can have any.
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

/// What a user asked for: parts that are named are pinned, the rest takes the service's defaults.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Choice {
    /// The tuner decides and keeps deciding.
    #[default]
    Auto,
    /// This plan for the whole stream: `STRUCTURE[/DISPATCH[/GRAIN]]`.
    Fixed {
        /// The name of a structure; which there are, the service says when the stream is set up.
        structure: String,
        /// How jobs reach workers; the structure's own unless named.
        dispatch: Option<Dispatch>,
        /// Items in one job; the service's default unless named.
        grain: Option<u32>,
    },
}

impl Choice {
    /// Refuses the name of a structure that is none of `known`, before anything is opened.
    ///
    /// # Errors
    /// [`ParsePlanError`], which names those that are known.
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
