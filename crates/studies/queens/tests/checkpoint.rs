//! The text of a checkpoint: what is written is read again, and nothing else is.

use evener_queens::{Checkpoint, Finished, ParseError, Searcher, Starts};
use evener_runtime::Simd;
use proptest::prelude::*;

/// The first `units` units of `starts`, with what is found below them.
fn some(starts: &Starts, units: u64, step: u64) -> Checkpoint {
    let mut searcher = Searcher::new(Simd::detect());
    let mut checkpoint = Checkpoint::new(starts);
    for unit in 0..units {
        let range = unit * step..(unit * step + step).min(starts.len());
        checkpoint.add(Finished {
            solutions: searcher.search(starts, range.clone()).solutions,
            starts: range,
        });
    }
    checkpoint
}

#[test]
fn what_is_written_is_read_again() {
    let starts = Starts::new(12).unwrap();
    for units in [0, 1, 7] {
        let checkpoint = some(&starts, units, 20);
        let read = Checkpoint::parse(&checkpoint.to_string(), &starts);
        assert_eq!(read, Ok(checkpoint));
    }
}

#[test]
fn the_text_of_six_queens() {
    let starts = Starts::new(6).unwrap();
    let text = "evener queens checkpoint, version 2\nn 6, depth 0, starts 8\n0..3 0\n3..8 4\nsum 4\n\
                check 485b7b71a43c8c1a\n";
    let checkpoint = Checkpoint::parse(text, &starts).unwrap();
    assert_eq!(
        (checkpoint.solutions(), checkpoint.is_complete()),
        (4, true)
    );
    assert_eq!(checkpoint.to_string(), text);
}

#[test]
fn ranges_are_kept_and_add_up_to_the_total() {
    let starts = Starts::new(11).unwrap();
    let all = some(&starts, starts.len().div_ceil(9), 9);
    assert!(all.is_complete());
    assert_eq!(all.solutions(), 2680);
    assert_eq!(all.finished().len() as u64, starts.len().div_ceil(9));
}

#[test]
fn many_ranges_become_fewer_and_lose_nothing() {
    let starts = Starts::new(18).unwrap();
    let mut checkpoint = Checkpoint::new(&starts);
    for start in 0..starts.len() {
        checkpoint.add(Finished {
            starts: start..start + 1,
            solutions: u128::from(start),
        });
        assert!(checkpoint.finished().len() <= 4096);
    }
    let sum = u128::from(starts.len() * (starts.len() - 1) / 2);
    assert_eq!(
        (checkpoint.solutions(), checkpoint.is_complete()),
        (sum, true)
    );
    let read = Checkpoint::parse(&checkpoint.to_string(), &starts);
    assert_eq!(read, Ok(checkpoint));
}

#[test]
fn other_files_are_told_apart() {
    let (eleven, twelve) = (Starts::new(11).unwrap(), Starts::new(12).unwrap());
    let text = some(&eleven, 3, 5).to_string();
    let (found, wanted) = (11, 12);
    assert_eq!(
        Checkpoint::parse(&text, &twelve),
        Err(ParseError::Board { found, wanted })
    );
    assert_eq!(Checkpoint::parse("", &eleven), Err(ParseError::Foreign));
    assert_eq!(
        Checkpoint::parse("PNG\u{0}", &eleven),
        Err(ParseError::Foreign)
    );
    let newer = text.replacen("version 2", "version 3", 1);
    assert_eq!(
        Checkpoint::parse(&newer, &eleven),
        Err(ParseError::Version("3".into()))
    );
    let deeper = Starts::with_depth(11, 1).unwrap();
    assert_eq!(
        Checkpoint::parse(&text, &deeper),
        Err(ParseError::Damaged { line: 2 })
    );
}

#[test]
fn every_cut_and_every_changed_byte_is_noticed() {
    let starts = Starts::new(10).unwrap();
    let text = some(&starts, 6, 11).to_string();
    for at in 0..text.len() {
        assert!(
            Checkpoint::parse(&text[..at], &starts).is_err(),
            "cut at {at}"
        );
        for bit in 0..7 {
            let mut bytes = text.clone().into_bytes();
            bytes[at] ^= 1 << bit;
            let changed = String::from_utf8(bytes).unwrap();
            assert!(
                Checkpoint::parse(&changed, &starts).is_err(),
                "{at}: {changed}"
            );
        }
    }
    assert!(Checkpoint::parse(&(text.clone() + "\n"), &starts).is_err());
    assert!(Checkpoint::parse(&text.replace('\n', "\r\n"), &starts).is_err());
}

/// FNV-1a, so that what follows is refused for what it says and not for its check.
fn checked(lines: &str) -> String {
    let sum = lines.bytes().fold(0xcbf2_9ce4_8422_2325u64, |sum, byte| {
        (sum ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
    });
    format!("{lines}check {sum:016x}\n")
}

#[test]
fn ranges_that_cannot_be_are_refused() {
    let starts = Starts::new(10).unwrap();
    let len = starts.len();
    let head = format!("evener queens checkpoint, version 2\nn 10, depth 0, starts {len}\n");
    let whole = format!("{head}0..5 7\n5..9 3\nsum 10\n");
    assert!(Checkpoint::parse(&checked(&whole), &starts).is_ok());
    for (ranges, line) in [
        ("1..5 7\nsum 7\n".to_owned(), 3),
        ("0..5 7\n6..9 3\nsum 10\n".to_owned(), 4),
        ("0..5 7\n4..9 3\nsum 10\n".to_owned(), 4),
        ("0..0 7\nsum 7\n".to_owned(), 3),
        (format!("0..{} 7\nsum 7\n", len + 1), 3),
        ("0..5 -7\nsum -7\n".to_owned(), 3),
        ("0..5 7\nsum 8\n".to_owned(), 4),
        ("0..5 07\nsum 7\n".to_owned(), 5),
        (format!("0..5 {0}\n5..6 {0}\nsum 0\n", u128::MAX), 6),
        (String::new(), 3),
    ] {
        let refused = Checkpoint::parse(&checked(&(head.clone() + &ranges)), &starts);
        assert_eq!(refused, Err(ParseError::Damaged { line }), "{ranges}");
    }
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in any::<String>(), lines in "([a-z0-9., ]{0,20}\n){0,6}") {
        let starts = Starts::new(6).unwrap();
        for text in [text.clone(), lines.clone(), checked(&lines)] {
            prop_assert!(Checkpoint::parse(&text, &starts).is_err());
            let known = format!("evener queens checkpoint, version 2\n{text}");
            prop_assert!(Checkpoint::parse(&known, &starts).is_err());
            prop_assert!(Checkpoint::parse(&checked(&known), &starts).is_err());
            let board = format!("evener queens checkpoint, version 2\nn 6, depth 0, starts {}\n{text}", starts.len());
            let _ = Checkpoint::parse(&checked(&board), &starts);
        }
    }
}
