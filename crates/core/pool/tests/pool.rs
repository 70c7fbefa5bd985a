//! What rayon's own tests do not ask: threads of the program in the pool, jobs that are taken without their owner, idle time.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Barrier, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use evener_pool::{
    ThreadPoolBuilder, blocking, current_num_threads, current_thread_index, join, scope, spawn,
};

fn fibonacci(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = join(|| fibonacci(n - 1), || fibonacci(n - 2));
    a + b
}

#[test]
fn joins_of_all_depths() {
    assert_eq!(fibonacci(25), 75_025);
    let pool = ThreadPoolBuilder::new().num_threads(16).build().unwrap();
    for _ in 0..20 {
        assert_eq!(pool.install(|| fibonacci(18)), 2584);
    }
}

#[test]
fn a_thread_that_blocks_does_not_keep_its_jobs() {
    let pool = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    for _ in 0..50 {
        let barrier = Barrier::new(2);
        pool.join(|| barrier.wait(), || barrier.wait());
    }
    if current_num_threads() > 1 {
        let barrier = Barrier::new(2);
        join(|| barrier.wait(), || barrier.wait());
    }
}

#[test]
fn a_thread_of_the_program_works_in_the_global_pool() {
    let here = thread::current().id();
    assert_eq!(current_thread_index(), None);
    // Where all workers are busy with other tests, one of them runs the call.
    let ran_here = (0..10_000).any(|_| {
        let (ran, index) = join(|| (thread::current().id(), current_thread_index()), || ()).0;
        assert!(index.is_some_and(|index| index < current_num_threads()));
        assert_eq!(current_thread_index(), None);
        ran == here
    });
    assert!(ran_here);
}

#[test]
fn a_thread_of_the_program_runs_only_parts_of_its_own_call() {
    // Which would take a lock that it holds.
    let strangers = AtomicUsize::new(0);
    thread::scope(|s| {
        for _ in 0..4 {
            let named = thread::Builder::new().name("caller".to_owned());
            let spawned = named.spawn_scoped(s, || {
                let caller = thread::current().id();
                for _ in 0..200 {
                    let job = || {
                        let here = thread::current();
                        let is_another_caller =
                            here.name() == Some("caller") && here.id() != caller;
                        strangers.fetch_add(is_another_caller.into(), Ordering::Relaxed);
                        fibonacci(6)
                    };
                    join(job, || join(job, job));
                }
            });
            spawned.unwrap();
        }
    });
    assert_eq!(strangers.into_inner(), 0);
}

#[test]
fn both_closures_run_whatever_panics() {
    for first in [false, true] {
        for depth in [0, 12] {
            let ran = AtomicUsize::new(0);
            let work = |panics: bool| {
                ran.fetch_add(1, Ordering::Relaxed);
                assert!(!panics, "asked to");
            };
            // Deep enough that nothing more is offered.
            fn nested(depth: usize, work: &(dyn Fn() + Sync)) {
                match depth {
                    0 => work(),
                    _ => _ = join(|| nested(depth - 1, work), || ()),
                }
            }
            let ended = catch_unwind(AssertUnwindSafe(|| {
                nested(depth, &|| _ = join(|| work(first), || work(!first)));
            }));
            assert!(ended.is_err());
            assert_eq!(ran.load(Ordering::Relaxed), 2);
        }
    }
}

#[test]
fn more_jobs_than_a_deque_holds() {
    let count = AtomicUsize::new(0);
    scope(|s| {
        for _ in 0..10_000 {
            s.spawn(|_| _ = count.fetch_add(1, Ordering::Relaxed));
        }
    });
    assert_eq!(count.into_inner(), 10_000);
    let (send, receive) = mpsc::channel();
    for i in 0..5000 {
        let send = send.clone();
        spawn(move || send.send(i).unwrap());
    }
    drop(send);
    assert_eq!(receive.iter().sum::<usize>(), 12_497_500);
}

#[test]
fn a_pool_that_is_dropped_ends_what_was_spawned() {
    let (send, receive) = mpsc::channel();
    let pool = ThreadPoolBuilder::new().num_threads(3).build().unwrap();
    for i in 0..100 {
        let send = send.clone();
        pool.spawn(move || {
            thread::sleep(Duration::from_micros(200));
            send.send(i).unwrap();
        });
    }
    drop((pool, send));
    assert_eq!(receive.iter().count(), 100);
}

#[test]
fn two_long_jobs_take_the_time_of_one() {
    let pool = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    let took = |work: &dyn Fn()| {
        let start = Instant::now();
        work();
        start.elapsed()
    };
    let sleep = || thread::sleep(Duration::from_millis(30));
    // The second is taken without the first's thread.
    let best = (0..10)
        .map(|_| took(&|| _ = pool.join(sleep, sleep)))
        .min()
        .unwrap();
    assert!(best < Duration::from_millis(50), "{best:?}");
}

#[cfg(target_os = "linux")]
#[test]
fn threads_that_were_woken_may_run_anywhere() {
    use rustix::thread::sched_getaffinity;

    let pool = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    let here = sched_getaffinity(None).unwrap();
    for _ in 0..50 {
        for there in pool.broadcast(|_| sched_getaffinity(None).unwrap()) {
            assert_eq!(there, here);
        }
        // Until they sleep.
        thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn others_compute_while_a_job_blocks() {
    let (send, receive) = mpsc::channel();
    // Every worker waits for jobs that come after it.
    for _ in 0..current_num_threads() {
        let send = send.clone();
        spawn(move || {
            blocking(|| thread::sleep(Duration::from_millis(100)));
            send.send("waited").unwrap();
        });
    }
    thread::sleep(Duration::from_millis(10));
    spawn(move || send.send("computed").unwrap());
    assert_eq!(receive.recv(), Ok("computed"));
    assert!(receive.iter().all(|what| what == "waited"));
}

#[test]
fn blocking_nests_with_joins_and_loops_of_jobs() {
    let count = AtomicUsize::new(0);
    scope(|s| {
        for i in 0..200 {
            let count = &count;
            s.spawn(move |_| {
                let wait = || blocking(|| thread::sleep(Duration::from_micros(i % 7 * 50)));
                let (a, b) = join(
                    || {
                        wait();
                        fibonacci(10)
                    },
                    || blocking(|| fibonacci(8)),
                );
                count.fetch_add((a + b) as usize, Ordering::Relaxed);
            });
        }
    });
    assert_eq!(count.into_inner(), 200 * (55 + 21));
}
