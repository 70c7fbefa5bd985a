//! Totals and numbers of different solutions against published values; those of 16 to 18 rows are in `./ci.sh long`.

use evener_queens::{
    Counts, Error, LARGEST, Searcher, Starts, fundamental, half_turn, quarter_turn, reference,
};
use evener_runtime::Simd;

/// OEIS A000170, from n = 0.
const TOTALS: [u128; 16] = [
    1, 1, 0, 0, 2, 10, 4, 40, 92, 352, 724, 2680, 14_200, 73_712, 365_596, 2_279_184,
];

/// OEIS A002562, from n = 1.
const FUNDAMENTAL: [u128; 15] = [
    1, 0, 0, 1, 2, 1, 6, 12, 46, 92, 341, 1787, 9233, 45_752, 285_053,
];

fn search(simd: Simd, starts: &Starts) -> u128 {
    Searcher::new(simd)
        .search(starts, 0..starts.len())
        .solutions
}

fn agree(n: u32, levels: &[Simd]) {
    let starts = Starts::new(n).unwrap();
    for &simd in levels {
        let total = search(simd, &starts);
        assert_eq!(total, TOTALS[n as usize], "n {n}, {simd}");
        if n > 0 {
            assert_eq!(
                fundamental(n, total),
                Ok(FUNDAMENTAL[n as usize - 1]),
                "n {n}, {simd}"
            );
        }
    }
}

#[test]
fn totals_and_fundamental_solutions_at_every_level() {
    for n in 0..=13 {
        agree(n, &Simd::levels());
    }
}

#[test]
fn totals_of_larger_boards_at_the_best_level() {
    for n in [14, 15] {
        agree(n, &[Simd::detect()]);
    }
}

#[test]
fn the_reference_without_symmetry() {
    for n in 0..=12 {
        assert_eq!(reference::total(n), Ok(TOTALS[n as usize]), "n {n}");
    }
}

/// OEIS A032522 and A033148, from n = 1.
#[test]
fn solutions_that_turns_leave_alone() {
    let half = [
        1, 0, 0, 2, 2, 4, 8, 4, 16, 12, 48, 80, 136, 420, 1240, 3000, 8152, 18_104, 44_184, 144_620,
    ];
    let quarter = [
        1, 0, 0, 2, 2, 0, 0, 0, 0, 0, 0, 8, 8, 0, 0, 64, 128, 0, 0, 480, 704,
    ];
    for (n, expected) in (1..).zip(half) {
        assert_eq!(half_turn(n), Ok(expected), "n {n}");
    }
    for (n, expected) in (1..).zip(quarter) {
        assert_eq!(quarter_turn(n), Ok(expected), "n {n}");
    }
}

#[test]
fn every_depth_and_every_cut_has_the_same_total() {
    for n in [5, 8, 11, 12] {
        for depth in 0..=n as usize {
            let starts = Starts::with_depth(n, depth).unwrap();
            assert_eq!(
                search(Simd::detect(), &starts),
                TOTALS[n as usize],
                "n {n}, depth {depth}"
            );
            let mut searcher = Searcher::new(Simd::detect());
            let step = (starts.len() / 17).max(1);
            let parts = (0..starts.len()).step_by(step as usize);
            let sum: Counts = parts
                .map(|at| searcher.search(&starts, at..at + step))
                .sum();
            assert_eq!(
                sum.solutions, TOTALS[n as usize],
                "n {n}, depth {depth}, {step} starts at a time"
            );
        }
    }
}

#[test]
fn boards_that_are_too_large_are_refused() {
    for n in [LARGEST + 1, 64, u32::MAX] {
        let refused = Error::TooLarge(n);
        assert_eq!(Starts::new(n).unwrap_err(), refused);
        assert_eq!(reference::total(n), Err(refused));
        assert_eq!(half_turn(n), Err(refused));
        assert_eq!(quarter_turn(n), Err(refused));
        assert_eq!(fundamental(n, 0), Err(refused));
    }
    assert!(Error::TooLarge(31).to_string().contains("31 x 31"));
}
