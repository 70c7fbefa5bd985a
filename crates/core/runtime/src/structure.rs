//! Structures: the ways in which services run units. Services declare them.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};

use serde::{Serialize, Serializer};

use crate::named::Dispatch;

/// How the units of a stream flow through workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// One unit after the other. The items of each pass are divided among workers, with a barrier after each pass.
    Divided,
    /// Whole units on different workers.
    Farm,
    /// Steps of a unit on different workers, which units pass in order.
    Pipeline,
    /// As `Divided`, but a part covers several units at once: [`Shape::units`](crate::Shape::units).
    Grouped,
    /// Lines of steps on different workers, of several units at once. Each step waits only for the steps that
    /// [`Service::needs`](crate::Service::needs) names, in its own unit and in others.
    ///
    /// Units stay in progress when the number of workers or the grain changes, and are finished before another
    /// structure runs. A service that looks ahead, so that a unit cannot be done before later ones have started, must
    /// therefore offer only this structure: with others its stream ends in an error.
    Wavefront,
}

/// One way in which a service can run units. A service declares each of its structures once, as a `static`.
///
/// Structures with the same name are equal.
pub struct Structure {
    /// The name used on command lines, in results and in remembered plans.
    pub name: &'static str,
    /// One line for `evener plans`.
    pub about: &'static str,
    /// How units flow through workers.
    pub flow: Flow,
    /// The initial dispatch flavour, if none is named.
    pub dispatch: Dispatch,
    /// Whether the tuner may choose it. Otherwise it runs only if named.
    pub automatic: bool,
}

/// The simplest structure. Most services have it, and others are compared with it.
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
    /// Whether several units are in progress at once, so that one may wait for later ones.
    pub fn overlaps(&self) -> bool {
        self.flow != Flow::Divided
    }

    /// Whether units start while others are in progress, so that none waits for the last job of the previous one.
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
#[path = "../tests/common/structures.rs"]
pub(crate) mod fixtures;
