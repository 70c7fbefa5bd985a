//! Loops run over all that collections have.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::panic::catch_unwind;

use evener::prelude::*;

use crate::{LENGTHS, busy, each};

#[test]
fn ranges_of_all_kinds() {
    assert_eq!(
        (-3_i8..4).par().collect::<Vec<_>>(),
        [-3, -2, -1, 0, 1, 2, 3]
    );
    assert_eq!((i64::MIN..i64::MIN + 2).par().count(), 2);
    assert_eq!((5_u8..5).par().count(), 0);
    let reversed = std::ops::Range {
        start: 7_usize,
        end: 3,
    };
    assert_eq!(reversed.par().count(), 0);
    assert_eq!((0..u64::from(u16::MAX)).par().sum::<u64>(), 2_147_385_345);
    assert_eq!((0..=255_u8).par().map(u64::from).sum::<u64>(), 32_640);
    assert_eq!(
        (-2..=2_i128).into_par().collect::<Vec<_>>(),
        [-2, -1, 0, 1, 2]
    );
    assert_eq!((u128::MAX - 3..u128::MAX).par().count(), 3);
    let mut used = 7..=7;
    used.next();
    assert_eq!(used.par().count(), 0);
    assert!(catch_unwind(|| (0..=u64::MAX).par().count()).is_err());
    assert!(catch_unwind(|| (i128::MIN..i128::MAX).par().count()).is_err());
}

#[test]
fn maps_sets_and_queues() {
    each(|v, us| {
        let slow = |x: &u64| {
            busy(us);
            *x
        };
        let set: HashSet<u64> = v.iter().copied().collect();
        assert_eq!(set.par().map(slow).collect::<HashSet<_>>(), set);
        assert_eq!(set.clone().into_par().collect::<HashSet<_>>(), set);
        let sorted: BTreeSet<u64> = v.iter().copied().collect();
        assert!(
            sorted
                .par()
                .map(slow)
                .collect::<Vec<_>>()
                .iter()
                .eq(&sorted)
        );
        assert_eq!(sorted.clone().into_par().collect::<BTreeSet<_>>(), sorted);
        let mut map: HashMap<usize, u64> = v.iter().copied().enumerate().collect();
        (&mut map).into_par().for_each(|(_, x)| *x += slow(&1));
        assert_eq!(
            map.par().map(|(_, x)| *x).sum::<u64>(),
            v.iter().map(|x| x + 1).sum()
        );
        assert_eq!(map.clone().into_par().collect::<HashMap<_, _>>(), map);
        let mut tree: BTreeMap<usize, u64> = v.iter().copied().enumerate().collect();
        (&mut tree).into_par().for_each(|(_, x)| *x += slow(&1));
        assert!(tree.par().collect::<Vec<_>>().into_iter().eq(&tree));
        assert_eq!(tree.clone().into_par().collect::<BTreeMap<_, _>>(), tree);
        // Its elements lie in two slices.
        let mut queue: VecDeque<u64> = v.iter().copied().collect();
        queue.rotate_left(v.len() / 3);
        (&mut queue).into_par().for_each(|x| *x += slow(&1));
        assert!(queue.par().collect::<Vec<_>>().into_iter().eq(&queue));
        assert_eq!(queue.clone().into_par().collect::<VecDeque<_>>(), queue);
    });
    assert_eq!(Some(3).par().count(), 1);
    assert_eq!(None::<u8>.into_par().count(), 0);
}

#[test]
fn slices_and_what_refers_to_them() {
    let mut array = [1, 2, 3];
    (&mut array).into_par().for_each(|x| *x += 1);
    (&mut array[1..]).into_par().for_each(|x| *x += 1);
    assert_eq!((&array).into_par().copied().collect::<Vec<_>>(), [2, 4, 5]);
    let mut vector = array.into_par().collect::<Vec<_>>();
    (&mut vector)
        .into_par()
        .zip(&array)
        .for_each(|(x, y)| *x -= y);
    assert_eq!(vector.into_boxed_slice().into_par().sum::<i32>(), 0);
    assert_eq!(array.as_slice().into_par().sum::<i32>(), 11);
}

#[test]
fn pieces_of_slices() {
    each(|v, us| {
        let sum = |piece: &[u64]| {
            busy(us);
            piece.iter().sum::<u64>()
        };
        for size in [1, 2, 64, 500, usize::MAX] {
            let expected: Vec<u64> = v.windows(size).map(sum).collect();
            assert_eq!(v.par_windows(size).map(sum).collect::<Vec<_>>(), expected);
            assert_eq!(
                v.par_windows(size).rev().map(sum).collect::<Vec<_>>(),
                v.windows(size).rev().map(sum).collect::<Vec<_>>()
            );
            let expected: Vec<u64> = v.chunks_exact(size).map(sum).collect();
            assert_eq!(
                v.par_chunks_exact(size).map(sum).collect::<Vec<_>>(),
                expected
            );
            let mut changed = v.to_vec();
            let pieces = changed.par_chunks_exact_mut(size).map(|piece| {
                piece[0] += 1;
                sum(piece) - 1
            });
            assert_eq!(pieces.collect::<Vec<_>>(), expected);
        }
        assert_eq!(
            v.par_windows(9).chain(v.par_windows(3)).count(),
            v.windows(9).chain(v.windows(3)).count()
        );
    });
}

#[test]
fn lines_of_all_lengths() {
    for len in LENGTHS {
        let line = |i: usize| "ä".repeat(i * i % 17 * (i % 3).min(1));
        for end in ["\n", "\r\n", "\n\n"] {
            let mut text = (0..len).map(|i| line(i) + end).collect::<String>();
            for last in ["", "last", "\r"] {
                text.push_str(last);
                for us in [0, 0, 2, 2] {
                    let slow = |line| {
                        busy(us);
                        line
                    };
                    let lines: Vec<&str> = text.par_lines().map(slow).collect();
                    assert!(lines.into_iter().eq(text.lines()), "{text:?}");
                }
            }
        }
    }
    // Parts that have no line of their own.
    let text = format!("a\n{}\nb", "x".repeat(1_000_000));
    for _ in 0..3 {
        let lines: Vec<usize> = text.par_lines().map(str::len).collect();
        assert_eq!(lines, [1, 1_000_000, 1]);
    }
}
