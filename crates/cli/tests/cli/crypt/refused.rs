//! Files that are not what was encrypted: one line, exit status 1, no file, and into a pipe only what was verified.

use super::{CHUNK, HEADER, MIB, SEALED, TAG, keyed, piped, seal, text};
use crate::run::Folder;

/// A folder with a key, a text, and the text sealed.
struct Case {
    folder: Folder,
    text: Vec<u8>,
    sealed: Vec<u8>,
}

impl Case {
    fn new(size: usize) -> Case {
        let folder = keyed();
        let text = text(size);
        let sealed = seal(&folder, &text);
        Case {
            folder,
            text,
            sealed,
        }
    }

    /// Refuses `file`, of which at most chunks before number `chunk` are what was sealed.
    #[track_caller]
    fn refuses(&self, what: &str, file: &[u8], chunk: usize) {
        self.refuses_with("-k key", what, file, chunk);
    }

    #[track_caller]
    fn refuses_with(&self, flags: &str, what: &str, file: &[u8], chunk: usize) {
        assert!(file != self.sealed, "{what} changes nothing");
        let folder = &self.folder;
        folder.file("bad", file);
        let before = folder.names();
        let line = format!("decrypt {flags} bad -o out");
        folder.line(&line).failed(1, &["bad: "]);
        assert_eq!(folder.names(), before, "{what}");

        let from_file = folder.line(&format!("decrypt {flags} bad"));
        let from_pipe = piped(folder, &format!("decrypt {flags}"), file);
        for (done, name) in [(from_file, "bad"), (from_pipe, "standard input")] {
            assert_eq!(done.status, Some(1), "{what}: {}", done.stderr);
            assert_eq!(done.stderr.lines().count(), 1, "{what}: {}", done.stderr);
            let begin = format!("evener: {name}: ");
            assert!(done.stderr.starts_with(&begin), "{what}: {}", done.stderr);
            let verified = self.text.len().min(chunk * CHUNK);
            assert!(
                self.text[..verified].starts_with(&done.stdout),
                "{what}: {} bytes that are not of the {verified} verified",
                done.stdout.len()
            );
        }
    }
}

#[test]
fn one_bit_anywhere() {
    let case = Case::new(2 * MIB + 3 * CHUNK + 100);
    let end = case.sealed.len() - 1;
    let in_chunks = [0, 1, 63, 64, 65, 127, 130].map(|chunk| HEADER + chunk * SEALED);
    let places = [0, 7, 23, 24, 40, 55, end, end - TAG, end - TAG - 100]
        .into_iter()
        .chain(
            in_chunks
                .into_iter()
                .flat_map(|at| [at, at + CHUNK - 1, at + CHUNK, at + SEALED - 1]),
        )
        // And some that are not chosen by hand.
        .chain((1..8).map(|i| i * 0x9E37_79B9 % end));
    for (i, at) in places.enumerate() {
        let mut file = case.sealed.clone();
        file[at] ^= 1 << (i % 8);
        let chunk = at.saturating_sub(HEADER) / SEALED;
        case.refuses(&format!("bit {} of byte {at}", i % 8), &file, chunk);
    }
}

#[test]
fn every_bit_of_the_header() {
    let case = Case::new(10);
    for bit in 0..8 * HEADER {
        let mut file = case.sealed.clone();
        file[bit / 8] ^= 1 << (bit % 8);
        case.folder.file("bad", &file);
        let done = case.folder.line("decrypt -k key bad -o out");
        done.failed(1, &["bad: ", "header is damaged"]);
    }
    assert_eq!(case.folder.names(), ["bad", "key"]);
}

#[test]
fn cut_anywhere() {
    let case = Case::new(MIB + 2 * CHUNK + 100);
    let length = case.sealed.len();
    let header = [0, 1, 23, 24, 35, 36, 37, 55, 56, 57];
    let borders = [0, 1, 63, 64, 65, 66].map(|chunk| HEADER + chunk * SEALED);
    let near = borders
        .into_iter()
        .flat_map(|at| [at - 1, at, at + 1, at + TAG - 1, at + TAG, at + TAG + 1]);
    let end = [1, 15, 16, 17, 99, 100, 101, 116].map(|n| length - n);
    for cut in header.into_iter().chain(near).chain(end) {
        let chunk = cut.saturating_sub(HEADER) / SEALED;
        case.refuses(&format!("cut at {cut}"), &case.sealed[..cut], chunk);
    }
}

#[test]
fn a_text_of_whole_chunks_cannot_be_cut_either() {
    let case = Case::new(2 * CHUNK);
    let empty = HEADER + 2 * SEALED;
    for cut in [HEADER, HEADER + SEALED, empty, empty + 1, empty + TAG - 1] {
        let chunk = (cut - HEADER) / SEALED;
        case.refuses(&format!("cut at {cut}"), &case.sealed[..cut], chunk);
    }
    // Without its last chunk, and a shorter one in its place.
    let short = [&case.sealed[..HEADER + SEALED], &case.sealed[empty..]].concat();
    case.refuses("a chunk left out", &short, 1);
}

#[test]
fn longer_than_it_was() {
    let case = Case::new(MIB + CHUNK + 100);
    let last = (case.sealed.len() - HEADER) / SEALED;
    let chunks = &case.sealed[HEADER..];
    for (what, more) in [
        ("a byte", &b"x"[..]),
        ("zeros", &[0; 4096]),
        ("a tag", &chunks[chunks.len() - TAG..]),
        ("a chunk", &chunks[..SEALED]),
        ("its last chunk", &chunks[last * SEALED..]),
        ("all of it", &case.sealed),
    ] {
        let file = [&case.sealed, more].concat();
        case.refuses(&format!("{what} appended"), &file, last);
    }
}

#[test]
fn chunks_in_other_places() {
    let case = Case::new(2 * MIB + 5 * CHUNK + 100);
    let chunk = |n: usize| HEADER + n * SEALED..HEADER + (n + 1) * SEALED;
    for (a, b) in [(0, 1), (0, 132), (63, 64), (1, 65), (64, 128)] {
        let mut file = case.sealed.clone();
        file[chunk(a)].copy_from_slice(&case.sealed[chunk(b)]);
        case.refuses(&format!("chunk {b} twice"), &file, a);
        file[chunk(b)].copy_from_slice(&case.sealed[chunk(a)]);
        case.refuses(&format!("chunks {a} and {b} swapped"), &file, a);
    }
    let without = [&case.sealed[..chunk(3).start], &case.sealed[chunk(3).end..]].concat();
    case.refuses("chunk 3 left out", &without, 3);
}

#[test]
fn parts_of_another_file() {
    let case = Case::new(3 * CHUNK + 100);
    let other = seal(&case.folder, &case.text);
    let (header, chunks) = case.sealed.split_at(HEADER);
    case.refuses(
        "another salt",
        &[&other[..24], &case.sealed[24..]].concat(),
        0,
    );
    case.refuses("another header", &[&other[..HEADER], chunks].concat(), 0);
    case.refuses("other chunks", &[header, &other[HEADER..]].concat(), 0);
    let mut file = case.sealed.clone();
    let second = HEADER + SEALED..HEADER + 2 * SEALED;
    file[second.clone()].copy_from_slice(&other[second]);
    case.refuses("another chunk 1", &file, 1);
}

#[test]
fn another_key() {
    let case = Case::new(3 * CHUNK);
    case.folder.line("keygen -o other").succeeded();
    case.folder.file("sealed", &case.sealed);
    let before = case.folder.names();
    for flags in ["-o out", "--range 5-10 -o out", ""] {
        let done = case
            .folder
            .line(&format!("decrypt -k other sealed {flags}"));
        done.failed(1, &["sealed: ", "the key", "does not match"]);
    }
    assert_eq!(case.folder.names(), before);
}

#[test]
fn a_refused_file_leaves_the_old_output() {
    let case = Case::new(MIB + 5);
    let mut file = case.sealed.clone();
    file[HEADER + 64 * SEALED + 3] ^= 1;
    case.folder.file("bad", file);
    case.folder.file("out", "old");
    let done = case.folder.line("decrypt -k key bad -o out");
    done.failed(1, &["bad: was altered: chunk 64,"]);
    assert_eq!(super::content(&case.folder, "out"), b"old");
    assert_eq!(case.folder.names(), ["bad", "key", "out"]);
}

#[test]
fn what_was_never_encrypted() {
    let case = Case::new(3 * CHUNK);
    case.refuses("its own text", &case.text, 0);
    case.refuses("a line", b"this is no encrypted file\n", 0);
    case.refuses("zeros", &[0; 100_000], 0);
}

#[test]
fn whatever_the_plan() {
    let case = Case::new(3 * MIB + 100);
    let mut file = case.sealed.clone();
    for chunk in [190, 130, 70] {
        file[HEADER + chunk * SEALED + 5] ^= 4;
        for plan in ["sequential/steal/1", "sequential/mailbox/64", "farm/fifo"] {
            let flags = format!("-k key --plan {plan} --workers 3");
            case.refuses_with(&flags, &format!("chunk {chunk}"), &file, chunk);
        }
    }
    // The first of them is the one that is named.
    case.folder.file("bad", &file);
    case.folder
        .line("decrypt -k key bad -o out --plan sequential/fifo/64")
        .failed(1, &["chunk 70,"]);
}
