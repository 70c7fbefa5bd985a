//! What is on the disk while a command runs, when it has ended, and when it was killed.

use std::fs::{self, File, Permissions};
use std::io::{Read, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::run::{Done, Folder};
use crate::signals::{is_ignored, send, unfinished, wait_for_output};

/// A folder with a key, a private file and one that all may read.
fn files() -> Folder {
    let folder = Folder::new();
    folder.line("keygen -o key").succeeded();
    for (name, mode) in [("private", 0o600), ("public", 0o644)] {
        folder.file_with_mode(name, vec![7; 1 << 16], mode);
    }
    folder
}

fn mode(path: PathBuf) -> u32 {
    fs::metadata(path).unwrap().mode() & 0o777
}

/// A process that does not outlive its test.
struct Running(Child);

impl Running {
    fn new(folder: &Folder, line: &str) -> Running {
        let mut command = folder.evener(line.split(' '));
        command.stdin(Stdio::piped()).stdout(Stdio::null());
        Running(command.stderr(Stdio::piped()).spawn().unwrap())
    }

    /// Ends it by a signal, which it has to die of.
    #[track_caller]
    fn end(&mut self, signal: Signal) {
        send(&self.0, signal);
        let status = self.0.wait().unwrap();
        assert_eq!(status.signal(), Some(signal.as_raw()), "{status}");
    }

    fn has_ended(&mut self) -> bool {
        self.0.try_wait().unwrap().is_some()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[track_caller]
fn until(mut done: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !done() {
        assert!(
            begin.elapsed() < Duration::from_secs(60),
            "it does not happen"
        );
        thread::sleep(Duration::from_millis(2));
    }
}

/// `evener` that reads what is written to it without an end.
fn endless(folder: &Folder, line: &str) -> Running {
    let mut child = Running::new(folder, line);
    let mut to = child.0.stdin.take().unwrap();
    thread::spawn(move || while to.write_all(&[7; 1 << 16]).is_ok() {});
    child
}

fn has_ffmpeg() -> bool {
    let found = Command::new("ffmpeg").arg("-version").output().is_ok();
    if !found {
        evener_testing::skip("there is no ffmpeg");
    }
    found
}

#[test]
fn what_is_made_from_a_private_file_is_private() {
    let folder = files();
    fs::copy(folder.path("public"), folder.path("open")).unwrap();
    for (source, wanted) in [("private", 0o600), ("public", 0o644)] {
        let key = "--key 000102030405060708090a0b0c0d0e0f";
        for line in [
            format!("encrypt -k key {source} -o sealed"),
            "decrypt -k key sealed -o out".to_owned(),
            "decrypt -k key sealed --range 5-9 -o out".to_owned(),
            format!("ctr {key} --iv 000102030405060708090a0b0c0d0e0f {source} -o out"),
            format!("product encrypt {key} {source} -o out"),
            format!("image pack {source} packed"),
            "image unpack packed out".to_owned(),
            format!("encrypt -k key {source} -o open"),
        ] {
            // The umask of the user does not change what is compared.
            let mut shell = folder.command("sh");
            let evener = folder.evener(line.split(' '));
            shell.args(["-c", "umask 022; exec \"$@\"", "sh"]);
            shell.arg(evener.get_program()).args(evener.get_args());
            Done::of(&mut shell).succeeded();
            let output = line.rsplit(' ').next().unwrap();
            let wanted = if output == "open" { 0o644 } else { wanted };
            assert_eq!(mode(folder.path(output)), wanted, "{line}");
            if output == "out" {
                fs::remove_file(folder.path(output)).unwrap();
            }
        }
        // A file as the standard input says it as well.
        let mut command = folder.evener("encrypt -k key -o stdin".split(' '));
        let done = Done::of(command.stdin(File::open(folder.path(source)).unwrap()));
        done.succeeded();
        assert_eq!(mode(folder.path("stdin")) & !wanted, 0);
        for name in ["sealed", "packed", "stdin"] {
            fs::remove_file(folder.path(name)).unwrap();
        }
    }
    folder.scene("scene.y4m", "64x48:2");
    fs::set_permissions(folder.path("scene.y4m"), Permissions::from_mode(0o600)).unwrap();
    let mut outputs = vec!["out.y4m"];
    if has_ffmpeg() {
        outputs.push("out.mkv");
    }
    for output in outputs {
        let line = format!("filter blur -i scene.y4m -o {output}");
        folder.line(&line).succeeded();
        assert_eq!(mode(folder.path(output)), 0o600, "{line}");
    }
    let mut outputs = vec!["out.264", "out.mp4"];
    if has_ffmpeg() {
        outputs.push("out.mov");
    }
    for output in outputs {
        let line = format!("encode -i scene.y4m -o {output}");
        folder.line(&line).succeeded();
        assert_eq!(mode(folder.path(output)), 0o600, "{line}");
    }
}

#[test]
fn nothing_is_left_of_an_output_whatever_ends_its_run() {
    let folder = files();
    let before = folder.names();
    for signal in [Signal::KILL, Signal::QUIT, Signal::ABORT] {
        if is_ignored(signal) {
            continue;
        }
        for line in [
            "encrypt -k key -o out",
            "image pack - out",
            "filter blur -i testsrc:320x240:10000000 -o out.y4m",
            "encode -i testsrc:320x240:10000000 -o out.264 --preset ultrafast --qp 10",
            "encode -i testsrc:320x240:10000000 -o out.mp4 --preset ultrafast --qp 10",
            "encode -i testsrc:320x240:10000000 -o out.mkv --preset ultrafast --qp 10",
        ] {
            if line.contains(".mkv") && !has_ffmpeg() {
                continue;
            }
            let mut child = endless(&folder, line);
            wait_for_output(&folder, 1 << 17);
            if folder.names() != before {
                evener_testing::skip("files have names here from the beginning");
                return;
            }
            child.end(signal);
            assert_eq!(folder.names(), before, "{line}, {signal:?}");
        }
    }
}

#[test]
fn an_encoder_s_file_goes_with_sigquit_and_after_a_kill_with_the_next_run() {
    if !has_ffmpeg() {
        return;
    }
    let folder = Folder::new();
    let line = "filter blur -i testsrc:160x120:10000000 -o out.mkv";
    let run = |signal| {
        let mut child = Running::new(&folder, line);
        wait_for_output(&folder, 0);
        let names = folder.names();
        child.end(signal);
        names
    };
    if !is_ignored(Signal::QUIT) {
        run(Signal::QUIT);
        assert_eq!(folder.names(), [""; 0]);
    }
    let left = run(Signal::KILL);
    assert_eq!(left, [".evener-part1-out.mkv"]);
    assert_eq!(folder.names(), left);
    folder
        .line("filter blur -i testsrc:160x120:3 -o out.mkv")
        .succeeded();
    assert_eq!(folder.names(), ["out.mkv"]);
}

#[test]
fn two_runs_may_write_one_output() {
    if !has_ffmpeg() {
        return;
    }
    let folder = Folder::new();
    let mut slow = Running::new(
        &folder,
        "filter blur -i testsrc:160x120:10000000 -o out.mkv",
    );
    wait_for_output(&folder, 0);
    folder
        .line("filter blur -i testsrc:160x120:3 -o out.mkv")
        .succeeded();
    assert_eq!(folder.names(), [".evener-part1-out.mkv", "out.mkv"]);
    assert!(!slow.has_ended());
}

#[test]
fn rights_are_strict_from_the_first_byte() {
    let folder = files();
    let out = folder.file_with_mode("out", "old", 0o640);
    // Of one that is replaced the first who sees it is its owner.
    let mut child = endless(&folder, "encrypt -k key -o out");
    wait_for_output(&folder, 1);
    let open = format!("/proc/{}/fd", child.0.id());
    let found = fs::read_dir(open).unwrap().flatten().find(|file| {
        let leads = fs::read_link(file.path()).unwrap_or_default();
        leads.starts_with(fs::canonicalize(folder.path("")).unwrap())
    });
    assert_eq!(mode(found.unwrap().path()), 0o600);
    child.end(Signal::KILL);
    assert_eq!((mode(out), unfinished(&folder)), (0o640, None));
}

/// System calls that matter for what survives a power cut, in order: `sync FILE`, `name FILE`, `sync FOLDER`.
fn calls(folder: &Folder, line: &str) -> Option<Vec<String>> {
    let probe = Command::new("strace")
        .args(["-o", "/dev/null", "true"])
        .status();
    if !probe.is_ok_and(|status| status.success()) {
        evener_testing::skip("there is no strace that may trace");
        return None;
    }
    let evener = folder.evener(line.split(' '));
    let mut command = folder.command("strace");
    command.args(["-f", "-y", "-o", "calls"]);
    command.args([
        "-e",
        "trace=fsync,fdatasync,link,linkat,rename,renameat,renameat2",
    ]);
    command.arg(evener.get_program()).args(evener.get_args());
    Done::of(command.stdin(Stdio::null())).succeeded();
    let within = fs::canonicalize(folder.path("")).unwrap();
    let within = within.to_str().unwrap();
    let text = fs::read_to_string(folder.path("calls")).unwrap();
    fs::remove_file(folder.path("calls")).unwrap();
    let done = |line: &String| line.contains(" = 0") && !line.contains("/cache/");
    let kinds = whole_calls(&text).into_iter().filter(done).map(|line| {
        let is_sync = line.contains("sync(");
        match (is_sync, line.contains(&format!("<{within}>"))) {
            (true, true) => "sync FOLDER",
            (true, false) => "sync FILE",
            (false, _) => "name FILE",
        }
    });
    Some(kinds.map(str::to_owned).collect())
}

/// The calls of a trace in the order they ended: where threads come between, a call has two lines.
fn whole_calls(trace: &str) -> Vec<String> {
    let mut begun = std::collections::HashMap::new();
    let mut calls = Vec::new();
    for line in trace.lines() {
        let Some((thread, call)) = line.split_once(' ') else {
            continue;
        };
        if let Some((first, _)) = call.split_once("<unfinished ...>") {
            begun.insert(thread, first);
        } else if let Some((_, rest)) = call.split_once(" resumed>") {
            let first = begun.remove(thread).unwrap_or_default();
            calls.push(format!("{first}{rest}"));
        } else {
            calls.push(call.to_owned());
        }
    }
    calls
}

#[test]
fn calls_that_threads_part_are_put_together() {
    let trace = "7 linkat(a) <unfinished ...>\n8 fsync(3) = 0\n7 <... linkat resumed>) = -1 EEXIST";
    assert_eq!(
        whole_calls(trace),
        ["fsync(3) = 0", "linkat(a) ) = -1 EEXIST"]
    );
}

#[test]
fn what_replaces_something_is_on_the_disk_before_and_its_name_after() {
    let folder = files();
    let new = ["sync FILE", "name FILE", "sync FOLDER"];
    // A link replaces nothing: one under another name, which is then changed.
    let old = ["sync FILE", "name FILE", "name FILE", "sync FOLDER"];
    for line in [
        "encrypt -k key public -o sealed",
        "decrypt -k key sealed -o out",
        "image pack public packed",
        "image unpack packed raw",
        "keygen -o another",
    ] {
        for wanted in [&new[..], &old] {
            if line.starts_with("keygen") && wanted == old {
                continue;
            }
            let Some(calls) = calls(&folder, line) else {
                return;
            };
            assert_eq!(calls, wanted, "{line}");
        }
    }
    // A checkpoint before the work and one at the end.
    let calls = calls(&folder, "queens 8 --checkpoint c").unwrap();
    assert_eq!(calls, [&new[..], &old].concat());
    // What can be made again, and is large, is not waited for.
    let calls = self::calls(&folder, "filter blur -i testsrc:64x48:3 -o out.y4m").unwrap();
    assert_eq!(calls, ["name FILE"]);
}

#[test]
fn a_disk_that_fails_at_the_end_leaves_no_file() {
    let folder = files();
    let evener = folder.evener("encrypt -k key public -o sealed".split(' '));
    let mut command = folder.command("strace");
    command.args(["-f", "-o", "/dev/null", "-e", "inject=fsync:error=EIO"]);
    command.arg(evener.get_program()).args(evener.get_args());
    let before = folder.names();
    match command.stdin(Stdio::null()).output() {
        Ok(output) => {
            let done = Done::from(output);
            if done.stderr.starts_with("strace") {
                evener_testing::skip(&done.stderr);
                return;
            }
            done.failed(1, &["sealed: cannot put the finished file in place"]);
            assert_eq!(folder.names(), before);
        }
        Err(_) => evener_testing::skip("there is no strace"),
    }
}

const LONG: &str = "queens 22 --checkpoint c --checkpoint-every 0 --plan farm --workers 1";

/// A count that takes long, once its checkpoint is there.
fn counting(folder: &Folder) -> Running {
    let child = Running::new(folder, LONG);
    until(|| folder.path("c").exists());
    child
}

#[test]
fn two_runs_on_one_checkpoint_are_refused() {
    let folder = Folder::new();
    let mut child = counting(&folder);
    std::os::unix::fs::symlink("c", folder.path("link")).unwrap();
    for name in ["c", "./c", "link"] {
        let done = folder.line(&format!("queens 22 --checkpoint {name}"));
        done.failed(1, &[name, "another run keeps its checkpoint there"]);
    }
    child.end(Signal::KILL);
    // Whatever ended it, the next one goes on.
    let mut next = Running::new(&folder, LONG);
    let old = fs::metadata(folder.path("c")).unwrap().ino();
    until(|| fs::metadata(folder.path("c")).unwrap().ino() != old);
    assert!(!next.has_ended());
    assert_eq!(folder.names(), ["c", "link"]);
}

#[test]
fn two_first_runs_do_not_share_a_checkpoint() {
    let folder = Folder::new();
    let [mut first, mut second] = [LONG, LONG].map(|line| Running::new(&folder, line));
    until(|| first.has_ended() || second.has_ended());
    let refused = if first.has_ended() {
        &mut first
    } else {
        &mut second
    };
    let mut said = String::new();
    let mut stderr = refused.0.stderr.take().unwrap();
    stderr.read_to_string(&mut said).unwrap();
    assert!(
        said.starts_with("evener: c: another run keeps its checkpoint there"),
        "{said}"
    );
    assert_eq!(said.lines().count(), 1, "{said}");
    assert_eq!(refused.0.wait().unwrap().code(), Some(1));
}

#[test]
fn a_checkpoint_that_cannot_be_written_is_told_at_once_and_once() {
    if is_ignored(Signal::INT) {
        return;
    }
    let folder = Folder::new();
    fs::create_dir(folder.path("gone")).unwrap();
    let mut child = Running::new(&folder, &LONG.replace(" c ", " gone/c "));
    until(|| folder.path("gone/c").exists());
    fs::rename(folder.path("gone"), folder.path("away")).unwrap();
    let mut stderr = child.0.stderr.take().unwrap();
    let (mut said, mut byte) = (Vec::new(), [0]);
    while !said.ends_with(b"\n") && stderr.read(&mut byte).unwrap() == 1 {
        said.push(byte[0]);
    }
    let said = String::from_utf8(said).unwrap();
    assert!(
        said.starts_with("evener: warning: a checkpoint was not written"),
        "{said}"
    );
    assert!(
        said.contains("gone/c") && said.contains("No such file"),
        "{said}"
    );
    assert!(!child.has_ended(), "the run goes on");
    send(&child.0, Signal::INT);
    let mut rest = String::new();
    stderr.read_to_string(&mut rest).unwrap();
    assert!(!rest.contains("warning"), "{rest}");
    assert!(!child.0.wait().unwrap().success());
}
