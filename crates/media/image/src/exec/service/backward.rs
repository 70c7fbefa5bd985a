//! `backward`, `backward-cached` and `backward-store`: every element pulls what it needs.

use evener_runtime::{Part, Structure, Work};

use super::Scratch;
use super::executor::{FrameExecutor, Frames};
use super::plane::Plane;
use super::prepared::Prepared;
use crate::exec::backward::Mode;
use crate::exec::cost::Predicted;
use crate::structures::{BACKWARD, BACKWARD_CACHED, BACKWARD_STORE};

/// One of the three.
pub(super) struct Backward {
    structure: &'static Structure,
    mode: for<'a> fn(&'a Plane) -> Mode<'a>,
    work: fn(&Predicted) -> Work,
}

/// Nothing is stored.
pub(super) static PLAIN: Backward = Backward {
    structure: &BACKWARD,
    mode: |_| Mode::Plain,
    work: |plane| plane.backward,
};

/// Elements are kept; the first pass forgets those of the frame before.
pub(super) static CACHED: Backward = Backward {
    structure: &BACKWARD_CACHED,
    mode: |plane| Mode::Cached(plane.cache()),
    work: |plane| plane.cached,
};

/// Elements are written, and not read.
pub(super) static STORE: Backward = Backward {
    structure: &BACKWARD_STORE,
    mode: |_| Mode::Store,
    work: |plane| plane.store,
};

impl Backward {
    fn is_cached(&self) -> bool {
        self.structure == &BACKWARD_CACHED
    }
}

impl FrameExecutor for Backward {
    fn structure(&self) -> &'static Structure {
        self.structure
    }

    fn prepare(&self, plane: &Plane) {
        if !plane.in_integers() {
            plane.backward();
            (self.mode)(plane);
        }
    }

    fn passes(&self, prepared: &Prepared) -> Option<Vec<u32>> {
        Some(vec![prepared.items(); if self.is_cached() { 2 } else { 1 }])
    }

    fn work(&self, plane: &Predicted) -> Work {
        (self.work)(plane)
    }

    fn times_computed(&self) -> Option<fn(u64) -> u64> {
        match self.is_cached() {
            true => Some(|times| times.min(1)),
            false => Some(|times| times),
        }
    }

    fn run(
        &self,
        prepared: &Prepared,
        part: &Part,
        frames: Frames<'_>,
        scratch: &mut Scratch,
    ) -> Result<(), String> {
        if self.is_cached() && part.pass == 0 {
            let planes = prepared.computed();
            for (_, plane) in planes.filter(|(_, plane)| !plane.in_integers()) {
                plane.cache().clear(part.items.clone(), prepared.items());
            }
            return Ok(());
        }
        let simd = prepared.simd;
        let Scratch {
            integer, backward, ..
        } = scratch;
        prepared.each(part, frames, integer, |plane, sources, rows, target| {
            plane.backward().rows(
                simd,
                &sources[0],
                rows,
                target,
                backward,
                (self.mode)(plane),
            );
        });
        Ok(())
    }
}
