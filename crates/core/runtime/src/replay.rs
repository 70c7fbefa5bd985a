//! The time of work on another number of workers: schedules simulated in virtual time, from costs alone.
//!
//! This helps to plan a larger machine than the one at hand. Costs come from measurements. Dispatch costs nothing
//! here, and workers are equal and do not slow each other down.

#![forbid(unsafe_code)]

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::ops::Range;
use std::sync::{Arc, Mutex};

use crate::service::{Service, Shape};
use crate::stages::{self, ROOM};
use crate::stream::wavefront_seconds;
use crate::sync::lock;

/// Seconds until the last of these jobs is done, if every worker takes the next job when it has finished its last: a
/// shared FIFO, or units in a farm. Jobs are given in seconds.
pub fn fifo(jobs: impl IntoIterator<Item = f64>, workers: usize) -> f64 {
    let mut free: Vec<f64> = vec![0.0; workers.max(1)];
    for job in jobs {
        if let Some(first) = free.iter_mut().min_by(|a, b| a.total_cmp(b)) {
            *first += job;
        }
    }
    free.into_iter().fold(0.0, f64::max)
}

/// Seconds until the last of `units` units has left one of these pipelines, which run side by side. Each pipeline is
/// given by the seconds of its stages per unit. A unit goes to the pipeline whose first stage is free first. As in a
/// stream, there is room for four units between two stages, and a stage without room behind it waits before it
/// starts.
pub fn pipelines(pipelines: &[Vec<f64>], units: u64) -> f64 {
    let mut pipelines: Vec<Pipeline> = pipelines
        .iter()
        .map(|stages| Pipeline::new(stages))
        .collect();
    // Times are positive, so their bits are in the same order.
    let mut free: BinaryHeap<Reverse<(u64, usize)>> = (0..pipelines.len())
        .map(|index| Reverse((0, index)))
        .collect();
    let mut end = 0.0_f64;
    for _ in 0..units {
        let Some(Reverse((_, index))) = free.pop() else {
            break;
        };
        end = end.max(pipelines[index].pass());
        free.push(Reverse((pipelines[index].free().to_bits(), index)));
    }
    end
}

/// Divides steps into `stages` stages of a pipeline, so that the largest stage takes as little time as possible.
/// Returns where each stage ends. Streams divide steps with the same function.
pub fn divide(steps: &[f64], stages: usize) -> Vec<u32> {
    stages::divide(steps, stages)
}

/// Seconds of a step per unit. The first step of a segment may cost more if another element ran the previous step,
/// because values are no longer in registers or caches.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StepCost {
    /// At the start of a segment.
    pub first: f64,
    /// After the previous step on the same element.
    pub next: f64,
}

impl StepCost {
    /// A step with the same cost everywhere.
    pub fn same(seconds: f64) -> StepCost {
        StepCost {
            first: seconds,
            next: seconds,
        }
    }
}

/// Seconds of consecutive steps on one element.
pub fn segment(steps: &[StepCost]) -> f64 {
    let Some((first, others)) = steps.split_first() else {
        return 0.0;
    };
    first.first + others.iter().map(|step| step.next).sum::<f64>()
}

/// Consecutive steps of a line of a wavefront that ran together, and their time.
#[derive(Clone, Debug, PartialEq)]
pub struct Chunk {
    /// The unit, by its number.
    pub unit: u64,
    /// The pass.
    pub pass: usize,
    /// The line, counted in its pass.
    pub line: u32,
    /// The steps, counted in the line.
    pub steps: Range<u32>,
    /// Seconds from start to end.
    pub seconds: f64,
}

/// The chunks of a stream, in the order in which they ended; see
/// [`Stream::recording`](crate::stream::Stream::recording). Clones refer to the same recording.
#[derive(Clone, Debug, Default)]
pub struct Recording(Arc<Mutex<Vec<Chunk>>>);

impl Recording {
    /// Creates an empty recording.
    pub fn new() -> Recording {
        Recording::default()
    }

    /// The chunks recorded so far.
    pub fn chunks(&self) -> Vec<Chunk> {
        lock(&self.0).clone()
    }

    pub(crate) fn push(&self, chunk: Chunk) {
        lock(&self.0).push(chunk);
    }
}

/// Seconds of the recorded units as a wavefront on this number of workers, by the rules of a stream, in chunks of
/// `grain` steps. A chunk's time is divided evenly among its steps, so record small chunks, on one worker. A line
/// that a worker newly takes costs `hand_over` seconds more than one it continues. Units are available when needed,
/// and writing takes no time.
///
/// `None` if the shape is not a wavefront, or if a dependency is never met.
pub fn wavefront<S: Service>(
    service: &S,
    shape: &Shape,
    recorded: &[Chunk],
    (grain, workers): (u32, usize),
    hand_over: f64,
) -> Option<f64> {
    wavefront_seconds(service, shape, recorded, (grain, workers), hand_over)
}

/// One pipeline while it is simulated.
struct Pipeline<'a> {
    stages: &'a [f64],
    /// When each stage is done with its last unit.
    left: Vec<f64>,
    /// When each stage began its last units, as many as find room before it.
    begun: Vec<VecDeque<f64>>,
}

impl<'a> Pipeline<'a> {
    fn new(stages: &'a [f64]) -> Pipeline<'a> {
        Pipeline {
            stages,
            left: vec![0.0; stages.len()],
            begun: vec![VecDeque::from([0.0; ROOM]); stages.len()],
        }
    }

    /// When the next unit can begin.
    fn free(&self) -> f64 {
        self.left.first().copied().unwrap_or(0.0)
    }

    /// Sends one unit through; when it is done.
    fn pass(&mut self) -> f64 {
        let mut at = 0.0_f64;
        for (place, took) in self.stages.iter().enumerate() {
            // The next stage must have begun the unit that took the room this one needs.
            let room = self.begun.get(place + 1).and_then(VecDeque::front);
            let begin = at.max(self.left[place]).max(room.copied().unwrap_or(0.0));
            self.begun[place].pop_front();
            self.begun[place].push_back(begin);
            at = begin + took;
            self.left[place] = at;
        }
        at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_goes_to_the_first_free_worker() {
        assert_eq!(fifo([3.0, 1.0, 1.0, 1.0], 2), 3.0);
        assert_eq!(fifo([1.0, 1.0, 1.0, 3.0], 2), 4.0);
        assert_eq!(fifo([2.0; 3], 1), 6.0);
        assert_eq!(fifo([], 4), 0.0);
    }

    #[test]
    fn a_segment_pays_where_it_begins() {
        let step = StepCost {
            first: 3.0,
            next: 2.0,
        };
        assert_eq!(segment(&[step, step, StepCost::same(1.0)]), 6.0);
        assert_eq!(segment(&[]), 0.0);
    }

    #[test]
    fn a_pipeline_fills_and_drains() {
        // The first unit takes all stages, every other one the largest.
        assert_eq!(pipelines(&[vec![1.0, 2.0, 1.0]], 1), 4.0);
        assert_eq!(pipelines(&[vec![1.0, 2.0, 1.0]], 10), 4.0 + 9.0 * 2.0);
        // Five equal stages and 22 blocks.
        let five = pipelines(&[vec![1.0; 5]], 22);
        assert_eq!(five, 26.0);
        assert_eq!(pipelines(&[vec![1.0; 5], vec![1.0; 5]], 22), 15.0);
        assert_eq!(pipelines(&[], 3), 0.0);
    }

    #[test]
    fn a_full_pipeline_holds_up_the_stages_before() {
        // One unit in the last stage and four before it.
        let mut pipeline = Pipeline::new(&[1.0, 10.0]);
        let ends: Vec<f64> = (0..7).map(|_| pipeline.pass()).collect();
        assert_eq!(ends, [11.0, 21.0, 31.0, 41.0, 51.0, 61.0, 71.0]);
        assert_eq!(pipeline.free(), 22.0);
    }
}
