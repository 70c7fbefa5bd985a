//! What a structure is to the prepared.

use evener_runtime::{Part, Structure, Work};

use super::plane::Plane;
use super::prepared::Prepared;
use super::{Scratch, backward, batched, sequential, tiled};
use crate::exec::cost::Predicted;
use crate::frame::Frame;
use crate::structures::{FARM, TILED};

/// Runs frames in a structure, by the executors of their planes.
pub(crate) trait FrameExecutor: Sync {
    /// The structure.
    fn structure(&self) -> &'static Structure;

    /// Makes the executors of a plane, which are otherwise made when they first run.
    fn prepare(&self, _plane: &Plane) {}

    /// Items of each pass; `None` if the graph cannot run so. One pass over all rows, unless a structure says otherwise.
    fn passes(&self, prepared: &Prepared) -> Option<Vec<u32>> {
        Some(vec![prepared.items()])
    }

    /// What a plane costs of which all is predicted.
    fn work(&self, plane: &Predicted) -> Work;

    /// How often an element is computed that is read so many times; `None` if that depends on more than the graph.
    fn times_computed(&self) -> Option<fn(u64) -> u64> {
        None
    }

    /// Runs a part.
    ///
    /// # Errors
    /// The graph cannot run so.
    fn run(
        &self,
        prepared: &Prepared,
        part: &Part,
        frames: Frames<'_>,
        scratch: &mut Scratch,
    ) -> Result<(), String>;
}

/// The frames that a part is about: of one unit, except in a group. A unit may have several inputs.
#[derive(Clone, Copy)]
pub(crate) struct Frames<'a> {
    pub inputs: &'a [&'a [&'a Frame]],
    pub outputs: &'a [&'a Frame],
    /// Items of each unit, in a structure with one computing pass.
    pub items: u32,
}

impl<'a> Frames<'a> {
    /// The only one, outside a group.
    pub fn first(&self) -> (&'a [&'a Frame], &'a Frame) {
        (self.inputs[0], self.outputs[0])
    }
}

/// All of them, in the order of [`structures::ALL`](crate::structures::ALL).
pub(super) static EXECUTORS: [&dyn FrameExecutor; 7] = [
    &sequential::Sequential,
    &backward::PLAIN,
    &backward::CACHED,
    &backward::STORE,
    &tiled::Tiled(&TILED),
    &tiled::Tiled(&FARM),
    &batched::Batched,
];

/// That of a structure, if filters have it.
pub(crate) fn of(structure: &Structure) -> Option<&'static dyn FrameExecutor> {
    let mut all = EXECUTORS.iter().copied();
    all.find(|executor| executor.structure() == structure)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::structures;

    #[test]
    fn every_structure_that_is_listed_runs() {
        assert!(EXECUTORS.map(FrameExecutor::structure) == structures::ALL);
    }
}
