//! Standard streams that are closed, or open the other way round.

use super::needs;
use crate::run::{Done, Folder, is_built};

const CTR: &str =
    "ctr --key 000102030405060708090a0b0c0d0e0f --iv 000102030405060708090a0b0c0d0e0f";
const PRODUCT: &str = "product encrypt --key 000102030405060708090a0b0c0d0e0f";

/// Runs a command line in a shell that changes its streams before.
fn redirected(folder: &Folder, line: &str, streams: &str) -> Done {
    let evener = folder.evener(line.split_whitespace());
    let mut shell = folder.command("sh");
    shell
        .args(["-c", &format!("exec \"$@\" {streams}"), "sh"])
        .arg(evener.get_program())
        .args(evener.get_args());
    Done::of(&mut shell)
}

#[test]
fn a_closed_output_is_an_error() {
    let folder = needs();
    let names = folder.names();
    let ctr = format!("{CTR} disk");
    let product = format!("{PRODUCT} disk");
    for line in [
        "--help",
        "--version",
        "filters",
        "plans",
        "topology",
        "topology --json",
        "keygen",
        "encrypt -k key disk",
        "decrypt -k key sealed",
        &ctr,
        &product,
        "queens 30",
        "queens 6 --json -",
        "queens 6 --show",
        "queens 6 --svg -",
        "image info disk",
        "image verify disk",
        "image pack disk -",
        "image unpack disk -",
        "filter blur -i testsrc:64x48:3 -o -",
        "filter blur -i testsrc:64x48:3 -o null: --json -",
        "filter blur -i testsrc:64x48:3 -o null: --trace /dev/stdout",
        "bench filters",
    ]
    .into_iter()
    .filter(|line| is_built(line))
    {
        let done = redirected(&folder, line, ">&-");
        done.failed(1, &["standard output: is closed"]);
        let done = redirected(&folder, line, "1< /dev/null");
        done.failed(1, &["standard output: is open for reading only"]);
        assert_eq!(folder.names(), names, "{line}");
    }
}

#[test]
fn a_closed_input_is_an_error() {
    let folder = needs();
    let names = folder.names();
    for line in [
        "encrypt -k key -o out",
        "decrypt -k key -o out",
        "decrypt -k key --range 5-9 -o out",
        &format!("{CTR} -o out"),
        &format!("{PRODUCT} -o out"),
        "image pack - out",
        "image unpack - out",
        "filter blur -i - -o out.y4m",
    ] {
        let done = redirected(&folder, line, "<&-");
        done.failed(1, &["standard input: is closed"]);
        let done = redirected(&folder, line, "0> /dev/null");
        done.failed(1, &["standard input: is open for writing only"]);
        assert_eq!(folder.names(), names, "{line}");
    }
}

#[test]
fn streams_that_a_command_does_not_use_may_be_closed() {
    let folder = needs();
    for (line, streams) in [
        ("encrypt -k key disk -o out", "<&- >&- 2>&-"),
        ("decrypt -k key out -o back", "<&- >&- 2>&-"),
        ("image pack disk out.zst", "<&- >&- 2>&-"),
        (
            "filter blur -i testsrc:64x48:3 -o out.y4m --json r.json",
            "<&- >&- 2>&-",
        ),
        ("keygen -o other", "<&- >&- 2>&-"),
        ("queens 6", "<&- 2>&-"),
        ("image verify disk", "<&- 2>&-"),
        ("filters", "<&- 2>&-"),
    ] {
        assert_eq!(redirected(&folder, line, streams).status, Some(0), "{line}");
    }
    assert!(redirected(&folder, "nothing", "<&- >&- 2>&-").status == Some(2));
}

/// Programs that start others give them /dev/null so, which is the same as what is there after a stream was closed.
#[test]
fn dev_null_for_reading_and_writing_is_given_and_not_closed() {
    let folder = needs();
    for line in ["encrypt -k key", "queens 6", "filters", "--help"] {
        let done = redirected(&folder, line, "0<> /dev/null 1<> /dev/null 2<> /dev/null");
        assert_eq!(done.status, Some(0), "{line}");
    }
}

#[test]
fn a_full_output_is_an_error() {
    let folder = needs();
    for line in [
        "--help",
        "queens 6",
        "queens 6 --json -",
        "filters",
        "keygen",
        "encrypt -k key disk",
    ] {
        let done = redirected(&folder, line, "> /dev/full");
        assert_eq!(done.status, Some(1), "{line}: {}", done.stderr);
        assert!(
            done.stderr.contains("standard output: "),
            "{line}: {}",
            done.stderr
        );
        assert!(
            done.stderr.contains("No space left"),
            "{line}: {}",
            done.stderr
        );
    }
}
