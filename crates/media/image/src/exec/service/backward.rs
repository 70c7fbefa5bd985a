//! `backward`, `backward-cached` and `backward-store`: every element pulls what it needs.

use evener_runtime::{Part, Structure, Work};

use super::executor::{FrameExecutor, Frames};
use super::plane::Plane;
use super::{FilterService, Scratch};
use crate::exec::backward::Mode;
use crate::exec::cost::Predicted;
use crate::structures::{BACKWARD, BACKWARD_CACHED, BACKWARD_STORE};

/// Nothing is stored.
pub(super) struct Backward;

impl FrameExecutor for Backward {
    fn structure(&self) -> &'static Structure {
        &BACKWARD
    }

    fn prepare(&self, plane: &Plane) {
        plane.backward();
    }

    fn passes(&self, service: &FilterService) -> Option<Vec<u32>> {
        Some(vec![service.items()])
    }

    fn work(&self, plane: &Predicted) -> Work {
        plane.backward
    }

    fn times_computed(&self) -> Option<fn(u64) -> u64> {
        Some(|times| times)
    }

    fn run(
        &self,
        service: &FilterService,
        part: &Part,
        frames: Frames<'_>,
        scratch: &mut Scratch,
    ) -> Result<(), String> {
        pull(service, part, frames, scratch, |_| Mode::Plain);
        Ok(())
    }
}

/// Elements are kept; the first pass forgets those of the frame before.
pub(super) struct Cached;

impl FrameExecutor for Cached {
    fn structure(&self) -> &'static Structure {
        &BACKWARD_CACHED
    }

    fn prepare(&self, plane: &Plane) {
        plane.backward();
        plane.cache();
    }

    fn passes(&self, service: &FilterService) -> Option<Vec<u32>> {
        Some(vec![service.items(); 2])
    }

    fn work(&self, plane: &Predicted) -> Work {
        plane.cached
    }

    fn times_computed(&self) -> Option<fn(u64) -> u64> {
        Some(|times| times.min(1))
    }

    fn run(
        &self,
        service: &FilterService,
        part: &Part,
        frames: Frames<'_>,
        scratch: &mut Scratch,
    ) -> Result<(), String> {
        if part.pass == 0 {
            for (_, plane) in service.computed() {
                plane.cache().clear(part.items.clone(), service.items());
            }
        } else {
            pull(service, part, frames, scratch, |plane| {
                Mode::Cached(plane.cache())
            });
        }
        Ok(())
    }
}

/// Elements are written, and not read.
pub(super) struct Store;

impl FrameExecutor for Store {
    fn structure(&self) -> &'static Structure {
        &BACKWARD_STORE
    }

    fn prepare(&self, plane: &Plane) {
        plane.backward();
    }

    fn passes(&self, service: &FilterService) -> Option<Vec<u32>> {
        Some(vec![service.items()])
    }

    fn work(&self, plane: &Predicted) -> Work {
        plane.store
    }

    fn times_computed(&self) -> Option<fn(u64) -> u64> {
        Some(|times| times)
    }

    fn run(
        &self,
        service: &FilterService,
        part: &Part,
        frames: Frames<'_>,
        scratch: &mut Scratch,
    ) -> Result<(), String> {
        pull(service, part, frames, scratch, |_| Mode::Store);
        Ok(())
    }
}

fn pull(
    service: &FilterService,
    part: &Part,
    frames: Frames<'_>,
    scratch: &mut Scratch,
    mode: impl for<'a> Fn(&'a Plane) -> Mode<'a>,
) {
    let (simd, scratch) = (service.simd, &mut scratch.backward);
    service.each(part, frames, |plane, source, rows, target| {
        plane
            .backward()
            .rows(simd, source, rows, target, scratch, mode(plane));
    });
}
