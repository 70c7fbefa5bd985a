//! Models of lines that wait for one another, over all interleavings that loom can tell apart. They run the code of this
//! folder itself; `dispatch/sync.rs` swaps the primitives below it.

use loom::sync::Arc;
use loom::sync::atomic::{AtomicU32, Ordering};
use loom::thread;

use super::layout::{Layout, LineId};
use super::lines::Lines;
use super::progress::Progress;
use super::work::{Begin, Units, begin, work};
use crate::dispatch::{Seen, WorkerId};
use crate::service::{Need, Part, Shape, Work};
use crate::structure::fixtures::WAVEFRONT;
use std::time::Duration;

fn model(preemptions: usize, f: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.max_branches = 20_000;
    builder.check(f);
}

/// Of a line that publishes two steps and one that parks until they are done, at least one sees the other.
#[test]
fn steps_are_seen_or_who_waits_for_them_is() {
    model(3, || {
        let progress = Arc::new((Progress::new(), AtomicU32::new(0)));
        let publisher = thread::spawn({
            let progress = Arc::clone(&progress);
            move || {
                let (progress, data) = &*progress;
                let first = progress.publish(1);
                data.store(1, Ordering::Relaxed);
                (first, progress.publish(1))
            }
        });
        let (progress, data) = &*progress;
        let met = progress.want(2);
        if met {
            assert_eq!(data.load(Ordering::Relaxed), 1);
        }
        let (first, second) = publisher.join().unwrap();
        assert!(!first && second != met);
    });
}

/// A unit of two lines of two steps, of which the second needs the first: all steps run, in order, on either worker.
struct Pair {
    done: [AtomicU32; 2],
    lines: Lines,
}

impl Units for Pair {
    fn needs(&self, unit: u64, part: &Part, needs: &mut Vec<Need>) -> Result<(), String> {
        if part.items.start >= 2 {
            needs.push(Need {
                unit,
                pass: 0,
                line: 0,
                steps: part.items.end - 2,
            });
        }
        Ok(())
    }

    fn run(&self, _: WorkerId, _: u64, part: &Part) -> Result<(), String> {
        let step = part.items.start;
        let (line, step) = (step / 2, step % 2);
        if line == 1 {
            assert!(self.done[0].load(Ordering::Relaxed) > step);
        }
        // Two that run one line at once would be seen by loom to lose a step.
        let done = &self.done[line as usize];
        assert_eq!(done.load(Ordering::Relaxed), step);
        done.store(step + 1, Ordering::Relaxed);
        Ok(())
    }

    fn begin(&self, _: u32) -> Begin {
        Begin::Blocked
    }

    fn done(&self, _: u64) {
        let done = self.done.each_ref();
        assert_eq!(done.map(|done| done.load(Ordering::Relaxed)), [2, 2]);
    }

    fn failed(&self, _: WorkerId, unit: u64, message: String) {
        panic!("unit {unit} {message}");
    }

    fn wait(&self, _: WorkerId, seen: Seen, _: Begin) {
        // Sleeps for ever if a line is not woken, which loom reports as a deadlock.
        self.lines.news.wait(seen, Duration::from_secs(1));
    }
}

#[test]
fn no_line_is_left_parked() {
    model(2, || {
        let shape = Shape {
            lines: vec![2],
            ..Shape::new(&WAVEFRONT, vec![4], 1, Work::default())
        };
        let layout = Layout::new(&shape).unwrap();
        let pair = Arc::new(Pair {
            done: [AtomicU32::new(0), AtomicU32::new(0)],
            lines: Lines::new(layout, 0),
        });
        begin(&pair.lines, &*pair, 0, 1).unwrap();
        pair.lines.end();
        let other = thread::spawn({
            let pair = Arc::clone(&pair);
            move || work(&pair.lines, &*pair, WorkerId(1), 1)
        });
        work(&pair.lines, &*pair, WorkerId(0), 1);
        other.join().unwrap();
        let line = LineId {
            unit: 0,
            pass: 0,
            line: 1,
        };
        let last = Need {
            unit: line.unit,
            pass: line.pass,
            line: line.line,
            steps: 2,
        };
        assert!(pair.lines.is_met(&last));
    });
}

/// A unit of a pass for devices, of two lines of a step, and a line that needs both: all run once, whether a lane has the
/// pass, workers have it, or the lane leaves it to them.
struct Handed {
    done: [AtomicU32; 3],
    lines: Lines,
}

impl Handed {
    fn step(&self, item: usize) {
        assert_eq!(self.done[item].load(Ordering::Relaxed), 0);
        self.done[item].store(1, Ordering::Relaxed);
    }

    /// What a lane does, which leaves every pass to workers if it `fails`.
    fn lane(&self, fails: bool) {
        let mut is_idle = false;
        loop {
            let seen = self.lines.lane_news.seen();
            if self.lines.is_leaving() {
                break;
            }
            let pass = self.lines.take_pass(is_idle);
            is_idle = pass.is_none();
            let Some(unit) = pass else {
                self.lines.lane_news.wait(seen, Duration::from_secs(1));
                continue;
            };
            if fails {
                self.lines.return_pass(unit);
                break;
            }
            self.step(0);
            self.step(1);
            assert!(!self.lines.end_pass(unit));
        }
        self.lines.remove_lane(is_idle);
    }
}

impl Units for Handed {
    fn needs(&self, unit: u64, part: &Part, needs: &mut Vec<Need>) -> Result<(), String> {
        let need = |line| Need {
            unit,
            pass: 0,
            line,
            steps: 1,
        };
        if part.pass == 1 {
            needs.extend([0, 1].map(need));
        }
        Ok(())
    }

    fn run(&self, _: WorkerId, _: u64, part: &Part) -> Result<(), String> {
        if part.pass == 1 {
            let done = [0, 1].map(|line: usize| self.done[line].load(Ordering::Relaxed));
            assert_eq!(done, [1, 1]);
        }
        self.step(2 * part.pass + part.items.start as usize);
        Ok(())
    }

    fn begin(&self, _: u32) -> Begin {
        Begin::Blocked
    }

    fn done(&self, _: u64) {
        let done = self.done.each_ref();
        assert_eq!(done.map(|done| done.load(Ordering::Relaxed)), [1; 3]);
    }

    fn failed(&self, _: WorkerId, unit: u64, message: String) {
        panic!("unit {unit} {message}");
    }

    fn wait(&self, _: WorkerId, seen: Seen, _: Begin) {
        self.lines.news.wait(seen, Duration::from_secs(1));
    }
}

#[test]
fn a_pass_is_with_a_lane_or_with_workers() {
    for fails in [false, true] {
        model(2, move || {
            let shape = Shape {
                lines: vec![2, 1],
                device_pass: Some(0),
                ..Shape::new(&WAVEFRONT, vec![2, 1], 1, Work::default())
            };
            let mut lines = Lines::new(Layout::new(&shape).unwrap(), 0);
            lines.resume(1);
            let handed = Arc::new(Handed {
                done: [0, 0, 0].map(AtomicU32::new),
                lines,
            });
            let lane = thread::spawn({
                let handed = Arc::clone(&handed);
                move || handed.lane(fails)
            });
            begin(&handed.lines, &*handed, 0, 1).unwrap();
            handed.lines.end();
            work(&handed.lines, &*handed, WorkerId(0), 1);
            lane.join().unwrap();
            assert!(handed.lines.is_over());
        });
    }
}
