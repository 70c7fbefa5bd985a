//! Command lines that can never work: one line, exit status 2, and nothing is written.

use super::keyed;

#[test]
fn command_lines_that_cannot_be() {
    let folder = keyed();
    folder.file("plain", "text");
    for (line, parts) in [
        (
            "encrypt -k key plain --contxt x",
            &["--contxt", "--context"][..],
        ),
        ("decrypt -k key plain --rnge 0-1", &["--rnge", "--range"]),
        ("encrpt -k key plain", &["encrpt", "encrypt"]),
        (
            "encrypt plain",
            &[
                "not provided: one of -k <KEYFILE>, -p, -r <RECIPIENT>, -R <FILE>, -i <IDENTITY>; see",
            ],
        ),
        ("encrypt --age plain", &["one of -k <KEYFILE>, -p, -r"]),
        (
            "decrypt plain",
            &["one of -k <KEYFILE>, -p, -i <IDENTITY>; see"],
        ),
        (
            "rewrap -p plain",
            &["-r <RECIPIENT>, -R <FILE>, --new-passphrase; see"],
        ),
        ("encrypt -k key -p plain", &["cannot be used with"]),
        (
            "encrypt -k key --passphrase-file key plain",
            &["cannot be used with"],
        ),
        ("encrypt -k key plain more", &["more: a second input"]),
        ("encrypt -k key --range 0-1 plain", &["--range"]),
        ("encrypt -k", &["--key"]),
        ("encrypt -k key plain --plan tild", &["tild", "auto"]),
        ("encrypt -k key plain --plan tiled", &["tiled"]),
        ("encrypt -k key plain --plan backward", &["backward"]),
        ("encrypt -k key plain --plan sequential/fifo/0", &["grain"]),
        ("encrypt -k key plain --workers 0", &["--workers"]),
        ("encrypt -k key plain --workers two", &["--workers"]),
        ("encrypt -k key plain --affinity here", &["--affinity"]),
        (
            "encrypt -k key plain --json -",
            &["--json -", "the output as well"],
        ),
        (
            "encrypt -k key plain --json out",
            &["--json out", "the output as well"],
        ),
        (
            "encrypt -k key plain --json plain",
            &["--json plain", "the input as well"],
        ),
        (
            "encrypt -k key plain --json r --trace r",
            &["--trace r", "--json"],
        ),
        ("keygen --out k", &["--out"]),
        ("keygen more", &["more"]),
        ("ctr plain", &["--key", "--iv"]),
    ] {
        let out = if line.starts_with("keygen") || line.ends_with("--json -") {
            ""
        } else {
            " -o out"
        };
        folder.line(&format!("{line}{out}")).failed(2, parts);
        assert_eq!(folder.names(), ["key", "plain"], "{line}");
    }
    assert_eq!(super::content(&folder, "plain"), b"text");
}

#[test]
fn one_dash_before_a_long_name_gets_a_hint() {
    let folder = keyed();
    folder.file("plain", "text");
    let done = folder.line("encrypt -key key plain -o out");
    done.failed(2, &["-key is short options; the long one is --key"]);
    let key = "0123456789abcdef".repeat(4);
    let done = folder.line(&format!("encrypt -key={key} plain -o out"));
    done.failed(1, &["-key is short options; the long one is --key"]);
    assert!(!done.stderr.contains("0123"), "{}", done.stderr);
    let done = folder.line("encrypt -passphrase plain -o out");
    done.failed(2, &["-passphrase", "the long one is --passphrase"]);
    let done = folder.line("decrypt -k none plain -o out");
    assert!(!done.stderr.contains("short options"), "{}", done.stderr);
    // What works is not complained of.
    folder.line("keygen -o ey").succeeded();
    folder.line("encrypt -key plain -o out").succeeded();
}
