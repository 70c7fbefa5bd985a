//! What is secret stays so, and what holds it stays as it is.

use std::fs::{self, File};
use std::process::Stdio;

use super::{content, keyed};
use crate::run::{Done, Folder};

const SECRET: &str = "5ec2e75ec2e75ec2e75ec2e75ec2e75e";

#[test]
fn no_message_repeats_a_key() {
    let folder = keyed();
    folder.file("plain", "text");
    let key = String::from_utf8(content(&folder, "key")).unwrap();
    let key = key.trim();
    for line in [
        // A letter too many, a digit too few, other lengths, what belongs elsewhere.
        format!("ctr --key {SECRET}g --iv {SECRET} plain"),
        format!("ctr --key={SECRET}0 --iv {SECRET} plain"),
        format!("ctr --key {SECRET} --iv {SECRET}g plain"),
        format!("ctr --key {SECRET} --iv {SECRET}00 plain"),
        format!("ctr --key {SECRET}00 --iv {SECRET} plain -vv --explain"),
        format!("ctr --kye={SECRET} --iv {SECRET} plain"),
        format!("product encrypt --key {SECRET}g plain"),
        format!("product encrypt --key {SECRET}00 plain"),
        format!("product encrypt --key=\u{e9}{SECRET} plain"),
        format!("encrypt --passphrase={SECRET} plain"),
        format!("encrypt -k {key} plain"),
        format!("decrypt -k {} plain", key.to_uppercase()),
    ] {
        let done = folder.line(&format!("{line} -o x"));
        assert!(matches!(done.status, Some(1 | 2)), "{line}: {done:?}");
        let said = done.stderr.to_lowercase();
        assert_eq!(said.lines().count(), 1, "{said}");
        assert!(!said.contains(&SECRET[..8]), "{said}");
        assert!(!said.contains(&key[..8]), "{said}");
    }
    folder
        .line(&format!("ctr --key {SECRET}g --iv {SECRET} plain"))
        .failed(2, &["--key", "character 33 is not a hexadecimal digit"]);
    folder
        .line(&format!("encrypt -k {key} plain"))
        .failed(1, &["-k (a key itself", "No such file"]);
    assert_eq!(folder.names(), ["key", "plain"]);
}

#[test]
fn reports_and_logs_hold_no_key() {
    let folder = keyed();
    folder.file("plain", "text");
    let done = folder.line(&format!(
        "ctr --key {SECRET} --iv {SECRET} plain -o x --json r --trace t --explain -vvv"
    ));
    let told = done.succeeded().stderr.clone() + &done.text();
    for text in [
        &told,
        &fs::read_to_string(folder.path("r")).unwrap(),
        &fs::read_to_string(folder.path("t")).unwrap(),
    ] {
        assert!(!text.contains(&SECRET[..8]), "{text}");
    }
}

/// `evener ... >> file`
fn appended(folder: &Folder, line: &str, file: &str) -> Done {
    let file = File::options().append(true).open(folder.path(file));
    let mut command = folder.evener(line.split(' '));
    Done::of(command.stdout(file.unwrap()).stderr(Stdio::piped()))
}

#[test]
fn the_standard_output_is_not_led_into_the_secret() {
    let folder = keyed();
    folder.file("plain", "text");
    folder.file("words", "a passphrase\n");
    let before = (content(&folder, "key"), content(&folder, "words"));
    for (line, file) in [
        ("encrypt -k key plain", "key"),
        ("encrypt -k key plain -o -", "key"),
        ("encrypt -k key plain -o x --json -", "key"),
        ("decrypt -k key plain", "key"),
        ("encrypt --passphrase-file words plain", "words"),
    ] {
        let done = appended(&folder, line, file);
        done.failed(2, &["standard output: is the key or passphrase as well"]);
    }
    assert_eq!((content(&folder, "key"), content(&folder, "words")), before);
    assert_eq!(folder.names(), ["key", "plain", "words"]);
}

#[test]
fn reports_are_not_led_into_what_is_read_or_written() {
    let folder = keyed();
    folder.file("plain", "text");
    let done = appended(&folder, "encrypt -k key plain -o x --json -", "plain");
    done.failed(2, &["--json -: is the input as well"]);
    folder.file("x", "");
    let done = appended(&folder, "encrypt -k key plain -o x --json -", "x");
    done.failed(2, &["--json -: is the output as well"]);
    // It is printed where the checkpoint or the report will be another file by then.
    folder.file("c", "");
    for flag in ["--checkpoint", "--json"] {
        let done = appended(&folder, &format!("queens 6 {flag} c"), "c");
        done.failed(2, &[&format!("{flag} c: is the standard output as well")]);
    }
    assert_eq!(content(&folder, "plain"), b"text");
}

#[test]
fn a_passphrase_that_is_more_than_it_seems_is_told() {
    let folder = keyed();
    folder.file("plain", "text");
    let write = |bytes: &[u8], mode| folder.file_with_mode("words", bytes, mode);
    for (bytes, mode, warning) in [
        (&b"correct horse\n"[..], 0o600, None),
        (
            b"\xef\xbb\xbfcorrect horse\n",
            0o600,
            Some("begins with a byte order mark (BOM)"),
        ),
        (b"correct horse \n", 0o600, Some("the line ends in blanks")),
        (
            b"correct horse\t\r\n",
            0o600,
            Some("the line ends in blanks"),
        ),
        (
            b"correct horse\n",
            0o640,
            Some("others than its owner may read or change it (mode 640)"),
        ),
    ] {
        write(bytes, mode);
        let done = folder.line("encrypt --passphrase-file words plain -o x");
        let said = &done.succeeded().stderr;
        let warned: Vec<_> = said
            .lines()
            .filter(|line| line.contains("warning"))
            .collect();
        match warning {
            Some(part) => {
                assert_eq!(warned.len(), 1, "{said}");
                assert!(warned[0].starts_with("evener: warning: words: "), "{said}");
                assert!(warned[0].contains(part), "{said}");
            }
            None => assert_eq!(warned, [""; 0]),
        }
        assert!(!said.contains("horse"), "{said}");
        // What was warned of is a part of it.
        let back = folder.line("decrypt --passphrase-file words x");
        assert_eq!(back.succeeded().stdout, b"text");
        let begin: &[u8] = if bytes.starts_with(b"\xef") {
            b"\xef\xbb\xbf"
        } else {
            b""
        };
        let end: &[u8] = match warning {
            Some("the line ends in blanks") => &bytes[13..14],
            _ => b"",
        };
        write(&[begin, b"correct horse", end].concat(), 0o600);
        let back = folder.line("decrypt --passphrase-file words x");
        assert_eq!(back.succeeded().stdout, b"text");
        write(b"correct horse", 0o600);
        let plain = folder.line("decrypt --passphrase-file words x");
        let own = begin.is_empty() && end.is_empty();
        assert_eq!(plain.status == Some(0), own, "{}", plain.stderr);
    }
    for bytes in [&b"correct\0horse\n"[..], b"\xff\xfec\0o\0\n\0", b"\0"] {
        write(bytes, 0o600);
        let done = folder.line("encrypt --passphrase-file words plain -o y");
        done.failed(1, &["words: the passphrase has a NUL byte in it"]);
    }
    assert_eq!(folder.names(), ["key", "plain", "words", "x"]);
}
