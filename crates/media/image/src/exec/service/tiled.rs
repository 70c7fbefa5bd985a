//! `tiled` and `farm`: regions through all stages; of a frame, or of a frame for each worker.

use evener_runtime::{Part, Structure, Work};

use super::Scratch;
use super::executor::{FrameExecutor, Frames};
use super::prepared::Prepared;
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
        prepared: &Prepared,
        part: &Part,
        frames: Frames<'_>,
        scratch: &mut Scratch,
    ) -> Result<(), String> {
        let simd = prepared.simd;
        let Scratch { integer, tiled, .. } = scratch;
        prepared.each(part, frames, integer, |plane, sources, rows, target| {
            plane.rows(simd, sources, rows, target, tiled);
        });
        Ok(())
    }
}
