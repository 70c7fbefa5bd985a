//! Units in stages on different workers: each worker has some steps, units go from one to the next.
//!
//! Workers take units at the first stages of as many pipelines as the plan makes, and results are put back in order, as
//! those of a farm are. A unit carries how many of its steps are done, and a stage runs from there to where it ends at
//! that moment. So boundaries can move at any time, while units are under way, and each step is still run once and in
//! order.
//!
//! Where an epoch ends and the next one has the same plan, the pipeline is not drained. Only another plan makes workers
//! wait for the last unit.

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::balance::{Balance, Medians, Window};
use super::claims::Claims;
use super::delivery::{Delivery, Job, take};
use super::engine::{Ended, Engine, Stop};
use super::error::panic_text;
use super::intake::Turns;
use super::line::{Line, Work};
use super::ports::{Sink, Source};
use super::schedule::Schedule;
use crate::dispatch::{Batch, Caller, JobPanic, WorkerId};
use crate::plan::Plan;
use crate::service::Service;
use crate::stages::pipelines;
use crate::sync::{into_inner, lock};
use crate::trace::Track;
use crate::tuner::Epoch;

/// Units that may wait between two stages: one for what stages differ by, one for what units do, and two for the
/// moments that somebody else has a stage's processor.
pub(crate) const ROOM: usize = 4;

/// A unit on its way.
struct Travel<I, O> {
    number: u64,
    input: Box<I>,
    output: Box<O>,
    /// Steps done.
    at: u32,
    took: Duration,
}

/// What is measured of one stage.
struct Meter {
    /// The step it ends before.
    end: AtomicU32,
    /// Nanoseconds it computed in this epoch.
    busy: AtomicU64,
    /// Its first unit has come.
    filled: AtomicBool,
    window: Mutex<Window>,
}

/// The stages of one pipeline and what is measured of them.
struct Pipe<I, O> {
    line: Line<Travel<I, O>>,
    meters: Vec<Meter>,
    medians: Mutex<Medians>,
}

impl<I: Send, O: Send> Pipe<I, O> {
    fn new(ends: Vec<u32>) -> Pipe<I, O> {
        let meter = |&end: &u32| Meter {
            end: AtomicU32::new(end),
            busy: AtomicU64::new(0),
            filled: AtomicBool::new(false),
            window: Mutex::default(),
        };
        Pipe {
            line: Line::new(ends.len(), ROOM),
            meters: ends.iter().map(meter).collect(),
            medians: Mutex::new(Medians::new(ends)),
        }
    }

    fn stages(&self) -> u32 {
        self.meters.len() as u32
    }

    /// Counts a unit that a stage computed. Where stages end from now on, if that changes.
    fn count(
        &self,
        place: usize,
        steps: &Range<u32>,
        took: Duration,
        balance: &Mutex<Balance>,
    ) -> Option<Vec<u32>> {
        let meter = &self.meters[place];
        meter.busy.fetch_add(nanos(took), Ordering::Relaxed);
        let median = lock(&meter.window).add(steps, took)?;
        let mut medians = lock(&self.medians);
        let ends = medians.put(place, steps, median, |ends, took| {
            lock(balance).learn(ends, took)
        })?;
        for (meter, &end) in self.meters.iter().zip(ends) {
            meter.end.store(end, Ordering::Relaxed);
        }
        Some(ends.to_vec())
    }

    /// Nanoseconds that its stages computed since the last call: all of them together, and the busiest for each.
    fn busy(&self) -> (u64, u64) {
        let busy = self.meters.iter();
        let busy = busy.map(|meter| meter.busy.swap(0, Ordering::Relaxed));
        let (sum, most) = busy.fold((0, 0), |(sum, most), busy| (sum + busy, busy.max(most)));
        (sum, most * self.meters.len() as u64)
    }
}

/// What a job does at its stage.
struct Tending<T, C, B> {
    take: T,
    compute: C,
    bring: B,
}

impl<U, T, C, B> Work<U> for Tending<T, C, B>
where
    T: Fn() -> Option<U>,
    C: Fn(usize, U) -> Option<U>,
    B: Fn(U),
{
    fn take(&self) -> Option<U> {
        (self.take)()
    }

    fn stage(&self, place: usize, unit: U) -> Option<U> {
        (self.compute)(place, unit)
    }

    fn bring(&self, unit: U) {
        (self.bring)(unit);
    }
}

/// Units that a pipeline of so many steps has inside at once.
pub(super) fn inside(plan: &Plan, steps: u32) -> usize {
    let pipes = pipelines(plan, steps);
    let stages: u32 = pipes.iter().sum();
    stages as usize + ROOM * (stages as usize - pipes.len())
}

/// Computes the units of `epoch` in pipelines, and of those after it as long as the plan is the same. `costs` gets
/// those of the last of them.
///
/// A unit's cost is what it took on all its workers together, divided by the workers, times what workers were there for
/// beside computing: where stages are uneven they wait for the largest, and that counts. What the first stage waits for
/// input and output, and what the others wait for meanwhile, does not; but a pipeline is never counted as faster than
/// its busiest stage. Filling and draining, which a stream does once, do not count either.
///
/// When a unit takes longer than the epoch allows, those in work are finished, and no more are begun.
pub(super) fn epochs<S: Service, Src: Source<S>, K: Sink<S>>(
    engine: &mut Engine<'_, '_, S, Src, K>,
    epoch: &Epoch,
    schedule: &mut dyn Schedule,
    costs: &mut Vec<Duration>,
) -> Ended {
    let plan = epoch.plan;
    let exec = engine.exec;
    let known = exec.step_costs(plan.structure);
    let steps = known.len() as u32;
    let balance = engine
        .balance
        .take()
        .filter(|(of, _)| *of == plan.structure);
    let balance = balance.map_or_else(|| Balance::new(known), |(_, balance)| balance);
    let balance = Mutex::new(balance);
    let pipes: Vec<Pipe<S::Input, S::Output>> = pipelines(&plan, steps)
        .into_iter()
        .map(|stages| Pipe::new(lock(&balance).ends(stages as usize)))
        .collect();
    let places: Vec<(usize, usize)> = pipes
        .iter()
        .enumerate()
        .flat_map(|(pipe, stages)| (0..stages.meters.len()).map(move |place| (pipe, place)))
        .collect();
    let workers = places.len() as u32;

    let may_grow = engine.may_grow();

    let in_link = engine.intake.link().clone();
    let out_link = engine.outlet.link();
    let next = engine.intake.taken();
    let delivery = Delivery::new(&mut engine.outlet, &mut *engine.tally, next);
    let delivery = Mutex::new(delivery);
    let claims = Claims::new(
        epoch,
        schedule,
        engine.cancel,
        may_grow,
        exec.pool().workers(),
    );
    let turns = Turns::new(&mut engine.intake);
    // Units from this one on are of no use any more.
    let failed = AtomicU64::new(u64::MAX);
    let waited = AtomicU64::new(0);
    let wait = |time: Duration, stages: u32| {
        waited.fetch_add(nanos(time) * u64::from(stages), Ordering::Relaxed);
    };

    // What the units of an epoch cost that ends now.
    let reckon = |delivery: &mut Delivery<'_, '_, '_, S, K>| {
        let ahead: Duration = claims.in_work(Instant::now()).sum();
        let waited = Duration::from_nanos(waited.swap(0, Ordering::Relaxed));
        let times = delivery.turn_over(ahead);
        let (mut busy, mut least) = (0, 0);
        for pipe in &pipes {
            let (all, most) = pipe.busy();
            busy += all;
            least += most;
        }
        let work = (Duration::from_nanos(busy) + ahead).saturating_sub(times.ahead);
        let present = (times.began.elapsed() * workers)
            .saturating_sub(waited)
            .max(Duration::from_nanos(least))
            .max(work);
        // Units under way were worked at and are not done.
        let share = present.as_secs_f64() / work.as_secs_f64();
        let share = if share.is_finite() { share } else { 1.0 };
        let costs: Vec<Duration> = times
            .took
            .iter()
            .map(|took| took.mul_f64(share) / workers)
            .collect();
        delivery.count(&plan, &costs);
        costs
    };

    let taken = |pipe: &Pipe<S::Input, S::Output>| {
        let asked = Instant::now();
        if !claims.claim(&delivery, reckon) {
            return None;
        }
        let Job {
            unit,
            output,
            stalled,
        } = take(&plan, out_link, &turns, &delivery, &claims)?;
        wait(asked.elapsed().saturating_sub(stalled), pipe.stages());
        Some(Travel {
            number: unit.number,
            input: unit.value,
            output,
            at: 0,
            took: Duration::ZERO,
        })
    };
    let computed = |pipe: &Pipe<_, _>,
                    worker: WorkerId,
                    place: usize,
                    mut unit: Travel<S::Input, S::Output>| {
        if unit.number >= failed.load(Ordering::Relaxed) {
            in_link.give_back(unit.input);
            return None;
        }
        let meter = &pipe.meters[place];
        let begin = Instant::now();
        if !meter.filled.swap(true, Ordering::Relaxed) {
            wait(begin - claims.began(), u32::from(place > 0));
        }
        let last = place + 1 == pipe.meters.len();
        let end = if last {
            steps
        } else {
            meter.end.load(Ordering::Relaxed).min(steps)
        };
        let steps = unit.at..end;
        if steps.is_empty() {
            return Some(unit);
        }
        claims.begin(worker, begin);
        let result = exec.items(
            worker,
            unit.number,
            (plan.structure, steps.clone()),
            &unit.input,
            &unit.output,
        );
        let took = begin.elapsed();
        if let Err(message) = result {
            claims.end(worker);
            failed.fetch_min(unit.number, Ordering::Relaxed);
            let why = Stop::Unit {
                unit: unit.number,
                message,
            };
            claims.stop(&delivery, why);
            in_link.give_back(unit.input);
            // Whoever waits for a unit that may never come, or for an output that will not be needed, returns.
            in_link.stop_consumer();
            out_link.stop_producers();
            return None;
        }
        let moved = pipe.count(place, &steps, took, &balance);
        claims.end(worker);
        if let Some(ends) = moved
            && exec.trace().is_on()
        {
            let text = format!("stages end at {ends:?}");
            exec.trace().instant(Track::Tuner, "stages", &text);
        }
        unit.at = steps.end;
        unit.took += took;
        if claims.is_too_long(unit.took) {
            claims.cut(&mut lock(&delivery), unit.took);
        }
        Some(unit)
    };
    let brought = |pipe: &Pipe<S::Input, S::Output>, unit: Travel<S::Input, S::Output>| {
        let now = Instant::now();
        in_link.give_back(unit.input);
        lock(&delivery).finish(
            &claims,
            &plan,
            (unit.number, unit.output),
            (unit.took, now),
            &in_link,
        );
        wait(now.elapsed(), pipe.stages());
    };

    let batch = Batch {
        dispatch: plan.dispatch,
        items: workers,
        grain: 1,
        workers,
        deadline: None,
        caller: Caller::Works,
    };
    let ended: Mutex<Vec<Instant>> = Mutex::new(Vec::new());
    let panic: Mutex<Option<String>> = Mutex::new(None);
    // Kernels, sources and sinks are caught where they are called, so this is a callback's. Its stage must still be
    // tended to the end, or others would wait for it.
    let fell = |payload: Box<dyn std::any::Any + Send>| {
        lock(&panic).get_or_insert_with(|| panic_text(&*payload));
        failed.store(0, Ordering::Relaxed);
        claims.stop(&delivery, Stop::Stopped);
        in_link.stop_consumer();
        out_link.stop_producers();
    };
    let outcome = exec.pool().run(&batch, &|worker, jobs| {
        for job in jobs {
            let (pipe, place) = places[job as usize];
            let pipe = &pipes[pipe];
            let work = Tending {
                take: || taken(pipe),
                compute: |place, unit| computed(pipe, worker, place, unit),
                bring: |unit| brought(pipe, unit),
            };
            while let Err(payload) = catch_unwind(AssertUnwindSafe(|| pipe.line.tend(place, &work)))
            {
                fell(payload);
            }
            if !pipe.meters[place].filled.load(Ordering::Relaxed) {
                wait(claims.began().elapsed(), 1);
            } else {
                lock(&ended).push(Instant::now());
            }
        }
    });
    into_inner(ended)
        .iter()
        .for_each(|ended| wait(ended.elapsed(), 1));

    let last = reckon(&mut lock(&delivery));
    let delivery = into_inner(delivery);
    engine.balance = Some((plan.structure, into_inner(balance)));
    let panic = into_inner(panic).map(|message| JobPanic { message });
    delivery.ended(claims, panic.or(outcome.err()), last, costs)
}

fn nanos(time: Duration) -> u64 {
    time.as_nanos() as u64
}
