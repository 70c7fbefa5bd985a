//! Readers that do not read, and writers that do not write.

use std::os::fd::AsFd;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::io::ioctl_fionread;
use rustix::process::Signal;

use super::{STREAMS, needs};
use crate::run::{Done, Folder};
use crate::signals::{ended, is_ignored, send, wait_for_output};

/// How long one may take after a signal. It is a second; this machine may be doing other things.
const SOON: Duration = Duration::from_secs(10);

/// Waits until nothing more comes into a pipe without a reader.
pub fn wait_until_full(pipe: impl AsFd) {
    let begin = Instant::now();
    let (mut held, mut since) = (0, Instant::now());
    while held == 0 || since.elapsed() < Duration::from_millis(150) {
        assert!(begin.elapsed() < Duration::from_secs(60), "nothing comes");
        let now = ioctl_fionread(&pipe).unwrap();
        if now != held {
            (held, since) = (now, Instant::now());
        }
        thread::sleep(Duration::from_millis(5));
    }
}

#[track_caller]
fn ends_by(child: Child, signal: Signal, line: &str) -> Done {
    let done = ended(child);
    assert_eq!(
        done.signal,
        Some(signal.as_raw()),
        "{line}: {}",
        done.stderr
    );
    done
}

#[test]
fn one_signal_ends_a_stream_that_nobody_reads() {
    let folder = needs();
    let names = folder.names();
    for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
        if is_ignored(signal) {
            continue;
        }
        // All at the same time: each waits.
        let children = STREAMS.map(|line| {
            let mut child = folder
                .evener(line.split_whitespace())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap();
            (line, child.stdout.take().unwrap(), child)
        });
        for (_, stdout, _) in &children {
            wait_until_full(stdout);
        }
        let begin = Instant::now();
        for (_, _, child) in &children {
            send(child, signal);
        }
        for (line, stdout, child) in children {
            ends_by(child, signal, line);
            drop(stdout);
        }
        assert!(begin.elapsed() < SOON, "{:?}", begin.elapsed());
        assert_eq!(folder.names(), names);
    }
}

#[test]
fn one_signal_ends_a_report_that_nobody_reads() {
    if is_ignored(Signal::TERM) {
        return;
    }
    let folder = Folder::new();
    let made = Command::new("mkfifo").arg(folder.path("trace")).status();
    assert!(made.unwrap().success());
    // The stream is over when the trace is written, and longer than what fits a pipe.
    let line = "filter crop=1 -i testsrc:16x16:20000 -o out.y4m --plan sequential --trace trace";
    let child = folder
        .evener(line.split(' '))
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let fifo = std::fs::File::open(folder.path("trace")).unwrap();
    wait_until_full(&fifo);
    send(&child, Signal::TERM);
    ends_by(child, Signal::TERM, line);
    assert_eq!(folder.names(), ["out.y4m", "trace"]);
}

#[test]
fn one_signal_ends_a_stream_whose_writer_is_silent() {
    let hex = "000102030405060708090a0b0c0d0e0f";
    for line in [
        "encrypt -k key -o out",
        &format!("ctr --key {hex} --iv {hex} -o out"),
        &format!("product encrypt --key {hex} -o out"),
        "image pack - out",
    ] {
        if is_ignored(Signal::TERM) {
            return;
        }
        let folder = Folder::new();
        folder.line("keygen -o key").succeeded();
        let mut child = folder
            .evener(line.split(' '))
            .stdin(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let stdin = child.stdin.take();
        wait_for_output(&folder, 0);
        let begin = Instant::now();
        send(&child, Signal::TERM);
        ends_by(child, Signal::TERM, line);
        drop(stdin);
        assert!(begin.elapsed() < SOON, "{line}");
        assert_eq!(folder.names(), ["key"], "{line}");
    }
}
