//! Disks, pipes and signals.

use std::fs;
use std::io::Read;
use std::process::Stdio;

use rustix::process::Signal;

use super::{MIB, content, keyed, piped, same, seal, text};
use crate::errors::under_limit;
use crate::run::{Done, Folder};
use crate::signals::{ended, is_ignored, send, wait_for_output, wait_for_reading};

const CTR: &str =
    "ctr --key 000102030405060708090a0b0c0d0e0f --iv 000102030405060708090a0b0c0d0e0f";

/// A folder with a key, a text and the text sealed.
fn files() -> (Folder, Vec<u8>) {
    let folder = keyed();
    let text = text(3 * MIB + 5);
    folder.file("plain", &text);
    folder.file("sealed", seal(&folder, &text));
    (folder, text)
}

#[test]
fn inputs_that_cannot_be_read() {
    let (folder, _) = files();
    fs::create_dir(folder.path("folder")).unwrap();
    for (input, part) in [("none", "No such file"), ("folder", "directory")] {
        for command in ["encrypt -k key", "decrypt -k key", CTR] {
            let done = folder.line(&format!("{command} {input} -o out"));
            done.failed(1, &[&format!("{input}: "), part]);
        }
    }
    assert_eq!(folder.names(), ["folder", "key", "plain", "sealed"]);
}

#[test]
fn the_output_is_not_the_input() {
    let (folder, text) = files();
    fs::hard_link(folder.path("plain"), folder.path("again")).unwrap();
    for output in ["plain", "./plain", "again"] {
        for command in ["encrypt -k key", CTR] {
            let done = folder.line(&format!("{command} plain -o {output}"));
            done.failed(1, &[output, "is an input as well"]);
        }
    }
    same(&content(&folder, "plain"), &text, "the input");
    // As a shell does it: `evener ctr plain >> plain`.
    let both = fs::File::options()
        .append(true)
        .open(folder.path("plain"))
        .unwrap();
    let line = format!("{CTR} plain");
    let done = Done::of(
        folder
            .evener(line.split(' '))
            .stdout(both)
            .stderr(Stdio::piped()),
    );
    done.failed(1, &["is an input as well"]);
    same(&content(&folder, "plain"), &text, "the input");
}

#[test]
fn outputs_that_cannot_be_written() {
    let (folder, _) = files();
    let before = folder.names();
    for (output, part) in [
        ("none/out", "No such file"),
        ("plain/out", "plain/out: cannot create"),
        ("/dev/full", "No space left"),
    ] {
        for command in [
            "encrypt -k key plain",
            "decrypt -k key sealed",
            "decrypt -k key sealed --range 5-3000000",
        ] {
            let done = folder.line(&format!("{command} -o {output}"));
            done.failed(1, &[output, part]);
            assert_eq!(folder.names(), before, "{command} -o {output}");
        }
    }
    let full = fs::File::options().write(true).open("/dev/full").unwrap();
    let mut command = folder.evener("decrypt -k key sealed".split(' '));
    let done = Done::of(command.stdout(full).stderr(Stdio::piped()));
    done.failed(1, &["standard output: No space left"]);
}

#[test]
fn a_folder_that_must_not_be_written_to() {
    use std::os::unix::fs::PermissionsExt;

    let (folder, _) = files();
    let locked = folder.path("locked");
    fs::create_dir(&locked).unwrap();
    fs::set_permissions(&locked, fs::Permissions::from_mode(0o500)).unwrap();
    if fs::write(locked.join("try"), "").is_ok() {
        evener_testing::skip("this user may write everywhere");
        return;
    }
    for command in ["encrypt -k key plain", "decrypt -k key sealed"] {
        let done = folder.line(&format!("{command} -o locked/out"));
        done.failed(1, &["locked/out", "Permission denied"]);
    }
    folder
        .line("keygen -o locked/key")
        .failed(1, &["locked/key", "Permission denied"]);
}

#[test]
fn a_full_disk_leaves_the_old_file() {
    let (folder, _) = files();
    folder.file("out", "old");
    let before = folder.names();
    for command in [
        "encrypt -k key plain",
        "decrypt -k key sealed",
        "decrypt -k key sealed --range 5-3000000",
    ] {
        for output in ["out", "new"] {
            // In blocks of 512 bytes: a MiB and a part.
            let done = under_limit(&folder, "-f 3000", &format!("{command} -o {output}"));
            done.failed(
                1,
                &[
                    &format!("{output}: File too large after "),
                    "free some space",
                ],
            );
        }
    }
    assert_eq!(folder.names(), before);
    assert_eq!(content(&folder, "out"), b"old");
}

#[test]
fn a_reader_that_has_enough_ends_it_quietly() {
    let (folder, text) = files();
    for plan in ["auto", "sequential", "farm"] {
        for (command, begin) in [
            ("encrypt -k key /dev/zero", None),
            ("decrypt -k key sealed", Some(&text[..1000])),
        ] {
            let line = format!("{command} --plan {plan}");
            let mut some = [0; 1000];
            let done = folder.cut_short(&line, &mut some);
            assert!(begin.is_none_or(|begin| begin == some));
            done.lost_its_reader();
        }
    }
}

#[test]
fn a_shell_pipeline_works() {
    let folder = keyed();
    let script = "\"$0\" encrypt -k key /dev/zero | \"$0\" decrypt -k key | head -c 5000000";
    let mut shell = folder.command("sh");
    shell.args(["-c", script, env!("CARGO_BIN_EXE_evener")]);
    let done = Done::of(&mut shell);
    assert!(done.succeeded().stdout == [0; 5_000_000]);
}

#[test]
fn the_first_signal_leaves_no_file() {
    let folder = keyed();
    for (signal, status, plan) in [
        (Signal::INT, 130, "auto"),
        (Signal::INT, 130, "farm"),
        (Signal::TERM, 143, "sequential"),
    ] {
        if is_ignored(signal) {
            continue;
        }
        folder.file("out", "old");
        for command in ["encrypt -k key", CTR] {
            let line = format!("{command} /dev/zero -o out --plan {plan}");
            let child = folder
                .evener(line.split(' '))
                .stderr(Stdio::piped())
                .spawn()
                .unwrap();
            wait_for_output(&folder, 3 * MIB as u64);
            send(&child, signal);
            let done = ended(child);
            assert_eq!(done.status, Some(status), "{}", done.stderr);
            assert_eq!(done.stderr.lines().count(), 1, "{}", done.stderr);
            assert_eq!(folder.names(), ["key", "out"]);
            assert_eq!(content(&folder, "out"), b"old");
        }
    }
}

#[test]
fn a_decryption_that_is_ended_leaves_no_file() {
    if is_ignored(Signal::INT) {
        return;
    }
    let folder = keyed();
    let mut source = folder
        .evener("encrypt -k key /dev/urandom".split(' '))
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let child = folder
        .evener("decrypt -k key -o out".split(' '))
        .stdin(source.stdout.take().unwrap())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    wait_for_output(&folder, 3 * MIB as u64);
    send(&child, Signal::INT);
    let done = ended(child);
    assert_eq!(done.status, Some(130), "{}", done.stderr);
    assert_eq!(folder.names(), ["key"]);
    assert!(ended(source).status.is_some());
}

#[test]
fn an_input_that_says_nothing_can_be_left() {
    if is_ignored(Signal::INT) {
        return;
    }
    let (folder, _) = files();
    let sealed = content(&folder, "sealed");
    let before = folder.names();
    // Nothing, half a header, a header, two units and a part.
    for feed in [0, 30, 56, 5 * MIB / 2] {
        let mut child = folder
            .evener("decrypt -k key -o out".split(' '))
            .stdin(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut to = child.stdin.take().unwrap();
        std::io::Write::write_all(&mut to, &sealed[..feed]).unwrap();
        wait_for_reading(&child, &to, Signal::INT);
        send(&child, Signal::INT);
        let done = ended(child);
        drop(to);
        assert_eq!(done.status, Some(130), "{feed} bytes: {}", done.stderr);
        assert_eq!(folder.names(), before);
    }
}

#[test]
fn what_comes_slowly_passes_unit_by_unit() {
    let folder = keyed();
    let text = text(3 * MIB);
    let sealed = seal(&folder, &text);
    let mut child = folder
        .evener("decrypt -k key".split(' '))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let (mut to, mut from) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let unit = 64 * super::SEALED;
    let (header, chunks) = sealed.split_at(super::HEADER);
    std::io::Write::write_all(&mut to, header).unwrap();
    for (n, part) in chunks.chunks(unit).take(3).enumerate() {
        let part = part.to_vec();
        std::io::Write::write_all(&mut to, &part).unwrap();
        // It must come out before anything more goes in.
        let mut back = vec![0; MIB];
        from.read_exact(&mut back).unwrap();
        same(&back, &text[n * MIB..(n + 1) * MIB], &format!("unit {n}"));
    }
    // Without the empty chunk at the end the file is not whole.
    drop(to);
    let mut rest = Vec::new();
    from.read_to_end(&mut rest).unwrap();
    assert_eq!(rest, b"");
    let done = Done::from(child.wait_with_output().unwrap());
    done.failed(1, &["standard input: was cut", "chunk 192"]);
}

#[test]
fn an_input_that_is_a_device_is_read_like_a_pipe() {
    let folder = keyed();
    folder
        .line("encrypt -k key /dev/null -o sealed")
        .succeeded();
    let done = piped(&folder, "decrypt -k key", &content(&folder, "sealed"));
    assert_eq!(done.succeeded().stdout, b"");
}
