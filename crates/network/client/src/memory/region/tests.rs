use std::panic::{AssertUnwindSafe, catch_unwind};

use super::*;

fn panics(f: impl FnOnce()) -> bool {
    catch_unwind(AssertUnwindSafe(f)).is_err()
}

#[test]
fn two_mappings_of_a_file_are_the_same_bytes() {
    let file = tempfile::tempfile().unwrap();
    file.set_len(4096).unwrap();
    let one = Region::of_file(&file, 4096).unwrap();
    let two = Region::of_file(&file, 4096).unwrap();
    Span::new(&one, 100, 8).write(2, &[1, 2, 3]);
    let mut bytes = [9; 5];
    Span::new(&two, 0, 4096).read(101, &mut bytes);
    assert_eq!(bytes, [0, 1, 2, 3, 0]);
    let order = std::sync::atomic::Ordering::Relaxed;
    Span::new(&one, 8, 16).word(8).store(u64::MAX, order);
    assert_eq!(Span::new(&two, 16, 8).half_word(4).load(order), u32::MAX);
}

#[test]
fn a_span_ends_where_it_ends() {
    let region = Region::private(4096).unwrap();
    let span = Span::new(&region, 64, 64);
    assert!(!panics(|| span.write(60, &[1; 4])));
    assert!(!panics(|| {
        let _ = span.part(64, 0);
    }));
    assert!(panics(|| span.write(61, &[1; 4])));
    assert!(panics(|| span.read(usize::MAX, &mut [0; 2])));
    assert!(panics(|| {
        let _ = span.part(1, 64);
    }));
    assert!(panics(|| {
        let _ = Span::new(&region, 4000, 97);
    }));
    assert!(panics(|| {
        let _ = Span::new(&region, 1, usize::MAX);
    }));
    assert!(panics(|| {
        let _ = span.word(57);
    }));
    assert!(panics(|| {
        let _ = span.word(60);
    }));
    assert!(panics(|| {
        let _ = span.word(4);
    }));
    assert!(panics(|| {
        let _ = span.half_word(62);
    }));
    assert!(!panics(|| {
        let _ = span.half_word(60);
    }));
}

#[test]
fn shared_bytes_are_split_and_copied() {
    let region = Region::private(4096).unwrap();
    let span = Span::new(&region, 0, 8);
    span.write(0, &[1, 2, 3, 4, 5, 6, 7, 8]);
    let (first, second) = span.shared(1, 6).split_at(2);
    let (mut two, mut four) = ([0; 2], [0; 4]);
    first.copy_to(&mut two);
    second.copy_to(&mut four);
    assert_eq!((two, four), ([2, 3], [4, 5, 6, 7]));
    assert!(panics(|| {
        let _ = second.split_at(5);
    }));
    assert!(panics(|| second.copy_to(&mut [0; 5])));
    Shared::EMPTY.copy_to(&mut []);
    let (empty, all) = Shared::from(&two[..]).split_at(0);
    assert!(empty.is_empty() && all.len() == 2);
}
