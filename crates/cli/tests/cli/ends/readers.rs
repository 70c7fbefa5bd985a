//! Readers that go away.

use std::fs::{self, File};
use std::io::Read;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::{STREAMS, needs};
use crate::run::{Done, Folder, is_built};

#[test]
fn streams_end_as_other_programs_do() {
    let folder = needs();
    let names = folder.names();
    for line in STREAMS {
        let json = if line.contains("--show") {
            ""
        } else {
            " --json r.json"
        };
        let done = folder.cut_short(&format!("{line}{json}"), &mut [0; 100]);
        assert_eq!(done.signal, Some(13), "{line}: {}", done.stderr);
        done.lost_its_reader();
        assert_eq!(folder.names(), names, "{line}");
    }
}

#[test]
fn a_fifo_is_a_pipe() {
    let folder = Folder::new();
    let made = Command::new("mkfifo").arg(folder.path("out")).status();
    assert!(made.unwrap().success());
    let line = "filter blur -i testsrc:640x480:10000000 -o out --json r.json";
    let child = folder
        .evener(line.split(' '))
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    File::open(folder.path("out"))
        .unwrap()
        .read_exact(&mut [0; 100])
        .unwrap();
    Done::from(child.wait_with_output().unwrap()).lost_its_reader();
    assert_eq!(folder.names(), ["out"]);
}

#[test]
fn what_is_printed_ends_alike() {
    let folder = needs();
    for line in [
        "--help",
        "--version",
        "filter --help",
        "filters",
        "filters crop",
        "plans",
        "topology",
        "topology --json",
        "keygen",
        "queens 6",
        "queens 6 --json -",
        "queens 6 --svg -",
        "image info disk",
        "image verify --json disk",
        "filter blur -i testsrc:64x48:3 -o null: --json -",
        "filter blur -i testsrc:64x48:3 -o null: --trace -",
        "bench filters --graph A --size 64x48 --frames 9 --workers 1",
    ]
    .into_iter()
    .filter(|line| is_built(line))
    {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = folder.evener(line.split(' '));
        let done = Done::of(command.stdout(writer));
        assert_eq!(done.signal, Some(13), "{line}: {}", done.stderr);
        assert!(!done.stderr.contains("evener: "), "{line}: {}", done.stderr);
    }
}

#[test]
fn programs_end_with_evener() {
    let folder = Folder::new();
    let endless = "echo $$ > pid\nprintf 'YUV4MPEG2 W2 H2 F25:1 Cmono\\n'\n\
        while printf 'FRAME\\nabcd'; do :; done 2> /dev/null\nexec sleep 300";
    folder.program(
        "bin/ffprobe",
        "echo '{\"streams\": [{\"codec_type\": \"video\", \"pix_fmt\": \"gray\"}]}'",
    );
    folder.program("bin/ffmpeg", endless);
    let mut child = folder
        .evener("filter crop=1 -i tcp://127.0.0.1:9 -o -".split(' '))
        .env("PATH", folder.search_path("bin"))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdout = child.stdout.take().unwrap();
    stdout.read_exact(&mut [0; 100]).unwrap();
    drop(stdout);
    let done = Done::from(child.wait_with_output().unwrap());
    done.lost_its_reader();
    let pid = fs::read_to_string(folder.path("pid")).unwrap();
    let begin = Instant::now();
    // A zombie has no command line any more.
    while fs::read(format!("/proc/{}/cmdline", pid.trim())).is_ok_and(|line| !line.is_empty()) {
        assert!(begin.elapsed() < Duration::from_secs(5), "it runs on");
        thread::sleep(Duration::from_millis(2));
    }
}
