//! Inputs that change while they are read.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::process::Stdio;
use std::time::{Duration, SystemTime};

use super::stuck::wait_until_full;
use crate::ffmpeg::has_ffmpeg;
use crate::run::{Done, Folder};

const HEX: &str = "000102030405060708090a0b0c0d0e0f";
/// More than a stream reads ahead of a reader that does not read.
const BYTES: u64 = 96 << 20;

/// Runs a command that reads `in` and prints, and changes that file when a part of it was read.
fn changed_by(folder: &Folder, line: &str, change: impl FnOnce(&File)) -> Done {
    let mut child = folder
        .evener(line.split_whitespace())
        .stdin(File::open(folder.path("in")).unwrap())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdout = child.stdout.take().unwrap();
    wait_until_full(&stdout);
    change(&File::options().write(true).open(folder.path("in")).unwrap());
    let mut bytes = 0;
    let mut some = vec![0; 1 << 20];
    while let Ok(n @ 1..) = stdout.read(&mut some) {
        bytes += n;
    }
    assert!(bytes > 1 << 20);
    Done::from(child.wait_with_output().unwrap())
}

/// A file full of holes, which take no time to make or to read.
fn sparse() -> Folder {
    let folder = Folder::new();
    folder.line("keygen -o key").succeeded();
    folder.file("in", "").metadata().unwrap();
    File::create(folder.path("in"))
        .unwrap()
        .set_len(BYTES)
        .unwrap();
    folder
}

#[track_caller]
fn is_told(done: &Done, parts: &[&str]) {
    let told = |line: &str| {
        line.starts_with("evener: warning: ") && parts.iter().all(|p| line.contains(p))
    };
    assert_eq!(
        done.stderr.lines().filter(|line| told(line)).count(),
        1,
        "{}",
        done.stderr
    );
}

#[test]
fn what_is_encrypted_is_watched() {
    let folder = sparse();
    let plan = "--plan sequential --workers 1";
    for (line, name) in [
        (format!("encrypt -k key in {plan}"), "in: "),
        (format!("encrypt -k key {plan}"), "standard input: "),
        (format!("ctr --key {HEX} --iv {HEX} in {plan}"), "in: "),
    ] {
        // Written to, longer, shorter.
        let later = SystemTime::now() + Duration::from_secs(5);
        let done = changed_by(&folder, &line, |file| file.set_modified(later).unwrap());
        is_told(done.succeeded(), &[name, "changed while it was being read"]);
        let done = changed_by(&folder, &line, |file| file.set_len(BYTES + 1).unwrap());
        is_told(done.succeeded(), &[name, "changed while it was being read"]);
        let done = changed_by(&folder, &line, |file| file.set_len(BYTES - 99).unwrap());
        let parts = [
            name,
            &format!("shrank from {} to {} bytes", BYTES + 1, BYTES - 99),
        ];
        is_told(done.succeeded(), &parts);
        File::options()
            .write(true)
            .open(folder.path("in"))
            .unwrap()
            .set_len(BYTES)
            .unwrap();
    }
}

#[test]
fn a_file_that_is_as_it_was_is_not_spoken_of() {
    let folder = sparse();
    let done = changed_by(&folder, "encrypt -k key in", |_| ());
    assert!(
        !done.succeeded().stderr.contains("warning"),
        "{}",
        done.stderr
    );
    // A new file under the name is another file.
    let done = changed_by(&folder, "encrypt -k key in", |_| {
        fs::remove_file(folder.path("in")).unwrap();
    });
    assert!(
        !done.succeeded().stderr.contains("warning"),
        "{}",
        done.stderr
    );
}

#[test]
fn video_is_watched() {
    let folder = Folder::new();
    let mut file = File::create(folder.path("in")).unwrap();
    file.write_all(b"YUV4MPEG2 W1920 H1080 F25:1 Cmono\n")
        .unwrap();
    let frame = [b"FRAME\n".as_slice(), &[99; 1920 * 1080]].concat();
    for _ in 0..40 {
        file.write_all(&frame).unwrap();
    }
    let line = "filter crop=1 -i - -o - --plan sequential --workers 1";
    let done = changed_by(&folder, line, |mut file| {
        file.set_len(34 + 40 * frame.len() as u64).unwrap();
        file.set_modified(SystemTime::now() + Duration::from_secs(5))
            .unwrap();
        file.flush().unwrap();
    });
    is_told(
        done.succeeded(),
        &["standard input: changed while it was being read"],
    );
    // Cut within a frame: an error of the format, and why.
    let done = changed_by(&folder, line, |file| {
        file.set_len(34 + 30 * frame.len() as u64 + 5).unwrap()
    });
    assert_eq!(done.status, Some(1));
    is_told(&done, &["standard input: shrank from"]);
    assert!(
        done.stderr.contains("ends inside frame 30"),
        "{}",
        done.stderr
    );
}

#[test]
fn what_ffmpeg_reads_is_watched() {
    if !has_ffmpeg() {
        return;
    }
    let folder = Folder::new();
    let line = "filter crop=1 -i testsrc:640x480:40 -o in.mkv";
    folder.line(line).succeeded();
    fs::rename(folder.path("in.mkv"), folder.path("in")).unwrap();
    let later = SystemTime::now() + Duration::from_secs(5);
    let done = changed_by(&folder, "filter crop=1 -i in -o -", |file| {
        file.set_modified(later).unwrap();
    });
    is_told(done.succeeded(), &["in: changed while it was being read"]);
}
