//! What is told of an encrypted file without a key.

use std::fs;

use serde_json::{Value, json};

use super::{keyed, piped, seal, text};
use crate::run::Folder;

fn inspected(folder: &Folder, name: &str) -> Value {
    let done = folder.line(&format!("inspect --json {name}"));
    serde_json::from_slice(&done.succeeded().stdout).unwrap()
}

#[test]
fn the_kind_and_what_it_needs() {
    let folder = keyed();
    let plain = text(100_000);
    folder.file("plain", &plain);
    folder.file_with_mode("words", "correct horse\n", 0o600);
    folder.line("keygen --age -o identity").succeeded();
    folder.line("keygen --age -o other").succeeded();
    for (line, name) in [
        ("encrypt -k key", "key.sealed"),
        ("encrypt --passphrase-file words", "words.sealed"),
        ("encrypt -i identity -i other", "keys.age"),
        ("encrypt -a -i identity", "armored.age"),
        ("encrypt --age --passphrase-file words", "words.age"),
    ] {
        folder.line(&format!("{line} plain -o {name}")).succeeded();
        let found = inspected(&folder, name);
        let size = fs::metadata(folder.path(name)).unwrap().len();
        assert_eq!(found["name"], name);
        assert_eq!(found["size"], size);
        let armored = name == "armored.age";
        let text = (!armored).then_some(plain.len());
        assert_eq!(found["text_size"], json!(text), "{name}");
    }
    assert_eq!(
        inspected(&folder, "key.sealed")["format"],
        json!({"name": "key"})
    );
    assert_eq!(
        inspected(&folder, "words.sealed")["format"],
        json!({"name": "passphrase", "memory_kib": 65536, "passes": 3, "lanes": 4})
    );
    let format = |name| inspected(&folder, name)["format"].clone();
    assert_eq!(
        format("keys.age")["recipients"],
        json!(["X25519", "X25519"])
    );
    assert_eq!(format("armored.age")["armored"], true);
    assert_eq!(format("words.age")["work_factor"], 18);
    for (name, parts) in [
        (
            "key.sealed",
            [
                "not known: indistinguishable from random bytes",
                "if it is that, the key file",
                "plaintext  97.6 KiB (100000 bytes), if it is that",
            ],
        ),
        (
            "words.sealed",
            ["with a passphrase", "Argon2id with 64 MiB", "-p"],
        ),
        (
            "keys.age",
            ["age, version 1", "they are 2 x X25519\n", "-i IDENTITY"],
        ),
        ("armored.age", ["in lines of text", "X25519", "-i IDENTITY"]),
        (
            "words.age",
            [
                "age, version 1",
                "scrypt with 256 MiB (work factor 18)",
                "-p",
            ],
        ),
    ] {
        let said = folder.line(&format!("inspect {name}")).succeeded().text();
        assert!(said.starts_with(name), "{said}");
        for part in parts {
            assert!(said.contains(part), "no '{part}' in {said}");
        }
    }
}

#[test]
fn of_pipes_less_is_known_and_of_other_things_nothing() {
    let folder = keyed();
    let done = piped(&folder, "inspect", &seal(&folder, b"text"));
    assert!(done.succeeded().text().starts_with("standard input\n"));
    let small = folder.file("small.sealed", seal(&folder, b"text"));
    let size = fs::metadata(small).unwrap().len();
    let said = folder.line("inspect small.sealed").succeeded().text();
    assert!(
        said.contains(&format!("  file       {size} bytes\n")),
        "{said}"
    );
    assert!(said.contains("  plaintext  4 bytes, "), "{said}");
    folder.file("short", "text");
    folder.line("inspect short").failed(1, &["short: "]);
    piped(&folder, "inspect", b"").failed(1, &["standard input: "]);
    folder
        .line("inspect missing")
        .failed(1, &["missing: cannot open"]);
    folder.file("cut.age", "age-encryption.org/v1\n-> X25519 ");
    folder
        .line("inspect cut.age")
        .failed(1, &["cut.age: was cut"]);
}

#[test]
fn files_of_other_programs_are_not_taken_for_its_own() {
    let folder = keyed();
    let gpg = b"\x85\x01\x0c\x03\x15\x1d\x73\xd8\x14\xa1\x6e\xd1\x01\x07\xfa\x02";
    let noise = &text(100)[..];
    for (name, bytes, says) in [
        ("a.gpg", [&gpg[..], noise].concat(), "is an OpenPGP file, "),
        (
            "a.asc",
            [&b"-----BEGIN PGP MESSAGE-----\n"[..], noise].concat(),
            "is an OpenPGP file in lines of text",
        ),
        (
            "a.enc",
            [&b"Salted__"[..], noise].concat(),
            "was encrypted by openssl enc",
        ),
        ("a.txt", vec![b'x'; 100], "is not encrypted"),
        ("zeros", vec![0; 100], "is not encrypted"),
    ] {
        folder.file(name, bytes);
        let done = folder.line(&format!("inspect {name}"));
        done.failed(1, &[&format!("{name}: {says}")]);
        if !says.starts_with("is not") {
            let done = folder.line(&format!("decrypt -k key {name} -o out"));
            done.failed(1, &[&format!("{name}: {says}")]);
        }
    }
}
