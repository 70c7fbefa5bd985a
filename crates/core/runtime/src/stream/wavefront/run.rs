//! A wavefront between the intake and the reorder buffer, epoch after epoch.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard};
use std::thread;
use std::time::{Duration, Instant};

use tracing::warn;

use super::lines::{Lines, Room};
use super::starved::Starved;
use super::work::{self, Begin, Units};
use crate::dispatch::{Batch, Caller, Seen, WorkerId};
use crate::plan::Plan;
use crate::replay::Recording;
use crate::service::{Need, Part};
use crate::stream::cancel::CancelToken;
use crate::stream::devices::News;
use crate::stream::end::{EpochEnd, Stop};
use crate::stream::engine::{Engine, are_short};
use crate::stream::erased::{Exec, Unit};
use crate::stream::farm::{LANE, together};
use crate::stream::intake::{InputQueue, Next, SharedIntake};
use crate::stream::outlet::OutputQueue;
use crate::stream::queue::{Numbered, Watchers};
use crate::stream::reorder::{Held, ReorderBuffer};
use crate::stream::schedule::Schedule;
use crate::structure::Structure;
use crate::sync::{into_inner, lock};
use crate::tuner::{Epoch, Measured};

/// A worker that waits so long for a unit reports it.
pub(super) const LONG: Duration = Duration::from_secs(1);

/// What stays in work when workers come out, until they come in again.
pub(in crate::stream) struct Wave {
    structure: &'static Structure,
    lines: Lines,
    buffers: Vec<Slot>,
    /// Results that wait for that of unit `next`.
    held: VecDeque<Option<Held>>,
    next: u64,
    /// Why no more units are begun, if it is known.
    stop: Option<Stop>,
}

/// The input and the output of a unit in work.
type Buffers = (Unit, Unit);

/// Those of the unit in a slot.
type Slot = RwLock<Option<Buffers>>;

impl Wave {
    fn new(exec: &Exec<'_>, structure: &'static Structure, next: u64) -> Option<Wave> {
        let layout = exec.layout(structure)?;
        Some(Wave {
            structure,
            buffers: (0..layout.units).map(|_| RwLock::new(None)).collect(),
            lines: Lines::new(layout, next),
            held: VecDeque::new(),
            next,
            stop: None,
        })
    }
}

/// Computes the units of `epoch`, and of those after it as long as the plan is the same. `costs` gets those of the last
/// of them. Units in work stay in work unless the structure changes. No unit is given up, whatever it takes.
pub(in crate::stream) fn epochs(
    engine: &mut Engine<'_, '_>,
    epoch: &Epoch,
    schedule: &mut dyn Schedule,
    costs: &mut Vec<Duration>,
) -> EpochEnd {
    let plan = epoch.plan;
    let known = engine.wave.take();
    let known = known.filter(|wave| wave.structure == plan.structure);
    let new = || Wave::new(engine.exec, plan.structure, engine.intake.taken());
    let Some(wave) = known.or_else(new) else {
        // Plans are checked before.
        return Stop::Stopped.into();
    };
    let news = Arc::clone(&wave.lines.news);
    let watch = |filled, emptied| Watchers { filled, emptied };
    let inputs = Arc::clone(engine.intake.queue());
    let outputs = engine.outlet.queue();
    inputs.watch(watch(Some(Arc::clone(&news)), None));
    outputs.watch(watch(None, Some(news)));
    let device_news = engine.devices.news(engine.tally.began());
    // The units borrow the engine, so lanes are taken out of it.
    let mut lanes = engine.devices.take_lanes(plan.devices);
    let whole = Run::new(engine, epoch, schedule, wave, (lanes.len(), device_news));
    let run = &whole;
    let batch = Batch {
        dispatch: plan.dispatch,
        items: plan.workers,
        grain: 1,
        workers: plan.workers,
        deadline: None,
        caller: Caller::Works,
    };
    // Kernels, sources and sinks are caught where they are called, so this is a callback's panic.
    let panicked = |payload| {
        run.quit(Stop::Stopped);
        resume_unwind(payload)
    };
    let pool = run.exec.pool();
    let mut out = Instant::now();
    let outcome = thread::scope(|scope| {
        for (lane, number) in lanes.iter_mut().zip(pool.workers()..) {
            let run_lane = move || run.run_lane(WorkerId(number), lane);
            let body = move || catch_unwind(AssertUnwindSafe(run_lane)).unwrap_or_else(panicked);
            let thread = thread::Builder::new().name(LANE.into());
            // Without the thread workers compute its passes.
            if let Err(error) = thread.spawn_scoped(scope, body) {
                warn!("no thread for a lane of a device: {error}");
                run.lines.remove_lane(false);
            }
        }
        let outcome = pool.run(&batch, &|worker, jobs| {
            for _ in jobs {
                let work = AssertUnwindSafe(|| work::work(&run.lines, run, worker, plan.grain));
                catch_unwind(work).unwrap_or_else(panicked);
            }
        });
        out = Instant::now();
        outcome
    });
    let drained = out.elapsed();
    inputs.watch(Watchers::default());
    outputs.watch(Watchers::default());
    let panic = outcome.err().map(|panic| panic.to_string());
    let (mut end, wave) = whole.end(panic, costs);
    if !lanes.is_empty() {
        end.drained = drained;
    }
    engine.wave = wave;
    engine.devices.put_back(lanes);
    end
}

/// A wavefront under one plan.
pub(super) struct Run<'e, 'a, 'p> {
    plan: Plan,
    pin_workers: bool,
    pub(super) exec: &'a Exec<'a>,
    pub(super) lines: Lines,
    buffers: Vec<Slot>,
    inputs: Arc<InputQueue>,
    outputs: &'a OutputQueue,
    intake: SharedIntake<'e>,
    reads_inline: bool,
    reorder: Mutex<ReorderBuffer<'e, 'a, 'p>>,
    /// Locked while the reorder buffer is, or alone.
    epochs: Mutex<Epochs<'e>>,
    starved: Mutex<Starved>,
    cancel: &'e CancelToken,
    recording: Option<&'a Recording>,
    may_grow: bool,
    live: bool,
    /// Whether devices have come or gone, of which the schedule is told between epochs.
    news: News,
}

/// The units of an epoch that are still to be done.
struct Epochs<'e> {
    schedule: &'e mut dyn Schedule,
    left: u32,
    /// An epoch under another plan, which the schedule has been asked for.
    next: Option<Epoch>,
}

impl<'e, 'a, 'p> Run<'e, 'a, 'p> {
    fn new(
        engine: &'e mut Engine<'a, 'p>,
        epoch: &Epoch,
        schedule: &'e mut dyn Schedule,
        wave: Wave,
        (lanes, news): (usize, News),
    ) -> Self {
        let Wave {
            mut lines,
            buffers,
            held,
            next,
            stop,
            ..
        } = wave;
        lines.resume(lanes);
        let may_grow = engine.may_grow();
        let reorder = ReorderBuffer::new(&mut engine.outlet, &mut *engine.tally, next);
        let mut reorder = reorder.with_held(held, stop);
        reorder.next_epoch(Duration::ZERO, lines.progress());
        Run {
            plan: epoch.plan,
            pin_workers: epoch.pin_workers,
            exec: engine.exec,
            lines,
            buffers,
            inputs: Arc::clone(engine.intake.queue()),
            outputs: reorder.outputs(),
            reads_inline: engine.intake.is_inline(),
            intake: SharedIntake::new(&mut engine.intake),
            news,
            reorder: Mutex::new(reorder),
            epochs: Mutex::new(Epochs {
                schedule,
                left: epoch.units.max(1),
                next: None,
            }),
            starved: Mutex::new(Starved::new(engine.exec.pool().workers())),
            cancel: engine.cancel,
            recording: engine.recording,
            may_grow,
            live: engine.live,
        }
    }

    /// The buffers of a unit in work.
    pub(super) fn unit(&self, unit: u64) -> RwLockReadGuard<'_, Option<Buffers>> {
        let slot = &self.buffers[self.lines.layout.slot(unit)];
        slot.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets them, and takes those that were there.
    fn set_unit(&self, unit: u64, buffers: Option<Buffers>) -> Option<Buffers> {
        let slot = &self.buffers[self.lines.layout.slot(unit)];
        let mut slot = slot.write().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut slot, buffers)
    }

    /// Takes the next unit and begins it, for the one worker that may.
    fn begin_next(&self, grain: u32) -> Begin {
        if self.cancel.is_cancelled() {
            return self.close(Stop::Stopped);
        }
        match self.outputs.has_empty() {
            Some(true) => {}
            Some(false) => return Begin::Starved,
            // The sink has failed.
            None => return self.quit(Stop::Stopped),
        }
        match self.intake.take_now() {
            None => Begin::Starved,
            Some(Next::Unit(unit)) => self.begin_unit(unit, grain),
            Some(Next::End) => self.close(Stop::End),
            Some(Next::Failed((unit, cause))) => self.close(Stop::Source { unit, cause }),
            Some(Next::Stopped) if self.cancel.is_cancelled() => self.close(Stop::Stopped),
            Some(Next::Stopped) => self.quit(Stop::Stopped),
        }
    }

    fn begin_unit(&self, unit: Numbered<Unit>, grain: u32) -> Begin {
        let Numbered { number, value } = unit;
        let Some(output) = self.outputs.try_take_empty() else {
            self.inputs.put_empty(value);
            return self.quit(Stop::Stopped);
        };
        if self.live {
            lock(&self.reorder).skip_to(number);
        }
        self.set_unit(number, Some((value, output)));
        if let Err(message) = work::begin(&self.lines, self, number, grain) {
            self.set_unit(number, None);
            lock(&self.reorder).stop((number, message).into());
            self.lines.fail(number);
            return Begin::Blocked;
        }
        Begin::Begun
    }

    /// There are no more units; those in work are completed.
    fn close(&self, why: Stop) -> Begin {
        lock(&self.reorder).stop(why);
        self.lines.end();
        Begin::Blocked
    }

    /// Nothing more is of use.
    fn quit(&self, why: Stop) -> Begin {
        lock(&self.reorder).stop(why);
        self.lines.leave();
        Begin::Blocked
    }

    /// A unit was delivered. If the epoch has as many as it should, the next one begins.
    fn count(&self, reorder: &mut ReorderBuffer<'e, 'a, 'p>) {
        let mut epochs = lock(&self.epochs);
        epochs.left = epochs.left.saturating_sub(1);
        if epochs.left > 0 || epochs.next.is_some() || reorder.stop.is_some() {
            return;
        }
        let costs = self.epoch_costs(reorder);
        epochs.schedule.record(Measured::Units { costs: &costs });
        let next = epochs.schedule.next();
        let grows = self.may_grow && are_short(&costs);
        let same = next.plan == self.plan && next.pin_workers == self.pin_workers;
        if same && !grows && !self.news.is_there() {
            epochs.left = next.units.max(1);
            return;
        }
        match next.plan.structure == self.plan.structure {
            true => self.lines.leave(),
            false => self.lines.drain(),
        }
        epochs.next = Some(next);
    }

    /// What the units of an epoch cost that ends now: the time that went by for a unit, without what workers waited for
    /// input and output.
    fn epoch_costs(&self, reorder: &mut ReorderBuffer<'e, 'a, 'p>) -> Vec<Duration> {
        let now = Instant::now();
        let progress = self.lines.progress();
        let starved = lock(&self.starved).take(now) / self.plan.workers;
        let times = reorder.next_epoch(Duration::ZERO, progress);
        let costs = together(&times, (now, progress), starved);
        reorder.count(&self.plan, &costs);
        costs
    }

    /// How it ended, and what is in work if it goes on: if another number of workers or another grain is next. The end
    /// of the stream, if it was seen meanwhile, is then that of the next epoch.
    fn end(self, panic: Option<String>, costs: &mut Vec<Duration>) -> (EpochEnd, Option<Wave>) {
        let last = self.epoch_costs(&mut lock(&self.reorder));
        costs.extend(last);
        let mut reorder = into_inner(self.reorder);
        let unit = reorder.next;
        let panicked = panic.is_some();
        let of_callback = panic.map(|message| Stop::Unit { unit, message });
        let mut end = EpochEnd {
            stop: of_callback.or(reorder.stop.take()),
            next: into_inner(self.epochs).next,
            ..EpochEnd::default()
        };
        let structure = self.plan.structure;
        let next = end.next.as_ref();
        let goes_on = next.is_some_and(|next| next.plan.structure == structure);
        if !goes_on || panicked || self.lines.is_over() {
            return (end, None);
        }
        let wave = Wave {
            structure,
            lines: self.lines,
            buffers: self.buffers,
            next: unit,
            held: reorder.into_held(),
            stop: end.stop.take(),
        };
        (end, Some(wave))
    }
}

impl Units for Run<'_, '_, '_> {
    fn needs(&self, unit: u64, part: &Part, needs: &mut Vec<Need>) -> Result<(), String> {
        self.exec.needs(unit, part, needs)
    }

    fn run(&self, worker: WorkerId, unit: u64, part: &Part) -> Result<(), String> {
        let buffers = self.unit(unit);
        let Some((input, output)) = &*buffers else {
            return Err("a unit in work has no buffers".to_owned());
        };
        let begin = self.recording.map(|_| Instant::now());
        let result = self
            .exec
            .run_caught(worker, unit, part.clone(), input, output);
        if let (Some(recording), Some(begin)) = (self.recording, begin) {
            recording.push(self.lines.layout.recorded(unit, part, begin.elapsed()));
        }
        result
    }

    fn begin(&self, grain: u32) -> Begin {
        match self.lines.may_begin() {
            Room::Yours => {}
            // While it reads in line, that is computing.
            Room::Taken if !self.reads_inline => return Begin::Starved,
            Room::Taken | Room::None => return Begin::Blocked,
        }
        let begun = self.begin_next(grain);
        if begun != Begin::Begun {
            self.lines.not_begun();
        }
        begun
    }

    fn done(&self, unit: u64) {
        let Some((input, output)) = self.set_unit(unit, None) else {
            return;
        };
        self.inputs.recycle(input);
        let mut reorder = lock(&self.reorder);
        let times = (Duration::ZERO, Instant::now());
        let dropped = || self.inputs.dropped();
        if reorder.finish(&self.plan, (unit, output.into()), times, dropped) {
            self.count(&mut reorder);
        } else {
            self.lines.leave();
        }
    }

    fn failed(&self, worker: WorkerId, unit: u64, message: String) {
        self.exec.drop_scratch_of(worker);
        lock(&self.reorder).stop((unit, message).into());
    }

    fn wait(&self, worker: WorkerId, seen: Seen, why: Begin) {
        if why != Begin::Starved {
            self.lines.news.wait(seen, LONG);
            return;
        }
        lock(&self.starved).begin(worker, Instant::now());
        let news = self.lines.news.wait(seen, LONG);
        lock(&self.starved).end(worker, Instant::now());
        if !news && let Ok(mut reorder) = self.reorder.try_lock() {
            reorder.waiting(&self.plan, self.inputs.dropped());
        }
    }
}
