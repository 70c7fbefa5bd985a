//! There and back again.

use std::fs::File;

use super::{CHUNK, HEADER, MIB, TAG, content, fed, keyed, piped, same, seal, text};
use crate::run::Done;

const SIZES: [usize; 12] = [
    0,
    1,
    CHUNK - 1,
    CHUNK,
    CHUNK + 1,
    63 * CHUNK,
    MIB - 1,
    MIB,
    MIB + 1,
    2 * MIB,
    2 * MIB + CHUNK,
    3 * MIB + 4321,
];

#[test]
fn files_and_pipes_of_any_size_come_back() {
    let folder = keyed();
    let all = text(4 * MIB);
    for size in SIZES {
        let (text, what) = (&all[..size], format!("{size} bytes"));
        folder.file("plain", text);
        let done = folder.line("encrypt -k key plain -o sealed");
        let said = &done.succeeded().stderr;
        assert!(
            said.starts_with("sealed: ") && said.lines().count() == 1,
            "{said}"
        );
        assert_eq!(done.stdout, b"");
        let sealed = content(&folder, "sealed");
        assert_eq!(sealed.len(), HEADER + size + TAG * (size / CHUNK + 1));
        folder
            .line("decrypt --key key sealed --output back")
            .succeeded();
        same(&content(&folder, "back"), text, &what);

        let streamed = piped(&folder, "encrypt -k key", text);
        assert_eq!(streamed.succeeded().stdout.len(), sealed.len());
        let back = piped(&folder, "decrypt -k key - -o -", &streamed.stdout);
        same(&back.succeeded().stdout, text, &what);
        // From one kind of end to the other.
        let back = folder.line("decrypt -k key sealed");
        same(&back.succeeded().stdout, text, &what);
        piped(&folder, "decrypt -k key -o back", &streamed.stdout).succeeded();
        same(&content(&folder, "back"), text, &what);
    }
    assert_eq!(folder.names(), ["back", "key", "plain", "sealed"]);
}

#[test]
fn no_two_files_are_alike() {
    let folder = keyed();
    let text = text(1000);
    let (one, other) = (seal(&folder, &text), seal(&folder, &text));
    let differ = one.iter().zip(&other).filter(|(a, b)| a != b).count();
    // Of bytes at random one in 256 is the same.
    assert!(differ > 900, "{differ} of {} bytes", one.len());
    assert!(!one.windows(8).any(|part| part == &text[..8]));
}

#[test]
fn every_plan_gives_the_same() {
    let folder = keyed();
    let text = text(5 * MIB + 777);
    let sealed = seal(&folder, &text);
    folder.file("sealed", &sealed);
    let ctr = "ctr --key 000102030405060708090a0b0c0d0e0f --iv ffffffffffffffffffffffffffffffff";
    let counted = piped(&folder, ctr, &text).succeeded().stdout.clone();
    for plan in [
        "sequential",
        "sequential/fifo/1",
        "sequential/mailbox/7",
        "sequential/steal/64",
        "farm",
        "farm/mailbox",
        "farm/steal/1",
    ] {
        for workers in 1..=3 {
            let flags = format!("--plan {plan} --workers {workers}");
            let back = folder.line(&format!("decrypt -k key sealed {flags}"));
            same(&back.succeeded().stdout, &text, &flags);
            let again = piped(&folder, &format!("encrypt -k key {flags}"), &text);
            let back = piped(&folder, "decrypt -k key", &again.succeeded().stdout);
            same(&back.succeeded().stdout, &text, &flags);
            let same_stream = piped(&folder, &format!("{ctr} {flags}"), &text);
            same(&same_stream.succeeded().stdout, &counted, &flags);
        }
    }
}

#[test]
fn every_level_of_the_processor_gives_the_same() {
    let folder = keyed();
    let text = text(MIB + 99);
    let sealed = seal(&folder, &text);
    for level in ["scalar", "avx2", "avx512"] {
        let back = fed(
            folder
                .evener(["decrypt", "-k", "key"])
                .env("EVENER_CPU", level),
            &sealed,
        );
        if back.status == Some(2) {
            evener_testing::skip(back.stderr.trim());
            continue;
        }
        same(&back.succeeded().stdout, &text, level);
    }
}

#[test]
fn a_context_has_to_be_given_again() {
    let folder = keyed();
    let sealed = fed(
        &mut folder.evener(["encrypt", "-k", "key", "--context", "backup of 2026"]),
        b"text",
    );
    folder.file("sealed", &sealed.succeeded().stdout);
    let open = |context: &[&str]| {
        let args = ["decrypt", "-k", "key", "sealed"];
        folder.run(args.iter().chain(context))
    };
    assert_eq!(
        open(&["--context", "backup of 2026"]).succeeded().stdout,
        b"text"
    );
    for other in [
        &[][..],
        &["--context", ""],
        &["--context", "backup of 2025"],
    ] {
        open(other).failed(1, &["sealed: ", "context"]);
    }
}

#[test]
fn input_begins_where_the_file_stands() {
    let folder = keyed();
    let text = text(3 * CHUNK);
    let sealed = seal(&folder, &text);
    let path = folder.file("mixed", [b"front".as_slice(), &sealed].concat());
    for range in [None, Some(CHUNK - 3..2 * CHUNK + 5)] {
        let mut file = File::open(&path).unwrap();
        std::io::Read::read_exact(&mut file, &mut [0; 5]).unwrap();
        let mut command = folder.evener(["decrypt", "-k", "key"]);
        if let Some(range) = &range {
            command.arg(format!("--range={}-{}", range.start, range.end));
        }
        let back = Done::of(command.stdin(file));
        let wanted = &text[range.unwrap_or(0..text.len())];
        same(&back.succeeded().stdout, wanted, "from the middle");
    }
}
