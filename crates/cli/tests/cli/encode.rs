//! `encode`: what is written, what is told, and requests, inputs and outputs that cannot be.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::process::Signal;
use serde_json::Value;

use crate::errors::under_limit;
use crate::ffmpeg::has_ffmpeg;
use crate::run::Folder;
use crate::signals::{ended, is_ignored, send, wait_for_output};
use crate::terminal::on_terminal;

const FAST: &str = "--preset ultrafast";

/// The frames that ffmpeg decodes of a file, which has to be without any fault, as samples.
#[track_caller]
fn decoded(file: &Path) -> Vec<u8> {
    let done = Command::new("ffmpeg")
        .args(["-v", "warning", "-err_detect", "explode", "-i"])
        .arg(file)
        .args([
            "-map",
            "0:v",
            "-fps_mode",
            "passthrough",
            "-f",
            "rawvideo",
            "-",
        ])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success() && said.is_empty(), "{said}");
    done.stdout
}

/// The samples of a y4m file of one-line frame headers.
fn samples(path: &Path, frame: usize) -> Vec<u8> {
    let bytes = fs::read(path).unwrap();
    let end = bytes.iter().position(|&b| b == b'\n').unwrap() + 1;
    let frames = bytes[end..].chunks(6 + frame);
    frames.flat_map(|frame| frame[6..].to_vec()).collect()
}

fn psnr(a: &[u8], b: &[u8]) -> f64 {
    let square = |(a, b): (&u8, &u8)| f64::from(a.abs_diff(*b)).powi(2);
    let sum: f64 = a.iter().zip(b).map(square).sum();
    10.0 * (255.0 * 255.0 * a.len() as f64 / sum).log10()
}

#[test]
fn what_is_decoded_is_as_close_to_the_source_as_is_told() {
    if !has_ffmpeg() {
        return;
    }
    let folder = Folder::new();
    let scene = folder.scene("in.y4m", "96x80:12");
    let source = samples(&scene, 96 * 80 * 3 / 2);
    for options in ["--preset ultrafast", "", "--preset slow --qp 20 --keyint 4"] {
        let line = format!("encode -i in.y4m -o out.264 {options} --psnr --ssim --json r.json");
        let done = folder.line(&line);
        done.succeeded();
        let decoded = decoded(&folder.path("out.264"));
        assert_eq!(decoded.len(), source.len());
        let report: Value =
            serde_json::from_slice(&fs::read(folder.path("r.json")).unwrap()).unwrap();
        let told = report["encoded"]["psnr"]["all"].as_f64().unwrap();
        let found = psnr(&decoded, &source);
        assert!(
            (told - found).abs() < 1e-6,
            "{options}: {told}, not {found}"
        );
        let size = fs::metadata(folder.path("out.264")).unwrap().len();
        assert_eq!(report["encoded"]["bytes"], size);
        assert_eq!(report["encoded"]["pictures"], 12);
        assert_eq!(report["units"], 12);
        let lines: Vec<&str> = done.stderr.lines().collect();
        assert!(lines[0].starts_with("out.264: 12 frames, "), "{lines:?}");
        assert!(lines[0].contains(" kbit/s"), "{lines:?}");
        assert!(lines[1].starts_with("PSNR: Y "), "{lines:?}");
        assert!(
            lines[1].ends_with(&format!("all {told:.3} dB")),
            "{lines:?}"
        );
        assert!(lines[2].starts_with("SSIM: Y 0."), "{lines:?}");
        assert_eq!(lines.len(), 3);
        let quiet = folder.line(&format!("-q {line}"));
        let quiet: Vec<&str> = quiet.succeeded().stderr.lines().collect();
        assert_eq!(quiet, lines[1..], "results that were asked for");
    }
}

#[test]
fn the_same_bytes_come_out_by_every_way() {
    let folder = Folder::new();
    folder.scene("in.y4m", "130x70:9");
    let encoded = |line: &str| {
        folder
            .line(&format!("encode -i in.y4m -o out.264 {line}"))
            .succeeded();
        fs::read(folder.path("out.264")).unwrap()
    };
    let one = encoded("--workers 1 --filter blur");
    assert!(one == encoded("--workers 2 --filter blur"));
    assert!(one == encoded("--workers 4 --filter blur --no-memory"));
    let on_device =
        "encode -i in.y4m -o out.264 --filter blur --plan wavefront --device sim --explain";
    let done = folder.line(on_device);
    let said = &done.succeeded().stderr;
    assert!(said.contains(" + 1 device"), "{said}");
    assert!(said.contains("device  sim: "), "{said}");
    assert!(one == fs::read(folder.path("out.264")).unwrap());
    let piped = folder.line("encode -i in.y4m -o - --filter blur");
    assert!(one == piped.succeeded().stdout);
    folder
        .line("filter blur -i in.y4m -o blurred.y4m")
        .succeeded();
    folder.line("encode -i blurred.y4m -o two.264").succeeded();
    assert!(one == fs::read(folder.path("two.264")).unwrap());
}

#[test]
fn requests_that_cannot_be_are_one_line() {
    let folder = Folder::new();
    for (flags, parts) in [
        (
            "--preset fastest",
            &["ultrafast", "did you mean `fast`?"][..],
        ),
        ("--crf", &["--crf", "value"]),
        ("--crf x", &["--crf", "x"]),
        ("--crf 60", &["--crf 60", "0 (best) to 51"]),
        ("--crf -1", &["--crf -1", "0 (best) to 51"]),
        ("--qp 52", &["--qp", "52", "0..=51"]),
        (
            "--crf 20 --qp 20",
            &["--crf", "--qp", "cannot be used with"],
        ),
        ("--crf 20 --bitrate 1M", &["--crf", "--bitrate"]),
        (
            "--bitrate 2000",
            &["--bitrate", "2000k for kilobits", "2k for bits"],
        ),
        ("--maxrate 500 --bufsize 1M", &["--maxrate", "500k", "0.5k"]),
        ("--bitrate 2MB", &["--bitrate", "2MB", "2500k"]),
        ("--maxrate 2M", &["--maxrate needs --bufsize"]),
        ("--bufsize 2M", &["--bufsize needs --maxrate"]),
        (
            "--qp 20 --maxrate 2M --bufsize 2M",
            &["--qp keeps to no --maxrate"],
        ),
        (
            "--bitrate 3M --maxrate 2M --bufsize 2M",
            &["--bitrate", "above --maxrate"],
        ),
        (
            "--maxrate 2M --bufsize 2k",
            &["--bufsize of 2000 bits", "make it at least 80k"],
        ),
        ("--profile high10", &["high10", "baseline"]),
        ("--level 7", &["'7' is not a level", "6.2"]),
        ("--keyint 0", &["--keyint 0", "write 1"]),
        ("--tune film", &["film", "psnr"]),
        ("--filter blurr", &["--filter: ", "did you mean `blur`"]),
        ("--filter crop=640:480:0:0", &["--filter: ", "crop"]),
        ("--plan tiled", &["tiled"]),
        ("--workers 0", &["--workers"]),
        ("--presett slow", &["--presett", "--preset"]),
    ] {
        let done = folder.line(&format!("encode -i testsrc:64x48:3 -o out.264 {flags}"));
        done.failed(2, parts);
        assert_eq!(folder.names(), [""; 0], "{flags}");
    }
    folder
        .line("encode -i testsrc:64x48:3")
        .failed(2, &["--output"]);
}

#[test]
fn outputs_that_cannot_be_are_one_line() {
    let folder = Folder::new();
    fs::create_dir(folder.path("dir.mp4")).unwrap();
    for (output, parts) in [
        ("out.webm", &["out.webm", "use .mp4"][..]),
        ("out", &["cannot be written", "use .mp4"]),
        ("dir.mp4", &["dir.mp4", "directory"]),
        (
            "none/out.264",
            &["none/out.264", "make the directory first"],
        ),
        ("/dev/full", &["/dev/full", "No space left on device"]),
    ] {
        let done = folder.line(&format!("encode -i testsrc:64x48:3 -o {output} {FAST}"));
        done.failed(1, parts);
        assert_eq!(folder.names(), ["dir.mp4"]);
    }
    let mut command = folder.evener("encode -i testsrc:64x48:3 -o out.mkv".split(' '));
    let done = crate::run::Done::of(command.env("PATH", folder.path("nothing")));
    done.failed(1, &["out.mkv", "'ffmpeg'", "not installed"]);
}

#[test]
fn a_full_disk_is_told_with_the_bytes_that_fit() {
    let folder = Folder::new();
    for output in ["out.mp4", "out.264"] {
        let line = format!("encode -i testsrc:640x480:50 -o {output} {FAST} --qp 4");
        // In blocks of 512 bytes.
        let done = under_limit(&folder, "-f 700", &line);
        done.failed(
            1,
            &[
                output,
                "File too large after 358400 bytes",
                "free some space",
            ],
        );
        assert_eq!(folder.names(), [""; 0]);
    }
}

#[test]
fn a_level_that_is_too_low_is_told_with_what_to_do() {
    let folder = Folder::new();
    for (flags, parts) in [
        (
            "--level 1.3",
            &[
                "level 1.3 allows pictures of 396 macroblocks",
                "have 1200; name --level 3 or none",
            ][..],
        ),
        (
            "--level 3 --maxrate 20M --bufsize 12M",
            &[
                "level 3 allows 15000000 bits per second",
                "not 20000000; name --level 3.1 or none, or lower --maxrate",
            ],
        ),
        (
            "--filter resize=18000:64",
            &[
                "level 6.2 allows pictures 1055 macroblocks (16 samples) wide, and these have 1125; make the picture smaller",
            ],
        ),
    ] {
        let done = folder.line(&format!("encode -i testsrc:640x480:3 -o out.264 {flags}"));
        done.failed(1, parts);
        assert_eq!(folder.names(), [""; 0]);
    }
}

/// Writes a y4m file of grey frames.
fn grey(folder: &Folder, frames: usize) -> Vec<u8> {
    let frame = [b"FRAME\n".as_slice(), &[77; 64 * 48 * 3 / 2]].concat();
    let bytes = [
        b"YUV4MPEG2 W64 H48 F25:1\n".as_slice(),
        &frame.repeat(frames),
    ]
    .concat();
    folder.file("in.y4m", &bytes);
    bytes
}

#[test]
fn inputs_that_break_off_are_one_line_and_leave_what_is_asked_for() {
    let folder = Folder::new();
    let whole = grey(&folder, 5);
    let changed = [
        &whole[..],
        b"YUV4MPEG2 W32 H32 F25:1\nFRAME\n",
        &[0; 32 * 48],
    ]
    .concat();
    for (bytes, parts) in [
        (
            &whole[..24],
            &["out.mp4: not written, the stream had no frames"][..],
        ),
        (&whole[..whole.len() - 9], &["in.y4m: ends inside frame 4"]),
        (&changed, &["in.y4m: no FRAME line before frame 5"]),
        (b"", &["in.y4m"]),
    ] {
        folder.file("in.y4m", bytes);
        let line = format!("encode -i in.y4m -o out.mp4 {FAST}");
        folder.line(&line).failed(1, parts);
        assert_eq!(folder.names(), ["in.y4m"]);
    }
    folder.file("in.y4m", changed);
    let done = folder.line("encode -i in.y4m -o out.mp4 --keep-partial");
    done.failed(
        1,
        &["no FRAME line before frame 5", "5 frames kept in out.mp4"],
    );
    if has_ffmpeg() {
        assert_eq!(decoded(&folder.path("out.mp4")).len(), 5 * 64 * 48 * 3 / 2);
    }
}

#[test]
fn what_changes_is_told_once() {
    let folder = Folder::new();
    let done = folder.line(&format!(
        "encode -i testsrc:63x49:3:444p10 -o out.264 {FAST}"
    ));
    let notes: Vec<&str> = done.succeeded().stderr.lines().collect();
    assert_eq!(
        notes[0],
        "evener: note: testsrc:63x49:3:444p10: 4:4:4 becomes 4:2:0, 10 bits become 8, \
         63x49 becomes 64x50 by repeating the last column and row"
    );
    assert_eq!(notes.len(), 2);
}

#[test]
fn a_signal_leaves_a_file_that_plays() {
    if is_ignored(Signal::INT) {
        return;
    }
    let folder = Folder::new();
    for (name, options) in [("out.mp4", FAST), ("out.264", "--tune zerolatency")] {
        let line = format!("encode -i testsrc:320x240:10000000 -o {name} {options} --qp 10");
        let child = folder
            .evener(line.split_whitespace())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        wait_for_output(&folder, 1 << 20);
        send(&child, Signal::INT);
        let done = ended(child);
        assert_eq!(done.status, Some(130), "{}", done.stderr);
        let first = done.stderr.lines().next().unwrap();
        let words = format!("interrupted: {name} has the first ");
        let frames = first
            .strip_prefix(&words)
            .unwrap()
            .split(' ')
            .next()
            .unwrap();
        let frames: usize = frames.parse().unwrap();
        if has_ffmpeg() {
            let bytes = decoded(&folder.path(name)).len();
            assert_eq!(bytes, frames * 320 * 240 * 3 / 2, "{name}");
        }
    }
}

#[test]
fn a_terminal_shows_rate_and_size_and_then_the_line() {
    let line = "encode -i testsrc:640x480:60 -o null: --workers 1";
    let seen = on_terminal(line, "xterm", 120);
    for part in [
        " of 60 frames, ",
        " fps, ",
        " left, ",
        " kbit/s, ",
        "iB",
        " %",
    ] {
        assert!(seen.contains(part), "no '{part}' in {seen:?}");
    }
    let last = seen.rsplit("\u{1b}[2K").next().unwrap();
    let last = last.trim_start_matches('\r');
    assert!(last.starts_with("60 frames, "), "{last:?}");
}

#[test]
fn a_run_is_explained() {
    let folder = Folder::new();
    let line = "encode -i testsrc:64x48:5 -o out.mp4 --filter flip=h --profile main --explain";
    let said = folder.line(line).succeeded().stderr.clone();
    for part in [
        "input   testsrc:64x48:5: 64x48 4:2:0 8 bits, 25 fps, 5 frames",
        "graph   flip=direction=h",
        "encode  64x48 4:2:0 8 bits, Main profile, level 1, CRF 23",
        "tools   medium: ",
        "output  out.mp4: mp4",
    ] {
        assert!(said.contains(part), "no '{part}' in: {said}");
    }
}
