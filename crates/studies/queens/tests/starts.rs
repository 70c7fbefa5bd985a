//! Starts: how they are numbered, what they weigh, and that together they are the whole board.

use std::collections::BTreeSet;

use evener_queens::{Border, Counts, LARGEST, Searcher, Starts};
use evener_runtime::Simd;
use proptest::prelude::*;

#[test]
fn images_turn_and_mirror_queens() {
    let border = Border {
        top: 1,
        bottom: 2,
        left: 3,
        right: 1,
    };
    let turned: BTreeSet<(u8, u8)> = [(1, 4), (2, 0), (0, 1), (4, 3)].into();
    let images = border
        .images(5)
        .map(|image| BTreeSet::from_iter(image.queens(5)));
    assert!(images.contains(&turned), "{images:?} without {turned:?}");
}

#[test]
fn no_start_has_queens_that_attack_each_other_and_no_two_are_the_same() {
    let starts = Starts::with_depth(9, 4).unwrap();
    let mut seen = BTreeSet::new();
    for number in 0..starts.len() {
        let start = starts.get(number).unwrap();
        let border = start.border.queens(9);
        assert!(
            border.iter().all(|queen| start.queens.contains(queen)),
            "{start:?}"
        );
        assert_eq!(start.queens.len(), border.len() + 4, "{start:?}");
        for (i, a) in start.queens.iter().enumerate() {
            for b in &start.queens[..i] {
                let diagonal = a.0.abs_diff(b.0) == a.1.abs_diff(b.1);
                assert!(a.0 != b.0 && a.1 != b.1 && !diagonal, "{start:?}");
            }
        }
        assert!(seen.insert(start.queens.clone()), "{start:?} twice");
    }
    assert_eq!(starts.get(starts.len()), None);
    assert_eq!(starts.get(u64::MAX), None);
}

#[test]
fn the_largest_board_can_be_started() {
    let starts = Starts::with_depth(LARGEST, 0).unwrap();
    assert!(
        (50_000..200_000).contains(&starts.len()),
        "{}",
        starts.len()
    );
    let deep = Starts::with_depth(24, 1).unwrap();
    let last = deep.get(deep.len() - 1).unwrap();
    assert!(last.queens.len() >= 4, "{last:?}");
}

#[test]
fn ranges_beyond_the_end_hold_nothing() {
    let starts = Starts::new(8).unwrap();
    let mut searcher = Searcher::new(Simd::detect());
    for range in [starts.len()..starts.len() + 5, 3..3, u64::MAX - 1..u64::MAX] {
        assert_eq!(
            searcher.search(&starts, range.clone()),
            Counts::default(),
            "{range:?}"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Solutions of a range are those of its two parts, wherever it is cut.
    #[test]
    fn ranges_add_up(n in 5u32..=11, depth in 0usize..=4, cuts in [0.0..1.0, 0.0..1.0, 0.0..1.0f64]) {
        let starts = Starts::with_depth(n, depth).unwrap();
        let mut at = cuts.map(|cut| (cut * starts.len() as f64) as u64);
        at.sort_unstable();
        let mut searcher = Searcher::new(Simd::detect());
        let mut solutions = |range| searcher.search(&starts, range).solutions;
        prop_assert_eq!(solutions(at[0]..at[2]), solutions(at[0]..at[1]) + solutions(at[1]..at[2]));
    }
}
