//! Several files into a directory, and files that are only verified.

use std::fs;

use super::{content, keyed, piped, seal, text};

#[test]
fn each_file_gets_one_named_after_it() {
    let folder = keyed();
    folder.line("keygen --age -o identity").succeeded();
    for name in ["sealed", "back"] {
        fs::create_dir(folder.path(name)).unwrap();
    }
    let texts = [("a.txt", text(70_000)), ("b", text(0)), ("c.tar", text(3))];
    for (name, text) in &texts {
        folder.file(name, text);
    }
    let done = folder.line("encrypt -k key a.txt b c.tar -o sealed");
    let said = done.succeeded().stderr.clone();
    assert_eq!(said.lines().count(), 3, "{said}");
    assert!(said.starts_with("sealed/a.txt.sealed: "), "{said}");
    let line = "encrypt -i identity a.txt b c.tar -o aged/";
    folder.line(line).succeeded();
    for (line, sealed) in [
        (
            "decrypt -k key",
            "sealed/a.txt.sealed sealed/b.sealed sealed/c.tar.sealed",
        ),
        (
            "decrypt -i identity",
            "aged/a.txt.age aged/b.age aged/c.tar.age",
        ),
        ("decrypt -k key", "sealed/a.txt.sealed"),
    ] {
        let done = folder.line(&format!("{line} {sealed} -o back/"));
        done.succeeded();
        for (name, text) in &texts[..sealed.split(' ').count()] {
            assert!(content(&folder, &format!("back/{name}")) == *text, "{name}");
            fs::remove_file(folder.path(&format!("back/{name}"))).unwrap();
        }
        let done = folder.line(&format!("{line} --verify {sealed}"));
        for (line, name) in done.succeeded().stderr.lines().zip(sealed.split(' ')) {
            let named = line.starts_with(&format!("{name}: "));
            assert!(named && line.contains(" verified"), "{line}");
        }
    }
    assert_eq!(fs::read_dir(folder.path("back")).unwrap().count(), 0);
}

#[test]
fn a_failure_with_one_does_not_keep_the_others_from_their_turn() {
    let folder = keyed();
    fs::create_dir(folder.path("back")).unwrap();
    folder.file("good.sealed", seal(&folder, b"text"));
    let mut bad = seal(&folder, &text(100_000));
    bad[50_000] ^= 1;
    folder.file("bad.sealed", bad);
    for (line, whole) in [
        (
            "decrypt -k key bad.sealed good.sealed -o back/",
            "back/good: ",
        ),
        (
            "decrypt -k key --verify bad.sealed good.sealed",
            "good.sealed: 4 bytes verified",
        ),
        (
            "decrypt -k key --verify bad.sealed no.sealed good.sealed",
            "good.sealed: 4 bytes verified",
        ),
    ] {
        let done = folder.line(line);
        assert_eq!(done.status, Some(1), "{done:?}");
        let first = done.stderr.lines().next().unwrap();
        assert!(
            first.starts_with("evener: bad.sealed: was altered"),
            "{first}"
        );
        let last = done.stderr.lines().last().unwrap();
        assert!(last.starts_with(whole), "{last}");
    }
    assert_eq!(content(&folder, "back/good"), b"text");
    assert_eq!(fs::read_dir(folder.path("back")).unwrap().count(), 1);
}

#[test]
fn verifying_finds_what_decrypting_does_and_writes_nothing() {
    let folder = keyed();
    let sealed = seal(&folder, &text(100_000));
    folder.file("sealed", &sealed);
    let done = folder.line("decrypt -k key --verify sealed");
    assert!(
        done.succeeded()
            .stderr
            .starts_with("sealed: 97.6 KiB verified")
    );
    assert_eq!(done.stdout, b"");
    piped(&folder, "decrypt -k key --verify", &sealed).succeeded();
    let cut = &sealed[..90_000];
    piped(&folder, "decrypt -k key --verify", cut).failed(1, &["standard input: "]);
    folder.line("keygen -o other").succeeded();
    let wrong = folder.line("decrypt -k other --verify sealed");
    wrong.failed(1, &["sealed: "]);
    for more in ["-o out", "--range 0-1"] {
        let line = format!("decrypt -k key --verify sealed {more}");
        folder.line(&line).failed(2, &["cannot be used with"]);
    }
    assert_eq!(folder.names(), ["key", "other", "sealed"]);
}

#[test]
fn names_that_cannot_be_are_refused_before_anything_is_written() {
    let folder = keyed();
    for name in ["x", "y", "out"] {
        fs::create_dir(folder.path(name)).unwrap();
    }
    for name in ["x/a", "y/a", "plain.txt"] {
        folder.file(name, "text");
    }
    for (line, parts) in [
        (
            "encrypt -k key x/a plain.txt -o no",
            &["plain.txt: a second input", "add a slash: -o no/"][..],
        ),
        (
            "encrypt -k key x/a plain.txt",
            &["plain.txt: a second input"],
        ),
        (
            "encrypt -k key x/a y/a -o out",
            &["y/a: its output would be out/a.sealed"],
        ),
        ("encrypt -k key x/a - -o out", &["-: has no name"]),
        ("encrypt -k key - -o out/", &["-: has no name"]),
        (
            "encrypt -k key x/a key -o out",
            &["key: is both secret and input"],
        ),
        (
            "encrypt -k key x/a y/b --json r -o out",
            &["name a single IN"],
        ),
        (
            "decrypt -k key plain.txt -o out",
            &["plain.txt: does not end in .sealed or .age"],
        ),
    ] {
        folder.line(line).failed(2, parts);
    }
    let line = "encrypt -k key x/a -o missing/below/";
    folder.line(line).failed(
        1,
        &["missing/below/: ", "make the directory above it first"],
    );
    let line = "encrypt -k key x/a -o plain.txt/";
    folder
        .line(line)
        .failed(1, &["plain.txt/: ", "is not a directory"]);
    assert_eq!(fs::read_dir(folder.path("out")).unwrap().count(), 0);
    assert_eq!(folder.names(), ["key", "out", "plain.txt", "x", "y"]);
}

#[test]
fn a_directory_that_was_made_does_not_stay_empty() {
    let folder = keyed();
    folder.file("bad.sealed", "text");
    let done = folder.line("decrypt -k key bad.sealed -o back/");
    done.failed(1, &["bad.sealed: "]);
    assert_eq!(folder.names(), ["bad.sealed", "key"]);
}
