//! Streams of a frame in memory, and what every unit of them cost.

use std::sync::Arc;
use std::time::{Duration, Instant};

use evener_runtime::stream::{Report, Schedule, Search};
use evener_runtime::tuner::{Epoch, Measured, Summary, TunerSetup};
use evener_runtime::{Choice, Discard, Dispatch, Plan, Runtime, Service, Shape, Structure, Tuner};

use super::buffer_pool::Buffers;
use super::static_source::{PooledService, StaticSource, StreamCounters, UnitHook};
use super::topology_guard::TopologyGuard;
use crate::error::Error;
use crate::picture::Picture;
use crate::plan;
use crate::subject::Subject;

/// A subject on a runtime, with its frame ready.
pub(super) struct Bench<'a> {
    pub(super) runtime: &'a Runtime,
    pub(super) subject: &'a Subject,
    pub(super) buffers: Buffers,
    pub(super) shapes: Vec<Shape>,
    /// Where the processors were when this was made, and are for all its streams.
    pub(super) guard: TopologyGuard,
}

/// An epoch as it went.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct EpochRun {
    /// Its first unit, from 0.
    pub(super) first: usize,
    pub(super) units: usize,
    /// The plan that was tried; a unit that was cut off was done again under another.
    pub(super) plan: Plan,
}

/// A stream that went to its end.
pub(super) struct Run {
    /// Of each unit, by the clock: attempts that were cut off and the tuner's own time included, the making of buffers
    /// left out.
    pub(super) seconds: Vec<f64>,
    pub(super) epochs: Vec<EpochRun>,
    /// What the tuner was told that all units cost.
    pub(super) told_s: f64,
    /// The plan that was fixed, or the tuner's choice at the end.
    pub(super) plan: Plan,
    pub(super) search: Search,
    pub(super) decisions: Vec<String>,
}

impl Run {
    /// Seconds of all units.
    pub(super) fn whole_s(&self) -> f64 {
        self.seconds.iter().sum()
    }

    /// Seconds of the last quarter of the units.
    pub(super) fn last_quarter_s(&self) -> f64 {
        let units = self.seconds.len();
        self.seconds[units - units.div_ceil(4)..].iter().sum()
    }

    /// Seconds of a unit, on average.
    pub(super) fn mean_s(&self) -> f64 {
        self.whole_s() / self.seconds.len().max(1) as f64
    }
}

impl<'a> Bench<'a> {
    pub(super) fn new(runtime: &'a Runtime, subject: &'a Subject) -> Self {
        let service = subject.service();
        let mut frame = service.input();
        Picture::Made.fill(&mut frame);
        Bench {
            runtime,
            subject,
            buffers: Buffers::new(frame),
            shapes: service.shapes(subject.private_cache),
            guard: TopologyGuard::new(),
        }
    }

    pub(super) fn workers(&self) -> u32 {
        self.runtime.workers() as u32
    }

    /// The plan a user gets who names structure and dispatch only.
    pub(super) fn plan(
        &self,
        structure: &'static Structure,
        dispatch: Dispatch,
        workers: u32,
    ) -> Option<Plan> {
        let choice = Choice::Fixed {
            structure: structure.to_string(),
            dispatch: Some(dispatch),
            grain: None,
        };
        plan::complete(self.runtime, &self.shapes, choice, workers).ok()
    }

    /// What the tuner of a stream of `frames` knows, without remembered plans.
    pub(super) fn setup(&self, frames: u64) -> TunerSetup {
        TunerSetup {
            units: Some(frames),
            ..self.runtime.tuner_setup(self.shapes.clone(), Choice::Auto)
        }
    }

    /// The service of a stream.
    pub(super) fn service(&self, counters: Arc<StreamCounters>) -> PooledService {
        PooledService::new(self.subject.service(), self.buffers.clone(), counters)
    }

    /// A stream under plan auto.
    pub(super) fn auto(&self, frames: u64) -> Result<Run, Error> {
        self.guard
            .run_guarded(|| self.run(self.setup(frames), frames, None))
    }

    /// A stream under one plan.
    pub(super) fn fixed(&self, plan: &Plan, frames: u64) -> Result<Run, Error> {
        self.guard
            .run_guarded(|| self.run(self.setup_fixed(plan, frames), frames, None))
    }

    /// As [`Bench::setup`], for a stream under one plan.
    pub(super) fn setup_fixed(&self, plan: &Plan, frames: u64) -> TunerSetup {
        TunerSetup {
            choice: Choice::Fixed {
                structure: plan.structure.to_string(),
                dispatch: Some(plan.dispatch),
                grain: Some(plan.grain),
            },
            fixed_workers: Some(plan.workers),
            ..self.setup(frames)
        }
    }

    /// A stream of `frames` with a tuner of this setup, wherever the processors are.
    pub(super) fn run(
        &self,
        setup: TunerSetup,
        frames: u64,
        hook: Option<UnitHook>,
    ) -> Result<Run, Error> {
        let name = match &setup.choice {
            Choice::Auto => "auto".to_owned(),
            Choice::Fixed { structure, .. } => structure.clone(),
        };
        let failed = |reason: String| self.subject.failed(&name, reason);
        let tuner = Tuner::new(setup).map_err(|e| failed(e.to_string()))?;
        let counters: Arc<StreamCounters> = Arc::default();
        let mut recorder = Recorder::new(tuner, Arc::clone(&counters));
        let report = self
            .runtime
            .stream(StaticSource::new(Arc::clone(&counters), frames, hook))
            .through(self.service(counters))
            .scheduled_by(&mut recorder)
            .into(Discard)
            .map_err(|e| failed(e.to_string()))?;
        recorder
            .run(report)
            .ok_or_else(|| failed("no frame was computed".into()))
    }
}

/// A tuner, and all that goes in and out of it.
struct Recorder {
    tuner: Tuner,
    counters: Arc<StreamCounters>,
    plan: Option<Plan>,
    /// When the tuner was asked for the epoch, and what does not count by then.
    asked: (Instant, Duration),
    seconds: Vec<f64>,
    epochs: Vec<EpochRun>,
}

impl Recorder {
    fn new(tuner: Tuner, counters: Arc<StreamCounters>) -> Recorder {
        Recorder {
            tuner,
            counters,
            plan: None,
            asked: (Instant::now(), Duration::ZERO),
            seconds: Vec::new(),
            epochs: Vec::new(),
        }
    }

    fn run(self, report: Report) -> Option<Run> {
        Some(Run {
            seconds: self.seconds,
            epochs: self.epochs,
            told_s: self.tuner.summary().elapsed.as_secs_f64(),
            plan: report.plan?,
            search: report.search?,
            decisions: report.decisions,
        })
    }
}

impl Schedule for &mut Recorder {
    fn next(&mut self) -> Epoch {
        self.asked = (Instant::now(), self.counters.excluded());
        let epoch = self.tuner.next();
        self.plan = Some(epoch.plan);
        epoch
    }

    fn record(&mut self, measured: Measured<'_>) {
        self.tuner.record(measured);
        let (asked, excluded) = self.asked;
        let time = asked
            .elapsed()
            .saturating_sub(self.counters.excluded() - excluded);
        let Some(plan) = self.plan.take() else { return };
        let first = self.seconds.len();
        let units = (self.counters.units_read() as usize).saturating_sub(first);
        self.seconds.extend(unit_seconds(measured, units, time));
        self.epochs.push(EpochRun { first, units, plan });
    }

    fn late(&mut self, costs: &[Duration]) {
        self.tuner.late(costs);
    }

    fn buffers(&mut self, pair: Duration, units: u32) {
        self.tuner.buffers(pair, units);
    }

    fn prepared(&mut self, time: Duration) {
        self.tuner.prepared(time);
    }

    fn summary(&self) -> Option<Summary> {
        Some(self.tuner.summary())
    }

    fn decisions(&self) -> Vec<String> {
        Schedule::decisions(&self.tuner)
    }
}

/// What each of an epoch's units cost, of the time of them all: in proportion to what was measured. Of a farm that was
/// stopped only the time of the whole epoch is known.
fn unit_seconds(measured: Measured<'_>, units: usize, time: Duration) -> Vec<f64> {
    let (costs, cut) = match measured {
        Measured::Units { costs } => (costs, None),
        Measured::CutOff { done, after, redo } => (done, Some(after + redo)),
    };
    let costs = costs.iter().copied().chain(cut);
    let seconds: Vec<f64> = costs.map(|cost| cost.as_secs_f64()).collect();
    let sum: f64 = seconds.iter().sum();
    let time = time.as_secs_f64();
    if seconds.len() == units && sum > 0.0 {
        seconds.iter().map(|cost| cost * time / sum).collect()
    } else {
        vec![time / units.max(1) as f64; units]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evener_image::structures::TILED;

    const S: Duration = Duration::from_secs(1);

    #[test]
    fn a_unit_that_was_cut_off_costs_both_attempts() {
        let measured = Measured::CutOff {
            done: &[2 * S],
            after: 5 * S,
            redo: S,
        };
        assert_eq!(unit_seconds(measured, 2, 16 * S), [4.0, 12.0]);
    }

    #[test]
    fn the_units_of_a_farm_that_was_stopped_share_its_time() {
        let measured = Measured::CutOff {
            done: &[],
            after: 5 * S,
            redo: Duration::ZERO,
        };
        assert_eq!(unit_seconds(measured, 4, 8 * S), [2.0; 4]);
    }

    #[test]
    fn the_last_quarter_is_rounded_up() {
        let plan = Plan {
            structure: &TILED,
            dispatch: Dispatch::Fifo,
            grain: 1,
            workers: 1,
        };
        let run = Run {
            seconds: vec![1.0, 1.0, 1.0, 2.0, 4.0],
            epochs: Vec::new(),
            told_s: 9.0,
            plan,
            search: Search {
                epochs: 1,
                plans_tried: 1,
                switches: 0,
                drifts: 0,
                exploring_s: 0.0,
            },
            decisions: Vec::new(),
        };
        assert_eq!((run.whole_s(), run.last_quarter_s()), (9.0, 6.0));
        assert_eq!(run.mean_s(), 1.8);
    }
}
