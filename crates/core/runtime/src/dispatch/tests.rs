//! Every flavour, every number of workers: each item once, and what happens when things go wrong.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::{Batch, Caller, Error, MAX_WORKERS, Outcome, Pool, WorkerId};
use crate::plan::Dispatch;

fn batch(dispatch: Dispatch, items: u32, grain: u32, workers: usize) -> Batch {
    Batch {
        dispatch,
        items,
        grain,
        workers: workers as u32,
        deadline: None,
        caller: Caller::Works,
    }
}

/// Runs a batch and asserts all that holds for any: each item once, jobs cut as promised, workers within bounds.
fn run_checked(pool: &Pool, batch: &Batch) -> Outcome {
    let seen: Vec<AtomicU32> = (0..batch.items).map(|_| AtomicU32::new(0)).collect();
    let limit = (batch.workers as usize).clamp(1, pool.workers());
    let grain = batch.grain.max(1);
    let body = |worker: WorkerId, items: Range<u32>| {
        assert!(worker.0 < limit, "{worker:?} of {limit}");
        let alone = limit < 2 || batch.items <= grain;
        assert!(worker.0 > 0 || alone || batch.caller != Caller::Waits);
        assert_eq!(items.start % grain, 0);
        assert_eq!(
            items.end,
            items.start.saturating_add(grain).min(batch.items)
        );
        for item in items {
            seen[item as usize].fetch_add(1, Ordering::Relaxed);
        }
    };
    let outcome = pool.run(batch, &body).unwrap();
    let counts = |n| {
        seen.iter()
            .filter(|s| s.load(Ordering::Relaxed) == n)
            .count()
    };
    match outcome {
        Outcome::Finished => assert_eq!(counts(1), seen.len(), "{batch:?}"),
        Outcome::CutOff => {
            assert_eq!(counts(0) + counts(1), seen.len(), "{batch:?}");
            assert!(counts(0) > 0, "{batch:?}");
        }
    }
    outcome
}

#[test]
fn each_item_once_in_every_combination() {
    for pool_size in 1..=8 {
        let pool = Pool::new(pool_size).unwrap();
        assert_eq!(pool.workers(), pool_size);
        for dispatch in Dispatch::ALL {
            for workers in [0, 1, 2, pool_size, pool_size + 3] {
                for items in [0, 1, 2, 3, 7, 8, 64, 65, 1000, 5000] {
                    for grain in [0, 1, 2, 7, 64, 1000, u32::MAX] {
                        for caller in [Caller::Works, Caller::Hurries, Caller::Waits] {
                            let batch = Batch {
                                caller,
                                ..batch(dispatch, items, grain, workers)
                            };
                            assert_eq!(run_checked(&pool, &batch), Outcome::Finished);
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn item_numbers_up_to_the_last() {
    let pool = Pool::new(3).unwrap();
    for dispatch in Dispatch::ALL {
        let sum = AtomicUsize::new(0);
        let batch = batch(dispatch, u32::MAX, 1 << 27, 3);
        pool.run(&batch, &|_, items| {
            sum.fetch_add(items.len(), Ordering::Relaxed);
        })
        .unwrap();
        assert_eq!(sum.into_inner(), u32::MAX as usize);
    }
}

#[test]
fn other_workers_do_take_part() {
    let pool = Pool::new(2).unwrap();
    for dispatch in Dispatch::ALL {
        let met = [const { AtomicBool::new(false) }; 2];
        // Two jobs that wait for each other: only two workers at once can end them.
        let body = |_: WorkerId, items: Range<u32>| {
            met[items.start as usize].store(true, Ordering::Release);
            let start = Instant::now();
            while !met[1 - items.start as usize].load(Ordering::Acquire) {
                assert!(
                    start.elapsed() < Duration::from_secs(20),
                    "{dispatch}: no worker helps"
                );
                thread::yield_now();
            }
        };
        assert_eq!(
            pool.run(&batch(dispatch, 2, 1, 2), &body),
            Ok(Outcome::Finished)
        );
    }
}

#[test]
fn mailbox_shares_are_equal_and_in_order() {
    let pool = Pool::new(4).unwrap();
    let owner: Vec<AtomicUsize> = (0..40).map(|_| AtomicUsize::new(9)).collect();
    pool.run(&batch(Dispatch::Mailbox, 40, 2, 4), &|worker, items| {
        for item in items {
            owner[item as usize].store(worker.0, Ordering::Relaxed);
        }
    })
    .unwrap();
    let owner: Vec<usize> = owner.into_iter().map(AtomicUsize::into_inner).collect();
    let expected: Vec<usize> = (0..40).map(|i| i / 10).collect();
    assert_eq!(owner, expected);
}

#[test]
fn workers_have_names_and_keep_their_numbers() {
    let pool = Pool::new(3).unwrap();
    let caller = thread::current().id();
    for dispatch in Dispatch::ALL {
        pool.run(&batch(dispatch, 300, 1, 3), &|worker, _| match worker.0 {
            0 => assert_eq!(thread::current().id(), caller),
            n => assert_eq!(
                thread::current().name(),
                Some(format!("evener-w{n}").as_str())
            ),
        })
        .unwrap();
    }
}

#[test]
fn a_panic_is_reported_and_the_pool_survives() {
    for workers in [1, 2, 5] {
        let pool = Pool::new(workers).unwrap();
        for dispatch in Dispatch::ALL {
            for at in [0, 57, 99] {
                let ended = AtomicU32::new(0);
                let running = AtomicU32::new(0);
                let failed = pool.run(&batch(dispatch, 100, 1, workers), &|_, items| {
                    if items.start == at {
                        std::panic::resume_unwind(Box::new(format!("item {at}")));
                    }
                    running.fetch_add(1, Ordering::Relaxed);
                    ended.fetch_add(1, Ordering::Relaxed);
                });
                assert_eq!(failed.unwrap_err().message, format!("item {at}"));
                assert_eq!(running.into_inner(), ended.into_inner());
                assert_eq!(
                    run_checked(&pool, &batch(dispatch, 100, 1, workers)),
                    Outcome::Finished
                );
            }
        }
    }
}

#[test]
fn the_first_of_many_panics_is_kept_and_no_job_outlives_run() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            if !thread::panicking() {
                std::panic::resume_unwind(Box::new("thrown by the payload"));
            }
        }
    }
    let pool = Pool::new(4).unwrap();
    for dispatch in Dispatch::ALL {
        let running = AtomicU32::new(0);
        let failed = pool.run(&batch(dispatch, 1000, 1, 4), &|_, items| {
            running.fetch_add(1, Ordering::SeqCst);
            thread::sleep(Duration::from_micros(200));
            running.fetch_sub(1, Ordering::SeqCst);
            match items.start % 3 {
                0 => std::panic::resume_unwind(Box::new("static")),
                1 => std::panic::resume_unwind(Box::new(String::from("owned"))),
                _ => std::panic::resume_unwind(Box::new(Bomb)),
            }
        });
        assert_eq!(running.load(Ordering::SeqCst), 0);
        let message = failed.unwrap_err().message;
        assert!(["static", "owned", "the panic carried no text"].contains(&message.as_str()));
    }
}

#[test]
fn no_job_begins_after_the_deadline() {
    for workers in [1, 2, 4] {
        let pool = Pool::new(workers).unwrap();
        for dispatch in Dispatch::ALL {
            let passed = Batch {
                deadline: Some(Instant::now()),
                ..batch(dispatch, 500, 1, workers)
            };
            assert_eq!(
                pool.run(&passed, &|_, _| panic!("began")),
                Ok(Outcome::CutOff)
            );

            let soon = Instant::now() + Duration::from_millis(10);
            let begun = AtomicU32::new(0);
            let cut = Batch {
                deadline: Some(soon),
                ..batch(dispatch, 1_000_000, 1, workers)
            };
            let outcome = pool.run(&cut, &|_, _| {
                begun.fetch_add(1, Ordering::Relaxed);
                thread::sleep(Duration::from_millis(1));
            });
            assert_eq!(outcome, Ok(Outcome::CutOff));
            assert!(begun.into_inner() <= 11 * workers as u32);

            let far = Instant::now() + Duration::from_secs(3600);
            let batch = Batch {
                deadline: Some(far),
                ..batch(dispatch, 500, 3, workers)
            };
            assert_eq!(run_checked(&pool, &batch), Outcome::Finished);
        }
    }
}

#[test]
fn a_deadline_that_passes_during_the_last_job_cuts_nothing() {
    let pool = Pool::new(1).unwrap();
    // On a machine with other work the job may begin too late.
    for millis in (0..12).map(|n| 5 << n) {
        let deadline = Instant::now() + Duration::from_millis(millis);
        let batch = Batch {
            deadline: Some(deadline),
            ..batch(Dispatch::Fifo, 1, 1, 1)
        };
        let begun = AtomicU32::new(0);
        let outcome = pool.run(&batch, &|_, _| {
            begun.store(1, Ordering::Relaxed);
            while Instant::now() <= deadline {
                thread::yield_now();
            }
        });
        if begun.into_inner() == 1 {
            assert_eq!(outcome, Ok(Outcome::Finished));
            return;
        }
    }
    panic!("no job began within 10 s");
}

#[test]
fn nested_runs_stay_on_their_worker() {
    let pool = Pool::new(4).unwrap();
    let other = Pool::new(2).unwrap();
    for outer in Dispatch::ALL {
        for inner in Dispatch::ALL {
            let count = AtomicU32::new(0);
            pool.run(&batch(outer, 20, 1, 4), &|worker, _| {
                let thread = thread::current().id();
                let nested = pool.run(&batch(inner, 10, 3, 4), &|w, items| {
                    assert_eq!((w, thread::current().id()), (worker, thread));
                    count.fetch_add(items.len() as u32, Ordering::Relaxed);
                });
                assert_eq!(nested, Ok(Outcome::Finished));
                let foreign = other.run(&batch(inner, 10, 3, 2), &|w, items| {
                    assert_eq!((w.0, thread::current().id()), (0, thread));
                    count.fetch_add(items.len() as u32, Ordering::Relaxed);
                });
                assert_eq!(foreign, Ok(Outcome::Finished));
            })
            .unwrap();
            assert_eq!(count.into_inner(), 400);
        }
    }
}

#[test]
fn a_panic_inside_a_nested_run_is_the_nested_runs() {
    let pool = Pool::new(2).unwrap();
    for dispatch in Dispatch::ALL {
        let outcome = pool.run(&batch(dispatch, 8, 1, 2), &|_, _| {
            let nested = pool.run(&batch(dispatch, 8, 1, 2), &|_, _| {
                std::panic::resume_unwind(Box::new("inner"));
            });
            assert_eq!(nested.unwrap_err().message, "inner");
        });
        assert_eq!(outcome, Ok(Outcome::Finished));
    }
}

#[test]
fn several_callers_at_once() {
    let pool = Pool::new(3).unwrap();
    thread::scope(|scope| {
        for caller in 0..5u32 {
            let pool = &pool;
            scope.spawn(move || {
                for round in 0..300 {
                    let dispatch = Dispatch::ALL[((caller + round) % 3) as usize];
                    let workers = 1 + (round % 4) as usize;
                    let mut batch = batch(dispatch, (round * 7) % 97, 1 + round % 5, workers);
                    if caller % 2 == 1 {
                        batch.caller = Caller::Hurries;
                    }
                    assert_eq!(run_checked(pool, &batch), Outcome::Finished);
                }
            });
        }
    });
}

#[test]
fn a_hurried_caller_runs_all_of_its_batch_while_another_has_the_workers() {
    let pool = Pool::new(3).unwrap();
    for dispatch in Dispatch::ALL {
        let outcome = pool.run(&batch(dispatch, 2, 1, 3), &|_, _| {
            thread::scope(|scope| {
                let other = scope.spawn(|| {
                    let batch = Batch {
                        caller: Caller::Hurries,
                        ..batch(dispatch, 30, 1, 3)
                    };
                    let here = thread::current().id();
                    pool.run(&batch, &|worker, _| {
                        assert_eq!(worker, WorkerId(0));
                        assert_eq!(thread::current().id(), here);
                    })
                });
                assert_eq!(other.join().unwrap(), Ok(Outcome::Finished));
            });
        });
        assert_eq!(outcome, Ok(Outcome::Finished));
    }
}

#[test]
fn a_job_may_wait_for_a_thread_that_runs_a_batch() {
    let pool = Pool::new(2).unwrap();
    for dispatch in Dispatch::ALL {
        let outcome = pool.run(&batch(dispatch, 2, 1, 2), &|_, _| {
            thread::scope(|scope| {
                scope.spawn(|| run_checked(&pool, &batch(dispatch, 50, 1, 2)));
            });
        });
        assert_eq!(outcome, Ok(Outcome::Finished));
    }
}

#[test]
fn fewer_workers_than_before_are_obeyed_at_once() {
    let pool = Pool::new(8).unwrap();
    for round in 0..500 {
        for dispatch in [Dispatch::Fifo, Dispatch::Steal] {
            run_checked(&pool, &batch(dispatch, 100, 1, 8));
            run_checked(&pool, &batch(dispatch, 100, 1, 2 + round % 3));
        }
    }
}

#[test]
fn pools_end_when_dropped() {
    for workers in 1..=8 {
        drop(Pool::new(workers).unwrap());
        let pool = Pool::new(workers).unwrap();
        run_checked(&pool, &batch(Dispatch::Steal, 10, 1, workers));
        // Long enough for the workers to park.
        thread::sleep(Duration::from_millis(5));
        drop(pool);
    }
}

#[test]
fn more_workers_than_processors_finish_in_reasonable_time() {
    let pool = Pool::new(8).unwrap();
    let start = Instant::now();
    for _ in 0..50 {
        for dispatch in Dispatch::ALL {
            pool.run(&batch(dispatch, 64, 1, 8), &|_, _| {
                std::hint::black_box((0..500).fold(0u64, |a, b| a ^ std::hint::black_box(b)));
            })
            .unwrap();
        }
    }
    // 150 batches of some 20 µs of work: some lost time slices in each are within this.
    assert!(
        start.elapsed() < Duration::from_secs(20),
        "{:?}",
        start.elapsed()
    );
}

#[test]
fn numbers_of_workers_out_of_range_are_refused() {
    for workers in [0, MAX_WORKERS + 1] {
        let error = Pool::new(workers).unwrap_err();
        assert!(matches!(error, Error::Workers { workers: w } if w == workers));
    }
}

#[cfg(target_os = "linux")]
mod placing {
    use super::*;
    use rustix::thread::{CpuSet, sched_getaffinity};

    /// The processors each worker may run on, as its own thread sees it.
    fn seen(pool: &Pool) -> Vec<Vec<usize>> {
        let seen: Vec<_> = (0..pool.workers())
            .map(|_| std::sync::Mutex::new(Vec::new()))
            .collect();
        let batch = batch(Dispatch::Mailbox, pool.workers() as u32, 1, pool.workers());
        pool.run(&batch, &|worker, _| {
            let set = sched_getaffinity(None).unwrap();
            let cpus = (0..CpuSet::MAX_CPU)
                .filter(|&cpu| set.is_set(cpu))
                .collect();
            *seen[worker.0].lock().unwrap() = cpus;
        })
        .unwrap();
        seen.into_iter().map(|s| s.into_inner().unwrap()).collect()
    }

    #[test]
    fn workers_go_where_they_are_put_and_back() {
        let pool = Pool::new(3).unwrap();
        let home = seen(&pool);
        let (first, last) = (home[0][0], *home[0].last().unwrap());
        pool.place(&[vec![last], vec![first]]).unwrap();
        assert_eq!(seen(&pool), [vec![last], vec![first], home[2].clone()]);
        pool.place(&[]).unwrap();
        assert_eq!(seen(&pool), home);
    }

    #[test]
    fn processors_that_do_not_exist_are_refused() {
        let pool = Pool::new(2).unwrap();
        for cpu in [CpuSet::MAX_CPU - 1, CpuSet::MAX_CPU, usize::MAX] {
            let error = pool.place(&[vec![], vec![cpu]]).unwrap_err();
            assert!(matches!(&error, Error::Place { worker: 1, cpus, .. } if *cpus == [cpu]));
        }
    }

    #[test]
    fn an_idle_pool_uses_no_processor_time() {
        let pool = Pool::new(4).unwrap();
        let cpu_time = || -> Duration {
            (1..pool.workers())
                .map(|w| {
                    let tid = pool.shared.slots[w].thread_id.wait().as_raw_nonzero();
                    let text = std::fs::read_to_string(format!("/proc/self/task/{tid}/schedstat"))
                        .unwrap();
                    Duration::from_nanos(text.split(' ').next().unwrap().parse().unwrap())
                })
                .sum()
        };
        let parked = || {
            (1..pool.workers()).all(|w| {
                let tid = pool.shared.slots[w].thread_id.wait().as_raw_nonzero();
                let stat = std::fs::read_to_string(format!("/proc/self/task/{tid}/stat"));
                stat.unwrap().rsplit(") ").next().unwrap().starts_with('S')
            })
        };
        run_checked(&pool, &batch(Dispatch::Fifo, 100, 1, 4));
        while !parked() {
            thread::yield_now();
        }
        let before = cpu_time();
        thread::sleep(Duration::from_millis(500));
        let used = cpu_time() - before;
        assert!(used <= Duration::from_micros(500), "{used:?} of 500 ms");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn random_batches_one_after_the_other(
        pool_size in 1usize..=8,
        batches in prop::collection::vec(
            (prop::sample::select(&Dispatch::ALL[..]), 0u32..4000, 0u32..50, 0usize..10, any::<bool>()),
            1..40,
        ),
    ) {
        let pool = Pool::new(pool_size).unwrap();
        for (dispatch, items, grain, workers, hurried) in batches {
            let mut batch = batch(dispatch, items, grain, workers);
            if hurried {
                batch.deadline = Some(Instant::now() + Duration::from_micros(u64::from(items) / 40));
                run_checked(&pool, &batch);
            } else {
                prop_assert_eq!(run_checked(&pool, &batch), Outcome::Finished);
            }
        }
    }
}

#[test]
fn uneven_jobs_under_steal_and_fifo_are_shared_out() {
    let pool = Pool::new(2).unwrap();
    for dispatch in [Dispatch::Fifo, Dispatch::Steal] {
        // The first job lasts until nearly all others have been run, so another worker must run them. Those in one run
        // with it come after it.
        let rest = AtomicU32::new(0);
        let outcome = pool.run(&batch(dispatch, 200, 1, 2), &|_, items| {
            if items.start > 0 {
                rest.fetch_add(1, Ordering::Release);
                return;
            }
            let start = Instant::now();
            while rest.load(Ordering::Acquire) < 180 {
                assert!(
                    start.elapsed() < Duration::from_secs(20),
                    "{dispatch}: no worker helps"
                );
                thread::yield_now();
            }
        });
        assert_eq!(outcome, Ok(Outcome::Finished));
    }
}

#[test]
fn what_a_worker_begins_with_serves_all_its_jobs_in_a_row_and_is_dropped() {
    struct Begun<'a>(&'a AtomicUsize);
    impl Drop for Begun<'_> {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    let pool = Pool::new(2).unwrap();
    for panics in [false, true] {
        for (workers, runs) in [(1, 1), (2, 2)] {
            let (begun, dropped) = (AtomicUsize::new(0), AtomicUsize::new(0));
            let begin = |_| {
                begun.fetch_add(1, Ordering::Relaxed);
                Begun(&dropped)
            };
            let job = |_: &mut Begun<'_>, items: Range<u32>| {
                assert!(!panics || items.start % 8 < 7);
            };
            let ended = pool.run_with(&batch(Dispatch::Mailbox, 16, 1, workers), begin, job);
            assert_eq!(ended.is_err(), panics);
            let begun = begun.into_inner();
            assert!(begun <= runs && begun > 0 && (panics || begun == runs));
            assert_eq!(dropped.into_inner(), begun);
        }
    }
}
