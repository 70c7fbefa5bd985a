//! Structures: the ways in which services run units, as they declare them.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};

use serde::{Serialize, Serializer};

use crate::named::Dispatch;

/// How the units of a stream flow through workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// One unit after the other, the items of each pass divided over workers, a barrier after each pass.
    Divided,
    /// Whole units on different workers.
    Farm,
    /// Steps of a unit on different workers, which units pass in order.
    Pipeline,
    /// As `Divided`, but a part is about several units at once: [`Shape::units`](crate::Shape::units).
    Grouped,
    /// Lines of steps on different workers, of several units at once. Each step waits for those that
    /// [`Service::needs`](crate::Service::needs) names, in its own unit and in others, and for nothing else.
    ///
    /// Units in work stay in work when another number of workers or another grain is chosen, and are finished before
    /// another structure runs. A service that looks ahead, so that a unit is not done before later ones are begun,
    /// therefore offers one structure alone: with others its stream ends in an error.
    Wavefront,
}

/// One way in which a service can run units. A service declares each of its structures once, as a `static`.
///
/// Two structures are the same if they have the same name.
pub struct Structure {
    /// The name used on command lines, in results and in remembered plans.
    pub name: &'static str,
    /// One line for `evener plans`.
    pub about: &'static str,
    /// How units flow through workers.
    pub flow: Flow,
    /// The flavour that plans begin with where none is named and nothing is known.
    pub dispatch: Dispatch,
    /// Whether the tuner may choose it; otherwise it runs only where it is named.
    pub automatic: bool,
}

/// The plainest structure, which most services have and others are compared with.
pub static SEQUENTIAL: Structure = Structure {
    name: "sequential",
    about: "one stage at a time over the whole unit, each divided, with a barrier between",
    flow: Flow::Divided,
    dispatch: Dispatch::Fifo,
    automatic: true,
};

/// Whole units on different workers.
pub static FARM: Structure = Structure {
    name: "farm",
    about: "whole units on different workers, results put back in order",
    flow: Flow::Farm,
    dispatch: Dispatch::Fifo,
    automatic: true,
};

impl Structure {
    /// Whether several units are in work at once, so that one may wait for others that come after it.
    pub fn overlaps(&self) -> bool {
        self.flow != Flow::Divided
    }

    /// Whether units are begun while others are in work, so that none waits for the last job of the one before.
    pub fn flows(&self) -> bool {
        matches!(self.flow, Flow::Farm | Flow::Pipeline | Flow::Wavefront)
    }
}

impl PartialEq for Structure {
    fn eq(&self, other: &Structure) -> bool {
        // Jobs compare structures, and those of one service are the same statics.
        std::ptr::eq(self, other) || self.name == other.name
    }
}

impl Eq for Structure {}

impl PartialOrd for Structure {
    fn partial_cmp(&self, other: &Structure) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Structure {
    fn cmp(&self, other: &Structure) -> Ordering {
        self.name.cmp(other.name)
    }
}

impl Hash for Structure {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

impl fmt::Debug for Structure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl fmt::Display for Structure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name)
    }
}

impl Serialize for Structure {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name)
    }
}

/// Structures that tests of the runtime make up.
#[cfg(test)]
pub(crate) mod fixtures {
    use super::*;

    const fn structure(name: &'static str, flow: Flow, dispatch: Dispatch) -> Structure {
        Structure {
            name,
            about: "",
            flow,
            dispatch,
            automatic: true,
        }
    }

    pub(crate) static TILED: Structure = structure("tiled", Flow::Divided, Dispatch::Steal);
    pub(crate) static BACKWARD: Structure = structure("backward", Flow::Divided, Dispatch::Fifo);
    pub(crate) static PIPELINE: Structure = structure("pipeline", Flow::Pipeline, Dispatch::Fifo);
    pub(crate) static WAVEFRONT: Structure =
        structure("wavefront", Flow::Wavefront, Dispatch::Fifo);
}
