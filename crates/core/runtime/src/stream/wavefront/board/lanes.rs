//! The passes for lanes of devices: those of which no line has started.
//!
//! If lanes take part, lines that devices may compute are held until all lines of their pass are ready. Then an idle
//! lane gets them. If there is none, workers may take them, and so may a lane that becomes idle before a worker does.

use std::cmp::Reverse;

use super::Board;
use crate::stream::wavefront::layout::{Layout, LineId};

impl Board {
    /// So many lanes take part from now on, none of which has or waits for a pass.
    pub(in super::super) fn set_lanes(&mut self, layout: &Layout, lanes: usize) {
        self.lanes = lanes;
        self.idle = 0;
        for unit in std::mem::take(&mut self.passes) {
            self.return_pass(layout, unit);
        }
        if lanes == 0 {
            self.release_all(layout);
        }
    }

    /// A lane, which was idle or not, takes no more.
    pub(in super::super) fn remove_lane(&mut self, layout: &Layout, was_idle: bool) {
        self.lanes -= 1;
        self.idle -= usize::from(was_idle);
        if self.passes.len() > self.idle
            && let Some(unit) = self.passes.pop_back()
        {
            self.return_pass(layout, unit);
        }
        if self.lanes == 0 {
            self.release_all(layout);
        }
    }

    /// A unit whose pass a lane gets, which was idle or not. If there is none, the lane is idle.
    pub(in super::super) fn take_pass(&mut self, layout: &Layout, was_idle: bool) -> Option<u64> {
        self.idle -= usize::from(was_idle);
        let unit = self.passes.pop_front().or_else(|| self.open_pass(layout));
        match unit {
            Some(_) => self.running += 1,
            None => self.idle += 1,
        }
        unit
    }

    /// The lines of a pass that a lane had are for workers.
    pub(in super::super) fn return_pass(&mut self, layout: &Layout, unit: u64) {
        layout.for_devices(unit).for_each(|line| self.insert(line));
    }

    /// The oldest unit whose pass workers may take and have not begun. Its lines are not ready any more.
    fn open_pass(&mut self, layout: &Layout) -> Option<u64> {
        let lines = layout.for_devices(0).count();
        let unit = (self.first..self.next).find(|&unit| {
            let of = &self.units[layout.slot(unit)];
            lines > 0 && !of.done && !of.taken && of.open == lines
        })?;
        self.give(layout, unit);
        Some(unit)
    }

    /// If all lines of a pass are ready, they go to an idle lane, or else to workers.
    pub(super) fn offer(&mut self, layout: &Layout, unit: u64) {
        let lines = layout.for_devices(unit).count();
        let of = &mut self.units[layout.slot(unit)];
        if of.held.len() + of.open < lines {
            return;
        }
        if self.idle > self.passes.len() {
            self.give(layout, unit);
            self.passes.push_back(unit);
            self.untold += 1;
            return;
        }
        let held = std::mem::take(&mut of.held);
        of.open += held.len();
        held.into_iter().for_each(|line| self.insert(line));
    }

    /// No line of a pass is ready for workers: a lane gets them.
    fn give(&mut self, layout: &Layout, unit: u64) {
        for LineId { unit, pass, line } in layout.for_devices(unit) {
            self.ready.remove(&(unit, Reverse(pass), line));
        }
        let of = &mut self.units[layout.slot(unit)];
        of.held.clear();
        of.taken = true;
    }

    /// A worker has begun a line of a pass, so that lanes do not get it.
    pub(super) fn open_to_workers(&mut self, layout: &Layout, unit: u64) {
        let of = &mut self.units[layout.slot(unit)];
        of.taken = true;
        let held = std::mem::take(&mut of.held);
        held.into_iter().for_each(|line| self.insert(line));
    }

    /// There are no lanes: what is held is for workers.
    fn release_all(&mut self, layout: &Layout) {
        for unit in self.first..self.next {
            let of = &mut self.units[layout.slot(unit)];
            let held = std::mem::take(&mut of.held);
            of.open += held.len();
            held.into_iter().for_each(|line| self.insert(line));
        }
    }
}
