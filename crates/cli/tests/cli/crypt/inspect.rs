//! What is told of an encrypted file without a key.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

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
    let words = folder.file("words", "correct horse\n");
    fs::set_permissions(words, Permissions::from_mode(0o600)).unwrap();
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
                "such files have no mark",
                "-k KEYFILE",
                "text      97.6 KiB (100000 bytes)",
            ],
        ),
        (
            "words.sealed",
            ["with a passphrase", "Argon2id with 64 MiB", "-p"],
        ),
        (
            "keys.age",
            ["age, version 1", "X25519, X25519", "-i IDENTITY"],
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
