//! Parts of a file.

use std::fs::File;
use std::io::{Seek, SeekFrom, Write};

use super::{CHUNK, HEADER, MIB, SEALED, content, keyed, piped, same, seal, text};
use crate::run::Folder;

const LENGTH: usize = 2 * MIB + 3 * CHUNK + 100;

/// A folder with a key and a sealed file.
fn sealed(length: usize) -> (Folder, Vec<u8>, Vec<u8>) {
    let folder = keyed();
    let text = text(length);
    let sealed = seal(&folder, &text);
    folder.file("sealed", &sealed);
    (folder, text, sealed)
}

#[test]
fn a_range_is_that_part_of_the_text() {
    let (folder, text, sealed) = sealed(LENGTH);
    let ends = [0, 1, CHUNK - 1, CHUNK, MIB - 1, MIB, 2 * MIB + 5, LENGTH];
    for (i, &from) in ends.iter().enumerate() {
        for (n, &to) in ends[i..].iter().enumerate() {
            let line = format!("decrypt -k key --range {from}-{to}");
            // Of two ranges one from a file and one from a pipe.
            let done = match (i + n) % 2 {
                0 => folder.line(&format!("{line} sealed")),
                _ => piped(&folder, &line, &sealed),
            };
            same(&done.succeeded().stdout, &text[from..to], &line);
        }
        let line = format!("decrypt -k key --range {from}- sealed -o out");
        folder.line(&line).succeeded();
        same(&content(&folder, "out"), &text[from..], &line);
        let done = piped(&folder, &format!("decrypt -k key --range {from}-"), &sealed);
        same(&done.succeeded().stdout, &text[from..], &line);
    }
}

#[test]
fn the_last_bytes_are_those_before_the_end() {
    for length in [0, 100, CHUNK, LENGTH] {
        let (folder, text, sealed) = sealed(length);
        for count in [0, 1, 500, CHUNK, LENGTH, 2 * LENGTH] {
            let line = format!("decrypt -k key --range -{count} sealed");
            let done = folder.line(&line);
            let wanted = &text[length.saturating_sub(count)..];
            same(&done.succeeded().stdout, wanted, &line);
        }
        let done = piped(&folder, "decrypt -k key --range=-500 -o out", &sealed);
        done.failed(1, &["standard input: the last bytes of a pipe", "tail -c"]);
        assert_eq!(folder.names(), ["key", "sealed"]);
    }
}

#[test]
fn of_texts_of_whole_chunks_too() {
    for length in [0, CHUNK, 64 * CHUNK] {
        let (folder, text, sealed) = sealed(length);
        for from in [0, length] {
            for to in [from, length] {
                let line = format!("decrypt -k key --range {from}-{to}");
                let done = folder.line(&format!("{line} sealed"));
                same(&done.succeeded().stdout, &text[from..to], &line);
                let done = piped(&folder, &line, &sealed);
                same(&done.succeeded().stdout, &text[from..to], &line);
            }
        }
    }
}

#[test]
fn beyond_the_end_is_refused() {
    for length in [0, 100, 2 * CHUNK, LENGTH] {
        let (folder, text, sealed) = sealed(length);
        let most = u64::MAX.to_string();
        for (from, to) in [
            (0, (length + 1).to_string()),
            (length, (length + 1).to_string()),
            (length + 1, (length + 1).to_string()),
            (length + 1, String::new()),
            (length + 5 * CHUNK, String::new()),
            (length + 5 * CHUNK, (length + 6 * CHUNK).to_string()),
            (0, most.clone()),
            (usize::MAX - 1, most),
            (usize::MAX, String::new()),
        ] {
            let range = format!("decrypt -k key --range {from}-{to}");
            let done = folder.line(&format!("{range} sealed -o out"));
            done.failed(
                1,
                &["sealed: the range ", &format!("beyond the {length} bytes")],
            );
            let done = piped(&folder, &format!("{range} -o out"), &sealed);
            done.failed(1, &["range"]);
            assert_eq!(folder.names(), ["key", "sealed"], "{range}");
            let done = piped(&folder, &range, &sealed);
            assert_eq!(done.status, Some(1), "{range}: {}", done.stderr);
            assert_eq!(done.stderr.lines().count(), 1, "{range}: {}", done.stderr);
            let there = text.get(from..).unwrap_or_default();
            assert!(there.starts_with(&done.stdout), "{range}");
        }
    }
}

#[test]
fn what_is_no_range_is_a_wrong_command_line() {
    let (folder, _, _) = sealed(10);
    for range in [
        "5-4",
        "7",
        "a-b",
        "1-b",
        "1-2-3",
        "1..2",
        "-",
        "0x1-2",
        "99999999999999999999-",
        "1-99999999999999999999",
        "",
    ] {
        let flag = format!("--range={range}");
        let done = folder.run(["decrypt", "-k", "key", &flag, "sealed", "-o", "out"]);
        done.failed(2, &["--range"]);
    }
    assert_eq!(folder.names(), ["key", "sealed"]);
}

#[test]
fn only_the_chunks_of_the_range_are_read() {
    let (folder, text, sealed) = sealed(LENGTH);
    let mut bad = sealed.clone();
    let needed = 66;
    for chunk in (0..=131).filter(|&chunk| chunk != needed) {
        bad[HEADER + chunk * SEALED + 3] ^= 1;
    }
    folder.file("bad", &bad);
    let (from, to) = (needed * CHUNK, (needed + 1) * CHUNK);
    let inside = folder.line(&format!("decrypt -k key --range {from}-{to} bad"));
    same(
        &inside.succeeded().stdout,
        &text[from..to],
        "the good chunk",
    );
    let piped = piped(
        &folder,
        &format!("decrypt -k key --range {from}-{to}"),
        &bad,
    );
    same(&piped.succeeded().stdout, &text[from..to], "of a pipe");
    for (from, to) in [(from - 1, to), (from, to + 1), (0, 1), (LENGTH, LENGTH)] {
        let done = folder.line(&format!("decrypt -k key --range {from}-{to} bad -o out"));
        done.failed(1, &["bad: was altered"]);
    }
    // What was cut off elsewhere does not matter either, if the size is one that a file can have.
    folder.file("cut", &sealed[..HEADER + 20 * SEALED + 500]);
    let done = folder.line("decrypt -k key --range 100-200 cut");
    same(&done.succeeded().stdout, &text[100..200], "of a cut file");
}

#[test]
fn beyond_five_gib_nothing_before_is_read() {
    use evener_crypt::chunked::{FileKey, Scheme};

    let folder = keyed();
    let key = File::open(folder.path("key")).unwrap();
    let key = evener_crypt::keys::read_all(&key).unwrap();
    let simd = evener_runtime::Simd::detect();
    let scheme = Scheme::Cobblestone256;
    let (key, header) = FileKey::create(scheme, key.bytes(), b"", &[5; 24], simd).unwrap();
    // A file of 5 GiB with holes, of which only the chunks at the end were ever written.
    let chunks = (5 << 30) / CHUNK;
    let text = text(CHUNK + 77);
    let mut sealed = vec![0; text.len() + 2 * 16];
    key.seal(chunks as u64, &text, true, &mut sealed).unwrap();
    let mut file = File::create(folder.path("sparse")).unwrap();
    file.write_all(&header).unwrap();
    let place = HEADER + chunks * SEALED;
    file.seek(SeekFrom::Start(place as u64)).unwrap();
    file.write_all(&sealed).unwrap();

    let begin = 5usize << 30;
    for (from, to) in [
        (0, text.len()),
        (5, 10),
        (CHUNK - 1, CHUNK + 1),
        (text.len(), text.len()),
    ] {
        let range = format!("{}-{}", begin + from, begin + to);
        let done = folder.line(&format!("decrypt -k key --range {range} sparse"));
        same(&done.succeeded().stdout, &text[from..to], &range);
    }
    let done = folder.line(&format!("decrypt -k key --range {begin}- sparse"));
    same(&done.succeeded().stdout, &text, "to the end");
    folder
        .line(&format!(
            "decrypt -k key --range {}-{begin} sparse",
            begin - 1
        ))
        .failed(1, &["sparse: was altered: chunk 327679,"]);
}
