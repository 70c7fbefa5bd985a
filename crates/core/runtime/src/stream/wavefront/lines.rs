//! The lines of all units in progress, as workers use them: finished steps and met dependencies are read without a
//! lock.

use std::sync::Arc;

use super::board::{AllProgress, Board};
use super::layout::{Chunk, Layout, LineId};
use super::progress::Progress;
use crate::dispatch::EventCount;
use crate::dispatch::sync::{AtomicBool, AtomicU64, Mutex, MutexGuard, Ordering, lock};
use crate::service::Need;

/// Whether a unit may begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Room {
    /// The worker that asked begins it.
    Yours,
    /// Another worker is about to.
    Taken,
    /// As many as may be are in work, or there will be no more.
    None,
}

/// The lines of units in work, and the workers that wait for some to be ready.
#[derive(Debug)]
pub(super) struct Lines {
    pub(super) layout: Layout,
    /// The unit that each slot holds or held last, plus 1.
    held: Vec<AtomicU64>,
    progress: AllProgress,
    /// Units from this one on are not in the stream.
    end: AtomicU64,
    /// The oldest unit with a ready line, as a hint.
    oldest_ready: AtomicU64,
    /// Workers come out.
    leaving: AtomicBool,
    board: Mutex<Board>,
    /// Lines have become ready, or a unit can perhaps begin.
    pub(super) news: Arc<EventCount>,
    /// A lane has got a pass, or lanes come out.
    pub(super) lane_news: EventCount,
}

impl Lines {
    /// For units from number `first` on.
    pub(super) fn new(layout: Layout, first: u64) -> Lines {
        let progress = |_| (0..layout.lines()).map(|_| Progress::new()).collect();
        Lines {
            held: (0..layout.units).map(|_| AtomicU64::new(0)).collect(),
            progress: (0..layout.units).map(progress).collect(),
            end: AtomicU64::new(u64::MAX),
            oldest_ready: AtomicU64::new(u64::MAX),
            leaving: AtomicBool::new(false),
            board: Mutex::new(Board::new(&layout, first)),
            news: Arc::new(EventCount::new()),
            lane_news: EventCount::new(),
            layout,
        }
    }

    /// Whether a need is known to be met. If not, the board knows for certain.
    pub(super) fn is_met(&self, need: &Need) -> bool {
        if need.steps == 0 || need.unit >= self.end.load(Ordering::Acquire) {
            return true;
        }
        let slot = self.layout.slot(need.unit);
        let held = self.held[slot].load(Ordering::Acquire);
        let line = LineId {
            unit: need.unit,
            pass: need.pass,
            line: need.line,
        };
        // A slot is given to another unit only when the one before is done. So steps of a later unit, read here by
        // mistake, mean no less.
        match held.checked_sub(need.unit) {
            None | Some(0) => false,
            Some(1) => self.progress[slot][self.layout.index(line)].done() >= need.steps,
            Some(_) => true,
        }
    }

    /// Whether a worker should part from its line: an older unit has one that is ready, or workers come out.
    pub(super) fn should_part(&self, line: LineId) -> bool {
        self.oldest_ready.load(Ordering::Relaxed) < line.unit || self.is_leaving()
    }

    /// Takes the first ready line, for as long as the worker likes.
    pub(super) fn take(&self) -> Option<Chunk> {
        let mut board = lock(&self.board);
        let before = board.count_ready();
        let chunk = board.take(&self.layout);
        self.changed(&mut board);
        // Others of its pass may have waited for a lane.
        let more = (board.count_ready() + usize::from(chunk.is_some())).saturating_sub(before);
        drop(board);
        if more > 0 {
            self.news.notify(more);
        }
        chunk
    }

    /// Takes the pass of a unit for a lane, which was idle or not. If there is none, the lane is idle, and waits for
    /// [`Lines::lane_news`].
    pub(super) fn take_pass(&self, was_idle: bool) -> Option<u64> {
        let mut board = lock(&self.board);
        let unit = board.take_pass(&self.layout, was_idle);
        self.changed(&mut board);
        unit
    }

    /// A lane has computed a pass of a unit. Whether the unit is done too, which the lane then retires.
    #[must_use]
    pub(super) fn end_pass(&self, unit: u64) -> bool {
        let slot = self.layout.slot(unit);
        let publish = |line: &LineId| {
            let steps = self.layout.steps(line.pass);
            self.progress[slot][self.layout.index(*line)].publish(steps)
        };
        let wanted: Vec<LineId> = self.layout.for_devices(unit).filter(publish).collect();
        let mut board = lock(&self.board);
        let before = board.count_ready();
        for line in wanted {
            board.wake(&self.layout, &self.progress, line);
        }
        let mut last = false;
        for _ in self.layout.for_devices(unit) {
            last = board.end_line(&self.layout, unit);
        }
        board.running -= u32::from(!last);
        self.changed(&mut board);
        let woken = board.count_ready().saturating_sub(before);
        drop(board);
        // At least one worker looks whether anything can go on.
        self.news.notify(woken.max(1));
        last
    }

    /// A lane did not compute the pass that it has of a unit, so workers do.
    pub(super) fn return_pass(&self, unit: u64) {
        let mut board = lock(&self.board);
        board.return_pass(&self.layout, unit);
        board.running -= 1;
        self.changed(&mut board);
        drop(board);
        self.news.notify(usize::MAX);
    }

    /// A lane, which was idle or not, takes no more.
    pub(super) fn remove_lane(&self, was_idle: bool) {
        let mut board = lock(&self.board);
        board.remove_lane(&self.layout, was_idle);
        self.changed(&mut board);
        drop(board);
        self.news.notify(usize::MAX);
    }

    /// A chunk of a line is done. Wakes those who waited for it; of the lines this makes ready, the worker takes one
    /// itself where its own line has come to its end.
    pub(super) fn publish(&self, chunk: &Chunk) {
        let line = chunk.line;
        let slot = self.layout.slot(line.unit);
        let steps = chunk.steps.end - chunk.steps.start;
        if !self.progress[slot][self.layout.index(line)].publish(steps) {
            return;
        }
        let mut board = lock(&self.board);
        let before = board.count_ready();
        board.wake(&self.layout, &self.progress, line);
        self.changed(&mut board);
        let woken = board.count_ready().saturating_sub(before);
        drop(board);
        let takes_one = chunk.steps.end == self.layout.steps(line.pass);
        self.news
            .notify(woken.saturating_sub(usize::from(takes_one)));
    }

    /// What a line does next, when something is to be waited for or the worker should part from it. Whether the worker
    /// goes on with it all the same.
    pub(super) fn suspend(&self, chunk: &Chunk, needs: &[Need]) -> bool {
        let mut board = lock(&self.board);
        let met = board.set_next(&self.layout, &self.progress, chunk, needs);
        if met && !self.should_part(chunk.line) {
            return true;
        }
        if met {
            board.set_ready(&self.layout, chunk.line);
        }
        board.running -= 1;
        self.changed(&mut board);
        drop(board);
        // The worker takes an older line, and another may take this one.
        self.news.notify(usize::from(met));
        false
    }

    /// A worker's line is done. Whether its unit is too, which the worker then retires.
    #[must_use]
    pub(super) fn end_line(&self, unit: u64) -> bool {
        let mut board = lock(&self.board);
        let last = board.end_line(&self.layout, unit);
        board.running -= u32::from(!last);
        drop(board);
        if last {
            // What the line made ready does not wait for the unit to be delivered.
            self.news.notify(1);
        }
        last
    }

    /// A unit was done with, whose last line the worker had.
    pub(super) fn retire(&self, unit: u64) {
        let mut board = lock(&self.board);
        board.running -= 1;
        board.retire(&self.layout, unit);
        self.settle_end(board);
        // Another unit may begin.
        self.news.notify(1);
    }

    /// Whether a unit may begin now. Of workers that ask at once, one may begin it.
    pub(super) fn may_begin(&self) -> Room {
        let mut board = lock(&self.board);
        if !board.has_room(&self.layout) {
            return Room::None;
        }
        match std::mem::replace(&mut board.beginning, true) {
            true => Room::Taken,
            false => Room::Yours,
        }
    }

    /// The worker that may begin a unit found none.
    pub(super) fn not_begun(&self) {
        let mut board = lock(&self.board);
        board.beginning = false;
        self.settle_end(board);
    }

    /// Begins a unit. What the first chunk of each line needs lies in `needs`, up to the line's place in `ends`.
    pub(super) fn begin(&self, unit: u64, grain: u32, needs: &[Need], ends: &[usize]) {
        let mut board = lock(&self.board);
        let slot = self.layout.slot(unit);
        self.progress[slot].iter().for_each(Progress::reset);
        self.held[slot].store(unit + 1, Ordering::Release);
        let before = board.count_ready();
        board.begin(&self.layout, &self.progress, (unit, grain), (needs, ends));
        self.changed(&mut board);
        let ready = board.count_ready().saturating_sub(before);
        drop(board);
        // This worker takes one, so one other may begin the next unit.
        self.news.notify(ready.max(1));
    }

    /// There are no more units after those that were begun.
    pub(super) fn end(&self) {
        let mut board = lock(&self.board);
        board.end = board.next;
        self.end.store(board.end, Ordering::Release);
        board.closed = true;
        board.wake_early(&self.layout, &self.progress);
        self.changed(&mut board);
        self.settle_end(board);
        self.news.notify(usize::MAX);
    }

    /// No more units are begun, although there may be some.
    pub(super) fn drain(&self) {
        let mut board = lock(&self.board);
        board.closed = true;
        self.settle_end(board);
    }

    /// No more units are begun, and those from `unit` on are of no use except to those before it.
    pub(super) fn fail(&self, unit: u64) {
        let mut board = lock(&self.board);
        board.closed = true;
        board.failed = board.failed.min(unit);
        self.settle_end(board);
    }

    /// A line is lost that a worker had.
    pub(super) fn lose(&self) {
        lock(&self.board).running -= 1;
    }

    /// The oldest unit in work, if no worker can do anything for it, and whether another one failed.
    pub(super) fn stuck(&self) -> Option<(u64, bool)> {
        let board = lock(&self.board);
        let stuck = board.is_stuck(&self.layout);
        stuck.then_some((board.first, board.failed < u64::MAX))
    }

    /// How much of the units that are not done is done, in units.
    pub(super) fn progress(&self) -> f64 {
        let whole = self.layout.steps_of_unit();
        let (first, next) = {
            let board = lock(&self.board);
            (board.first, board.next)
        };
        let done = |unit| -> u64 {
            let lines = self.progress[self.layout.slot(unit)].iter();
            lines.map(|line| u64::from(line.done())).sum()
        };
        // A unit that is done may be among them.
        let done = (first..next).map(done).filter(|&done| done < whole);
        done.sum::<u64>() as f64 / whole as f64
    }

    /// Workers come out when they have done what they are at.
    pub(super) fn leave(&self) {
        self.leaving.store(true, Ordering::Release);
        self.news.notify(usize::MAX);
        self.lane_news.notify(usize::MAX);
    }

    pub(super) fn is_leaving(&self) -> bool {
        self.leaving.load(Ordering::Acquire)
    }

    /// Workers come in, and so many lanes, after all have come out.
    pub(super) fn resume(&mut self, lanes: usize) {
        self.leaving = AtomicBool::new(false);
        let mut board = lock(&self.board);
        board.set_lanes(&self.layout, lanes);
        self.changed(&mut board);
    }

    /// Whether nothing is left to do.
    pub(super) fn is_over(&self) -> bool {
        lock(&self.board).is_over()
    }

    fn settle_end(&self, board: MutexGuard<'_, Board>) {
        let over = board.is_over();
        drop(board);
        if over {
            self.leave();
        }
    }

    fn changed(&self, board: &mut Board) {
        match std::mem::take(&mut board.untold) {
            0 => {}
            passes => self.lane_news.notify(passes),
        }
        let oldest = board.oldest_ready().unwrap_or(u64::MAX);
        self.oldest_ready.store(oldest, Ordering::Relaxed);
    }
}
