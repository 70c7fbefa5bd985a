//! Units in stages on different workers: each worker has some steps, and units pass from one worker to the next.
//!
//! Workers take units at the first stages of as many pipelines as the plan has, and results are put back in order. A
//! unit records how many of its steps are done, and a stage runs from there to its current end. So boundaries can
//! move at any time, while units are in progress, and each step still runs once and in order.

mod chain;
mod stages;

use std::any::Any;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use self::chain::StageWork;
use self::stages::{InFlight, Stages};
use super::balance::Balance;
use super::end::{EpochEnd, Stop};
use super::engine::Engine;
use super::error::panic_text;
use super::overlap::{Job, Overlap};
use super::reorder::ReorderBuffer;
use super::schedule::Schedule;
use crate::dispatch::{JobPanic, WorkerId};
use crate::stages::pipelines;
use crate::sync::{into_inner, lock};
use crate::trace::Track;
use crate::tuner::Epoch;

/// Computes the units of `epoch` in pipelines, and of those after it as long as the plan is the same. `costs` gets
/// those of the last of them.
///
/// When a unit takes longer than the epoch allows, those in work are finished, and no more are begun.
pub(super) fn epochs(
    engine: &mut Engine<'_, '_>,
    epoch: &Epoch,
    schedule: &mut dyn Schedule,
    costs: &mut Vec<Duration>,
) -> EpochEnd {
    let structure = epoch.plan.structure;
    let known = engine.balance.take();
    let known = known.filter(|(of, _)| *of == structure);
    let known = known.map(|(_, balance)| balance);
    let news = engine.devices.news(engine.tally.began());
    let run = Run::new(Overlap::new(engine, epoch, schedule, 0, news), known);
    let stage_of_job: Vec<(&Stages, usize)> = run
        .pipelines
        .iter()
        .flat_map(|stages| (0..stages.count() as usize).map(move |stage| (stages, stage)))
        .collect();
    let ended: Mutex<Vec<Instant>> = Mutex::default();
    let panic: Mutex<Option<String>> = Mutex::default();
    let batch = run.units.batch(run.workers);
    let outcome = run.units.exec.pool().run(&batch, &|worker, jobs| {
        for job in jobs {
            let (stages, stage) = stage_of_job[job as usize];
            let work = Worker {
                run: &run,
                stages,
                worker,
            };
            // A stage must be worked at to the end even after a panic, or other stages would wait for it.
            while let Err(payload) =
                catch_unwind(AssertUnwindSafe(|| stages.chain.run_stage(stage, &work)))
            {
                run.panicked(payload, &panic);
            }
            if stages.is_filled(stage) {
                lock(&ended).push(Instant::now());
            } else {
                run.wait(run.units.claims.began().elapsed(), 1);
            }
        }
    });
    for ended in into_inner(ended) {
        run.wait(ended.elapsed(), 1);
    }

    let last = run.epoch_costs(&mut lock(&run.units.reorder));
    let panic = into_inner(panic).map(|message| JobPanic { message });
    drop(stage_of_job);
    let Run { units, balance, .. } = run;
    let end = units.end(panic.or(outcome.err()), last, costs);
    engine.balance = Some((structure, into_inner(balance)));
    end
}

/// The pipelines of one plan while it stays.
struct Run<'e, 'a, 'p> {
    units: Overlap<'e, 'a, 'p>,
    steps: u32,
    pipelines: Vec<Stages>,
    workers: u32,
    balance: Mutex<Balance>,
    /// Units from this one on are of no use any more.
    failed: AtomicU64,
    /// Nanoseconds that stages waited in this epoch for reasons that do not count, in sum.
    waited: AtomicU64,
}

impl<'e, 'a, 'p> Run<'e, 'a, 'p> {
    fn new(units: Overlap<'e, 'a, 'p>, balance: Option<Balance>) -> Self {
        let costs = units.exec.step_costs(units.plan.structure);
        let steps = costs.len() as u32;
        let balance = balance.unwrap_or_else(|| Balance::new(costs));
        let pipelines: Vec<Stages> = pipelines(&units.plan, steps)
            .into_iter()
            .map(|stages| Stages::new(balance.ends(stages as usize)))
            .collect();
        Run {
            units,
            steps,
            workers: pipelines.iter().map(Stages::count).sum(),
            pipelines,
            balance: Mutex::new(balance),
            failed: AtomicU64::new(u64::MAX),
            waited: AtomicU64::new(0),
        }
    }

    /// So many stages waited for so long, which does not count.
    fn wait(&self, time: Duration, stages: u32) {
        let nanos = time.as_nanos() as u64 * u64::from(stages);
        self.waited.fetch_add(nanos, Ordering::Relaxed);
    }

    /// What the units of an epoch cost that ends now.
    ///
    /// A unit's cost is its time on all its workers, divided by the workers, times a factor: the time that workers were
    /// present by the time that they computed. So it counts that uneven stages wait for the largest. It does not count
    /// that the first stage waits for input and output and the others wait for the first, nor filling and draining,
    /// which a stream does once. But a pipeline is never counted as faster than its busiest stage.
    fn epoch_costs(&self, reorder: &mut ReorderBuffer<'e, 'a, 'p>) -> Vec<Duration> {
        let ahead: Duration = self.units.claims.in_work(Instant::now()).sum();
        let waited = Duration::from_nanos(self.waited.swap(0, Ordering::Relaxed));
        let times = reorder.next_epoch(ahead, 0.0);
        let (mut busy, mut least) = (Duration::ZERO, Duration::ZERO);
        for stages in &self.pipelines {
            let (sum, limit) = stages.busy();
            busy += sum;
            least += limit;
        }
        let computed = (busy + ahead).saturating_sub(times.ahead);
        let present = (times.began.elapsed() * self.workers)
            .saturating_sub(waited)
            .max(least)
            .max(computed);
        // Some of the computing was for units that are not done yet, so the factor is of all of it.
        let factor = present.as_secs_f64() / computed.as_secs_f64();
        let factor = if factor.is_finite() { factor } else { 1.0 };
        let costs: Vec<Duration> = times
            .took
            .iter()
            .map(|took| took.mul_f64(factor) / self.workers)
            .collect();
        reorder.count(&self.units.plan, &costs);
        costs
    }

    /// Ends the stream after a panic. Kernels, sources and sinks are caught where they are called, so it is a
    /// callback's.
    fn panicked(&self, payload: Box<dyn Any + Send>, panic: &Mutex<Option<String>>) {
        lock(panic).get_or_insert_with(|| panic_text(&*payload));
        self.failed.store(0, Ordering::Relaxed);
        self.units.fail(Stop::Stopped);
    }
}

/// A worker at the stages of one pipeline.
struct Worker<'r, 'e, 'a, 'p> {
    run: &'r Run<'e, 'a, 'p>,
    stages: &'r Stages,
    worker: WorkerId,
}

impl StageWork<InFlight> for Worker<'_, '_, '_, '_> {
    fn next(&self) -> Option<InFlight> {
        let asked = Instant::now();
        let units = &self.run.units;
        if !units.claim(self.worker, |reorder| self.run.epoch_costs(reorder)) {
            return None;
        }
        let Job {
            unit,
            output,
            stalled,
        } = units.take()?;
        let waited = asked.elapsed().saturating_sub(stalled);
        self.run.wait(waited, self.stages.count());
        Some(InFlight {
            number: unit.number,
            input: unit.value,
            output,
            done: 0,
            took: Duration::ZERO,
        })
    }

    fn run(&self, stage: usize, unit: InFlight) -> Option<InFlight> {
        let run = self.run;
        if unit.number >= run.failed.load(Ordering::Relaxed) {
            run.units.inputs.recycle(unit.input);
            return None;
        }
        let begin = Instant::now();
        if self.stages.fill(stage) {
            run.wait(begin - run.units.claims.began(), u32::from(stage > 0));
        }
        let steps = unit.done..self.stages.end(stage, run.steps);
        match steps.is_empty() {
            true => Some(unit),
            false => self.run_steps(stage, unit, steps, begin),
        }
    }

    fn finish(&self, unit: InFlight) {
        let units = &self.run.units;
        let now = Instant::now();
        units.inputs.recycle(unit.input);
        let result = (unit.number, unit.output.into());
        units.finish(&mut lock(&units.reorder), result, (unit.took, now));
        self.run.wait(now.elapsed(), self.stages.count());
    }
}

impl Worker<'_, '_, '_, '_> {
    /// Runs steps of a unit, measures them, and moves boundaries if that helps. `None` if they failed.
    fn run_steps(
        &self,
        stage: usize,
        mut unit: InFlight,
        steps: Range<u32>,
        begin: Instant,
    ) -> Option<InFlight> {
        let run = self.run;
        let (exec, claims) = (run.units.exec, &run.units.claims);
        claims.begin(self.worker, begin, 1);
        let items = (run.units.plan.structure, steps.clone());
        let result = exec.run_items(self.worker, unit.number, items, &unit.input, &unit.output);
        let took = begin.elapsed();
        if let Err(message) = result {
            claims.end(self.worker, None);
            run.failed.fetch_min(unit.number, Ordering::Relaxed);
            run.units.fail((unit.number, message).into());
            run.units.inputs.recycle(unit.input);
            return None;
        }
        let moved = self.stages.measure(stage, &steps, took, &run.balance);
        claims.end(self.worker, None);
        if let Some(ends) = moved
            && exec.trace().is_on()
        {
            let text = format!("stages end at {ends:?}");
            exec.trace().instant(Track::Tuner, "stages", &text);
        }
        unit.done = steps.end;
        unit.took += took;
        if claims.is_too_long(unit.took) {
            run.units
                .cut(&mut lock(&run.units.reorder), unit.took, Duration::ZERO);
        }
        Some(unit)
    }
}
