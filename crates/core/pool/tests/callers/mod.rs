//! More threads of the program than the global pool has workers.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Once, mpsc};
use std::thread::{self, Thread};

use super::WORKERS;
use evener_pool::{
    ThreadPoolBuilder, current_num_threads, in_place_scope, join, scope, spawn, yield_local,
};

/// Makes the global pool of the program.
fn global() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        ThreadPoolBuilder::new()
            .num_threads(WORKERS)
            .build_global()
            .unwrap()
    });
    assert_eq!(current_num_threads(), WORKERS);
}

fn fibonacci(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = join(|| fibonacci(n - 1), || fibonacci(n - 2));
    a + b
}

#[test]
fn a_scope_may_have_more_jobs_than_a_deque() {
    global();
    let count = AtomicUsize::new(0);
    scope(|s| {
        for _ in 0..5000 {
            s.spawn(|_| _ = count.fetch_add(1, Ordering::Relaxed));
        }
    });
    assert_eq!(count.into_inner(), 5000);
}

#[test]
fn callers_take_turns() {
    global();
    thread::scope(|s| {
        for _ in 0..6 {
            s.spawn(|| {
                for _ in 0..300 {
                    assert_eq!(fibonacci(10), 55);
                }
            });
        }
    });
}

#[test]
fn what_a_caller_leaves_is_done() {
    global();
    for _ in 0..100 {
        let (send, receive) = mpsc::channel();
        in_place_scope(|s| {
            join(|| s.spawn(|_| send.send(1).unwrap()), || spawn(|| ()));
        });
        assert_eq!(receive.recv(), Ok(1));
    }
}

#[test]
fn threads_may_be_unparked_by_anybody() {
    global();
    let threads: Mutex<Vec<Thread>> = Mutex::default();
    let rounds = AtomicUsize::new(0);
    thread::scope(|s| {
        s.spawn(|| {
            while rounds.load(Ordering::Relaxed) < 3 {
                let all = threads.lock().unwrap().clone();
                all.iter().for_each(Thread::unpark);
            }
        });
        for _ in 0..3 {
            s.spawn(|| {
                for i in 0..300 {
                    let (a, b) = join(
                        || {
                            if i % 100 == 0 {
                                threads.lock().unwrap().push(thread::current());
                            }
                            fibonacci(8)
                        },
                        || fibonacci(9),
                    );
                    assert_eq!((a, b), (21, 34));
                }
                rounds.fetch_add(1, Ordering::Relaxed);
            });
        }
    });
}

#[test]
fn a_caller_that_yields_runs_what_it_has_spawned() {
    global();
    let ran = Arc::new(AtomicUsize::new(0));
    let yields = || {
        for _ in 0..3 {
            let ran = Arc::clone(&ran);
            spawn(move || _ = ran.fetch_add(1, Ordering::SeqCst));
        }
        // Where the caller is the only worker, nobody else can run them.
        while ran.load(Ordering::SeqCst) < 3 {
            yield_local();
        }
    };
    join(yields, || ());
}
