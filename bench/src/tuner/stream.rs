//! Streams of a frame in memory, timed unit by unit and as a whole.

use std::sync::Arc;
use std::time::{Duration, Instant};

use evener_runtime::stream::{Report, Schedule, Search};
use evener_runtime::tuner::{Epoch, Measured, Summary, TunerSetup};
use evener_runtime::{Choice, Discard, Dispatch, Plan, Runtime, Service, Shape, Structure, Tuner};

use super::buffer_pool::BufferPool;
use super::static_source::{Making, PooledService, StaticSource, StreamCounters, UnitHook};
use super::topology_guard::TopologyGuard;
use crate::error::Error;
use crate::picture::Picture;
use crate::plan;
use crate::subject::Subject;

/// A subject on a runtime, with its frame.
pub(super) struct Bench<'a> {
    pub(super) runtime: &'a Runtime,
    pub(super) subject: &'a Subject,
    pub(super) pool: BufferPool,
    pub(super) shapes: Vec<Shape>,
    /// Keeps all streams of the subject on the same topology.
    pub(super) guard: TopologyGuard,
}

/// An epoch that has run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct EpochRun {
    /// Its first unit, counted from 0.
    pub(super) first: usize,
    pub(super) units: usize,
    /// The plan that was tried. A unit that was cut off ran again under another plan.
    pub(super) plan: Plan,
}

/// A stream that has run to its end.
pub(super) struct Run {
    /// Seconds from the start of the stream to its end.
    pub(super) whole_s: f64,
    /// Seconds of each unit: its share of its epoch, with attempts that were cut off and the time of the tuner. What comes
    /// before the first epoch, such as the first buffers, is in `whole_s` alone.
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
    /// Seconds of the last quarter of the units.
    pub(super) fn last_quarter_s(&self) -> f64 {
        let units = self.seconds.len();
        self.seconds[units - units.div_ceil(4)..].iter().sum()
    }

    /// Mean seconds of a unit.
    pub(super) fn mean_s(&self) -> f64 {
        self.seconds.iter().sum::<f64>() / self.seconds.len().max(1) as f64
    }
}

impl<'a> Bench<'a> {
    pub(super) fn new(runtime: &'a Runtime, subject: &'a Subject) -> Self {
        let service = subject.service();
        let mut frame = service.input();
        Picture::Generated.fill(&mut frame);
        Bench {
            runtime,
            subject,
            pool: BufferPool::new(frame),
            shapes: service.shapes(subject.private_cache),
            guard: TopologyGuard::new(),
        }
    }

    pub(super) fn workers(&self) -> u32 {
        self.runtime.workers() as u32
    }

    /// The plan that a user gets with a structure and a dispatch flavour alone.
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

    /// The setup of the tuner of a stream, without remembered plans.
    pub(super) fn setup(&self, frames: u64) -> TunerSetup {
        TunerSetup {
            units: Some(frames),
            ..self.runtime.tuner_setup(self.shapes.clone(), Choice::Auto)
        }
    }

    /// The service of a stream.
    pub(super) fn service(&self, making: Making, counters: Arc<StreamCounters>) -> PooledService {
        PooledService::new(self.subject.service(), &self.pool, making, counters)
    }

    /// A stream under plan auto, with the making of its buffers.
    pub(super) fn auto(&self, frames: u64) -> Result<Run, Error> {
        self.guarded(&self.setup(frames), Making::Counted, None)
    }

    /// A stream under one plan, with the making of its buffers.
    pub(super) fn fixed(&self, plan: &Plan, frames: u64) -> Result<Run, Error> {
        self.guarded(&self.setup_fixed(plan, frames), Making::Counted, None)
    }

    /// A short stream under one plan, for estimates: its buffers are those of earlier ones, and their making is left out.
    pub(super) fn estimate(&self, plan: &Plan, frames: u64) -> Result<Run, Error> {
        self.guarded(&self.setup_fixed(plan, frames), Making::Excluded, None)
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

    /// A stream with a tuner of this setup; `hook` makes what is called before some of its units.
    pub(super) fn guarded(
        &self,
        setup: &TunerSetup,
        making: Making,
        hook: Option<&dyn Fn() -> UnitHook>,
    ) -> Result<Run, Error> {
        self.guard
            .run_guarded(|| self.run(setup.clone(), making, hook.map(|hook| hook())))
    }

    fn run(&self, setup: TunerSetup, making: Making, hook: Option<UnitHook>) -> Result<Run, Error> {
        let frames = setup.units.unwrap_or(0);
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
            .through(self.service(making, counters))
            .scheduled_by(&mut recorder)
            .into(Discard)
            .map_err(|e| failed(e.to_string()))?;
        recorder
            .run(report)
            .ok_or_else(|| failed("no frame was computed".into()))
    }
}

/// A tuner, and a record of what goes in and out of it.
struct Recorder {
    tuner: Tuner,
    counters: Arc<StreamCounters>,
    plan: Option<Plan>,
    /// When the tuner was asked for the epoch, and the time excluded by then.
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
            whole_s: report.wall_s - self.counters.excluded().as_secs_f64(),
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

/// Divides the time of an epoch over its units in proportion to their measured costs. Of a farm that was stopped only the
/// time of the whole epoch is known.
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
    use evener_image::Frame;
    use evener_image::structures::TILED;

    use super::super::buffer_pool::PooledFrame;
    use super::*;

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
            devices: 0,
        };
        let run = Run {
            whole_s: 10.0,
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
        assert_eq!((run.mean_s(), run.last_quarter_s()), (1.8, 6.0));
    }

    #[test]
    fn a_whole_stream_makes_its_own_buffers_and_a_short_one_does_not() {
        let runtime = Runtime::builder().workers(1).memory(false).build().unwrap();
        let size = evener_image::Size { w: 640, h: 360 };
        let subject = Subject::new("threshold", size, false, &runtime).unwrap();
        let bench = Bench::new(&runtime, &subject);
        let plan = bench.plan(&TILED, Dispatch::Fifo, 1).unwrap();
        let first = bench.estimate(&plan, 2).unwrap();
        assert!(first.whole_s > 0.0 && first.seconds.len() == 2);
        let run = bench.fixed(&plan, 2).unwrap();
        assert!(run.whole_s > run.seconds.iter().sum::<f64>());

        let place = |frame: &PooledFrame| std::ptr::from_ref::<Frame>(frame);
        let pooled = place(&bench.pool.input());
        for (making, is_pooled) in [(Making::Counted, false), (Making::Excluded, true)] {
            let counters: Arc<StreamCounters> = Arc::default();
            let input = bench.service(making, Arc::clone(&counters)).input();
            assert_eq!(place(&input) == pooled, is_pooled);
            assert_eq!(counters.excluded() > Duration::ZERO, is_pooled);
        }
    }
}
