//! Key files.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};

use super::{content, keyed, seal};
use crate::run::{Done, Folder};

fn mode(folder: &Folder, name: &str) -> u32 {
    let metadata = fs::metadata(folder.path(name)).unwrap();
    metadata.permissions().mode() & 0o777
}

fn is_key(line: &[u8]) -> bool {
    line.len() == 65 && line[64] == b'\n' && line[..64].iter().all(u8::is_ascii_hexdigit)
}

#[test]
fn new_keys_are_of_their_owner_alone() {
    let folder = keyed();
    assert_eq!(mode(&folder, "key"), 0o600);
    let key = content(&folder, "key");
    assert!(is_key(&key));
    for line in ["keygen", "keygen -o -"] {
        let done = folder.line(line);
        assert!(is_key(&done.succeeded().stdout), "{}", done.text());
        assert_ne!(done.stdout, key);
        assert_eq!(done.stderr, "");
    }
    assert_eq!(folder.names(), ["key"]);
}

#[test]
fn no_key_is_overwritten() {
    let folder = keyed();
    let key = content(&folder, "key");
    symlink("key", folder.path("link")).unwrap();
    symlink("nowhere", folder.path("loose")).unwrap();
    for name in ["key", "link", "loose"] {
        let done = folder.line(&format!("keygen -o {name}"));
        done.failed(1, &[&format!("{name}: "), "exists already"]);
    }
    assert_eq!(content(&folder, "key"), key);
    assert_eq!(folder.names(), ["key", "link", "loose"]);
}

#[test]
fn places_where_no_key_can_be() {
    let folder = Folder::new();
    for (name, part) in [
        (
            "none/key",
            "none/key: cannot write the key: No such file or directory",
        ),
        ("/dev/full", "/dev/full: exists already"),
    ] {
        let done = folder.line(&format!("keygen -o {name}"));
        done.failed(1, &[part]);
        assert!(!done.stderr.contains("os error"), "{}", done.stderr);
    }
    let full = fs::File::options().write(true).open("/dev/full").unwrap();
    let done = Done::of(
        folder
            .evener(["keygen"])
            .stdout(full)
            .stderr(std::process::Stdio::piped()),
    );
    done.failed(1, &["standard output: cannot write"]);
}

#[test]
fn files_that_hold_no_key() {
    let folder = keyed();
    folder.file("plain", "text");
    fs::create_dir(folder.path("folder")).unwrap();
    let key = content(&folder, "key");
    let digits = &key[..64];
    let not_hex = [&digits[..40], b"g", &digits[41..], b"\n"].concat();
    for (name, bytes, part) in [
        ("empty", &b""[..], "64 hexadecimal digits, this line has 0"),
        ("short", &digits[1..], "this line has 63"),
        ("long", &[digits, b"0\n"].concat(), "this line has 65"),
        ("binary", &[0xff; 32], "this line has 32"),
        ("not-hex", &not_hex, "character 41 is not one"),
        ("two", &[&key[..], &key].concat(), "something follows"),
        ("large", &[b'a'; 100_000], "this line has"),
    ] {
        folder.file_with_mode(name, bytes, 0o600);
        for command in ["encrypt", "decrypt"] {
            let done = folder.line(&format!("{command} -k {name} plain -o out"));
            done.failed(1, &[&format!("{name}: is not a key file: "), part]);
            let secret = String::from_utf8_lossy(digits);
            assert!(!done.stderr.contains(&secret[..8]), "{}", done.stderr);
        }
    }
    for (name, part) in [("none", "No such file"), ("folder", "directory")] {
        let done = folder.line(&format!("encrypt -k {name} plain -o out"));
        done.failed(1, &[&format!("{name}: cannot read the key: "), part]);
        assert!(!done.stderr.contains("os error"), "{}", done.stderr);
        let hint = "; make one with `evener keygen -o none`";
        assert_eq!(done.stderr.contains(hint), name == "none");
        // Another key decrypts nothing.
        let done = folder.line(&format!("decrypt -k {name} plain -o out"));
        done.failed(1, &[&format!("{name}: cannot read the key: "), part]);
        assert!(!done.stderr.contains("keygen"), "{}", done.stderr);
    }
    assert!(!folder.names().contains(&"out".to_owned()));
}

#[test]
fn keys_are_read_as_people_write_them() {
    let folder = keyed();
    let sealed = seal(&folder, b"text");
    folder.file("sealed", &sealed);
    let key = String::from_utf8(content(&folder, "key")).unwrap();
    for (name, written) in [
        ("no-line-end", key.trim().to_owned()),
        ("upper", key.to_uppercase()),
        ("other-line-end", format!("{}\r\n", key.trim())),
    ] {
        folder.file_with_mode(name, written, 0o400);
        let done = folder.line(&format!("decrypt -k {name} sealed"));
        assert_eq!(done.succeeded().stdout, b"text");
        assert_eq!(done.stderr.lines().count(), 1, "{}", done.stderr);
    }
}

#[test]
fn a_key_that_others_may_read_is_warned_of() {
    let folder = keyed();
    let sealed = seal(&folder, b"text");
    folder.file("sealed", &sealed);
    for (mode, exposed) in [(0o600, false), (0o640, true), (0o604, true), (0o620, true)] {
        fs::set_permissions(folder.path("key"), Permissions::from_mode(mode)).unwrap();
        let done = folder.line("decrypt -k key sealed");
        assert_eq!(done.succeeded().stdout, b"text");
        let warning = format!(
            "evener: warning: key: others than its owner may read or change it (mode {mode:03o})"
        );
        assert_eq!(
            done.stderr.starts_with(&warning),
            exposed,
            "{}",
            done.stderr
        );
        assert_eq!(done.stderr.lines().count(), 1 + usize::from(exposed));
    }
}

#[test]
fn a_key_is_not_written_over() {
    let folder = keyed();
    folder.file("plain", "text");
    folder.file("words", "a passphrase\n");
    symlink("key", folder.path("link")).unwrap();
    let key = content(&folder, "key");
    for flags in [
        "-o key",
        "-o ./key",
        "-o link",
        "-o out --json key",
        "-o out --trace link",
    ] {
        for command in ["encrypt", "decrypt"] {
            let done = folder.line(&format!("{command} -k key plain {flags}"));
            done.failed(2, &["is the key"]);
        }
    }
    folder
        .line("encrypt --passphrase-file words plain -o words")
        .failed(2, &["words: is the key or passphrase"]);
    assert_eq!(content(&folder, "key"), key);
    assert_eq!(content(&folder, "words"), b"a passphrase\n");
    assert_eq!(folder.names(), ["key", "link", "plain", "words"]);
}

#[test]
fn a_key_can_come_through_a_pipe() {
    let folder = keyed();
    let sealed = seal(&folder, b"text");
    folder.file("sealed", &sealed);
    let key = content(&folder, "key");
    let done = super::piped(&folder, "decrypt -k /dev/stdin sealed", &key);
    assert_eq!(done.succeeded().stdout, b"text");
}
