//! Whole units on different workers, with the results put back in order.
//!
//! Every worker takes the next unit when it is done with its last.
//!
//! Where an epoch ends and the next one has the same plan, nobody waits for the units still in work: they count in the
//! next. Only another plan makes workers wait for one another.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::delivery::{Begun, Delivery, Order, Times, lock, stop, take};
use super::engine::{Cut, Ended, Engine, Stop, tiny};
use super::intake::Intake;
use super::ports::{Sink, Source};
use super::schedule::Schedule;
use crate::dispatch::{Batch, Caller, WorkerId};
use crate::service::Service;
use crate::tuner::{Epoch, Measured};

/// Computes the units of `epoch` side by side, and of those after it as long as the plan is the same. `costs` gets those of
/// the last of them.
///
/// A unit's cost is what it took on its worker divided by the workers, so that one that was disturbed is one of many and
/// not part of a mean, times what workers took beside their units, without what they spent waiting for input and output. What
/// is reported of an epoch's units is their mean: the true processing rate of Kalavri et al., "Three steps is all you need"
/// (OSDI 2018).
///
/// When a unit takes longer than the epoch allows, it and those in work are finished, and no more are begun.
pub(super) fn epochs<S: Service, Src: Source<S>, K: Sink<S>>(
    engine: &mut Engine<'_, '_, S, Src, K>,
    epoch: &Epoch,
    schedule: &mut dyn Schedule,
    costs: &mut Vec<Duration>,
) -> Ended {
    let plan = epoch.plan;
    let workers = plan.workers as usize;
    // One to compute per worker, and on a thread's side one being read or written and one ready.
    let beside = |inline: bool| if inline { 0 } else { 2 };
    let outputs = workers + beside(engine.outlet.is_inline()).max(1);
    engine.ensure(workers + beside(engine.intake.is_inline()), outputs);
    let may_grow = engine.may_grow();

    let exec = engine.exec;
    let in_link = engine.intake.link().clone();
    let out_link = engine.outlet.link();
    let delivery = Mutex::new(Delivery {
        held: VecDeque::with_capacity(out_link.buffers()),
        next: engine.intake.taken(),
        done: 0,
        stop: None,
        cut: None,
        epoch: Times::new(),
        outlet: &mut engine.outlet,
        tally: &mut *engine.tally,
    });
    let order = Mutex::new(Order {
        schedule,
        left: epoch.units.max(1),
        next: None,
        over: false,
    });
    let turn: Mutex<&mut Intake<S, Src>> = Mutex::new(&mut engine.intake);
    let cancel = engine.cancel;
    let quit = AtomicBool::new(false);
    let waited = AtomicU64::new(0);
    let begun = Begun::new(exec.pool().workers());
    let began = Instant::now();

    // What the units of an epoch cost that ends now.
    let reckon = |delivery: &mut Delivery<'_, '_, '_, S, K>, rest: Rest| {
        let now = Instant::now();
        let ahead = begun.in_work(now - began).sum();
        let waited = Duration::from_nanos(waited.swap(0, Ordering::Relaxed));
        let times = std::mem::replace(
            &mut delivery.epoch,
            Times {
                began: now,
                took: Vec::new(),
                ahead,
            },
        );
        let present = ((now - times.began) * plan.workers + times.ahead)
            .saturating_sub(waited)
            .saturating_sub(ahead);
        let costs = shares(&times.took, present, plan.workers, rest);
        delivery.count(&plan, &costs);
        costs
    };

    let another = |order: &mut Order<'_>| {
        let mut delivery = lock(&delivery);
        let whole = delivery.stop.is_none() && delivery.cut.is_none();
        let known = !delivery.epoch.took.is_empty();
        if order.over || epoch.cutoff.is_some() || !whole || !known {
            return false;
        }
        let costs = reckon(&mut delivery, Rest::InWork);
        drop(delivery);
        order.schedule.record(Measured::Units { costs: &costs });
        let next = order.schedule.next();
        // Between batches the engine makes more buffers.
        let grows = may_grow && tiny(&costs);
        let goes_on = next.plan == plan && next.cutoff.is_none() && !grows;
        if goes_on {
            order.left = next.units.max(1);
        } else {
            order.next = Some(next);
        }
        goes_on
    };
    // Whether there is a unit for another job.
    let claimed = || {
        let mut order = lock(&order);
        if order.left == 0 && !another(&mut order) {
            order.over = true;
            return false;
        }
        order.left -= 1;
        true
    };

    let job = |worker: WorkerId| -> bool {
        if cancel.is_cancelled() {
            stop(&delivery, &quit, Stop::Stopped);
        }
        if quit.load(Ordering::Relaxed) {
            return false;
        }
        let asked = Instant::now();
        if let Some(cutoff) = epoch.cutoff {
            let longest = begun.in_work(asked - began).max().unwrap_or_default();
            if longest > cutoff {
                lock(&delivery).cut.get_or_insert(longest);
                quit.store(true, Ordering::Relaxed);
                return false;
            }
        }
        if !claimed() {
            return false;
        }
        let Some((unit, output)) = take(out_link, &turn, &delivery, &quit) else {
            return false;
        };
        let begin = Instant::now();
        begun.set(worker, begin - began);
        let result = exec.whole(worker, unit.number, &unit.value, &output);
        let end = Instant::now();
        in_link.give_back(unit.value);
        if let Err(message) = result {
            begun.clear(worker);
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
            return false;
        }
        {
            let mut delivery = lock(&delivery);
            begun.clear(worker);
            delivery.epoch.took.push(end - begin);
            if epoch.cutoff.is_some_and(|cutoff| end - begin > cutoff) {
                let cut = delivery.cut.get_or_insert(end - begin);
                *cut = (*cut).max(end - begin);
                quit.store(true, Ordering::Relaxed);
            }
            if !delivery.bring(unit.number, output) {
                delivery.stop.get_or_insert(Stop::Stopped);
                quit.store(true, Ordering::Relaxed);
            }
            let units = delivery.tally.units() + delivery.done;
            delivery
                .tally
                .progress(&plan, units, end, || in_link.dropped());
        }
        let wait = (begin - asked) + end.elapsed();
        waited.fetch_add(wait.as_nanos() as u64, Ordering::Relaxed);
        true
    };

    let batch = Batch {
        dispatch: plan.dispatch,
        items: plan.workers,
        grain: 1,
        workers: plan.workers,
        deadline: None,
        caller: Caller::Works,
    };
    let panic = exec
        .pool()
        .run(&batch, &|worker, items| {
            items.for_each(|_| while job(worker) {});
        })
        .err();

    let mut delivery = delivery
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner);
    let last = reckon(&mut delivery, Rest::Waited);
    let Delivery {
        stop, cut, next, ..
    } = delivery;
    if cut.is_none() {
        costs.extend(last);
    }
    let order = order.into_inner().unwrap_or_else(PoisonError::into_inner);
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
        next: order.next,
    }
}

/// What workers do that have no unit of an epoch any more.
#[derive(Clone, Copy, PartialEq)]
enum Rest {
    /// They compute units of the next.
    InWork,
    /// They wait for the last one, half a unit each on average. A stream does so once, so that is not counted.
    Waited,
}

/// The costs of units that took `took` on their workers, which were there for `present` in sum.
fn shares(took: &[Duration], present: Duration, workers: u32, rest: Rest) -> Vec<Duration> {
    let busy: f64 = took.iter().map(Duration::as_secs_f64).sum();
    let end = match rest {
        Rest::InWork => 0.0,
        Rest::Waited => 0.5 * f64::from(workers - 1) * busy / took.len().max(1) as f64,
    };
    let share = (present.as_secs_f64() - end) / busy;
    let share = if share.is_finite() {
        share.max(1.0)
    } else {
        1.0
    };
    took.iter()
        .map(|took| took.mul_f64(share) / workers)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_workers_take_beside_their_units_counts_and_the_end_does_not() {
        let ms = Duration::from_millis;
        let took = [ms(2); 4];
        let cost = |present, rest| shares(&took, present, 2, rest)[0].as_secs_f64() * 1e3;
        // Two workers, two units each; half a unit is waited for at the end.
        assert!((cost(ms(9), Rest::Waited) - 1.0).abs() < 1e-6);
        assert!((cost(ms(13), Rest::Waited) - 1.5).abs() < 1e-6);
        assert!((cost(ms(12), Rest::InWork) - 1.5).abs() < 1e-6);
        assert!((cost(ms(1), Rest::Waited) - 1.0).abs() < 1e-6);
        assert!(shares(&[], ms(1), 2, Rest::Waited).is_empty());
        assert_eq!(
            shares(&[Duration::ZERO], Duration::ZERO, 2, Rest::InWork),
            [Duration::ZERO]
        );
    }
}
