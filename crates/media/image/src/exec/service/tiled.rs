//! `tiled` and `farm`: regions through all stages; of a frame, or of a frame for each worker.

use evener_runtime::{Part, Structure, Work};

use super::executor::{FrameExecutor, Frames};
use super::{FilterService, Scratch};
use crate::exec::cost::Predicted;

pub(super) struct Tiled(pub &'static Structure);

impl FrameExecutor for Tiled {
    fn structure(&self) -> &'static Structure {
        self.0
    }

    fn work(&self, plane: &Predicted) -> Work {
        plane.tiled
    }

    fn run(
        &self,
        service: &FilterService,
        part: &Part,
        frames: Frames<'_>,
        scratch: &mut Scratch,
    ) -> Result<(), String> {
        let simd = service.simd;
        let Scratch { integer, tiled, .. } = scratch;
        service.each(part, frames, integer, |plane, source, rows, target| {
            plane.rows(simd, source, rows, target, tiled);
        });
        Ok(())
    }
}
