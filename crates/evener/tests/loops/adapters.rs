//! Adapters give what those of iterators with their names give.

use std::sync::atomic::{AtomicUsize, Ordering};

use evener::prelude::*;

use crate::{Alive, busy, each};

#[test]
fn elements_that_give_several() {
    each(|v, us| {
        let several = |x: &u64| {
            busy(us);
            0..x % 4
        };
        let expected: Vec<u64> = v.iter().flat_map(several).collect();
        assert_eq!(v.par().flat_map(several).collect::<Vec<_>>(), expected);
        assert_eq!(v.par().map(several).flatten().count(), expected.len());
        let some = |x: &u64| (x % 2 == 1).then_some(*x);
        assert_eq!(
            v.par().map(some).flatten().collect::<Vec<_>>(),
            v.iter().filter_map(some).collect::<Vec<_>>()
        );
    });
}

#[test]
fn accumulators_hold_all_elements_in_order() {
    each(|v, us| {
        let parts = v.par().fold(Vec::new, |mut part, x| {
            busy(us);
            part.push(*x);
            part
        });
        let parts: Vec<Vec<u64>> = parts.collect();
        assert_eq!(parts.concat(), v);
        assert!(parts.iter().all(|part| !part.is_empty()));
        // The first call begins with parts that double.
        assert!(parts.len() <= 8 * evener::current_num_threads() + 12);
    });
}

#[test]
fn a_part_has_a_value_of_its_own() {
    each(|v, us| {
        let made = AtomicUsize::new(0);
        let init = || {
            made.fetch_add(1, Ordering::Relaxed);
            Vec::new()
        };
        let work = |seen: &mut Vec<u64>, x: &u64| {
            busy(us);
            seen.push(*x);
            (*x, seen.len())
        };
        let results: Vec<(u64, usize)> = v.par().map_init(init, work).collect();
        assert!(results.iter().map(|result| &result.0).eq(v));
        let firsts = results.iter().filter(|result| result.1 == 1).count();
        assert_eq!(made.load(Ordering::Relaxed), firsts);
        let sum = AtomicUsize::new(0);
        v.par().for_each_init(
            || 1,
            |one, x| {
                sum.fetch_add(*x as usize + *one, Ordering::Relaxed);
            },
        );
        assert_eq!(sum.into_inner(), v.iter().sum::<u64>() as usize + v.len());
    });
}

#[test]
fn elements_at_other_places() {
    each(|v, us| {
        let slow = |x: &u64| {
            busy(us);
            *x
        };
        let copied = || v.iter().copied();
        let par = || v.par().map(slow);
        let all = |expected: Vec<u64>, elements: Vec<u64>| assert_eq!(elements, expected);
        all(copied().rev().collect(), par().rev().collect());
        all(
            copied().chain([7]).chain(copied()).collect(),
            par().chain([7]).chain(par()).collect(),
        );
        let odd = |x: &u64| x % 2 == 1;
        all(
            copied().filter(odd).chain(copied()).collect(),
            par().filter(odd).chain(par()).collect(),
        );
        for count in [0, 1, 2, 100, 1000, usize::MAX] {
            all(copied().take(count).collect(), par().take(count).collect());
            all(copied().skip(count).collect(), par().skip(count).collect());
            let step = count.max(1);
            all(
                copied().step_by(step).collect(),
                par().step_by(step).collect(),
            );
            all(
                copied().rev().skip(count).step_by(3).rev().collect(),
                par().rev().skip(count).step_by(3).rev().collect(),
            );
            all(
                copied().chain(copied()).skip(count).take(50).collect(),
                par().chain(par()).skip(count).take(50).collect(),
            );
        }
        all(
            copied().zip(copied().rev()).map(|(a, b)| a + b).collect(),
            par().zip(v.par().rev()).map(|(a, b)| a + b).collect(),
        );
    });
    let calls = AtomicUsize::new(0);
    let counted = || {
        (0..100)
            .par()
            .inspect(|_| _ = calls.fetch_add(1, Ordering::Relaxed))
    };
    assert_eq!(counted().skip(50).step_by(10).count(), 5);
    assert_eq!(calls.load(Ordering::Relaxed), 5);
    assert_eq!((0..usize::MAX).par().step_by(usize::MAX / 2).count(), 3);
}

#[test]
fn elements_are_changed_on_their_way() {
    each(|v, us| {
        let changed = v.to_vec().into_par().update(|x| {
            busy(us);
            *x += 1;
        });
        assert!(
            changed
                .collect::<Vec<_>>()
                .into_iter()
                .eq(v.iter().map(|x| x + 1))
        );
        let mut places = v.to_vec();
        places
            .par_mut()
            .rev()
            .enumerate()
            .for_each(|(i, x)| *x = i as u64);
        assert!(places.into_iter().rev().eq(0..v.len() as u64));
    });
}

#[test]
fn owned_elements_at_other_places_are_dropped_once() {
    for us in [0, 0, 2, 2] {
        let count = AtomicUsize::new(0);
        let make = |len: usize| {
            let all: Vec<_> = (0..len).map(|_| Alive::new(&count)).collect();
            all.into_par().inspect(|_| busy(us))
        };
        let none = |what: &str| assert_eq!(count.load(Ordering::Relaxed), 0, "{what}");
        make(300).take(100).for_each(drop);
        none("take");
        make(300).skip(100).for_each(drop);
        none("skip");
        make(300).rev().skip(100).take(50).for_each(drop);
        none("rev, skip, take");
        make(300).step_by(7).for_each(drop);
        none("step_by");
        assert!(make(300).rev().find_any(|_| true).is_some());
        none("rev, find_any");
        make(99).chain(make(88)).skip(50).take(70).for_each(drop);
        none("chain, skip, take");
        make(99).chain(make(88)).rev().take(10).for_each(drop);
        none("chain, rev, take");
        make(99).zip(make(300).rev()).for_each(drop);
        none("zip, rev");
        let folded = make(300).fold(Vec::new, |mut all, one| {
            all.push(one);
            all
        });
        assert!(folded.find_any(|_| true).is_some_and(|all| !all.is_empty()));
        none("fold, find_any");
        assert_eq!(make(300).map(|one| [one]).flatten().count(), 300);
        none("flatten");
        drop(make(300));
        drop(make(300).skip(10));
        none("not run");
    }
}
