//! Named choices: how jobs reach workers, and where workers run.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

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
    /// Every flavour, in the order of listings.
    pub const ALL: [Dispatch; 3] = [Dispatch::Fifo, Dispatch::Mailbox, Dispatch::Steal];

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

/// The CPUs of the workers relative to those of the threads for input and output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Placement {
    /// The operating system places the threads. Only while another process uses a CPU, the tuner may pin each worker
    /// to its own CPU.
    #[default]
    None,
    /// The first worker shares its core with the I/O thread.
    IoSame,
    /// Workers avoid the core of the I/O thread if there are others.
    IoDiff,
    /// Workers avoid the core module (shared mid-level cache or SMT siblings) of the I/O thread.
    ModuleDiff,
}

impl Placement {
    /// Every placement, in the order of listings.
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

/// A plan, structure, dispatch or placement that cannot be parsed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown {what} '{given}'; one of: {known}")]
pub struct ParsePlanError {
    pub(crate) what: &'static str,
    pub(crate) given: String,
    pub(crate) known: String,
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

named!(Dispatch, "dispatch");
named!(Placement, "placement");
