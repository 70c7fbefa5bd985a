//! Plans: how a stream's units are divided, dispatched and placed.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// How a graph of stages runs on one unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Structure {
    /// Stage by stage over the whole unit, with a barrier after each stage.
    Sequential,
    /// Only the last stage is divided; every element pulls what it needs, recursively.
    Backward,
    /// `Backward` with a valid bit per intermediate element, so that nothing is computed twice.
    BackwardCached,
    /// `Backward` that also writes intermediates to memory; an experiment, never chosen by the tuner.
    BackwardStore,
    /// Regions of output run through all stages in a worker's private memory.
    Tiled,
    /// Stages on different workers, joined by rings.
    Pipeline,
    /// Whole units on different workers.
    Farm,
    /// Several units at once, a sample of each side by side in the lanes of a register.
    Abreast,
}

impl Structure {
    /// Every structure, in the order they are listed to users.
    pub const ALL: [Structure; 8] = [
        Structure::Sequential,
        Structure::Backward,
        Structure::BackwardCached,
        Structure::BackwardStore,
        Structure::Tiled,
        Structure::Pipeline,
        Structure::Farm,
        Structure::Abreast,
    ];

    /// Whether several units are in work at once, so that one may wait for others that come after it.
    pub fn overlaps(self) -> bool {
        self.flows() || self == Structure::Abreast
    }

    /// Whether units are begun while others are in work, so that none waits for the last job of the one before.
    pub fn flows(self) -> bool {
        matches!(self, Structure::Farm | Structure::Pipeline)
    }

    /// The name used on command lines and in results.
    pub fn name(self) -> &'static str {
        match self {
            Structure::Sequential => "sequential",
            Structure::Backward => "backward",
            Structure::BackwardCached => "backward-cached",
            Structure::BackwardStore => "backward-store",
            Structure::Tiled => "tiled",
            Structure::Pipeline => "pipeline",
            Structure::Farm => "farm",
            Structure::Abreast => "abreast",
        }
    }

    /// One line for `evener plans`.
    pub fn about(self) -> &'static str {
        match self {
            Structure::Sequential => {
                "stage by stage over the whole unit, each stage divided, a barrier between"
            }
            Structure::Backward => {
                "the last stage is divided; each output pulls its inputs; nothing is stored"
            }
            Structure::BackwardCached => "backward, each intermediate element computed once",
            Structure::BackwardStore => {
                "backward, intermediates also written to memory (an experiment)"
            }
            Structure::Tiled => "regions of output run through all stages in private cache",
            Structure::Pipeline => "stages on different workers, joined by rings",
            Structure::Farm => "whole units on different workers, results put back in order",
            Structure::Abreast => "several units at once, side by side in the lanes of registers",
        }
    }
}

/// How jobs reach workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Dispatch {
    /// One ring that every worker takes from.
    Fifo,
    /// A slot per worker, where the dispatcher places that worker's share of the jobs.
    Mailbox,
    /// A deque per worker; idle workers steal.
    Steal,
}

impl Dispatch {
    /// Every flavour, in the order they are listed to users.
    pub const ALL: [Dispatch; 3] = [Dispatch::Fifo, Dispatch::Mailbox, Dispatch::Steal];

    /// The flavour a structure is run with where nobody says and nothing is known.
    pub fn usual(structure: Structure) -> Dispatch {
        match structure {
            // Regions side by side read much of the same, and a pass reads about where the one before it wrote, so a
            // worker had better go from one region to the next, and be at the same ones in each pass.
            Structure::Tiled | Structure::Abreast => Dispatch::Steal,
            _ => Dispatch::Fifo,
        }
    }

    /// The name used on command lines and in results.
    pub fn name(self) -> &'static str {
        match self {
            Dispatch::Fifo => "fifo",
            Dispatch::Mailbox => "mailbox",
            Dispatch::Steal => "steal",
        }
    }

    /// One line for `evener plans`.
    pub fn about(self) -> &'static str {
        match self {
            Dispatch::Fifo => "one shared ring, any worker takes the next job",
            Dispatch::Mailbox => "a slot per worker, the dispatcher places jobs in equal shares",
            Dispatch::Steal => "a deque per worker, ranges split in halves, idle workers steal",
        }
    }
}

/// Where workers run relative to the threads that do input and output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Placement {
    /// The operating system places threads. Only while another process takes a processor, the tuner may have each
    /// worker keep to one of its own.
    #[default]
    None,
    /// The first worker shares its core with the I/O thread.
    IoSame,
    /// Workers keep off the core of the I/O thread while there are others.
    IoDiff,
    /// Workers keep off the core module (shared mid-level cache or SMT siblings) of the I/O thread.
    ModuleDiff,
}

impl Placement {
    /// Every placement, in the order they are listed to users.
    pub const ALL: [Placement; 4] = [
        Placement::None,
        Placement::IoSame,
        Placement::IoDiff,
        Placement::ModuleDiff,
    ];

    /// The name used on command lines and in results.
    pub fn name(self) -> &'static str {
        match self {
            Placement::None => "none",
            Placement::IoSame => "io-same",
            Placement::IoDiff => "io-diff",
            Placement::ModuleDiff => "module-diff",
        }
    }
}

/// A complete plan: what the tuner chooses and what a user can pin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Plan {
    /// How the graph runs on a unit.
    pub structure: Structure,
    /// How jobs reach workers.
    pub dispatch: Dispatch,
    /// Items in one job; what an item is, the service says (a row of output, a block, a node). In a `pipeline` the
    /// fewest steps in one stage: 1 makes one pipeline of all workers, more make shorter ones side by side.
    pub grain: u32,
    /// Workers that take part, at least 1.
    pub workers: u32,
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
        )
    }
}

/// What a user asked for: parts that are named are pinned, the rest takes the service's defaults.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Choice {
    /// The tuner decides and keeps deciding.
    #[default]
    Auto,
    /// This plan for the whole stream: `STRUCTURE[/DISPATCH[/GRAIN]]`.
    Fixed {
        /// How the graph runs on a unit.
        structure: Structure,
        /// How jobs reach workers; `fifo` unless named.
        dispatch: Option<Dispatch>,
        /// Items in one job; the service's default unless named.
        grain: Option<u32>,
    },
}

/// A plan, structure, dispatch or placement that could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown {what} '{given}'; one of: {known}")]
pub struct ParsePlanError {
    what: &'static str,
    given: String,
    known: String,
}

macro_rules! named {
    ($type:ty, $what:literal) => {
        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.name())
            }
        }

        impl FromStr for $type {
            type Err = ParsePlanError;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                Self::ALL
                    .into_iter()
                    .find(|v| v.name() == text)
                    .ok_or_else(|| ParsePlanError {
                        what: $what,
                        given: text.to_owned(),
                        known: Self::ALL.map(|v| v.name()).join(", "),
                    })
            }
        }
    };
}

named!(Structure, "structure");
named!(Dispatch, "dispatch");
named!(Placement, "placement");

impl FromStr for Choice {
    type Err = ParsePlanError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "auto" {
            return Ok(Choice::Auto);
        }
        let mut parts = text.split('/');
        let structure = parts
            .next()
            .unwrap_or_default()
            .parse()
            .map_err(|e: ParsePlanError| ParsePlanError {
                what: "plan",
                known: format!("auto, {}", e.known),
                ..e
            })?;
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
