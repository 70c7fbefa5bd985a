//! Passphrases: from files, and typed on a terminal.

use std::fs::File;
use std::io::{Read, Write};
use std::process::{Command, Stdio};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use super::{CHUNK, HEADER, content, keyed, same, text};
use crate::run::{Done, Folder};

/// Bytes in front of a file that was encrypted with a passphrase.
const FRONT: usize = 36;

/// A folder with a passphrase, a text, and the text sealed with it.
fn sealed(text: &[u8]) -> Folder {
    let folder = keyed();
    folder.file_with_mode(
        "words",
        "correct horse battery staple\nand what else is in the file",
        0o600,
    );
    folder.file("plain", text);
    let done = folder.line("encrypt --passphrase-file words plain -o sealed");
    assert_eq!(
        done.succeeded().stderr.lines().count(),
        1,
        "{}",
        done.stderr
    );
    folder
}

#[test]
fn the_first_line_is_the_passphrase() {
    let text = text(2 * CHUNK + 100);
    let folder = sealed(&text);
    let file = content(&folder, "sealed");
    assert!(file.starts_with(b"evener~\x01"));
    assert_eq!(file.len(), FRONT + HEADER + text.len() + 3 * 16);
    folder.file("other-line-end", "correct horse battery staple\r\n");
    for name in ["words", "other-line-end"] {
        let done = folder.line(&format!("decrypt --passphrase-file {name} sealed"));
        same(&done.succeeded().stdout, &text, name);
    }
    let flags = "decrypt --passphrase-file words";
    let done = folder.line(&format!("{flags} sealed --range 16380-16390"));
    same(&done.succeeded().stdout, &text[16380..16390], "range");
    let done = super::piped(&folder, &format!("{flags} --range 16380-16390"), &file);
    same(
        &done.succeeded().stdout,
        &text[16380..16390],
        "range of a pipe",
    );
    let done = super::piped(&folder, &format!("{flags} -o back"), &file);
    same(&done.stdout, b"", "to a file");
    same(&content(&folder, "back"), &text, "from a pipe");
}

#[test]
fn what_does_not_fit_is_refused() {
    let folder = sealed(b"text");
    folder.file_with_mode("wrong", "correct horse battery stable\n", 0o600);
    folder.file_with_mode("empty", "\n", 0o600);
    folder.file_with_mode("long", [b'x'; 100_000], 0o600);
    folder.line("encrypt -k key plain -o keyed").succeeded();
    let before = folder.names();
    for (flags, parts) in [
        (
            "--passphrase-file wrong sealed",
            &["sealed: cannot be decrypted", "passphrase"][..],
        ),
        (
            "-k key sealed",
            &["sealed: ", "with a passphrase, not with a key file; use -p"],
        ),
        (
            "--passphrase-file words keyed",
            &[
                "keyed: was not encrypted with a passphrase",
                "it has no evener passphrase header",
                "key file",
            ],
        ),
        (
            "--passphrase-file none sealed",
            &["none: cannot read the passphrase: No such file"],
        ),
        (
            "--passphrase-file empty sealed",
            &["empty: the passphrase is empty"],
        ),
        (
            "--passphrase-file long sealed",
            &["long: the passphrase is too long"],
        ),
        (
            "--passphrase-file words --context x sealed",
            &["sealed: cannot be decrypted", "context"],
        ),
    ] {
        folder
            .line(&format!("decrypt {flags} -o out"))
            .failed(1, parts);
        assert_eq!(folder.names(), before, "{flags}");
    }
    for name in ["empty", "long", "none"] {
        let done = folder.line(&format!("encrypt --passphrase-file {name} plain -o out"));
        done.failed(1, &[&format!("{name}: ")]);
        assert_eq!(folder.names(), before);
    }
}

#[test]
fn a_damaged_front_is_refused() {
    let folder = sealed(b"text");
    let file = content(&folder, "sealed");
    // What a wish for all of the memory would do, in every byte of the costs, and salt, version and magic.
    for at in (0..FRONT).chain([FRONT, FRONT + 30, FRONT + HEADER]) {
        // Costs that are a little larger are worked through: once is enough.
        if (11..20).contains(&at) && at % 4 == 3 && at != 15 {
            continue;
        }
        let mut bad = file.clone();
        bad[at] ^= 0x80;
        folder.file("bad", bad);
        let done = folder.line("decrypt --passphrase-file words bad -o out");
        done.failed(1, &["bad: "]);
    }
    for cut in [0, 7, 8, 35, 36, 37, 91, 92, 93, file.len() - 1] {
        folder.file("bad", &file[..cut]);
        let done = folder.line("decrypt --passphrase-file words bad -o out");
        done.failed(1, &["bad: "]);
    }
    assert_eq!(folder.names(), ["bad", "key", "plain", "sealed", "words"]);
}

#[test]
fn a_size_that_cannot_be_counts_the_whole_file() {
    let folder = sealed(b"text");
    let mut file = content(&folder, "sealed");
    file.truncate(100);
    folder.file("bad", file);
    folder
        .line("decrypt --passphrase-file words bad -o out")
        .failed(1, &["bad: has 100 bytes, a size no encrypted file has"]);
}

/// `evener` in a session of its own, with the terminal of its standard input or with none.
fn in_session(folder: &Folder, terminal: bool, line: &str) -> Option<Command> {
    let found = Command::new("setsid").arg("--version").output();
    if !found.is_ok_and(|done| done.status.success()) {
        evener_testing::skip("there is no setsid");
        return None;
    }
    let evener = folder.evener(line.split(' '));
    let mut command = folder.command("setsid");
    command.arg(if terminal { "-wc" } else { "-w" });
    command.arg(evener.get_program()).args(evener.get_args());
    Some(command)
}

#[test]
fn without_a_terminal_there_is_no_question() {
    let folder = sealed(b"text");
    let age = "encrypt --age --passphrase-file words plain -o file.age";
    folder.line(age).succeeded();
    for (line, instead) in [
        ("encrypt -p plain -o out", "; give it by --passphrase-file"),
        ("decrypt -p sealed -o out", "; give it by --passphrase-file"),
        (
            "rewrap --passphrase-file words --new-passphrase file.age -o out",
            "; give it by --new-passphrase-file",
        ),
    ] {
        let Some(mut command) = in_session(&folder, false, line) else {
            return;
        };
        let done = Done::of(command.stdin(Stdio::null()));
        done.failed(1, &["no terminal to ask for the passphrase", instead]);
    }
    let names = ["file.age", "key", "plain", "sealed", "words"];
    assert_eq!(folder.names(), names);
}

/// Runs a command line on a terminal where `typed` are answers to questions; gives what is seen there and the status.
fn typed(folder: &Folder, line: &str, answers: &[&str]) -> Option<(String, Option<i32>)> {
    let mut master = File::from(openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap());
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    let name = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
    let slave = File::options().read(true).write(true).open(name).unwrap();
    let mut command = in_session(folder, true, line)?;
    command.stdin(slave.try_clone().unwrap());
    let mut child = command.stderr(slave).env("TERM", "dumb").spawn().unwrap();
    drop(command);
    let (mut seen, mut answers) = (String::new(), answers.iter());
    let mut chunk = [0; 4096];
    while let Ok(n @ 1..) = master.read(&mut chunk) {
        seen.push_str(&String::from_utf8_lossy(&chunk[..n]));
        if seen.ends_with(": ") {
            let answer = answers.next().expect("a question too many");
            writeln!(master, "{answer}").unwrap();
        }
    }
    Some((seen, child.wait().unwrap().code()))
}

#[test]
fn a_terminal_is_asked_and_shows_nothing() {
    let folder = sealed(b"text");
    let words = "correct horse battery staple";
    let Some((seen, status)) = typed(&folder, "encrypt -p plain -o typed", &[words, words]) else {
        return;
    };
    assert_eq!(status, Some(0), "{seen}");
    assert!(
        seen.contains("Passphrase (") && seen.contains("Repeat "),
        "{seen}"
    );
    assert!(!seen.contains("horse"), "{seen}");
    let done = folder.line("decrypt --passphrase-file words typed");
    assert_eq!(done.succeeded().stdout, b"text");

    let (seen, status) = typed(&folder, "decrypt -p sealed -o back", &[words]).unwrap();
    assert_eq!(status, Some(0), "{seen}");
    assert_eq!(content(&folder, "back"), b"text");

    let (seen, status) = typed(&folder, "encrypt -p plain -o no", &[words, "other"]).unwrap();
    assert_eq!(status, Some(1), "{seen}");
    assert!(seen.contains("evener: the passphrases differ"), "{seen}");
    assert!(!folder.names().contains(&"no".to_owned()));
}
