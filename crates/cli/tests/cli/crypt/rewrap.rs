//! Other recipients for an age file.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

use super::age::{keyed, other, others, recipient};
use super::{content, fed, piped, same, text};

#[test]
fn others_can_decrypt_it_and_the_payload_is_the_same() {
    let (folder, _) = keyed();
    folder.line("keygen --age -o new").succeeded();
    let new = recipient(&folder, "new");
    let plain = text(200_000);
    folder.file("plain", &plain);
    folder.file_with_mode("words", "correct horse\n", 0o600);
    for armor in ["", "-a"] {
        let line = format!("encrypt {armor} -i identity plain -o old.age");
        folder.line(&line).succeeded();
        let before = content(&folder, "old.age");
        let line = format!("rewrap -i identity -r {new} old.age -o new.age");
        folder.line(&line).succeeded();
        assert!(content(&folder, "old.age") == before);
        let back = folder.line("decrypt -i new new.age");
        same(&back.succeeded().stdout, &plain, armor);
        folder
            .line("decrypt -i identity new.age")
            .failed(1, &["none of these identities"]);
        let after = content(&folder, "new.age");
        if armor.is_empty() {
            assert!(before.ends_with(&after[after.len() - plain.len()..]));
        }
        for (name, _) in others() {
            let back = other(&folder, name, "-d -i new new.age");
            same(&back.succeeded().stdout, &plain, name);
        }
        // To a passphrase, in a pipe, and back.
        let line = "rewrap -i new --new-passphrase-file words -o -";
        let piped = piped(&folder, line, &after).succeeded().stdout.clone();
        folder.file("words.age", piped);
        let back = folder.line("decrypt --passphrase-file words words.age");
        same(&back.succeeded().stdout, &plain, "a passphrase");
        let line = format!("rewrap --passphrase-file words -r {new} --in-place words.age");
        let done = folder.line(&line);
        assert!(
            done.succeeded().stderr.starts_with("words.age: "),
            "{done:?}"
        );
        folder.line("decrypt --verify -i new words.age").succeeded();
    }
}

#[test]
fn in_place_the_old_file_stays_unless_the_new_one_is_whole() {
    let (folder, ours) = keyed();
    folder.line("keygen --age -o other").succeeded();
    folder.line("keygen -o key").succeeded();
    folder.file("plain", text(100_000));
    folder
        .line("encrypt -i identity plain -o file.age")
        .succeeded();
    folder
        .line("encrypt -k key plain -o file.sealed")
        .succeeded();
    let rights = Permissions::from_mode(0o640);
    fs::set_permissions(folder.path("file.age"), rights).unwrap();
    let before = content(&folder, "file.age");
    let cut = before.len() - 100_000;
    folder.file("cut.age", &before[..cut - 40]);
    let names = folder.names();
    for (line, status, part) in [
        (
            format!("-i other -r {ours} file.age"),
            1,
            "none of these identities",
        ),
        (
            format!("-i identity -r {ours} file.sealed"),
            1,
            "is not an age file",
        ),
        (format!("-i identity -r {ours} cut.age"), 1, "was cut"),
        ("-i identity -r age1x file.age".to_owned(), 2, "-r: "),
        (format!("-i identity -r {ours}"), 1, "standard input: is no"),
        ("-i identity file.age".to_owned(), 2, "-r <RECIPIENT>"),
        (format!("-r {ours} file.age"), 2, "-i <IDENTITY>"),
        (
            format!("-i identity -r {ours} file.age -o x"),
            2,
            "cannot be used with",
        ),
        ("-i identity -R - -".to_owned(), 2, "only one of IN"),
    ] {
        let line = format!("rewrap --in-place {line}");
        let words = line.split_whitespace();
        let done = fed(&mut folder.evener(words), &before);
        done.failed(status, &[part]);
    }
    assert!(content(&folder, "file.age") == before);
    assert_eq!(folder.names(), names);
    let line = format!("rewrap --in-place -i identity -r {ours} file.age");
    folder.line(&line).succeeded();
    let after = content(&folder, "file.age");
    assert!(after != before && after.len() == before.len());
    let mode = fs::metadata(folder.path("file.age")).unwrap().permissions();
    assert_eq!(mode.mode() & 0o777, 0o640);
}
