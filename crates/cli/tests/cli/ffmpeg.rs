//! Everything that goes through FFmpeg, real or not there.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::run::{Done, Folder, frames_of, status_of};
use crate::signals::{ended, is_ignored, send, wait_for_handler, wait_for_output};

pub fn has_ffmpeg() -> bool {
    let found = Command::new("ffmpeg")
        .arg("-version")
        .stdout(Stdio::null())
        .status();
    let there = found.is_ok_and(|status| status.success());
    if !there {
        evener_testing::skip("ffmpeg is not installed");
    }
    there
}

/// A clip of the folder `EVENER_CLIPS`.
fn clip(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("EVENER_CLIPS").map(|folder| PathBuf::from(folder).join(name));
    let found = path.filter(|path| path.exists());
    if found.is_none() {
        evener_testing::skip(format_args!(
            "{name} is not in the folder EVENER_CLIPS names"
        ));
    }
    found
}

#[test]
fn without_ffmpeg_the_error_says_what_is_missing() {
    let folder = Folder::new();
    folder.file("in.mkv", "something that is no y4m");
    for (line, name) in [
        ("filter blur -i in.mkv -o out.y4m", "in.mkv"),
        ("filter blur -i testsrc:64x48:3 -o out.mkv", "out.mkv"),
    ] {
        let mut command = folder.evener(line.split(' '));
        let done = Done::of(command.env("PATH", folder.path("nothing")));
        done.failed(1, &[name, "'ffmpeg'", "not installed"]);
        assert_eq!(folder.names(), ["in.mkv"]);
    }
}

#[test]
fn a_failing_ffmpeg_is_quoted() {
    let folder = Folder::new();
    folder.program(
        "bin/ffmpeg",
        "echo 'first' >&2\necho 'the disk has a cold' >&2\nexit 3",
    );
    folder.file("in.mkv", "something that is no y4m");
    for line in [
        "filter blur -i in.mkv -o out.y4m",
        "filter blur -i testsrc:640x480:30 -o out.mkv",
    ] {
        let mut command = folder.evener(line.split(' '));
        let done = Done::of(command.env("PATH", folder.path("bin")));
        done.failed(1, &["ffmpeg failed", "the disk has a cold"]);
        assert_eq!(folder.names(), ["bin", "in.mkv"]);
    }
}

#[test]
fn files_that_are_no_video_are_refused() {
    if !has_ffmpeg() {
        return;
    }
    let folder = Folder::new();
    folder.file("in.mkv", "something that is no video");
    let done = folder.line("filter blur -i in.mkv -o out.y4m");
    done.failed(1, &["in.mkv", "is not a video"]);
    let done = folder.line("filter blur -i testsrc:64x48:3 -o out.nosuchformat");
    done.failed(1, &["out.nosuchformat", "ffmpeg"]);
    assert_eq!(folder.names(), ["in.mkv"]);
}

#[test]
fn encoded_files_come_back() {
    if !has_ffmpeg() {
        return;
    }
    let folder = Folder::new();
    folder
        .line("filter blur -i testsrc:320x240:25 -o a.mkv")
        .succeeded();
    folder.line("filter flip=h -i a.mkv -o b.y4m").succeeded();
    assert_eq!(frames_of(&folder.path("b.y4m")), 25);
    assert_eq!(folder.names(), ["a.mkv", "b.y4m"]);
}

#[test]
fn an_encoded_file_is_whole_after_an_interruption() {
    if !has_ffmpeg() || is_ignored(Signal::INT) {
        return;
    }
    let folder = Folder::new();
    let mut child = folder
        .evener("filter blur -i testsrc:320x240:10000000 -o out.mkv --plan tiled".split(' '))
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    wait_for_output(&folder, 1 << 17);
    // As from a terminal: to evener alone, since ffmpeg is kept out of its group.
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let status = child.wait().unwrap();
    let said = std::io::read_to_string(child.stderr.take().unwrap()).unwrap();
    assert_eq!(status_of(status), Some(130), "{said}");
    let first = said.strip_prefix("interrupted: out.mkv has the first ");
    let frames = first.and_then(|rest| rest.split(' ').next()).unwrap();
    let again = folder.line("filter flip=h -i out.mkv -o back.y4m");
    assert!(
        again
            .succeeded()
            .stderr
            .starts_with(&format!("back.y4m: {frames} frame")),
        "{said}"
    );
    assert_eq!(folder.names(), ["back.y4m", "out.mkv"]);
}

#[test]
fn foreman_is_filtered() {
    let Some(foreman) = clip("foreman_352x288_300f.264") else {
        return;
    };
    if !has_ffmpeg() {
        return;
    }
    let folder = Folder::new();
    let foreman = foreman.to_str().unwrap();
    let done = folder.line(&format!(
        "filter undistort,rotate=6,crop=0.8 -i {foreman} -o out.y4m"
    ));
    assert!(
        done.succeeded().stderr.contains("300 frames in "),
        "{}",
        done.stderr
    );
    assert_eq!(frames_of(&folder.path("out.y4m")), 300);
    let header = fs::read(folder.path("out.y4m")).unwrap();
    assert!(
        header.starts_with(b"YUV4MPEG2 W280 H230 "),
        "{:?}",
        &header[..40]
    );

    // Through files of our own, and by any plan, it is the same.
    let plain = folder.line(&format!("filter crop=1 -i {foreman} -o plain.y4m"));
    plain.succeeded();
    folder
        .line("filter undistort,rotate=6,crop=0.8 -i plain.y4m -o again.y4m --plan sequential")
        .succeeded();
    assert!(header == fs::read(folder.path("again.y4m")).unwrap());
}

#[test]
fn the_street_is_encoded() {
    let Some(street) = clip("street_1920x1080_54f.264") else {
        return;
    };
    if !has_ffmpeg() {
        return;
    }
    let folder = Folder::new();
    let street = street.to_str().unwrap();
    let done = folder.line(&format!(
        "filter blur,sobel -i {street} -o out.mkv --plan tiled"
    ));
    assert!(
        done.succeeded().stderr.contains("54 frames"),
        "{}",
        done.stderr
    );
    let probed = Command::new("ffprobe")
        .args(["-v", "error", "-count_frames", "-select_streams", "v"])
        .args([
            "-show_entries",
            "stream=width,height,nb_read_frames",
            "-of",
            "csv=p=0",
        ])
        .arg(folder.path("out.mkv"))
        .output()
        .unwrap();
    assert_eq!(
        String::from_utf8(probed.stdout).unwrap().trim(),
        "1920,1080,54"
    );
}

/// Whether a program still runs; a zombie does not.
fn runs(pid: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit_once(") ").map_or("", |(_, rest)| &rest[..1]);
    !["", "Z", "X"].contains(&state)
}

#[test]
fn programs_that_wait_for_their_input_end_with_evener() {
    if is_ignored(Signal::INT) {
        return;
    }
    let stalls = "echo $$ > pid.new; mv pid.new pid; exec sleep 300";
    let probed = "echo '{\"streams\": [{\"codec_type\": \"video\", \"pix_fmt\": \"gray\"}]}'";
    let header = "printf 'YUV4MPEG2 W2 H2 F25:1 Cmono\\nFRAME\\nabcd'";
    for (ffprobe, ffmpeg) in [
        (stalls, ""),
        (probed, stalls),
        (probed, &format!("{header}\n{stalls}")),
    ] {
        let folder = Folder::new();
        folder.program("bin/ffprobe", ffprobe);
        folder.program("bin/ffmpeg", ffmpeg);
        let child = folder
            .evener("filter blur -i tcp://127.0.0.1:9 -o null:".split(' '))
            .env("PATH", folder.search_path("bin"))
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let begin = Instant::now();
        let pid = loop {
            if let Ok(pid) = fs::read_to_string(folder.path("pid")) {
                break pid;
            }
            assert!(begin.elapsed() < Duration::from_secs(60), "nothing starts");
            thread::sleep(Duration::from_millis(2));
        };
        wait_for_handler(&child, Signal::INT);
        assert!(runs(pid.trim()));
        send(&child, Signal::INT);
        let done = ended(child);
        assert_eq!(done.status, Some(130), "{}", done.stderr);
        let begin = Instant::now();
        while runs(pid.trim()) {
            assert!(begin.elapsed() < Duration::from_secs(5), "it runs on");
            thread::sleep(Duration::from_millis(2));
        }
    }
}
