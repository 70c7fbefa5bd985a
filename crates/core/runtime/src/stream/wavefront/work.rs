//! The loop of a worker in a wavefront: it takes ready lines, and starts units if none is ready.

use super::layout::Chunk;
use super::lines::Lines;
use crate::dispatch::{Seen, WorkerId};
use crate::service::{Need, Part};

/// What became of an attempt to begin a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Begin {
    /// One has begun.
    Begun,
    /// One could begin, but there is none yet, or no buffer for it.
    Starved,
    /// None may begin now.
    Blocked,
}

/// The units that lines belong to.
pub(super) trait Units {
    /// Puts what a part needs into `needs`, which is empty.
    fn needs(&self, unit: u64, part: &Part, needs: &mut Vec<Need>) -> Result<(), String>;

    /// Runs a part.
    fn run(&self, worker: WorkerId, unit: u64, part: &Part) -> Result<(), String>;

    /// Takes the next unit, and has [`begin`] begin it.
    fn begin(&self, grain: u32) -> Begin;

    /// All lines of a unit are done.
    fn done(&self, unit: u64);

    /// A unit failed.
    fn failed(&self, worker: WorkerId, unit: u64, message: String);

    /// Has the worker wait for news.
    fn wait(&self, worker: WorkerId, seen: Seen, why: Begin);
}

/// Works until workers come out.
pub(super) fn work(lines: &Lines, units: &impl Units, worker: WorkerId, grain: u32) {
    let mut needs = Vec::new();
    loop {
        // All that follows is looked at after it, so what changes meanwhile is news.
        let seen = lines.news.seen();
        if lines.is_leaving() {
            return;
        }
        if let Some(chunk) = lines.take() {
            run_line(lines, units, worker, grain, chunk, &mut needs);
            continue;
        }
        let begun = units.begin(grain);
        if begun == Begin::Begun {
            continue;
        }
        if let Some((unit, failed)) = lines.stuck() {
            if !failed {
                units.failed(worker, unit, STUCK.to_owned());
            }
            lines.leave();
            return;
        }
        units.wait(worker, seen, begun);
    }
}

/// Why a unit cannot be finished although nothing of it has failed.
const STUCK: &str = "waits for steps that wait for it, or for a unit that is not begun";

/// Runs a line for as long as it goes on.
fn run_line(
    lines: &Lines,
    units: &impl Units,
    worker: WorkerId,
    grain: u32,
    mut chunk: Chunk,
    needs: &mut Vec<Need>,
) {
    let line = chunk.line;
    let fail = |message| {
        units.failed(worker, line.unit, message);
        lines.fail(line.unit);
        lines.lose();
    };
    loop {
        if let Err(message) = units.run(worker, line.unit, &lines.layout.part(&chunk)) {
            return fail(message);
        }
        lines.publish(&chunk);
        if chunk.steps.end == lines.layout.steps(line.pass) {
            if lines.end_line(line.unit) {
                units.done(line.unit);
                lines.retire(line.unit);
            }
            return;
        }
        chunk = lines.layout.chunk(line, chunk.steps.end, grain);
        needs.clear();
        if let Err(message) = ask(lines, units, &chunk, needs) {
            return fail(message);
        }
        let goes_on = !lines.should_part(line) && needs.iter().all(|need| lines.is_met(need));
        if !goes_on && !lines.suspend(&chunk, needs) {
            return;
        }
    }
}

/// Begins a unit, once its buffers are there.
pub(super) fn begin(
    lines: &Lines,
    units: &impl Units,
    unit: u64,
    grain: u32,
) -> Result<(), String> {
    let (mut all, mut ends) = (Vec::new(), Vec::with_capacity(lines.layout.lines()));
    let mut needs = Vec::new();
    for line in lines.layout.of(unit) {
        // A lane runs whole lines.
        let steps = match lines.layout.is_for_devices(line) {
            true => lines.layout.steps(line.pass),
            false => grain,
        };
        let chunk = lines.layout.chunk(line, 0, steps);
        ask(lines, units, &chunk, &mut needs)?;
        all.append(&mut needs);
        ends.push(all.len());
    }
    lines.begin(unit, grain, &all, &ends);
    Ok(())
}

/// Puts what a chunk needs into `needs`, which is empty.
fn ask(
    lines: &Lines,
    units: &impl Units,
    chunk: &Chunk,
    needs: &mut Vec<Need>,
) -> Result<(), String> {
    let unit = chunk.line.unit;
    units.needs(unit, &lines.layout.part(chunk), needs)?;
    let refused = needs
        .iter()
        .find_map(|need| lines.layout.refuse(unit, need));
    refused.map_or(Ok(()), Err)
}
