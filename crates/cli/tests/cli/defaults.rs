//! The file with a user's defaults, shells' completions and manual pages.

use std::fs;
use std::process::{Command, Stdio};

use crate::run::{Done, Folder};

fn with(folder: &Folder, text: &str, line: &str) -> Done {
    fs::write(folder.path("config.toml"), text).unwrap();
    let mut command = folder.evener(line.split_whitespace());
    Done::of(command.env("EVENER_CONFIG", folder.path("config.toml")))
}

#[test]
fn options_of_the_file_count_and_the_command_line_comes_before_it() {
    let folder = Folder::new();
    let text = "workers = 1\n[filter]\nplan = \"tiled/steal/34\"\nexplain = true\n[encode]\npreset = \"fast\"\n";
    let line = "filter blur -i testsrc:64x48:3 -o null:";
    let done = with(&folder, text, line);
    assert!(
        done.succeeded().stderr.contains("tiled · steal"),
        "{}",
        done.stderr
    );
    let done = with(&folder, text, &format!("{line} --plan sequential"));
    assert!(
        done.succeeded().stderr.contains("sequential"),
        "{}",
        done.stderr
    );
    let shown = with(&folder, text, "config");
    let shown = shown.succeeded().text();
    for says in [
        "config.toml\n",
        "\n  evener filter --plan tiled/steal/34\n",
        "\n  evener filter --explain\n",
        "\n  evener filter --workers 1\n",
        "\n  evener queens --workers 1\n",
        "\n  evener encode --preset fast\n",
    ] {
        assert!(shown.contains(says), "{says} in {shown}");
    }
}

#[test]
fn tables_are_for_the_commands_of_their_path_alone() {
    let folder = Folder::new();
    let shown = with(
        &folder,
        "[image]\nexplain = true\n[image.pack]\nexplain = false\n",
        "config",
    );
    let shown = shown.succeeded().text();
    assert!(shown.contains("evener image serve --explain"), "{shown}");
    assert!(
        !shown.contains("image pack") && !shown.contains("filter"),
        "{shown}"
    );
}

#[test]
fn an_explanation_that_is_asked_for_comes_before_a_quiet_file() {
    let folder = Folder::new();
    let line = "filter blur -i testsrc:64x48:3 -o null:";
    let done = with(&folder, "quiet = true", line);
    assert_eq!(done.succeeded().stderr, "");
    let done = with(&folder, "quiet = true", &format!("{line} --explain"));
    assert!(!done.succeeded().stderr.is_empty());
}

#[test]
fn a_file_that_is_wrong_is_told_in_one_line() {
    let folder = Folder::new();
    for (text, says) in [
        (
            "workers = 2\nwrokers = 1",
            "config.toml: line 2: wrokers: unknown option; did you mean: workers",
        ),
        (
            "[fliter]\nplan = \"auto\"",
            "config.toml: line 1: [fliter]: unknown command",
        ),
        (
            "[image.severe]\n",
            "config.toml: line 1: [image.severe]: unknown command",
        ),
        (
            "quiet = 1",
            "config.toml: line 1: quiet: give true or false",
        ),
        (
            "[filter]\nplan = true",
            "config.toml: line 2: filter.plan: give a text or a number",
        ),
        ("workers = 1\nplan =\n", "config.toml: line 2: "),
        (
            "[filter]\nplan = \"fast\"",
            "config.toml: line 2: filter.plan: invalid value 'fast' for '--plan",
        ),
        (
            "quiet = true\n\nworkers = \"two\"",
            "config.toml: line 3: workers: invalid value 'two' for '--workers <N>': not a whole number",
        ),
        (
            "workers = 0",
            "config.toml: line 1: workers: invalid value '0' for '--workers <N>': 0 is not in 1..=",
        ),
        (
            "[image.pack]\nworkers = 1\nblock = \"huge\"",
            "config.toml: line 3: image.pack.block: ",
        ),
        (
            "no-config = true",
            "config.toml: line 1: no-config: unknown option",
        ),
    ] {
        for line in ["filter blur -i testsrc:64x48:3 -o null:", "config"] {
            with(&folder, text, line).failed(2, &[says]);
        }
    }
    let mut absent = folder.evener(["topology"]);
    let done = Done::of(absent.env("EVENER_CONFIG", folder.path("absent.toml")));
    done.failed(2, &["absent.toml: "]);
}

#[test]
fn options_of_one_name_get_the_values_that_they_take() {
    let folder = Folder::new();
    let shown = with(&folder, "json = \"report\"", "config");
    let shown = shown.succeeded().text();
    assert!(shown.contains("evener filter --json report"), "{shown}");
    assert!(!shown.contains("evener filters "), "{shown}");
    let shown = with(&folder, "json = true", "config");
    let shown = shown.succeeded().text();
    assert!(shown.contains("evener filters --json\n"), "{shown}");
    assert!(!shown.contains("evener filter "), "{shown}");
    let done = with(&folder, "[filter]\njson = true", "config");
    done.failed(2, &["line 2: filter.json: give a text or a number"]);
}

#[test]
fn one_run_goes_without_the_file() {
    let folder = Folder::new();
    let line = "filter blur -i testsrc:64x48:3 -o null:";
    let text = "quiet = true\n[filter]\nplan = \"nothing\"";
    with(&folder, text, line).failed(2, &["filter.plan"]);
    for line in [format!("{line} --no-config"), format!("--no-config {line}")] {
        let done = with(&folder, text, &line);
        assert!(done.succeeded().stderr.starts_with("3 frames"), "{done:?}");
    }
    let shown = with(&folder, text, "config --no-config");
    assert!(
        shown.succeeded().text().starts_with("no config file: "),
        "{shown:?}"
    );
}

#[test]
fn bash_takes_its_completions() {
    let folder = Folder::new();
    let script = folder.line("completions bash");
    fs::write(folder.path("evener.bash"), script.succeeded().text()).unwrap();
    let asks = "source ./evener.bash; COMP_WORDS=(evener fil); COMP_CWORD=1; _evener evener fil evener; echo ${COMPREPLY[@]}";
    let done = Done::of(folder.command("bash").args(["-c", asks]));
    assert_eq!(done.succeeded().text(), "filter filters\n");
}

#[test]
fn man_shows_its_pages() {
    let folder = Folder::new();
    folder.line("man pages/man1").succeeded();
    let page = fs::read_to_string(folder.path("pages/man1/evener-filter.1")).unwrap();
    assert!(page.contains(".SH OPTIONS") && !page.contains("EXTRA"));
    let examples = page.split(".SH EXAMPLES\n.RS\n.nf\n").nth(1).unwrap();
    let examples = examples.split(".fi\n").next().unwrap();
    assert!(examples.lines().count() > 3, "{examples}");
    assert!(
        examples.lines().all(|line| line.contains("evener filter ")),
        "{examples}"
    );
    assert!(folder.path("pages/man1/evener-image-serve.1").exists());
    if !is_there("groff") {
        evener_testing::skip("there is no groff");
        return;
    }
    let mut groff = folder.command("groff");
    let shown = Done::of(groff.args([
        "-Kutf8",
        "-ww",
        "-man",
        "-Tutf8",
        "pages/man1/evener-filter.1",
    ]));
    assert_eq!(shown.succeeded().stderr, "");
}

fn is_there(program: &str) -> bool {
    let mut command = Command::new(program);
    command
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

#[test]
fn pages_are_written_to_folders_alone() {
    let folder = Folder::new();
    fs::write(folder.path("file"), "").unwrap();
    let done = folder.line("man file");
    done.failed(1, &["cannot write to file: "]);
}

#[test]
fn what_is_given_leaves_out_the_defaults_that_it_excludes() {
    let folder = Folder::new();
    folder.file("plain", "text");
    folder.file("pw", "passphrase of a file");
    folder.line("keygen -o k").succeeded();
    folder.line("keygen --age -o id").succeeded();
    let is = |file: &str, kind: &str| {
        let shown = folder.line(&format!("inspect {file}"));
        assert!(shown.succeeded().text().contains(kind), "{shown:?}");
        fs::remove_file(folder.path(file)).unwrap();
    };
    let sealed = "encrypt --passphrase-file pw plain -o sealed";
    for text in ["[encrypt]\nkey = \"k\"", "key = \"k\""] {
        with(&folder, text, sealed).succeeded();
        is("sealed", "passphrase");
    }
    let line = "encrypt --age --passphrase-file pw plain -o sealed";
    with(&folder, "[encrypt]\nkey = \"k\"", line).succeeded();
    is("sealed", "age");
    for text in [
        "identity = \"id\"",
        "[encrypt]\nage = true",
        "[encrypt]\nidentity = [\"id\"]\narmor = true",
    ] {
        with(&folder, text, "encrypt -k k plain -o sealed").succeeded();
        is("sealed", "key file");
    }
    // The inner table comes first.
    let text = "identity = \"id\"\n[encrypt]\nkey = \"k\"";
    with(&folder, text, "encrypt plain -o sealed").succeeded();
    is("sealed", "key file");
    folder.line("encrypt -k k plain -o sealed").succeeded();
    let line = "decrypt -k k sealed -o out";
    with(&folder, "[decrypt]\nverify = true\nidentity = \"id\"", line).succeeded();
    assert_eq!(fs::read(folder.path("out")).unwrap(), b"text");
    let line = "queens 6 --checkpoint cc";
    let shown = with(&folder, "[queens]\nshow = 1", line);
    assert!(
        shown.succeeded().text().starts_with("N = 6: 4 solutions"),
        "{shown:?}"
    );
}

#[test]
fn a_table_whose_options_exclude_one_another_is_told() {
    let folder = Folder::new();
    let text = "[encrypt]\nage = true\nkey = \"k\"";
    let done = with(&folder, text, "config");
    done.failed(
        2,
        &["config.toml: line 3: encrypt.key: ", "cannot be used with"],
    );
}

#[test]
fn options_of_all_commands_stand_in_the_table_of_one() {
    let folder = Folder::new();
    let text = "[filter]\nquiet = true";
    let line = "filter blur -i testsrc:64x48:3 -o null:";
    assert_eq!(with(&folder, text, line).succeeded().stderr, "");
    let done = with(&folder, text, "encode -i testsrc:64x48:3 -o null:");
    assert!(!done.succeeded().stderr.is_empty());
    let shown = with(&folder, text, "config").succeeded().text();
    assert!(shown.ends_with("\n  evener filter --quiet\n"), "{shown}");
}

#[test]
fn help_is_there_for_a_file_that_is_wrong() {
    let folder = Folder::new();
    let done = with(&folder, "wrokers = 1", "filter --help");
    assert!(done.succeeded().text().contains("Usage: evener filter"));
    let done = with(&folder, "wrokers = 1", "queens 6");
    done.failed(2, &["wrokers", "--no-config ignores the file"]);
}
