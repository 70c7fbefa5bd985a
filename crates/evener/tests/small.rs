//! Each way to hand over elements, with few of them: what Miri runs (`./ci.sh miri`).
#![expect(clippy::vec_box, reason = "elements own memory")]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use evener::prelude::*;

const LEN: usize = 60;

/// Elements that own memory, so that Miri sees one which is lost or dropped twice.
fn boxes() -> Vec<Box<usize>> {
    (0..LEN).map(Box::new).collect()
}

/// Several calls of one place: the first is not shared.
fn calls(call: impl Fn()) {
    (0..3).for_each(|_| call());
}

fn pause() {
    thread::yield_now();
}

#[test]
fn loops_over_borrowed_elements() {
    calls(|| {
        let mut all = boxes();
        all.par_mut().for_each(|x| {
            pause();
            **x += 1;
        });
        let sums: Vec<Box<usize>> = (all.par().zip(boxes().par()))
            .map(|(a, b)| Box::new(**a + **b))
            .collect();
        assert!(sums.into_iter().map(|x| *x).eq((0..LEN).map(|x| 2 * x + 1)));
    });
}

#[test]
fn loops_over_owned_elements() {
    calls(|| {
        let odd: Vec<Box<usize>> = boxes().into_par().filter(|x| **x % 2 == 1).collect();
        assert_eq!(odd.len(), LEN / 2);
        assert_eq!(
            boxes().into_par().find_any(|x| **x == 40),
            Some(Box::new(40))
        );
        assert_eq!(boxes().into_par().max(), Some(Box::new(LEN - 1)));
        let failed: Result<Vec<Box<usize>>, usize> = (boxes().into_par())
            .map(|x| if *x < 50 { Ok(x) } else { Err(*x) })
            .collect();
        assert!(failed.is_err());
    });
}

#[test]
fn loops_over_some_elements() {
    calls(|| {
        let par = || boxes().into_par();
        let sum = |x: Box<usize>| *x;
        assert_eq!(par().rev().take(9).map(sum).max(), Some(LEN - 1));
        assert_eq!(par().rev().skip(9).find_first(|_| true), Some(Box::new(50)));
        assert_eq!(par().skip(9).step_by(7).map(sum).max(), Some(58));
        assert!(par().step_by(7).find_any(|x| **x == 14).is_some());
        let middle = par().chain(par()).skip(50).take(20).map(sum);
        assert_eq!(middle.sum::<usize>(), (50..60).chain(0..10).sum());
        let mut all = boxes();
        all.par_mut().rev().zip(par()).for_each(|(x, y)| *x = y);
        assert_eq!(all.par().position_first(|x| **x == 0), Some(LEN - 1));
    });
}

#[test]
fn accumulators_and_halves() {
    calls(|| {
        let par = || boxes().into_par().inspect(|_| pause());
        let parts = par().fold(Vec::new, |mut part, x| {
            part.push(x);
            part
        });
        assert!(parts.flatten().collect::<Vec<_>>().into_iter().eq(boxes()));
        let (even, odd): (Vec<_>, Vec<_>) = par().partition(|x| **x % 2 == 0);
        assert_eq!(even.len(), odd.len());
        let sum = par().map_init(|| Box::new(1), |one, x| Ok::<_, ()>(*x + **one));
        assert_eq!(sum.try_reduce(|a, b| Ok(a + b)), Ok(Some(1830)));
    });
}

#[test]
fn chunks_and_sorts() {
    calls(|| {
        let mut all: Vec<Box<usize>> = boxes().into_iter().rev().collect();
        all.par_chunks_mut(7).for_each(|chunk| chunk.reverse());
        all.par_sort();
        assert_eq!(all, boxes());
        assert_eq!(all.par_chunks(7).map(<[_]>::len).sum::<usize>(), LEN);
    });
}

#[test]
fn panics_drop_what_they_should() {
    calls(|| {
        let dropped = AtomicUsize::new(0);
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            boxes()
                .par()
                .map(|x| assert_ne!(**x, 33))
                .collect::<Vec<_>>()
        }));
        assert!(panicked.is_err());
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            evener::join(
                || panic!("left"),
                || dropped.fetch_add(1, Ordering::Relaxed),
            )
        }));
        assert!(panicked.is_err());
        assert_eq!(dropped.into_inner(), 1);
    });
}

#[test]
fn joins_and_scopes() {
    fn sum(values: &[Box<usize>]) -> usize {
        match values {
            [] => 0,
            [one] => {
                pause();
                **one
            }
            _ => {
                let (left, right) = values.split_at(values.len() / 2);
                let (left, right) = evener::join(|| sum(left), || sum(right));
                left + right
            }
        }
    }
    let total = LEN * (LEN - 1) / 2;
    assert_eq!(sum(&boxes()), total);
    let counted = AtomicUsize::new(0);
    evener::scope(|s| {
        for x in boxes() {
            let counted = &counted;
            s.spawn(move |s| {
                s.spawn(move |_| _ = counted.fetch_add(*x, Ordering::Relaxed));
            });
        }
    });
    assert_eq!(counted.into_inner(), total);
    let pool = evener::ThreadPoolBuilder::new()
        .num_threads(3)
        .build()
        .unwrap();
    assert_eq!(pool.install(|| sum(&boxes())), total);
}

#[test]
fn streams() {
    for ordered in [true, false] {
        let stream = boxes().into_iter().even().map(|x| Box::new(*x + 1));
        let stream = if ordered { stream } else { stream.unordered() };
        let mut all: Vec<Box<usize>> = stream.collect();
        all.sort();
        assert!(all.into_iter().map(|x| *x).eq(1..=LEN));
    }
}

#[test]
fn results_of_streams() {
    let results = boxes().into_iter().even().map(|x| x);
    assert_eq!(results.into_iter().take(5).count(), 5);
}

#[test]
fn work_that_is_awaited() {
    let awaited = evener::run(|| boxes().into_par().map(|x| *x).sum::<usize>());
    assert_eq!(futures::executor::block_on(awaited), LEN * (LEN - 1) / 2);
}

#[test]
fn asynchronous_streams() {
    let shared = Arc::new(());
    let kept = Arc::clone(&shared);
    let stream = evener::stream(futures::stream::iter(0..LEN)).map(move |x| (x, Arc::clone(&kept)));
    let first = futures::executor::block_on_stream(stream).next();
    assert_eq!(first.map(|(x, _)| x), Some(0));
}
