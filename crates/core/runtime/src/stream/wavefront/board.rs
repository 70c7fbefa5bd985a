//! The state of the lines of all units in progress: which are ready, and what the others wait for.

mod lanes;

use std::cmp::Reverse;
use std::collections::{BTreeSet, VecDeque};
use std::ops::Range;

use super::layout::{Chunk, Layout, LineId};
use super::progress::Progress;
use crate::service::Need;

/// The lines of units in work, behind one lock. Each line is with a worker or a lane, ready, or parked: it then waits
/// for the first of its needs that is not met, and for no other.
#[derive(Debug)]
pub(super) struct Board {
    units: Vec<UnitState>,
    /// Ready lines: the oldest unit first, later passes before earlier ones, then from the first line to the last.
    ready: BTreeSet<(u64, Reverse<usize>, u32)>,
    /// Lines that wait for a unit that has not begun.
    early: Vec<LineId>,
    /// The oldest unit that is not done, and the next one to begin.
    pub(super) first: u64,
    pub(super) next: u64,
    /// Units from this one on are not in the stream.
    pub(super) end: u64,
    /// No more units are begun.
    pub(super) closed: bool,
    /// The earliest unit that failed; those after it are of use only to those before it.
    pub(super) failed: u64,
    /// Lines that workers have, and passes that lanes have.
    pub(super) running: u32,
    /// A worker is about to begin a unit.
    pub(super) beginning: bool,
    /// Lanes of devices that take part, and those of them that wait for a pass.
    lanes: usize,
    idle: usize,
    /// Units whose pass for devices waits for a lane that is idle.
    passes: VecDeque<u64>,
    /// Such passes of which no lane was told.
    pub(super) untold: usize,
}

/// A unit in work.
#[derive(Debug, Default)]
struct UnitState {
    lines: Vec<LineState>,
    /// Lines that are not done.
    left: usize,
    done: bool,
    /// Lines that devices may compute, and that wait until all are ready.
    held: Vec<LineId>,
    /// Such lines that workers may take, and whether one was taken, or a lane had them.
    open: usize,
    taken: bool,
}

/// A line of a unit in work.
#[derive(Clone, Debug, Default)]
struct LineState {
    /// The steps that run next.
    steps: Range<u32>,
    /// What they need, and how many of these are met.
    needs: Vec<Need>,
    met: usize,
    /// Lines that wait for this one.
    waiters: Vec<LineId>,
}

/// The progress of all lines, by slot and then by line.
pub(super) type AllProgress = Vec<Vec<Progress>>;

impl Board {
    /// For units from number `first` on.
    pub(super) fn new(layout: &Layout, first: u64) -> Board {
        let unit = || UnitState {
            lines: vec![LineState::default(); layout.lines()],
            ..UnitState::default()
        };
        Board {
            units: (0..layout.units).map(|_| unit()).collect(),
            ready: BTreeSet::new(),
            early: Vec::new(),
            first,
            next: first,
            end: u64::MAX,
            closed: false,
            failed: u64::MAX,
            running: 0,
            beginning: false,
            lanes: 0,
            idle: 0,
            passes: VecDeque::new(),
            untold: 0,
        }
    }

    fn line(&mut self, layout: &Layout, line: LineId) -> &mut LineState {
        &mut self.units[layout.slot(line.unit)].lines[layout.index(line)]
    }

    /// Whether another unit may be in work.
    pub(super) fn has_room(&self, layout: &Layout) -> bool {
        !self.closed && self.next - self.first < layout.units
    }

    /// All units that there are, or that are of use, are done.
    pub(super) fn is_over(&self) -> bool {
        let empty = self.closed && !self.beginning && self.first == self.next;
        empty || self.first >= self.failed
    }

    /// Nothing runs, nothing can begin, and units in work are not done.
    pub(super) fn is_stuck(&self, layout: &Layout) -> bool {
        let idle = self.running == 0 && !self.beginning;
        let idle = idle && self.ready.is_empty() && self.passes.is_empty();
        idle && self.first < self.next && !self.has_room(layout)
    }

    /// The unit of the first ready line.
    pub(super) fn oldest_ready(&self) -> Option<u64> {
        self.ready.first().map(|&(unit, ..)| unit)
    }

    /// Ready lines.
    pub(super) fn count_ready(&self) -> usize {
        self.ready.len()
    }

    /// Takes the first ready line.
    pub(super) fn take(&mut self, layout: &Layout) -> Option<Chunk> {
        let (unit, Reverse(pass), line) = self.ready.pop_first()?;
        self.running += 1;
        let line = LineId { unit, pass, line };
        let steps = self.line(layout, line).steps.clone();
        if layout.is_for_devices(line) && steps.start == 0 {
            self.open_to_workers(layout, unit);
        }
        Some(Chunk { line, steps })
    }

    /// A line goes on with `chunk`, which has those needs. Whether they are met; otherwise it is parked.
    pub(super) fn set_next(
        &mut self,
        layout: &Layout,
        progress: &AllProgress,
        chunk: &Chunk,
        needs: &[Need],
    ) -> bool {
        let state = self.line(layout, chunk.line);
        state.steps = chunk.steps.clone();
        state.needs.clear();
        state.needs.extend_from_slice(needs);
        state.met = 0;
        self.settle(layout, progress, chunk.line)
    }

    /// A line whose needs are met waits for a worker, or until a lane can have all lines of its pass.
    pub(super) fn set_ready(&mut self, layout: &Layout, line: LineId) {
        let begun = self.line(layout, line).steps.start > 0;
        let unit = &mut self.units[layout.slot(line.unit)];
        if begun || unit.taken || !layout.is_for_devices(line) {
            self.insert(line);
        } else if self.lanes == 0 {
            unit.open += 1;
            self.insert(line);
        } else {
            unit.held.push(line);
            self.offer(layout, line.unit);
        }
    }

    fn insert(&mut self, line: LineId) {
        self.ready
            .insert((line.unit, Reverse(line.pass), line.line));
    }

    /// Whether the needs of a line are met; if not, it is parked at the first that is not.
    fn settle(&mut self, layout: &Layout, progress: &AllProgress, line: LineId) -> bool {
        loop {
            let state = self.line(layout, line);
            let Some(&need) = state.needs.get(state.met) else {
                return true;
            };
            let absent = need.unit < self.first || need.unit >= self.end;
            if need.steps > 0 && !absent {
                if need.unit >= self.next {
                    self.early.push(line);
                    return false;
                }
                let needed = LineId {
                    unit: need.unit,
                    pass: need.pass,
                    line: need.line,
                };
                if !progress[layout.slot(need.unit)][layout.index(needed)].want(need.steps) {
                    self.line(layout, needed).waiters.push(line);
                    return false;
                }
            }
            self.line(layout, line).met += 1;
        }
    }

    /// Wakes lines that wait for steps of `line` which are done now. For the worker that has it.
    pub(super) fn wake(&mut self, layout: &Layout, progress: &AllProgress, line: LineId) {
        let mut waiters = std::mem::take(&mut self.line(layout, line).waiters);
        for waiter in waiters.drain(..) {
            self.resettle(layout, progress, waiter);
        }
        // Those that wait on.
        let waiting = std::mem::replace(&mut self.line(layout, line).waiters, waiters);
        let wanted = waiting.iter().map(|&waiter| {
            let state = self.line(layout, waiter);
            state.needs[state.met].steps
        });
        let least = wanted.min().unwrap_or(0);
        self.line(layout, line).waiters = waiting;
        progress[layout.slot(line.unit)][layout.index(line)].set_wanted(least);
    }

    /// Wakes lines that waited for units which have begun now, or will not begin.
    pub(super) fn wake_early(&mut self, layout: &Layout, progress: &AllProgress) {
        for line in std::mem::take(&mut self.early) {
            self.resettle(layout, progress, line);
        }
    }

    fn resettle(&mut self, layout: &Layout, progress: &AllProgress, line: LineId) {
        if self.settle(layout, progress, line) {
            self.set_ready(layout, line);
        }
    }

    /// Begins a unit. What the first chunk of each line needs lies in `needs`, up to the line's place in `ends`.
    pub(super) fn begin(
        &mut self,
        layout: &Layout,
        progress: &AllProgress,
        (unit, grain): (u64, u32),
        (needs, ends): (&[Need], &[usize]),
    ) {
        // In a live stream, units between were dropped.
        if self.first == self.next {
            self.first = unit;
        }
        self.next = unit + 1;
        self.beginning = false;
        let state = &mut self.units[layout.slot(unit)];
        state.left = layout.lines();
        state.done = false;
        state.held.clear();
        (state.open, state.taken) = (0, false);
        let mut from = 0;
        for (line, &to) in layout.of(unit).zip(ends) {
            let chunk = layout.chunk(line, 0, grain);
            if self.set_next(layout, progress, &chunk, &needs[from..to]) {
                self.set_ready(layout, line);
            }
            from = to;
        }
        self.wake_early(layout, progress);
    }

    /// A line of a unit is done. Whether it was the last.
    pub(super) fn end_line(&mut self, layout: &Layout, unit: u64) -> bool {
        let state = &mut self.units[layout.slot(unit)];
        state.left -= 1;
        state.left == 0
    }

    /// A unit is done.
    pub(super) fn retire(&mut self, layout: &Layout, unit: u64) {
        self.units[layout.slot(unit)].done = true;
        while self.first < self.next && self.units[layout.slot(self.first)].done {
            self.units[layout.slot(self.first)].done = false;
            self.first += 1;
        }
    }
}
