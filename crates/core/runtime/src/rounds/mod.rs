//! Work that arrives as requests: no stream, but *rounds* of independent items.
//!
//! A server computes some items for a request, or for several waiting requests, and clients wait for them. The best
//! number of workers, grain and dispatch depend on the number of items. So rounds are divided into *loads* by their
//! number of items. Each load has its own [tuner](crate::tuner), for which a round is a unit. Threads that run rounds
//! at the same time act as workers, so each takes the workers that the others leave. The costs of such rounds are not
//! held against a plan.

#![forbid(unsafe_code)]

mod load;

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use crate::dispatch::{Batch, Caller, JobPanic, Pool, WorkerId};
use crate::plan::{Choice, Dispatch, Plan};
use crate::runtime::Runtime;
use crate::service::{Shape, Work};
use crate::tuner::{SetupError, TunerSetup};

use self::load::Load;
pub use self::load::LoadReport;
use crate::structure::SEQUENTIAL;

/// Loads by the most items of a round; larger rounds are one more load.
const MOST_ITEMS: [u32; 5] = [1, 3, 7, 15, 31];
/// What the load of the largest rounds is thought to have.
const LARGE: u32 = 64;

/// Runs rounds, each according to its load's tuner.
#[derive(Debug)]
pub struct Rounds {
    loads: Vec<Load>,
    /// Threads that run a round now; workers that help them are not counted.
    busy: AtomicUsize,
}

impl Rounds {
    /// Creates rounds of items that take about `item` each, on the workers of `runtime`. A fixed plan must be
    /// `sequential`, the only structure; grain and dispatch can be chosen.
    ///
    /// # Errors
    /// Another structure is requested.
    pub fn new(runtime: &Runtime, item: Work, choice: Choice) -> Result<Rounds, SetupError> {
        let setup = |items: u32| {
            let times = f64::from(items);
            let work = Work {
                ops: item.ops * times,
                bytes: item.bytes * times,
                fresh: 0.0,
            };
            let shapes = vec![Shape::new(&SEQUENTIAL, vec![items], 1, work)];
            TunerSetup {
                outer_cache: None,
                crowded: true,
                ..runtime.tuner_setup(shapes, choice.clone())
            }
        };
        let load = |(least, most): (u32, Option<u32>)| match most.unwrap_or(LARGE) {
            // It goes to one worker, the one that asks.
            1 => Ok(Load::fixed(least, most, plain(1))),
            items => Load::tuned(least, most, items, setup(items)),
        };
        Ok(Rounds {
            loads: bounds().map(load).collect::<Result<_, _>>()?,
            busy: AtomicUsize::new(0),
        })
    }

    /// Rounds in jobs of one item on `workers` workers, from one ring.
    pub fn plain(workers: usize) -> Rounds {
        let loads = bounds().map(|(least, most)| Load::fixed(least, most, plain(workers as u32)));
        Rounds {
            loads: loads.collect(),
            busy: AtomicUsize::new(0),
        }
    }

    /// The number of threads that currently run a round.
    pub fn busy(&self) -> usize {
        self.busy.load(Ordering::Relaxed)
    }

    /// Computes items `0..items`, each once, on this thread and workers of `pool`. If `pool` is running a round of
    /// another thread, this thread does not wait, but computes all its items itself.
    ///
    /// # Errors
    /// An item panicked; items not yet started were skipped.
    pub fn run<F>(&self, pool: &Pool, items: u32, body: &F) -> Result<(), JobPanic>
    where
        F: Fn(WorkerId, Range<u32>) + Sync,
    {
        if items == 0 {
            return Ok(());
        }
        let load = &self.loads[MOST_ITEMS.partition_point(|&most| most < items)];
        let others = self.busy.fetch_add(1, Ordering::Relaxed);
        let _busy = Busy(&self.busy);
        let (epoch, plan) = load.plan(others == 0);
        let left = pool.workers().saturating_sub(others).max(1) as u32;
        let begin = Instant::now();
        pool.run(
            &Batch {
                dispatch: plan.dispatch,
                items,
                grain: plan.grain,
                workers: plan.workers.min(left),
                deadline: None,
                caller: Caller::Hurries,
            },
            body,
        )?;
        let alone = others == 0 && self.busy.load(Ordering::Relaxed) == 1;
        load.ran(epoch, items, begin.elapsed(), alone);
        Ok(())
    }

    /// The result for each load so far.
    pub fn report(&self) -> Vec<LoadReport> {
        self.loads.iter().filter_map(Load::report).collect()
    }
}

fn plain(workers: u32) -> Plan {
    Plan {
        structure: &SEQUENTIAL,
        dispatch: Dispatch::Fifo,
        grain: 1,
        workers,
        devices: 0,
    }
}

/// The least and the most items of each load.
fn bounds() -> impl Iterator<Item = (u32, Option<u32>)> {
    let least = std::iter::once(1).chain(MOST_ITEMS.map(|most| most + 1));
    let most = MOST_ITEMS.map(Some).into_iter().chain([None]);
    least.zip(most)
}

/// Counts a thread that runs a round.
struct Busy<'a>(&'a AtomicUsize);

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU32;
    use std::time::Duration;

    use super::*;

    const ITEM: Work = Work {
        ops: 1e6,
        bytes: 1e5,
        fresh: 0.0,
    };

    fn tuned(choice: Choice) -> Result<(Runtime, Rounds), SetupError> {
        let runtime = Runtime::builder().workers(2).build().unwrap();
        let rounds = Rounds::new(&runtime, ITEM, choice)?;
        Ok((runtime, rounds))
    }

    #[test]
    fn every_item_of_every_round_is_computed_once() {
        let (runtime, rounds) = tuned(Choice::Auto).unwrap();
        for (items, times) in [(1, 3), (2, 200), (8, 200), (40, 50)] {
            for _ in 0..times {
                let seen: Vec<AtomicU32> = (0..items).map(|_| AtomicU32::new(0)).collect();
                let body = |_, jobs: Range<u32>| {
                    for job in jobs {
                        // Long enough that another plan may pay.
                        let begin = Instant::now();
                        while begin.elapsed() < Duration::from_micros(20) {}
                        seen[job as usize].fetch_add(1, Ordering::Relaxed);
                    }
                };
                rounds.run(runtime.pool(), items, &body).unwrap();
                assert!(seen.iter().all(|count| count.load(Ordering::Relaxed) == 1));
            }
        }
        let report = rounds.report();
        let told: Vec<_> = report
            .iter()
            .map(|load| (load.least, load.rounds))
            .collect();
        assert_eq!(told, [(1, 3), (2, 200), (8, 200), (32, 50)]);
        assert!(report[1].tried > 1, "{:?}", report[1]);
        assert_eq!(rounds.busy(), 0);
    }

    #[test]
    fn a_fixed_plan_is_kept() {
        let (runtime, rounds) = tuned("sequential/steal/4".parse().unwrap()).unwrap();
        for _ in 0..50 {
            rounds.run(runtime.pool(), 9, &|_, _| ()).unwrap();
        }
        let plan = rounds.report()[0].plan;
        assert_eq!((plan.dispatch, plan.grain), (Dispatch::Steal, 4));
        assert!(tuned("farm".parse().unwrap()).is_err());
    }

    /// The plan of rounds of six items, which take so many microseconds with as many workers.
    fn found(micros: [u64; 2]) -> LoadReport {
        let (_, rounds) = tuned(Choice::Auto).unwrap();
        let load = &rounds.loads[2];
        for _ in 0..600 {
            let (epoch, plan) = load.plan(true);
            // Beside others it is not the time to try one.
            assert_eq!(
                load.plan(false).1,
                load.report().map_or(plan, |report| report.plan)
            );
            let time = Duration::from_micros(micros[plan.workers as usize - 1]);
            load.ran(epoch, 6, time, true);
            // What was slow because others computed as well says nothing.
            load.ran(epoch, 6, 20 * time, false);
        }
        load.report().unwrap()
    }

    #[test]
    fn workers_help_where_they_are_of_use() {
        assert_eq!(found([100, 60]).plan.workers, 2);
        let alone = found([100, 130]);
        assert_eq!(alone.plan.workers, 1, "{alone}\n{:#?}", alone.decisions);
        assert_eq!((alone.rounds, alone.items().as_str()), (1200, "4 to 7"));
    }

    #[test]
    fn a_panic_is_told_and_the_next_round_runs() {
        let rounds = Rounds::plain(2);
        let pool = Pool::new(2).unwrap();
        let falls = |_, jobs: Range<u32>| assert!(!jobs.contains(&1), "it falls");
        assert!(rounds.run(&pool, 4, &falls).is_err());
        rounds.run(&pool, 4, &|_, _| ()).unwrap();
        assert_eq!((rounds.busy(), rounds.report()[0].rounds), (0, 1));
    }
}
