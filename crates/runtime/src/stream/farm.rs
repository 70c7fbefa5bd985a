//! Whole units on different workers, with the results put back in order.
//!
//! Every worker takes the next unit when it is done with its last.
//!
//! Where an epoch ends and the next one has the same plan, nobody waits for the units still in work: they count in the
//! next. Only another plan makes workers wait for one another.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::claims::Claims;
use super::delivery::{Delivery, Job, take};
use super::engine::{Ended, Engine, Stop};
use super::intake::Turns;
use super::ports::{Sink, Source};
use super::schedule::Schedule;
use crate::dispatch::{Batch, Caller, WorkerId};
use crate::service::Service;
use crate::sync::{into_inner, lock};
use crate::tuner::Epoch;

/// Computes the units of `epoch` side by side, and of those after it as long as the plan is the same. `costs` gets
/// those of the last of them.
///
/// A unit's cost is what it took on its worker divided by the workers, so that one that was disturbed is one of many
/// and not part of a mean, times what workers took beside their units, without what they slept for want of input and
/// output. Waiting for an output because an earlier unit is still in work is no such want: it is what the order costs.
/// What is reported of an epoch's units is their mean, taking and bringing left out: the true processing rate of
/// Kalavri et al., "Three steps is all you need" (OSDI 2018).
///
/// When a unit takes longer than the epoch allows, it and those in work are finished, and no more are begun.
pub(super) fn epochs<S: Service, Src: Source<S>, K: Sink<S>>(
    engine: &mut Engine<'_, '_, S, Src, K>,
    epoch: &Epoch,
    schedule: &mut dyn Schedule,
    costs: &mut Vec<Duration>,
) -> Ended {
    let plan = epoch.plan;
    let may_grow = engine.may_grow();

    let exec = engine.exec;
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
    // What workers did beside computing, and what they slept meanwhile, each up to where it was last asked for.
    let beside = AtomicU64::new(0);
    let slept = || turns.waited() + out_link.producers_slept();
    let slept_before = Mutex::new(slept());

    // What the units of an epoch cost that ends now.
    let reckon = |delivery: &mut Delivery<'_, '_, '_, S, K>, rest: Rest| {
        let ahead = claims.in_work(Instant::now()).sum();
        let beside = Duration::from_nanos(beside.swap(0, Ordering::Relaxed));
        let slept = slept();
        let waited = slept.saturating_sub(std::mem::replace(&mut *lock(&slept_before), slept));
        let times = delivery.turn_over(ahead);
        let present = (times.began.elapsed() * plan.workers + times.ahead).saturating_sub(ahead);
        let shares = |away| {
            let present = present.saturating_sub(away);
            shares(&times.took, present, plan.workers, rest)
        };
        delivery.count(&plan, &shares(beside));
        shares(waited)
    };

    let job = |worker: WorkerId| -> bool {
        let asked = Instant::now();
        if !claims.claim(&delivery, |delivery| reckon(delivery, Rest::InWork)) {
            return false;
        }
        let Some(Job {
            unit,
            output,
            stalled,
        }) = take(&plan, out_link, &turns, &delivery, &claims)
        else {
            return false;
        };
        let begin = Instant::now();
        claims.begin(worker, begin);
        let result = exec.items(
            worker,
            unit.number,
            (plan.structure, 0..1),
            &unit.value,
            &output,
        );
        let end = Instant::now();
        in_link.give_back(unit.value);
        if let Err(message) = result {
            claims.end(worker);
            let unit = unit.number;
            claims.stop(&delivery, Stop::Unit { unit, message });
            // Whoever waits for a unit that may never come, or for an output that will not be needed, returns.
            in_link.stop_consumer();
            out_link.stop_producers();
            return false;
        }
        {
            let mut delivery = lock(&delivery);
            claims.end(worker);
            if claims.is_too_long(end - begin) {
                claims.cut(&mut delivery, end - begin);
            }
            let times = (end - begin, end);
            delivery.finish(&claims, &plan, (unit.number, output), times, &in_link);
        }
        let time = (begin - asked).saturating_sub(stalled) + end.elapsed();
        beside.fetch_add(time.as_nanos() as u64, Ordering::Relaxed);
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
    // Kernels, sources and sinks are caught where they are called, so this is a callback's.
    let fell = |payload| {
        claims.stop(&delivery, Stop::Stopped);
        in_link.stop_consumer();
        out_link.stop_producers();
        resume_unwind(payload)
    };
    let panic = exec
        .pool()
        .run(&batch, &|worker, items| {
            for _ in items {
                let tended = AssertUnwindSafe(|| while job(worker) {});
                catch_unwind(tended).unwrap_or_else(fell);
            }
        })
        .err();

    let last = reckon(&mut lock(&delivery), Rest::Waited);
    into_inner(delivery).ended(claims, panic, last, costs)
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
