//! A key or a passphrase and the data from the same place.

use std::fs::{self, File};
use std::process::Command;

use super::{MIB, content, keyed, piped, same, text};
use crate::run::{Done, Folder};

/// Names of the standard input as a file.
const NAMES: [&str; 3] = ["/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"];

/// A folder with a key and a passphrase that no other user may read.
fn secrets() -> Folder {
    let folder = keyed();
    folder.file_with_mode("words", "correct horse\n", 0o600);
    folder
}

#[test]
fn one_line_of_a_pipe_is_the_secret_and_the_rest_the_data() {
    let folder = secrets();
    // More than a pipe or a buffer holds, and lines that could be taken for the first.
    let data = [b"second line\n", &text(2 * MIB)[..]].concat();
    let through = |flag: &str, name: &str, input: &str, secret: &str| {
        let both = [content(&folder, secret), data.clone()].concat();
        let line = format!("encrypt {flag} {name} {input} -o x");
        piped(&folder, &line, &both).succeeded();
        let flag = flag.replace("-fd", "-file");
        let back = folder.line(&format!("decrypt {flag} {secret} x"));
        same(&back.succeeded().stdout, &data, &line);
    };
    for name in NAMES.into_iter().chain(["-"]) {
        for input in ["", NAMES[0], NAMES[1], NAMES[2]] {
            through("-k", name, input, "key");
        }
    }
    through("--passphrase-file", "/dev/stdin", "", "words");
    through("--passphrase-file", "-", "", "words");
    through("--passphrase-fd", "0", "", "words");
    let both = [content(&folder, "words"), content(&folder, "x")].concat();
    let back = piped(&folder, "decrypt --passphrase-file /dev/fd/0", &both);
    same(&back.succeeded().stdout, &data, "decrypted");
}

#[test]
fn the_secret_may_come_alone() {
    let folder = secrets();
    folder.file("plain", "text");
    for (flag, secret) in [("-k", "key"), ("--passphrase-file", "words")] {
        let line = format!("encrypt {flag} /dev/stdin plain -o x");
        piped(&folder, &line, &content(&folder, secret)).succeeded();
        let back = folder.line(&format!("decrypt {flag} {secret} x"));
        assert_eq!(back.succeeded().stdout, b"text");
    }
}

#[test]
fn a_passphrase_comes_by_its_descriptor() {
    let folder = secrets();
    folder.file("plain", "text");
    let evener = folder.evener([""; 0]).get_program().to_owned();
    let shell = |script: &str| {
        let mut command = folder.command("bash");
        Done::of(command.args(["-c", script]).env("EVENER", &evener))
    };
    shell("\"$EVENER\" encrypt --passphrase-fd 5 plain -o x 5<words").succeeded();
    let back = shell("\"$EVENER\" decrypt --passphrase-fd 7 7<<<'correct horse' <x");
    assert_eq!(back.succeeded().stdout, b"text");
    let back = shell("\"$EVENER\" decrypt --passphrase-fd 9 x 9< <(cat words)");
    assert_eq!(back.succeeded().stdout, b"text");
    let none = folder.line("decrypt --passphrase-fd 1000 x");
    none.failed(1, &["file descriptor 1000: cannot read the passphrase"]);
    let wrong = folder.line("decrypt --passphrase-fd words x");
    wrong.failed(2, &["--passphrase-fd"]);
}

#[test]
fn a_pipe_that_ends_in_its_first_line_holds_no_data() {
    let folder = secrets();
    for (flag, secret) in [("-k", "key"), ("--passphrase-file", "words")] {
        let mut secret = content(&folder, secret);
        secret.pop();
        let done = piped(&folder, &format!("encrypt {flag} /dev/stdin -o x"), &secret);
        done.failed(1, &["/dev/stdin: ", "no data follow"]);
    }
    assert_eq!(folder.names(), ["key", "words"]);
}

#[test]
fn a_file_is_not_both() {
    let folder = secrets();
    let notes = folder.file("notes", "first line\nsecond line\n");
    for name in NAMES {
        for flag in ["-k", "--passphrase-file"] {
            let mut command = folder.evener(["encrypt", flag, name, "-o", "x"]);
            let done = Done::of(command.stdin(File::open(&notes).unwrap()));
            done.failed(2, &[name, ": is both ", " and input"]);
        }
    }
    fs::hard_link(folder.path("key"), folder.path("again")).unwrap();
    for line in [
        "-k key key",
        "-k key again",
        "--passphrase-file words ./words",
    ] {
        for command in ["encrypt", "decrypt"] {
            let done = folder.line(&format!("{command} {line} -o x"));
            done.failed(2, &[": is both ", " and input"]);
        }
    }
    assert_eq!(folder.names(), ["again", "key", "notes", "words"]);
}

#[test]
fn a_pipe_with_a_name_is_not_opened_twice() {
    let folder = secrets();
    let made = Command::new("mkfifo").arg(folder.path("fifo")).status();
    assert!(made.unwrap().success());
    // There is no writer: it would wait for one for ever.
    let done = folder.line("encrypt --passphrase-file fifo fifo -o x");
    done.failed(2, &["fifo: is both passphrase and input"]);
    assert_eq!(folder.names(), ["fifo", "key", "words"]);
}
