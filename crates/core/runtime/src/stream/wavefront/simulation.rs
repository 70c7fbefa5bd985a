//! A wavefront in virtual time: the lines and rules of a stream, with workers that only count.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::layout::{self, Layout, LineId};
use super::lines::{Lines, Room};
use crate::replay::Chunk;
use crate::service::{Need, Service, Shape};

/// See [`replay::wavefront`](crate::replay::wavefront).
pub(crate) fn seconds<S: Service>(
    service: &S,
    shape: &Shape,
    recorded: &[Chunk],
    (grain, workers): (u32, usize),
    hand_over: f64,
) -> Option<f64> {
    let layout = Layout::new(shape)?;
    let costs = StepCosts::new(&layout, recorded)?;
    let mut simulation = Simulation {
        service,
        lines: Lines::new(layout, 0),
        costs,
        grain: grain.max(1),
        begun: 0,
        busy: BinaryHeap::new(),
        running: vec![None; workers.max(1)],
        now: 0.0,
    };
    simulation.run(hand_over)
}

/// What each step takes: by unit, by line, by step.
struct StepCosts(Vec<Vec<Vec<f64>>>);

impl StepCosts {
    fn new(layout: &Layout, recorded: &[Chunk]) -> Option<StepCosts> {
        let units = recorded.iter().map(|chunk| chunk.unit + 1).max();
        let of_line = |line: LineId| vec![0.0; layout.steps(line.pass) as usize];
        let of_unit = |unit| layout.of(unit).map(of_line).collect();
        let mut costs: Vec<Vec<Vec<f64>>> = (0..units.unwrap_or(0)).map(of_unit).collect();
        for chunk in recorded {
            let line = LineId {
                unit: chunk.unit,
                pass: chunk.pass,
                line: chunk.line,
            };
            let at = layout.of(chunk.unit).position(|other| other == line)?;
            let steps = chunk.steps.start as usize..chunk.steps.end as usize;
            let each = chunk.seconds / steps.len().max(1) as f64;
            let steps = costs[chunk.unit as usize][at].get_mut(steps)?;
            steps.iter_mut().for_each(|step| *step += each);
        }
        Some(StepCosts(costs))
    }

    fn of(&self, layout: &Layout, chunk: &layout::Chunk) -> f64 {
        let line = &self.0[chunk.line.unit as usize][layout.index(chunk.line)];
        let steps = chunk.steps.start as usize..chunk.steps.end as usize;
        line[steps].iter().sum()
    }
}

struct Simulation<'a, S> {
    service: &'a S,
    lines: Lines,
    costs: StepCosts,
    grain: u32,
    /// Units begun.
    begun: u64,
    /// When workers are done with their chunks. Times are positive, so their bits are in the same order.
    busy: BinaryHeap<Reverse<(u64, usize)>>,
    running: Vec<Option<layout::Chunk>>,
    now: f64,
}

impl<S: Service> Simulation<'_, S> {
    fn run(&mut self, hand_over: f64) -> Option<f64> {
        loop {
            self.begin_units();
            for worker in 0..self.running.len() {
                if self.running[worker].is_none()
                    && let Some(chunk) = self.lines.take()
                {
                    self.start(worker, chunk, hand_over);
                }
            }
            let Some(Reverse((at, worker))) = self.busy.pop() else {
                return self.lines.is_over().then_some(self.now);
            };
            self.now = f64::from_bits(at);
            if let Some(chunk) = self.running[worker].take() {
                self.finish(worker, chunk);
            }
        }
    }

    fn start(&mut self, worker: usize, chunk: layout::Chunk, before: f64) {
        let end = self.now + before + self.costs.of(&self.lines.layout, &chunk);
        self.busy.push(Reverse((end.to_bits(), worker)));
        self.running[worker] = Some(chunk);
    }

    fn finish(&mut self, worker: usize, chunk: layout::Chunk) {
        let (line, end) = (chunk.line, chunk.steps.end);
        self.lines.publish(&chunk);
        if end == self.lines.layout.steps(line.pass) {
            if self.lines.end_line(line.unit) {
                self.lines.retire(line.unit);
            }
            return;
        }
        let next = self.lines.layout.chunk(line, end, self.grain);
        let needs = self.needs(&next);
        if self.lines.suspend(&next, &needs) {
            self.start(worker, next, 0.0);
        }
    }

    fn begin_units(&mut self) {
        let units = self.costs.0.len() as u64;
        while self.begun < units && self.lines.may_begin() == Room::Yours {
            let (mut all, mut ends) = (Vec::new(), Vec::new());
            for line in self.lines.layout.of(self.begun) {
                all.extend(self.needs(&self.lines.layout.chunk(line, 0, self.grain)));
                ends.push(all.len());
            }
            self.lines.begin(self.begun, self.grain, &all, &ends);
            self.begun += 1;
        }
        if self.begun == units {
            self.lines.end();
        }
    }

    fn needs(&self, chunk: &layout::Chunk) -> Vec<Need> {
        let mut needs = Vec::new();
        let part = self.lines.layout.part(chunk);
        self.service.needs(chunk.line.unit, &part, &mut needs);
        needs
    }
}
