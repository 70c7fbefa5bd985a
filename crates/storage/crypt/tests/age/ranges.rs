//! Sizes around chunks and units, ranges, and files that were changed.

use std::fs;

use evener_crypt::age::{CHUNK, Identity, SEALED_CHUNK};

use super::{open, seal};
use evener_testing::Folder;

fn text(length: usize) -> Vec<u8> {
    (0..length).map(|i| (i * 31 + i / 251) as u8).collect()
}

#[test]
fn every_length_comes_back() {
    let folder = Folder::new();
    let identity = Identity::generate().unwrap();
    let unit = 16 * CHUNK;
    for length in [
        0,
        1,
        CHUNK - 1,
        CHUNK,
        CHUNK + 1,
        2 * CHUNK,
        unit - 1,
        unit,
        unit + 1,
        2 * unit,
        2 * unit + CHUNK,
    ] {
        let plain = text(length);
        folder.file("plain", &plain);
        for armor in [false, true] {
            seal(&folder, &identity, armor);
            assert!(
                open(&folder, &identity, None).unwrap() == plain,
                "{length} {armor}"
            );
        }
    }
}

#[test]
fn ranges_are_parts_of_the_whole() {
    let folder = Folder::new();
    let identity = Identity::generate().unwrap();
    for length in [0, 1000, 2 * CHUNK, 20 * CHUNK + 5] {
        let plain = text(length);
        folder.file("plain", &plain);
        for armor in [false, true] {
            seal(&folder, &identity, armor);
            let places = [
                0,
                1,
                CHUNK - 1,
                CHUNK,
                CHUNK + 1,
                2 * CHUNK,
                17 * CHUNK,
                length,
            ];
            for from in places.into_iter().filter(|&from| from <= length) {
                for to in places.into_iter().filter(|&to| from <= to && to <= length) {
                    let got = open(&folder, &identity, Some(&format!("{from}-{to}")));
                    assert!(
                        got.unwrap() == plain[from..to],
                        "{length} {armor} {from}-{to}"
                    );
                }
                let got = open(&folder, &identity, Some(&format!("{from}-")));
                assert!(got.unwrap() == plain[from..], "{length} {armor} {from}-");
            }
            for count in places {
                let got = open(&folder, &identity, Some(&format!("-{count}")));
                match armor {
                    true => assert!(got.unwrap_err().contains("not known before its end")),
                    false => assert!(got.unwrap() == plain[length.saturating_sub(count)..]),
                }
            }
            let beyond = open(&folder, &identity, Some(&format!("0-{}", length + 1)));
            assert!(beyond.is_err(), "{length} {armor}");
        }
    }
}

#[test]
fn cut_and_changed_files_are_refused() {
    let folder = Folder::new();
    let identity = Identity::generate().unwrap();
    folder.file("plain", text(3 * CHUNK));
    seal(&folder, &identity, false);
    let sealed = fs::read(folder.path("sealed")).unwrap();
    let header = sealed.len() - 3 * SEALED_CHUNK;
    for cut in [
        0,
        10,
        100,
        header - 17,
        header - 16,
        header - 1,
        header,
        header + 15,
        header + SEALED_CHUNK,
        header + 2 * SEALED_CHUNK,
        header + 2 * SEALED_CHUNK + 16,
        sealed.len() - 1,
    ] {
        folder.file("sealed", &sealed[..cut]);
        let refused = open(&folder, &identity, None).unwrap_err();
        assert!(refused.contains("sealed: "), "{refused}");
    }
    folder.file("sealed", &sealed[..header + 2 * SEALED_CHUNK]);
    let refused = open(&folder, &identity, None).unwrap_err();
    assert!(
        refused.contains("was cut: it ends before the end of chunk 2"),
        "{refused}"
    );
    for at in (0..header).chain([header, header + SEALED_CHUNK - 1, sealed.len() - 1]) {
        let mut changed = sealed.clone();
        changed[at] ^= 1;
        folder.file("sealed", &changed);
        assert!(open(&folder, &identity, None).is_err(), "{at}");
    }
    let moved = [
        &sealed[..header],
        &sealed[header + SEALED_CHUNK..header + 2 * SEALED_CHUNK],
        &sealed[header..header + SEALED_CHUNK],
        &sealed[header + 2 * SEALED_CHUNK..],
    ];
    folder.file("sealed", moved.concat());
    let refused = open(&folder, &identity, None).unwrap_err();
    assert!(
        refused.contains("was altered: chunk 0 of 64 KiB"),
        "{refused}"
    );
    folder.file("sealed", [&sealed[..], b"x"].concat());
    assert!(open(&folder, &identity, None).is_err());
    let other = Identity::generate().unwrap();
    folder.file("sealed", &sealed);
    let refused = open(&folder, &other, None).unwrap_err();
    assert!(
        refused.contains("none of these identities; it is for X25519"),
        "{refused}"
    );
}
