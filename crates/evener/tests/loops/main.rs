//! Loops give what plain iterators give, whether they run serially or in parallel.

mod adapters;
mod sources;

use std::collections::{BTreeMap, HashSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use evener::prelude::*;

/// Takes about so many microseconds, so that loops of some hundred elements are divided.
fn busy(microseconds: u64) {
    let start = Instant::now();
    while start.elapsed() < Duration::from_micros(microseconds) {
        std::hint::spin_loop();
    }
}

const LENGTHS: [usize; 7] = [0, 1, 2, 3, 64, 257, 1000];

fn values(len: usize) -> Vec<u64> {
    (0..len as u64)
        .map(|i| i.wrapping_mul(0x9E37_79B9) % 1009)
        .collect()
}

/// Calls the check for short and for long elements, twice each, so that what was learnt is used as well.
fn each(check: impl Fn(&[u64], u64)) {
    for len in LENGTHS {
        for microseconds in [0, 0, 2, 2, 2] {
            check(&values(len), microseconds);
        }
    }
}

#[test]
fn what_ends_a_loop_gives_what_iterators_give() {
    each(|v, us| {
        let slow = |x: &u64| {
            busy(us);
            *x
        };
        assert_eq!(v.par().map(slow).sum::<u64>(), v.iter().sum::<u64>());
        assert_eq!(v.par().map(slow).min(), v.iter().copied().min());
        assert_eq!(v.par().map(slow).max(), v.iter().copied().max());
        assert_eq!(v.par().map(slow).count(), v.len());
        assert_eq!(
            v.par().map(slow).reduce(u64::wrapping_add),
            v.iter().copied().reduce(u64::wrapping_add)
        );
        let key = |x: &u64| x % 10;
        assert_eq!(
            v.par().map(slow).min_by_key(key),
            v.iter().copied().min_by_key(key)
        );
        assert_eq!(
            v.par().map(slow).max_by_key(key),
            v.iter().copied().max_by_key(key)
        );
        assert_eq!(v.par().map(slow).any(|x| x == 500), v.contains(&500));
        assert_eq!(
            v.par().map(slow).all(|x| x < 1000),
            v.iter().all(|x| *x < 1000)
        );
        let product = v
            .par()
            .map(|x| slow(x) % 3 + 1)
            .map(|x| x as f64)
            .product::<f64>();
        assert!(v.is_empty() || product >= 1.0);
    });
}

#[test]
fn what_is_looked_for_is_found() {
    each(|v, us| {
        let is = |x: &u64| {
            busy(us);
            x % 100 == 7
        };
        let first = v.iter().position(is);
        assert_eq!(v.par().position_first(is), first);
        assert_eq!(v.par().find_first(|x| is(x)), first.map(|i| &v[i]));
        let any = v.par().position_any(is);
        assert_eq!(any.map(|i| is(&v[i])), first.map(|_| true));
        let some = |x: &u64| is(x).then_some(x + 1);
        assert_eq!(v.par().find_map_first(some), v.iter().find_map(some));
        let any = v.par().find_map_any(some);
        assert_eq!(any.map(|x| is(&(x - 1))), first.map(|_| true));
    });
}

#[test]
fn errors_end_a_loop_that_combines() {
    each(|v, us| {
        let sum = |limit: u64| {
            let numbers = v.par().map(|x| {
                busy(us);
                if *x >= limit { Err(*x) } else { Ok(*x) }
            });
            numbers.try_reduce(|a, b| Ok(a + b))
        };
        assert_eq!(sum(u64::MAX), Ok(v.iter().copied().reduce(|a, b| a + b)));
        match v.iter().max() {
            Some(max) => assert!(sum(*max).is_err()),
            None => assert_eq!(sum(0), Ok(None)),
        }
    });
}

#[test]
fn two_collections_are_filled() {
    each(|v, us| {
        let odd = |x: &u64| {
            busy(us);
            x % 2 == 1
        };
        let two: (Vec<u64>, Vec<u64>) = v.par().copied().partition(odd);
        assert_eq!(two, v.iter().copied().partition(odd));
        let pair = |x: &u64| (*x, odd(x).to_string());
        let two: (HashSet<u64>, Vec<String>) = v.par().map(pair).unzip();
        assert_eq!(two, v.iter().map(pair).unzip());
    });
}

#[test]
fn collections_keep_the_order() {
    each(|v, us| {
        let slow = |x: &u64| {
            busy(us);
            x + 1
        };
        let expected: Vec<u64> = v.iter().map(|x| x + 1).collect();
        assert_eq!(v.par().map(slow).collect::<Vec<_>>(), expected);
        assert_eq!(
            v.to_vec().into_par().map(|x| slow(&x)).collect::<Vec<_>>(),
            expected
        );
        let odd = |x: &u64| x % 2 == 1;
        assert_eq!(
            v.par().map(slow).filter(odd).collect::<Vec<_>>(),
            expected.iter().copied().filter(odd).collect::<Vec<_>>()
        );
        assert_eq!(
            v.par().map(slow).enumerate().collect::<BTreeMap<_, _>>(),
            expected
                .iter()
                .copied()
                .enumerate()
                .collect::<BTreeMap<_, _>>()
        );
        assert_eq!(
            v.par().map(slow).collect::<HashSet<_>>(),
            expected.iter().copied().collect::<HashSet<_>>()
        );
        let text: String = v.par().map(|x| slow(x).to_string()).collect();
        assert_eq!(
            text,
            expected.iter().map(u64::to_string).collect::<String>()
        );
        let all: Option<Vec<u64>> = v.par().map(|x| Some(slow(x))).collect();
        assert_eq!(all, Some(expected.clone()));
        let failed: Result<Vec<u64>, usize> = v
            .par()
            .map(slow)
            .enumerate()
            .map(|(i, x)| if i >= 40 { Err(i) } else { Ok(x) })
            .collect();
        match expected.len() > 40 {
            true => assert!(failed.is_err_and(|i| i >= 40)),
            false => assert_eq!(failed, Ok(expected)),
        }
    });
}

#[test]
fn elements_are_changed_in_place() {
    each(|v, us| {
        let mut changed = v.to_vec();
        changed.par_mut().zip(v.par()).for_each(|(x, y)| {
            busy(us);
            *x += y;
        });
        assert_eq!(changed, v.iter().map(|x| 2 * x).collect::<Vec<_>>());
        let mut rows = vec![0; v.len()];
        rows.par_chunks_mut(7).enumerate().for_each(|(i, row)| {
            busy(us);
            row.fill(i);
        });
        assert_eq!(rows, (0..v.len()).map(|i| i / 7).collect::<Vec<_>>());
        let sums: Vec<u64> = v.par_chunks(7).map(|piece| piece.iter().sum()).collect();
        assert_eq!(
            sums,
            v.chunks(7)
                .map(|piece| piece.iter().sum())
                .collect::<Vec<u64>>()
        );
    });
}

/// Counts how many of it are alive.
struct Alive<'a>(&'a AtomicUsize);

impl<'a> Alive<'a> {
    fn new(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Alive(count)
    }
}

impl Drop for Alive<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[test]
fn owned_elements_are_dropped_once() {
    for us in [0, 0, 2, 2] {
        let count = AtomicUsize::new(0);
        let make = || (0..300).map(|_| Alive::new(&count)).collect::<Vec<_>>();
        make().into_par().for_each(|_| busy(us));
        assert_eq!(count.load(Ordering::Relaxed), 0);
        let kept: Vec<_> = make().into_par().inspect(|_| busy(us)).collect();
        assert_eq!(count.load(Ordering::Relaxed), 300);
        drop(kept);
        // Those that are not reached are dropped as well.
        assert!(make().into_par().find_any(|_| true).is_some());
        assert_eq!(count.load(Ordering::Relaxed), 0);
        make().into_par().zip((0..100).par()).for_each(|_| busy(us));
        assert_eq!(count.load(Ordering::Relaxed), 0);
    }
}

#[test]
fn a_panic_goes_on_in_the_caller_and_nothing_is_dropped_twice() {
    for us in [0, 0, 2, 2] {
        let count = AtomicUsize::new(0);
        let panics = AtomicUsize::new(0);
        let ended = catch_unwind(AssertUnwindSafe(|| {
            (0..500)
                .par()
                .map(|i| {
                    busy(us);
                    if i == 333 {
                        panics.fetch_add(1, Ordering::Relaxed);
                        panic!("element 333");
                    }
                    Alive::new(&count)
                })
                .collect::<Vec<_>>()
        }));
        let payload = ended.err().expect("the panic goes on");
        assert_eq!(payload.downcast_ref(), Some(&"element 333"));
        assert_eq!(panics.load(Ordering::Relaxed), 1);
        assert_eq!(count.load(Ordering::Relaxed), 0);
    }
    // The threads are still there.
    assert_eq!(
        (0..100)
            .par()
            .map(|i| {
                busy(2);
                i
            })
            .sum::<i32>(),
        4950
    );
}

#[test]
fn everything_nests() {
    let sum: usize = (0..20)
        .par()
        .map(|i| {
            let (a, b) = evener::join(
                || {
                    (0..50)
                        .par()
                        .map(|j| {
                            busy(1);
                            i * j
                        })
                        .sum::<usize>()
                },
                || {
                    let mut parts = [0; 4];
                    evener::scope(|s| {
                        for part in &mut parts {
                            s.spawn(move |_| *part = (0..10_usize).par().sum::<usize>());
                        }
                    });
                    parts.iter().sum::<usize>()
                },
            );
            a + b
        })
        .sum();
    assert_eq!(sum, 190 * 1225 + 20 * 180);
}

#[test]
fn many_threads_use_loops_at_once() {
    std::thread::scope(|scope| {
        for t in 0..8_u64 {
            scope.spawn(move || {
                for round in 0..50 {
                    let us = round % 3;
                    let sum: u64 = (0..200_u64)
                        .par()
                        .map(|i| {
                            busy(us);
                            i + t
                        })
                        .sum();
                    assert_eq!(sum, 19_900 + 200 * t);
                }
            });
        }
    });
}

#[test]
fn a_pool_may_have_more_workers_than_cpus() {
    let pool = evener::ThreadPoolBuilder::new()
        .num_threads(64)
        .build()
        .unwrap();
    for _ in 0..5 {
        let sum = pool.install(|| {
            (0..2000_u64)
                .par()
                .map(|i| {
                    busy(2);
                    i
                })
                .sum::<u64>()
        });
        assert_eq!(sum, 1_999_000);
    }
}

#[test]
fn long_elements_are_shared_at_the_first_call() {
    let threads = evener::current_num_threads();
    if threads < 2 {
        return;
    }
    let ids = std::sync::Mutex::new(HashSet::new());
    (0..8).par().for_each(|_| {
        ids.lock().unwrap().insert(std::thread::current().id());
        std::thread::sleep(Duration::from_millis(20));
    });
    assert!(ids.into_inner().unwrap().len() > 1);
}

#[test]
fn sorting_gives_what_the_standard_library_gives() {
    for len in [0, 1, 2, 100, 5000, 60_000] {
        let pairs: Vec<(u64, usize)> = values(len).into_iter().map(|x| x % 100).zip(0..).collect();
        let mut expected = pairs.clone();
        expected.sort_by_key(|pair| pair.0);
        let mut sorted = pairs.clone();
        sorted.par_sort_by_key(|pair| pair.0);
        assert_eq!(sorted, expected);
        let mut sorted = pairs.clone();
        sorted.par_sort_unstable();
        expected.sort_unstable();
        assert_eq!(sorted, expected);
        let mut units = vec![(); len];
        units.par_sort();
    }
}

#[test]
fn a_panic_while_sorting_loses_no_element() {
    for at in [1, 10_000, 100_000, 250_000] {
        let mut words: Vec<String> = (0..20_000_u64)
            .map(|i| (i * 7919 % 20_011).to_string())
            .collect();
        let calls = AtomicUsize::new(0);
        let ended = catch_unwind(AssertUnwindSafe(|| {
            words.par_sort_by(|a, b| {
                assert!(calls.fetch_add(1, Ordering::Relaxed) != at, "enough");
                a.cmp(b)
            });
        }));
        assert!(ended.is_err());
        words.sort();
        let mut expected: Vec<String> = (0..20_000_u64)
            .map(|i| (i * 7919 % 20_011).to_string())
            .collect();
        expected.sort();
        assert_eq!(words, expected);
    }
}
