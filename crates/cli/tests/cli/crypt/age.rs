//! Age files, exchanged with age and rage.

use std::fs;
use std::process::Command;

use super::{content, fed, piped, same, text};
use crate::run::{Done, Folder};

/// Other implementations and their programs for identities. What is not there is skipped, with a line.
pub fn others() -> Vec<(&'static str, &'static str)> {
    let all = [("age", "age-keygen"), ("rage", "rage-keygen")];
    let found = all.into_iter().filter(|(name, _)| {
        let found = Command::new(name).arg("--version").output().is_ok();
        if !found {
            evener_testing::skip(format_args!("there is no {name}"));
        }
        found
    });
    found.collect()
}

/// A folder with an identity, and its recipient.
pub fn keyed() -> (Folder, String) {
    let folder = Folder::new();
    folder.line("keygen --age -o identity").succeeded();
    let recipient = recipient(&folder, "identity");
    (folder, recipient)
}

pub fn recipient(folder: &Folder, name: &str) -> String {
    let done = folder.line(&format!("keygen -y {name}"));
    String::from_utf8(done.succeeded().stdout.clone())
        .unwrap()
        .trim()
        .to_owned()
}

pub fn other(folder: &Folder, name: &str, line: &str) -> Done {
    Done::of(folder.command(name).args(line.split_whitespace()))
}

#[test]
fn files_are_exchanged_with_other_programs() {
    let (folder, ours) = keyed();
    let plain = text(200_000);
    folder.file("plain", &plain);
    for (name, keygen) in others() {
        other(&folder, keygen, "-o theirs").succeeded();
        let shown = other(&folder, keygen, "-y identity");
        assert_eq!(
            String::from_utf8_lossy(&shown.succeeded().stdout).trim(),
            ours
        );
        let theirs = recipient(&folder, "theirs");
        for armor in ["", "-a"] {
            let line = format!("encrypt -r {ours} -r {theirs} {armor} plain -o out.age");
            folder.line(&line).succeeded();
            for identity in ["identity", "theirs"] {
                let back = other(&folder, name, &format!("-d -i {identity} out.age"));
                same(&back.succeeded().stdout, &plain, name);
            }
            let line = format!("-r {ours} -r {theirs} {armor} -o in.age plain");
            other(&folder, name, &line).succeeded();
            for identity in ["identity", "theirs"] {
                let back = folder.line(&format!("decrypt -i {identity} in.age"));
                same(&back.succeeded().stdout, &plain, name);
            }
            let part = folder.line("decrypt -i theirs --range 70000-140000 in.age");
            same(&part.succeeded().stdout, &plain[70_000..140_000], name);
            let sealed = content(&folder, "in.age");
            let part = piped(&folder, "decrypt -i theirs --range 131072-", &sealed);
            same(&part.succeeded().stdout, &plain[131_072..], name);
        }
        // Both refuse the same.
        let mut changed = content(&folder, "in.age");
        changed.truncate(changed.len() - 100);
        folder.file("cut.age", &changed);
        let refused = other(&folder, name, "-d -i theirs -o no cut.age");
        assert_ne!(refused.status, Some(0));
        folder
            .line("decrypt -i theirs -o no cut.age")
            .failed(1, &["cut.age: "]);
        fs::remove_file(folder.path("theirs")).unwrap();
    }
}

#[test]
fn passphrases_lists_and_identities_work_as_recipients() {
    let (folder, ours) = keyed();
    folder.file("plain", "text");
    folder.file("list", format!("# us\n{ours}\n"));
    folder.file_with_mode("words", "correct horse\n", 0o600);
    for line in [
        "encrypt -R list plain",
        "encrypt -i identity plain",
        "encrypt -i identity -R list -a plain",
        "encrypt --age -i identity plain",
    ] {
        let sealed = folder.line(line).succeeded().stdout.clone();
        let back = piped(&folder, "decrypt -i identity", &sealed);
        assert_eq!(back.succeeded().stdout, b"text", "{line}");
    }
    let list = format!("{ours}\n");
    let sealed = fed(
        &mut folder.evener(["encrypt", "-R", "-", "plain"]),
        list.as_bytes(),
    );
    folder.file("sealed", &sealed.succeeded().stdout);
    let identity = content(&folder, "identity");
    let back = fed(
        &mut folder.evener(["decrypt", "-i", "-", "sealed"]),
        &identity,
    );
    assert_eq!(back.succeeded().stdout, b"text");

    let line = "encrypt --age -a --passphrase-file words plain -o sealed";
    folder.line(line).succeeded();
    assert!(content(&folder, "sealed").starts_with(b"-----BEGIN AGE ENCRYPTED FILE-----\n"));
    let back = folder.line("decrypt --passphrase-file words sealed");
    assert_eq!(back.succeeded().stdout, b"text");
    folder.file("words", "wrong\n");
    let wrong = folder.line("decrypt --passphrase-file words sealed");
    wrong.failed(
        1,
        &["sealed: cannot be decrypted: the passphrase does not match"],
    );
}

#[test]
fn what_cannot_be_is_said_in_a_line() {
    let (folder, ours) = keyed();
    folder.line("keygen -o key").succeeded();
    folder.file("plain", "text");
    folder
        .line(&format!("encrypt -r {ours} plain -o sealed"))
        .succeeded();
    let secret = String::from_utf8(content(&folder, "identity")).unwrap();
    let secret = secret.lines().last().unwrap().to_owned();
    let mangled = "\u{feff}age-encryption.org/v1\r\n".encode_utf16();
    let mangled: Vec<u8> = mangled.flat_map(u16::to_le_bytes).collect();
    folder.file("mangled", &mangled);
    folder.file("nothing", "");
    fs::create_dir(folder.path("folder")).unwrap();
    for (line, status, part) in [
        (
            "decrypt -i identity mangled",
            1,
            "mangled: looks like a file that PowerShell's >",
        ),
        ("inspect mangled", 1, "re-encoded as UTF-16"),
        ("decrypt -i identity nothing", 1, "nothing: is empty"),
        ("decrypt -k identity sealed", 1, "age identity; use -i"),
        (
            "encrypt -k key folder -o out",
            1,
            "tar c DIR | evener encrypt",
        ),
        (
            "decrypt -k key sealed",
            1,
            "sealed: is an age file; use -i IDENTITY or -p",
        ),
        ("decrypt -i identity plain", 1, "plain: is not an age file"),
        (
            "decrypt -i key sealed",
            1,
            "key: line 1: is not an identity",
        ),
        (
            "decrypt -i identity -k key sealed",
            2,
            "cannot be used with",
        ),
        (
            "decrypt -i identity --context x sealed",
            2,
            "an age file has no context",
        ),
        ("encrypt -r bob plain", 2, "'bob' is not a recipient"),
        (
            "encrypt -r ssh-ed25519 plain",
            2,
            "keys of ssh are not supported",
        ),
        (
            "encrypt -R identity plain",
            1,
            "line 3: is an identity, which is secret",
        ),
        ("encrypt -i identity -k key plain", 2, "cannot be used with"),
        ("encrypt --age -k key plain", 2, "cannot be used with"),
        ("encrypt -a --passphrase-file key plain", 2, "add --age"),
        (
            "encrypt -i identity plain -o identity",
            2,
            "is the key or passphrase as well",
        ),
        (
            "encrypt -R -",
            2,
            "only one of IN, -i and -R can be the standard input",
        ),
        ("keygen --age -o identity", 1, "identity: exists already"),
        (
            &format!("encrypt -r {secret} plain"),
            2,
            "is an identity, which is secret",
        ),
        (
            &format!("decrypt -i {secret} sealed"),
            1,
            "an identity itself",
        ),
    ] {
        let done = folder.line(line);
        done.failed(status, &[part]);
        assert!(!done.stderr.contains(&secret[16..]), "{}", done.stderr);
    }
}
