use proptest::prelude::*;

use super::*;

fn range(start: u64, end: u64, size: u16) -> Range {
    Range {
        start,
        end,
        sent_at: Time::ZERO,
        stamp: Stamp::default(),
        fate: Fate::Flying,
        retransmitted: false,
        size,
        first: size,
    }
}

/// A flight of `segments` of 1,000 bytes, many in each range.
fn flight(ranges: u64, segments: u64) -> Scoreboard {
    let mut board = Scoreboard::default();
    for number in 0..ranges {
        let len = 1000 * segments;
        board.push(range(number * len, (number + 1) * len, 1000));
    }
    board
}

fn shape(board: &Scoreboard) -> Vec<(u64, u64, Fate)> {
    let all = board.ranges.iter();
    all.map(|range| (range.start, range.end, range.fate))
        .collect()
}

/// CVE-2019-11478: blocks of a byte, on every second.
#[test]
fn blocks_of_a_byte_cut_nothing() {
    let mut board = flight(8, 32);
    for at in (1..256_000).step_by(2) {
        board.sack(at, at + 1, |_| panic!("no segment is whole"));
    }
    assert_eq!((board.ranges.len(), board.sacked()), (8, 0));
}

/// The most that a peer can do: every second segment.
#[test]
fn each_acknowledgement_looks_at_few_ranges() {
    let mut board = flight(400, 32);
    let mut most = 0;
    for at in (0..12_800_000).step_by(2000) {
        board.sack(at, at + 1000, |_| {});
        let mut steps = 0;
        board.lose_of_earlier((Time::NEVER, u64::MAX), |_| {
            steps += 1;
            false
        });
        most = most.max(steps);
        assert!(board.ranges.len() <= MAX_RANGES);
    }
    assert!(most <= MAX_RANGES, "{most}");
    // What cannot be cut any more is still sacked as a whole.
    assert!(board.is_full() || board.ranges.len() + 2 > MAX_RANGES);
    board.sack(1000, 12_800_000, |_| {});
    assert_eq!((board.ranges.len(), board.in_flight()), (1, 0));
    assert_eq!(board.sacked(), 12_800_000);
}

/// Retransmissions in small parts, between which all is lost again.
#[test]
fn retransmissions_make_few_ranges() {
    let mut board = flight(MAX_RANGES as u64, 8);
    let end = MAX_RANGES as u64 * 8000;
    for round in 0..20 {
        board.lose(|_| true);
        for number in 0..MAX_RANGES {
            let Some(&lost) = board.first_lost() else {
                break;
            };
            let part = 1000 * (1 + (number as u64 + round) % 3);
            let until = lost.end.min(lost.start + part);
            board.resent(lost.start, until, 1000, Time(round), Stamp::default());
            if number % 5 == 0 {
                board.sack(lost.start, until, |_| {});
            }
            board.check(0, end);
            assert!(board.ranges.len() <= 3 * MAX_RANGES);
        }
    }
}

#[test]
fn segments_of_which_a_part_is_named_are_not_sacked() {
    use Fate::{Flying, Sacked};
    let mut board = flight(1, 5);
    board.sack(500, 3999, |_| {});
    let expected = [
        (0, 1000, Flying),
        (1000, 3000, Sacked),
        (3000, 5000, Flying),
    ];
    assert_eq!(shape(&board), expected);
    // The front is acknowledged in the middle of a segment: the borders stay.
    board.acknowledge(3100, |_| {});
    board.sack(3100, 4500, |_| {});
    assert_eq!(shape(&board), [(3100, 4000, Sacked), (4000, 5000, Flying)]);
    // The last segment is short.
    board.push(range(5000, 5100, 1000));
    board.sack(4001, 5100, |_| {});
    let expected = [
        (3100, 4000, Sacked),
        (4000, 5000, Flying),
        (5000, 5100, Sacked),
    ];
    assert_eq!(shape(&board), expected);
}

#[test]
fn what_goes_out_in_other_segments_has_other_borders() {
    let mut board = flight(1, 4);
    board.lose(|_| true);
    board.resent(1000, 2000, 400, Time(1), Stamp::default());
    board.sack(1300, 1900, |_| {});
    assert_eq!(board.sacked(), 400);
    assert_eq!(shape(&board)[2], (1400, 1800, Fate::Sacked));
}

/// A fate for each byte, and where segments end.
#[derive(Default)]
struct Table {
    fates: Vec<Fate>,
    borders: Vec<usize>,
}

proptest! {
    /// Beside one fate for each byte.
    #[test]
    fn it_agrees_with_a_table_of_bytes(
        steps in prop::collection::vec((0u8..5, 0u64..400, 1u64..80, 5u16..30), 1..60),
    ) {
        let mut board = Scoreboard::default();
        let mut table = Table::default();
        let mut una = 0usize;
        for (step, at, len, size) in steps {
            let bytes = &mut table.fates;
            let end_of_all = bytes.len() as u64;
            let start = (una as u64 + at).min(end_of_all);
            let end = (start + len).min(end_of_all);
            match step {
                0 => {
                    board.push(range(end_of_all, end_of_all + len, size));
                    bytes.resize(bytes.len() + len as usize, Fate::Flying);
                    let starts = (0..len as usize).step_by(size.into());
                    table.borders.extend(starts.map(|at| end_of_all as usize + at));
                }
                1 if end > start => {
                    let is_border = |at: &usize| table.borders.contains(at) || *at == una || *at == bytes.len();
                    let (start, end) = (start as usize, end as usize);
                    let mut news = 0;
                    board.sack(start as u64, end as u64, |range| news += range.len());
                    let from = (start..=end).find(is_border).unwrap_or(end);
                    let until = (start..=end).rev().find(is_border).unwrap_or(from);
                    let slice = &mut bytes[from..until.max(from)];
                    let expected = slice.iter().filter(|&&fate| fate != Fate::Sacked).count();
                    prop_assert_eq!(news, expected as u64);
                    slice.fill(Fate::Sacked);
                }
                2 => {
                    let mut news = 0;
                    board.acknowledge(end, |range| news += range.len());
                    let slice = &bytes[una..end as usize];
                    let expected = slice.iter().filter(|&&fate| fate != Fate::Sacked).count();
                    prop_assert_eq!(news, expected as u64);
                    una = end as usize;
                }
                3 => {
                    // Some ranges, and the first segment.
                    board.lose(|range| range.start % 3 == 0);
                    board.lose_first();
                    let mut left = bytes.len() as u64;
                    for range in board.ranges.iter().rev() {
                        for fate in &mut bytes[range.start as usize..left as usize] {
                            *fate = range.fate;
                        }
                        left = range.start;
                    }
                }
                4 => {
                    let Some(&lost) = board.first_lost() else { continue };
                    let end = lost.end.min(lost.start + len);
                    board.resent(lost.start, end, size, Time::ZERO, Stamp::default());
                    bytes[lost.start as usize..end as usize].fill(Fate::Flying);
                    let (from, until) = (lost.start as usize, end as usize);
                    table.borders.retain(|at| !(from..until).contains(at));
                    table.borders.extend((from..until).step_by(size.into()));
                    table.borders.push(until);
                }
                _ => {}
            }
            let bytes = &table.fates;
            board.check(una as u64, bytes.len() as u64);
            let count = |wanted| bytes[una..].iter().filter(|&&fate| fate == wanted).count() as u64;
            prop_assert_eq!(board.in_flight(), count(Fate::Flying));
            prop_assert_eq!(board.lost(), count(Fate::Lost));
            prop_assert_eq!(board.sacked(), count(Fate::Sacked));
            let first = bytes[una..].iter().position(|&fate| fate == Fate::Lost);
            prop_assert_eq!(board.first_lost().map(|range| range.start), first.map(|at| (una + at) as u64));
        }
    }
}
