use super::*;

/// Checks that no code begins another, and returns what they leave of all bits, in units of 2^-16.
fn unused(codes: &[Code]) -> u32 {
    for (index, a) in codes.iter().enumerate() {
        assert!((1..=16).contains(&a.length), "{a:?}");
        for b in &codes[index + 1..] {
            let length = a.length.min(b.length);
            assert_ne!(
                a.bits >> (a.length - length),
                b.bits >> (b.length - length),
                "{a:?} and {b:?}"
            );
        }
    }
    let used: u32 = codes.iter().map(|code| 1 << (16 - code.length)).sum();
    (1 << 16) - used
}

/// The codes of as many levels as there may be, and as many trailing ones as there are levels.
fn tokens(table: &CoeffTokens, most: usize) -> Vec<Code> {
    for (count, line) in table.iter().enumerate() {
        for (ones, code) in line.iter().enumerate() {
            assert_eq!(
                code.length != 0,
                count <= most && ones <= count,
                "{count} {ones}"
            );
        }
    }
    let used = |(count, line): (usize, &[Code; 4])| line[..(count + 1).min(4)].to_vec();
    let lines = table[..=most].iter().enumerate();
    lines.flat_map(used).collect()
}

#[test]
fn coeff_tokens_leave_only_what_the_standard_leaves() {
    // Without a code are those that begin with 15, 13 and 10 zeros; and 000010 and 000111.
    assert_eq!(unused(&tokens(&COEFF_TOKEN_0, 16)), 1 << 1);
    assert_eq!(unused(&tokens(&COEFF_TOKEN_2, 16)), 1 << 3);
    assert_eq!(unused(&tokens(&COEFF_TOKEN_4, 16)), 1 << 6);
    assert_eq!(unused(&tokens(&COEFF_TOKEN_8, 16)), 2 << 10);
    assert_eq!(unused(&tokens(&COEFF_TOKEN_CHROMA_DC, 4)), 0);
}

#[test]
fn total_zeros_leave_only_what_the_standard_leaves() {
    for (index, table) in TOTAL_ZEROS.iter().enumerate() {
        // As many zeros as there is room for beside the levels.
        let values = 16 - index;
        assert!(table[values..].iter().all(|code| code.length == 0));
        // Of a single level, 0000 0000 0 is no code.
        let left = if index == 0 { 1 << 7 } else { 0 };
        assert_eq!(unused(&table[..values]), left, "{} levels", index + 1);
    }
    for (index, table) in TOTAL_ZEROS_CHROMA_DC.iter().enumerate() {
        let values = 4_usize.saturating_sub(index);
        let values = if values < 2 { 0 } else { values };
        assert!(table[values..].iter().all(|code| code.length == 0));
        if values > 0 {
            assert_eq!(unused(&table[..values]), 0);
        }
    }
}

#[test]
fn run_before_leaves_only_what_the_standard_leaves() {
    for (index, table) in RUN_BEFORE.iter().enumerate() {
        let (values, left) = match index {
            6 => (15, 1 << 5),
            _ => (index + 2, 0),
        };
        assert!(table[values..].iter().all(|code| code.length == 0));
        assert_eq!(unused(&table[..values]), left, "{} zeros", index + 1);
    }
}

#[test]
fn each_pattern_has_one_number() {
    for numbers in &CODED_BLOCK_PATTERN {
        let mut sorted = *numbers;
        sorted.sort_unstable();
        assert!(
            sorted
                .iter()
                .enumerate()
                .all(|(at, &number)| at == number as usize)
        );
    }
}
