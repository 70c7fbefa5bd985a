//! `sequential`: a pass for each stage.

use evener_runtime::{Part, Structure, Work};

use super::Scratch;
use super::executor::{FrameExecutor, Frames};
use super::plane::{Plane, share};
use super::prepared::Prepared;
use crate::exec::cost::Predicted;
use crate::structures::SEQUENTIAL;

pub(super) struct Sequential;

impl FrameExecutor for Sequential {
    fn structure(&self) -> &'static Structure {
        &SEQUENTIAL
    }

    fn prepare(&self, plane: &Plane) {
        if !plane.in_integers() {
            plane.sequential();
        }
    }

    fn passes(&self, prepared: &Prepared) -> Option<Vec<u32>> {
        Some((0..).map_while(|pass| items(prepared, pass)).collect())
    }

    fn work(&self, plane: &Predicted) -> Work {
        plane.sequential
    }

    fn times_computed(&self) -> Option<fn(u64) -> u64> {
        Some(|_| 1)
    }

    fn run(
        &self,
        prepared: &Prepared,
        part: &Part,
        frames: Frames<'_>,
        scratch: &mut Scratch,
    ) -> Result<(), String> {
        let (input, output) = frames.first();
        let count = items(prepared, part.pass).unwrap_or(1);
        for (p, plane) in prepared.computed() {
            let Some(&height) = plane.heights.get(part.pass) else {
                continue;
            };
            let rows = share(&part.items, count, height);
            if rows.is_empty() {
                continue;
            }
            let source = plane.source(input[0].plane(p));
            if plane.in_integers() {
                let mut target = plane.target(output.plane(p), rows.clone());
                let (simd, scratch) = (prepared.simd, &mut scratch.integer);
                plane.integer_rows(simd, &source, &rows, &mut target, scratch);
                continue;
            }
            let stages = plane.sequential();
            let mut target = stages
                .is_last(part.pass)
                .then(|| plane.target(output.plane(p), rows.clone()));
            let (simd, scratch) = (prepared.simd, &mut scratch.sequential);
            stages.rows(simd, &source, part.pass, rows, target.as_mut(), scratch);
        }
        Ok(())
    }
}

/// Items of a pass: the rows of the lowest plane that has it.
fn items(prepared: &Prepared, pass: usize) -> Option<u32> {
    let heights = prepared.computed();
    let heights = heights.filter_map(|(_, plane)| plane.heights.get(pass));
    heights.min().copied()
}
