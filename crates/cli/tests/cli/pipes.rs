//! Video through pipes.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use crate::run::{Done, Folder, frames_of};

#[test]
fn files_and_pipes_give_the_same() {
    let folder = Folder::new();
    let input = folder.scene("in.y4m", "96x64:7");
    folder
        .line("filter blur,flip=v -i in.y4m -o file.y4m")
        .succeeded();
    let mut command = folder.evener(["filter", "blur,flip=v", "-i", "-", "-o", "-"]);
    let done = Done::of(command.stdin(File::open(&input).unwrap()));
    assert_eq!(
        done.succeeded().stdout,
        fs::read(folder.path("file.y4m")).unwrap()
    );
    assert_eq!(done.stderr.lines().count(), 1, "{}", done.stderr);
    assert!(done.stderr.starts_with("7 frames"), "{}", done.stderr);
}

#[test]
fn the_header_is_kept() {
    let folder = Folder::new();
    let frame = [b"FRAME\n".as_slice(), &[16; 64 * 48 * 2]].concat();
    let header = "YUV4MPEG2 W64 H48 F30000:1001 It A12:11 C422 XCOLORRANGE=LIMITED\n";
    folder.file("in.y4m", [header.as_bytes(), &frame, &frame].concat());
    folder
        .line("filter crop=0.5 -i in.y4m -o out.y4m")
        .succeeded();
    let out = fs::read(folder.path("out.y4m")).unwrap();
    let line = out.split(|&b| b == b'\n').next().unwrap();
    let line = std::str::from_utf8(line).unwrap();
    for tag in [
        "W32",
        "H24",
        "F30000:1001",
        "It",
        "A12:11",
        "C422",
        "XCOLORRANGE=LIMITED",
    ] {
        assert!(line.split(' ').any(|t| t == tag), "no {tag} in {line}");
    }
}

#[test]
fn a_reader_that_has_enough_ends_the_stream_quietly() {
    let folder = Folder::new();
    for plan in ["auto", "tiled", "farm"] {
        // Uncut it would take hours.
        let line = format!("filter blur -i testsrc:640x480:10000000 -o - --plan {plan}");
        let mut some = [0; 1000];
        let done = folder.cut_short(&line, &mut some);
        assert!(some.starts_with(b"YUV4MPEG2 W640 H480 "));
        done.lost_its_reader();
    }
}

#[test]
fn a_shell_pipeline_works() {
    let folder = Folder::new();
    let script = "\"$0\" filter blur -i testsrc:320x240:1000000 -o - | \"$0\" filter flip=h -i - -o - | head -c 1000";
    let mut shell = folder.command("sh");
    shell.args(["-c", script, env!("CARGO_BIN_EXE_evener")]);
    let done = Done::of(&mut shell);
    assert_eq!(done.succeeded().stdout.len(), 1000);
    assert!(done.stdout.starts_with(b"YUV4MPEG2 W320 H240 "));
}

#[test]
fn named_pipes_are_read_and_written() {
    let folder = Folder::new();
    let input = folder.scene("in.y4m", "96x64:7");
    for name in ["a.fifo", "b.fifo"] {
        let made = Command::new("mkfifo").arg(folder.path(name)).status();
        assert!(made.unwrap().success());
    }
    let mut child = folder
        .evener("filter blur -i a.fifo -o b.fifo".split(' '))
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let to = folder.path("a.fifo");
    let bytes = fs::read(&input).unwrap();
    let feeder = thread::spawn(move || fs::write(to, bytes).unwrap());
    let got = fs::read(folder.path("b.fifo")).unwrap();
    feeder.join().unwrap();
    assert!(child.wait().unwrap().success());
    folder.line("filter blur -i in.y4m -o out.y4m").succeeded();
    assert_eq!(got, fs::read(folder.path("out.y4m")).unwrap());
}

#[test]
fn frames_that_come_slowly_pass_at_once() {
    let folder = Folder::new();
    let bytes = fs::read(folder.scene("in.y4m", "64x48:4")).unwrap();
    let frame = 6 + 64 * 48 * 3 / 2;
    let header = bytes.len() - 4 * frame;
    for flags in ["", "--live"] {
        let line = format!("filter blur -i - -o - --plan tiled {flags}");
        let mut child = folder
            .evener(line.split_whitespace())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (mut to, mut from) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        to.write_all(&bytes[..header]).unwrap();
        for (n, frame) in bytes[header..].chunks(frame).enumerate() {
            to.write_all(frame).unwrap();
            // What is in the pipe now must come out before anything more goes in.
            let mut back = vec![0; frame.len() + if n == 0 { header } else { 0 }];
            from.read_exact(&mut back).unwrap();
            thread::sleep(Duration::from_millis(5));
        }
        drop((to, from));
        Done::from(child.wait_with_output().unwrap()).succeeded();
    }
}

#[test]
fn a_live_stream_drops_what_comes_too_fast() {
    let folder = Folder::new();
    let line = "filter gaussian=8,posterize=256 -i testsrc:1280x720:60 -o out.y4m --live --json r.json --workers 1";
    let done = Done::of(folder.evener(line.split(' ')).env("EVENER_CPU", "scalar"));
    done.succeeded();
    let report: serde_json::Value =
        serde_json::from_slice(&fs::read(folder.path("r.json")).unwrap()).unwrap();
    let (units, dropped) = (&report["units"], &report["dropped"]);
    let (units, dropped) = (units.as_u64().unwrap(), dropped.as_u64().unwrap());
    assert!(dropped > 0, "{report}");
    assert_eq!(units + dropped, 60);
    assert_eq!(frames_of(&folder.path("out.y4m")) as u64, units);
    assert!(
        done.stderr.contains(&format!("({dropped} dropped)")),
        "{}",
        done.stderr
    );
}
