//! An epoch of whole units on different workers, with the results put back in order.
//!
//! Every job of the batch takes the next unit. A job gets its output buffer *before* its unit, so whoever has the
//! oldest unit in work can finish it, and waiting for an output buffer cannot be for ever.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::engine::{Cut, Ended, Engine, Stop};
use super::intake::{Intake, Next};
use super::outlet::Outlet;
use super::ports::{Sink, Source};
use super::tally::Tally;
use crate::dispatch::{Batch, WorkerId};
use crate::service::Service;
use crate::tuner::Epoch;

/// What jobs bring their results to, one at a time.
struct Delivery<'e, 'a, 'p, S: Service, K> {
    outlet: &'e mut Outlet<'a, S, K>,
    tally: &'e mut Tally<'p>,
    /// Results that wait for an earlier one; the first is that of unit `next`.
    held: VecDeque<Option<S::Output>>,
    next: u64,
    done: u64,
    /// Why no more units are taken; of several failed units the earliest.
    stop: Option<Stop>,
    cut: Option<Duration>,
    /// What each unit took on its worker, as they came.
    took: Vec<Duration>,
}

/// When each worker began the unit it computes, in nanoseconds since the epoch began; 0 where it computes none.
struct Begun(Vec<AtomicU64>);

impl Begun {
    fn new(workers: usize) -> Begun {
        Begun((0..workers).map(|_| AtomicU64::new(0)).collect())
    }

    fn set(&self, worker: WorkerId, at: Duration) {
        self.put(worker, (at.as_nanos() as u64).max(1));
    }

    fn clear(&self, worker: WorkerId) {
        self.put(worker, 0);
    }

    fn put(&self, worker: WorkerId, value: u64) {
        if let Some(begun) = self.0.get(worker.0) {
            begun.store(value, Ordering::Relaxed);
        }
    }

    /// How long the oldest unit in work has taken at `now`.
    fn longest(&self, now: Duration) -> Duration {
        let begun = self.0.iter().map(|begun| begun.load(Ordering::Relaxed));
        let oldest = begun.filter(|&begun| begun > 0).min();
        oldest.map_or(Duration::ZERO, |begun| {
            now.saturating_sub(Duration::from_nanos(begun))
        })
    }
}

/// Computes the units of `epoch` side by side. A unit's cost is what it took on its worker divided by the workers, so that
/// one that was disturbed is one of many and not part of a mean, times what workers took beside their units. What is reported is the time of the batch without what
/// workers spent waiting for input and output, divided by the number of units: the true processing rate of Kalavri et
/// al., "Three steps is all you need" (OSDI 2018).
///
/// When a unit takes longer than the epoch allows, it and those in work are finished, and no more are begun.
pub(super) fn epoch<S: Service, Src: Source<S>, K: Sink<S>>(
    engine: &mut Engine<'_, '_, S, Src, K>,
    epoch: &Epoch,
    costs: &mut Vec<Duration>,
) -> Ended {
    let plan = epoch.plan;
    let workers = plan.workers as usize;
    // One to compute per worker, and on a thread's side one being read or written and one ready.
    let beside = |inline: bool| if inline { 0 } else { 2 };
    let outputs = workers + beside(engine.outlet.is_inline()).max(1);
    engine.ensure(workers + beside(engine.intake.is_inline()), outputs);

    let exec = engine.exec;
    let in_link = engine.intake.link().clone();
    let out_link = engine.outlet.link();
    let base = engine.tally.units();
    let delivery = Mutex::new(Delivery {
        held: VecDeque::with_capacity(out_link.buffers()),
        next: engine.intake.taken(),
        done: 0,
        stop: None,
        cut: None,
        took: Vec::with_capacity(epoch.units as usize),
        outlet: &mut engine.outlet,
        tally: &mut *engine.tally,
    });
    let turn: Mutex<&mut Intake<S, Src>> = Mutex::new(&mut engine.intake);
    let cancel = engine.cancel;
    let quit = AtomicBool::new(false);
    let waited = AtomicU64::new(0);
    let begun = Begun::new(exec.pool().workers());
    let began = Instant::now();

    let job = |worker: WorkerId| {
        if cancel.is_cancelled() {
            stop(&delivery, &quit, Stop::Stopped);
        }
        if quit.load(Ordering::Relaxed) {
            return;
        }
        let asked = Instant::now();
        if let Some(cutoff) = epoch.cutoff {
            let longest = begun.longest(asked - began);
            if longest > cutoff {
                lock(&delivery).cut.get_or_insert(longest);
                quit.store(true, Ordering::Relaxed);
                return;
            }
        }
        let Some(output) = out_link.empty() else {
            return stop(&delivery, &quit, Stop::Stopped);
        };
        let next = lock(&turn).take(|| out_link.flush());
        let unit = match next {
            Next::Unit(unit) => unit,
            over => {
                out_link.give_back(output);
                let why = match over {
                    Next::Failed((unit, cause)) => Stop::Source { unit, cause },
                    Next::Stopped => Stop::Stopped,
                    Next::End | Next::Unit(_) => Stop::End,
                };
                return stop(&delivery, &quit, why);
            }
        };
        let begin = Instant::now();
        begun.set(worker, begin - began);
        let result = exec.whole(worker, unit.number, &unit.value, &output);
        let end = Instant::now();
        begun.clear(worker);
        in_link.give_back(unit.value);
        if let Err(message) = result {
            stop(
                &delivery,
                &quit,
                Stop::Unit {
                    unit: unit.number,
                    message,
                },
            );
            // Whoever waits for a unit that may never come, or for an output that will not be needed, returns.
            in_link.stop_consumer();
            out_link.stop_producers();
            return;
        }
        {
            let mut delivery = lock(&delivery);
            delivery.took.push(end - begin);
            if epoch.cutoff.is_some_and(|cutoff| end - begin > cutoff) {
                let cut = delivery.cut.get_or_insert(end - begin);
                *cut = (*cut).max(end - begin);
                quit.store(true, Ordering::Relaxed);
            }
            if !delivery.bring(unit.number, output) {
                delivery.stop.get_or_insert(Stop::Stopped);
                quit.store(true, Ordering::Relaxed);
            }
            let units = base + delivery.done;
            delivery
                .tally
                .progress(&plan, units, end, || in_link.dropped());
        }
        let wait = (begin - asked) + end.elapsed();
        waited.fetch_add(wait.as_nanos() as u64, Ordering::Relaxed);
    };

    let batch = Batch {
        dispatch: plan.dispatch,
        items: epoch.units.max(1),
        grain: 1,
        workers: plan.workers,
        deadline: None,
    };
    let panic = exec
        .pool()
        .run(&batch, &|worker, items| items.for_each(|_| job(worker)))
        .err();
    let wall = began.elapsed();

    let Delivery {
        done,
        stop,
        cut,
        took,
        next,
        ..
    } = delivery
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner);
    let waited = Duration::from_nanos(waited.into_inner());
    if done > 0 {
        let workers = plan.workers.max(1);
        let cost = wall.saturating_sub(waited / workers).div_f64(done as f64);
        (0..done).for_each(|_| engine.tally.count(&plan, cost));
        if cut.is_none() {
            let present = presence(&took, (wall * workers).saturating_sub(waited), workers);
            costs.extend(took.iter().map(|took| took.mul_f64(present) / workers));
        }
    }
    let stop = match panic {
        // Kernels, sources and sinks are caught where they are called; this is a callback's.
        Some(panic) => Some(Stop::Unit {
            unit: next,
            message: panic.to_string(),
        }),
        None => stop,
    };
    Ended {
        cut: cut.map(|after| Cut {
            after,
            redo: Duration::ZERO,
        }),
        stop,
    }
}

/// What workers that were there for `present` in sum took for units that took `took`, as a multiple of that. At the end
/// they wait for the last one, half a unit each on average; a stream does so once, so that is not counted.
fn presence(took: &[Duration], present: Duration, workers: u32) -> f64 {
    let busy: f64 = took.iter().map(Duration::as_secs_f64).sum();
    let end = 0.5 * f64::from(workers - 1) * busy / took.len().max(1) as f64;
    let share = (present.as_secs_f64() - end) / busy;
    if share.is_finite() {
        share.max(1.0)
    } else {
        1.0
    }
}

fn stop<S: Service, K>(delivery: &Mutex<Delivery<'_, '_, '_, S, K>>, quit: &AtomicBool, why: Stop) {
    let mut delivery = lock(delivery);
    // Units are read before they are computed, so one that failed there was before the one that could not be read;
    // and after either, other jobs find the source at its end.
    let rank = |stop: &Stop| match stop {
        Stop::Unit { unit, .. } => (0, *unit),
        Stop::Source { unit, .. } => (1, *unit),
        Stop::End | Stop::Stopped | Stop::Plan(_) => (2, 0),
    };
    let earlier = delivery
        .stop
        .as_ref()
        .is_none_or(|known| rank(&why) < rank(known));
    if earlier {
        delivery.stop = Some(why);
    }
    quit.store(true, Ordering::Relaxed);
}

impl<S: Service, K: Sink<S>> Delivery<'_, '_, '_, S, K> {
    /// Takes a result, and hands on all that are now in order. `false` if one could not be written.
    fn bring(&mut self, number: u64, output: S::Output) -> bool {
        let place = (number - self.next) as usize;
        while self.held.len() <= place {
            self.held.push_back(None);
        }
        self.held[place] = Some(output);
        self.done += 1;
        while let Some(Some(_)) = self.held.front() {
            let Some(Some(output)) = self.held.pop_front() else {
                break;
            };
            let number = self.next;
            self.next += 1;
            if !self.outlet.bring(number, output, true) {
                return false;
            }
        }
        true
    }
}

fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_workers_take_beside_their_units_counts_and_the_end_does_not() {
        let ms = Duration::from_millis;
        let took = [ms(2); 4];
        // Two workers, two units each; half a unit is waited for at the end.
        assert!((presence(&took, ms(9), 2) - 1.0).abs() < 1e-9);
        assert!((presence(&took, ms(13), 2) - 1.5).abs() < 1e-9);
        assert_eq!(presence(&took, ms(1), 2), 1.0);
        assert_eq!(presence(&[], ms(1), 2), 1.0);
        assert_eq!(presence(&[Duration::ZERO], Duration::ZERO, 2), 1.0);
    }
}
