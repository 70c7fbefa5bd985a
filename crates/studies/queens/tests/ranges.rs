//! Counts in ranges of starts, in any order.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use evener_queens::{Ledger, Options, Session, Starts, search_range};
use evener_runtime::Runtime;
use evener_testing::Folder;

fn runtime() -> Runtime {
    let runtime = Runtime::builder().workers(2).memory(false).build();
    runtime.unwrap()
}

fn ledger(n: u32, parts: u32, file: Option<&Path>) -> Ledger {
    Ledger::open(n, parts, file).unwrap()
}

#[test]
fn ranges_in_any_order_and_some_twice_are_the_total() {
    let runtime = runtime();
    for (n, parts, total) in [
        (0, 3, 1),
        (3, 1, 0),
        (6, 100, 4),
        (12, 7, 14_200),
        (13, 40, 73_712),
    ] {
        let starts = Arc::new(Starts::new(n).unwrap());
        let mut ledger = ledger(n, parts, None);
        for range in ledger.open_ranges().into_iter().rev() {
            assert_eq!(ledger.total(), None);
            let found = search_range(&starts, range.clone(), &runtime, Options::default());
            let found = found.unwrap().unwrap();
            assert!(ledger.add(range.clone(), found));
            assert!(!ledger.add(range, found), "a range counts once");
        }
        assert_eq!(ledger.total(), Some(total), "n {n}");
        assert!(ledger.open_ranges().is_empty() && (ledger.share() - 1.0).abs() < 1e-9);
    }
}

#[test]
fn ranges_that_are_not_open_are_not_noted() {
    let mut ledger = ledger(12, 9, None);
    let first = ledger.open_ranges()[0].clone();
    for wrong in [
        first.start..first.end + 1,
        first.start + 1..first.end,
        1 << 40..1 << 41,
    ] {
        assert!(!ledger.add(wrong, 5));
    }
    assert_eq!(ledger.total(), None);
}

#[test]
fn a_session_goes_on_from_the_file_and_the_other_way_round() {
    let folder = Folder::new();
    let file = folder.path("checkpoint.txt");
    let (runtime, starts) = (runtime(), Arc::new(Starts::new(13).unwrap()));
    let mut half = ledger(13, 20, Some(&file));
    let ranges = half.open_ranges();
    for range in &ranges[..ranges.len() / 2] {
        let found = search_range(&starts, range.clone(), &runtime, Options::default());
        assert!(half.add(range.clone(), found.unwrap().unwrap()));
    }
    half.save().unwrap();
    assert!(
        Session::open(13, Some((&file, Duration::ZERO))).is_err(),
        "it is locked"
    );
    drop(half);
    let again = ledger(13, 5, Some(&file));
    assert_eq!(again.open_ranges()[0].start, ranges[ranges.len() / 2].start);
    drop(again);
    let session = Session::open(13, Some((&file, Duration::ZERO))).unwrap();
    let outcome = session.run(&runtime, Options::default()).unwrap();
    assert!(outcome.resumed > 0 && outcome.total == Some(73_712));
    assert_eq!(ledger(13, 5, Some(&file)).total(), Some(73_712));
}
