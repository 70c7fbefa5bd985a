//! Ctrl-C and its kin.

use std::fs::{self, File};
use std::io::Read;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::io::ioctl_fionread;
use rustix::process::{Pid, Signal, kill_process};

use crate::ends::stuck::wait_until_full;
use crate::ffmpeg::has_ffmpeg;
use crate::run::{Done, Folder, frames_of};

pub fn send(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).unwrap();
}

/// Whether this process ignores a signal, and so do those it starts; see proc_pid_status(5).
pub fn is_ignored(signal: Signal) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|l| l.strip_prefix("SigIgn:"));
    let ignored = mask
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .is_some_and(|mask| mask >> (signal.as_raw() - 1) & 1 == 1);
    if ignored {
        evener_testing::skip(format_args!(
            "{signal:?} is ignored here, as under nohup or in the background of a script"
        ));
    }
    ignored
}

/// Waits until a process handles a signal; see proc_pid_status(5).
pub fn wait_for_handler(child: &Child, signal: Signal) {
    let path = format!("/proc/{}/status", child.id());
    let begin = Instant::now();
    let handles = || {
        let status = fs::read_to_string(&path).unwrap_or_default();
        let mask = status.lines().find_map(|l| l.strip_prefix("SigCgt:"));
        let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
        mask.is_some_and(|mask| mask >> (signal.as_raw() - 1) & 1 == 1)
    };
    while !handles() {
        let late = begin.elapsed() > Duration::from_secs(60);
        assert!(!late, "{signal:?} is not handled");
        thread::sleep(Duration::from_millis(2));
    }
}

/// Waits until what was written into a pipe has been read from it, by a process that handles a signal.
pub fn wait_for_reading(child: &Child, to: &ChildStdin, signal: Signal) {
    wait_for_handler(child, signal);
    let begin = Instant::now();
    while ioctl_fionread(to).unwrap() > 0 {
        let late = begin.elapsed() > Duration::from_secs(60);
        assert!(!late, "the input is not read");
        thread::sleep(Duration::from_millis(2));
    }
}

/// Bytes of the file in a folder that is being written: it has a temporary name, or none and is only found as what a
/// process has open.
pub fn unfinished(folder: &Folder) -> Option<u64> {
    let names = folder.names();
    if let Some(part) = names.iter().find(|name| name.starts_with(".evener-part")) {
        return Some(fs::metadata(folder.path(part)).ok()?.len());
    }
    let within = fs::canonicalize(folder.path("")).unwrap();
    let open = |process: fs::DirEntry| fs::read_dir(process.path().join("fd"));
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let mut files = processes.filter_map(|p| open(p).ok()).flatten().flatten();
    let found = files.find(|file| {
        let leads = fs::read_link(file.path()).unwrap_or_default();
        leads.starts_with(&within) && leads.to_string_lossy().ends_with(" (deleted)")
    });
    Some(fs::metadata(found?.path()).ok()?.len())
}

/// Waits until the file that is being written has `bytes`.
pub fn wait_for_output(folder: &Folder, bytes: u64) {
    let begin = Instant::now();
    let written = || unfinished(folder);
    while written().is_none_or(|n| n < bytes) {
        assert!(
            begin.elapsed() < Duration::from_secs(60),
            "nothing is written"
        );
        thread::sleep(Duration::from_millis(2));
    }
}

pub fn ended(mut child: Child) -> Done {
    let begin = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if begin.elapsed() > Duration::from_secs(60) {
            child.kill().unwrap();
            panic!("it does not end");
        }
        thread::sleep(Duration::from_millis(2));
    }
    child.wait_with_output().unwrap().into()
}

#[test]
fn the_first_signal_ends_the_stream_with_what_it_has() {
    let folder = Folder::new();
    for (signal, status, plan) in [
        (Signal::INT, 130, "auto"),
        (Signal::INT, 130, "tiled"),
        (Signal::INT, 130, "farm"),
        (Signal::TERM, 143, "tiled"),
        (Signal::HUP, 129, "tiled"),
    ] {
        if is_ignored(signal) {
            continue;
        }
        let line = format!(
            "filter blur -i testsrc:320x240:10000000 -o out.y4m --plan {plan} --json r.json"
        );
        let child = folder
            .evener(line.split(' '))
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        wait_for_output(&folder, 200_000);
        send(&child, signal);
        let done = ended(child);
        assert_eq!(done.status, Some(status), "{}", done.stderr);
        assert_eq!(done.signal, Some(signal.as_raw()));
        assert_eq!(done.stderr.lines().count(), 1, "{}", done.stderr);
        assert_eq!(folder.names(), ["out.y4m", "r.json"]);
        let frames = frames_of(&folder.path("out.y4m"));
        let said = format!("interrupted: out.y4m has the first {frames} of 10000000 frames\n");
        assert_eq!(done.stderr, said);
        for name in folder.names() {
            fs::remove_file(folder.path(&name)).unwrap();
        }
    }
}

#[test]
fn pictures_of_a_stream_that_is_ended_are_kept_and_told_of() {
    if is_ignored(Signal::INT) || !has_ffmpeg() {
        return;
    }
    let folder = Folder::new();
    let line = "filter null -i testsrc:64x48:10000000 -o p-%03d.png";
    let child = folder
        .evener(line.split(' '))
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // Pictures are in a folder of their own until the end.
    let pictures = || {
        let names = folder.names();
        let part = names.iter().find(|name| name.starts_with(".evener-part"));
        let part = part.and_then(|part| fs::read_dir(folder.path(part)).ok());
        part.map_or(0, Iterator::count)
    };
    let begin = Instant::now();
    while pictures() < 2 {
        assert!(
            begin.elapsed() < Duration::from_secs(60),
            "nothing is written"
        );
        thread::sleep(Duration::from_millis(2));
    }
    send(&child, Signal::INT);
    let done = ended(child);
    assert_eq!(done.status, Some(130), "{}", done.stderr);
    let kept = folder.names().len();
    let said = format!(
        "interrupted: the first {kept} of 10000000 frames are kept as pictures p-%03d.png\n"
    );
    assert_eq!(done.stderr, said);
    assert!(kept > 0);
}

/// One that reads y4m from a pipe and writes `out.y4m`.
fn fed(folder: &Folder) -> (Child, ChildStdin) {
    let mut child = folder
        .evener("filter blur -i - -o out.y4m".split(' '))
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let to = child.stdin.take().unwrap();
    (child, to)
}

#[test]
fn an_input_that_says_nothing_can_be_left() {
    if is_ignored(Signal::INT) {
        return;
    }
    let folder = Folder::new();
    // Before the header, and between frames.
    for feed in [0, 1] {
        let (child, mut to) = fed(&folder);
        if feed > 0 {
            let frame = [b"FRAME\n".as_slice(), &[16; 64 * 48]].concat();
            let video = [
                b"YUV4MPEG2 W64 H48 F25:1 Cmono\n".as_slice(),
                &frame,
                &frame,
            ]
            .concat();
            std::io::Write::write_all(&mut to, &video).unwrap();
            wait_for_output(&folder, video.len() as u64);
        } else {
            wait_for_handler(&child, Signal::INT);
        }
        send(&child, Signal::INT);
        let done = ended(child);
        drop(to);
        assert_eq!(done.status, Some(130), "{}", done.stderr);
        let names: &[&str] = if feed > 0 { &["out.y4m"] } else { &[] };
        assert_eq!(folder.names(), names);
    }
}

#[test]
fn a_file_is_not_replaced_by_one_without_frames() {
    let folder = Folder::new();
    let old = fs::read(folder.scene("out.y4m", "64x48:3")).unwrap();
    let header = b"YUV4MPEG2 W64 H48 F25:1 Cmono\n".as_slice();
    if !is_ignored(Signal::INT) {
        let (child, mut to) = fed(&folder);
        std::io::Write::write_all(&mut to, header).unwrap();
        wait_for_output(&folder, 0);
        send(&child, Signal::INT);
        let done = ended(child);
        drop(to);
        assert_eq!(done.status, Some(130), "{}", done.stderr);
        let said = "interrupted: 0 frames done, out.y4m was not written\n";
        assert_eq!(done.stderr, said);
        assert_eq!(fs::read(folder.path("out.y4m")).unwrap(), old);
        assert_eq!(folder.names(), ["out.y4m"]);
    }
    folder.file("cut.y4m", [header, b"FRAME\nabc"].concat());
    let done = folder.line("filter blur -i cut.y4m -o out.y4m --keep-partial");
    done.failed(1, &["cut.y4m", "ends inside frame 0"]);
    assert!(!done.stderr.contains("kept"), "{}", done.stderr);
    assert_eq!(fs::read(folder.path("out.y4m")).unwrap(), old);
    assert_eq!(folder.names(), ["cut.y4m", "out.y4m"]);

    // A video that has no frames is another matter: it is whole.
    folder.file("none.y4m", header);
    folder
        .line("filter blur -i none.y4m -o out.y4m")
        .succeeded();
    assert!(
        fs::read(folder.path("out.y4m"))
            .unwrap()
            .starts_with(b"YUV4MPEG2 W64 H48 ")
    );
}

#[test]
fn the_second_signal_ends_at_once_and_leaves_nothing() {
    if is_ignored(Signal::INT) {
        return;
    }
    let folder = Folder::new();
    let fifo = folder.path("out.fifo");
    assert!(
        Command::new("mkfifo")
            .arg(&fifo)
            .status()
            .unwrap()
            .success()
    );
    let mut child = folder
        .evener("filter blur -i testsrc:640x480:1000000 -o out.fifo --json r.json".split(' '))
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A reader that stops reading: the frame that is being written never ends.
    let mut reader = File::open(&fifo).unwrap();
    reader.read_exact(&mut [0; 1000]).unwrap();
    wait_until_full(&reader);
    // A signal that comes before another of its kind was seen is none, so there may be some more.
    let begin = Instant::now();
    while child.try_wait().unwrap().is_none() {
        assert!(begin.elapsed() < Duration::from_secs(60), "it does not end");
        send(&child, Signal::INT);
        thread::sleep(Duration::from_millis(50));
    }
    let done = ended(child);
    assert_eq!(done.status, Some(130), "{}", done.stderr);
    assert_eq!(folder.names(), ["out.fifo"]);
}

#[cfg(feature = "bench")]
#[test]
fn a_measurement_that_is_ended_leaves_no_file() {
    if is_ignored(Signal::INT) {
        return;
    }
    let folder = Folder::new();
    let line = "bench filters --graph A --size 64x48 --frames 1000000000 --json r.json";
    let child = folder.evener(line.split(' ')).spawn().unwrap();
    wait_for_output(&folder, 0);
    send(&child, Signal::INT);
    assert_eq!(ended(child).status, Some(130));
    assert_eq!(folder.names(), [""; 0]);
}

#[test]
fn a_signal_that_was_ignored_from_the_start_stays_so() {
    let folder = Folder::new();
    let evener = folder.evener("filter blur -i testsrc:320x240:600 -o out.y4m".split(' '));
    let mut shell = folder.command("sh");
    shell.args(["-c", "trap '' HUP; exec \"$@\"", "sh"]);
    shell.arg(evener.get_program()).args(evener.get_args());
    let child = shell.stderr(Stdio::piped()).spawn().unwrap();
    wait_for_output(&folder, 200_000);
    send(&child, Signal::HUP);
    ended(child).succeeded();
    assert_eq!(frames_of(&folder.path("out.y4m")), 600);
}
