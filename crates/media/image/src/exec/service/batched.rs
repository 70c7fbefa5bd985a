//! `batched`: several frames at once.

use std::ops::Range;

use evener_runtime::{Part, Structure, Work};

use super::Scratch;
use super::executor::{FrameExecutor, Frames};
use super::plane::{Plane, share};
use super::prepared::Prepared;
use crate::exec::access::Target;
use crate::exec::batched;
use crate::exec::cost::Predicted;
use crate::structures::BATCHED;

/// Most bytes that the planes between passes may take: they are to stay in the outer cache.
const MAX_BYTES: usize = 16 << 20;

pub(super) struct Batched;

impl FrameExecutor for Batched {
    fn structure(&self) -> &'static Structure {
        &BATCHED
    }

    fn prepare(&self, plane: &Plane) {
        if let Some(batched) = &plane.batched {
            batched.prepare();
        }
    }

    /// There are none if a plane cannot run so, or the planes between passes are too large.
    fn passes(&self, prepared: &Prepared) -> Option<Vec<u32>> {
        let planes = prepared.computed();
        let planes: Option<Vec<&batched::Batched>> =
            planes.map(|(_, p)| p.batched.as_ref()).collect();
        let planes = planes.filter(|planes| !planes.is_empty())?;
        let bytes: usize = planes.iter().map(|plane| plane.intermediate_bytes()).sum();
        let items = |pass: usize| items(prepared, pass);
        (bytes <= MAX_BYTES).then(|| (0..).map_while(items).collect())
    }

    fn work(&self, plane: &Predicted) -> Work {
        plane.batched
    }

    fn run(
        &self,
        prepared: &Prepared,
        part: &Part,
        frames: Frames<'_>,
        scratch: &mut Scratch,
    ) -> Result<(), String> {
        let count = items(prepared, part.pass).unwrap_or(1);
        for (p, plane) in prepared.computed() {
            let held = |rows: &Range<usize>| -> Vec<Target<'_>> {
                let samples = frames.outputs.iter().map(|output| output.plane(p));
                samples
                    .map(|samples| plane.target(samples, rows.clone()))
                    .collect()
            };
            let batched = plane.batched.as_ref();
            let batched =
                batched.ok_or_else(|| format!("this graph has no structure {BATCHED}"))?;
            let Some((_, need)) = batched.passes().nth(part.pass) else {
                continue;
            };
            let rows = share(&part.items, count, need.height() as u32);
            if rows.is_empty() {
                continue;
            }
            // Sources are read by the first pass, targets written by the last.
            let inputs = if part.pass == 0 { frames.inputs } else { &[] };
            let sources = inputs.iter().map(|input| input[0].plane(p));
            let sources: Vec<_> = sources.map(|samples| plane.source(samples)).collect();
            let mut targets = match batched.is_last(part.pass) {
                true => held(&rows),
                false => Vec::new(),
            };
            let (simd, scratch) = (prepared.simd, &mut scratch.batched);
            batched.rows(simd, &sources, part.pass, rows, &mut targets, scratch);
        }
        Ok(())
    }
}

/// Items of a pass: the rows of the lowest plane that has it.
fn items(prepared: &Prepared, pass: usize) -> Option<u32> {
    let planes = prepared.computed();
    let planes = planes.filter_map(|(_, plane)| plane.batched.as_ref());
    let heights = planes.filter_map(|plane| plane.passes().nth(pass));
    heights.map(|(_, need)| need.height().max(1) as u32).min()
}
