//! How runs end: outputs that cannot be, inputs that break off, runs that are stopped.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use evener_h264::config::{Config, Settings};
use evener_h264::session::{Error, Options, Outcome, Session};
use evener_h264::syntax::Level;
use evener_image::session::Audio;
use evener_runtime::stream::CancelToken;
use evener_testing::Folder;

use crate::pcm::{self, Pcm};
use crate::{decoded, encode, has_ffmpeg, runtime};

const W: usize = 64;
const H: usize = 48;

/// A y4m stream of some frames, less the last `missing` bytes.
fn y4m(folder: &Folder, frames: usize, missing: usize) -> String {
    let mut bytes = format!("YUV4MPEG2 W{W} H{H} F25:1 Ip C420jpeg\n").into_bytes();
    for frame in 0..frames {
        bytes.extend_from_slice(b"FRAME\n");
        bytes.extend((0..W * H * 3 / 2).map(|i| (i * (frame + 3)) as u8));
    }
    bytes.truncate(bytes.len() - missing);
    let path = folder.file("in.y4m", bytes);
    path.to_str().unwrap().to_owned()
}

fn run(input: &str, output: &Path, options: Options<'_>) -> Result<Outcome, Error> {
    let session = Session::open(&crate::config(), None, input, output, Audio::Copied)?;
    session.run_with(&runtime(), options, |config, parameters, preprocess| {
        Pcm::new(config, parameters, preprocess, pcm::ALL)
    })
}

#[test]
fn names_that_cannot_be_are_refused_before_anything_is_read() {
    let folder = Folder::new();
    for (name, words) in [
        ("out.webm", "H.264 cannot be written to"),
        ("out", "H.264 cannot be written to"),
        ("", "is a directory"),
    ] {
        let error = encode("not-there.y4m", &folder.path(name)).unwrap_err();
        assert!(error.to_string().contains(words), "{error}");
    }
    let error = encode("not-there.y4m", Path::new("http://localhost/a.mp4")).unwrap_err();
    assert!(error.to_string().contains("is an address"), "{error}");
    for name in ["none/out.264", "none/out.mp4", "none/out.mkv"] {
        let error = encode("testsrc:64x48:1", &folder.path(name)).unwrap_err();
        let words = "make the directory first";
        assert!(error.to_string().contains(words), "{error}");
    }
    assert_eq!(folder.names(), [""; 0]);
}

#[test]
fn an_input_is_not_overwritten() {
    let folder = Folder::new();
    let input = y4m(&folder, 2, 0);
    fs::rename(&input, folder.path("in.264")).unwrap();
    let input = folder.path("in.264");
    for name in ["in.264", "./in.264"] {
        let error = encode(input.to_str().unwrap(), &folder.path(name)).unwrap_err();
        assert!(error.to_string().contains("is an input as well"), "{error}");
    }
    assert!(fs::read(&input).unwrap().starts_with(b"YUV4MPEG2"));
}

#[test]
fn a_stream_without_frames_is_no_file() {
    let folder = Folder::new();
    let input = y4m(&folder, 0, 0);
    for name in ["out.264", "out.mp4"] {
        let error = encode(&input, &folder.path(name)).unwrap_err();
        assert!(
            error.to_string().contains("the stream had no frames"),
            "{error}"
        );
    }
    assert_eq!(folder.names(), ["in.y4m"]);
    assert_eq!(
        encode(&input, Path::new("null:")).unwrap().encoded.pictures,
        0
    );
}

#[test]
fn an_input_that_ends_inside_a_frame_leaves_no_file_unless_asked_for() {
    let folder = Folder::new();
    let input = y4m(&folder, 8, 100);
    for name in ["out.264", "out.mp4", "out.mkv"] {
        if name == "out.mkv" && !has_ffmpeg() {
            continue;
        }
        let out = folder.path(name);
        let error = encode(&input, &out).unwrap_err();
        assert!(error.to_string().contains("ends inside frame 7"), "{error}");
        assert_eq!(folder.names(), ["in.y4m"]);
        let partial = Options {
            keep_partial: true,
            ..Options::default()
        };
        let error = run(&input, &out, partial).unwrap_err();
        assert_eq!(error.written(), 7);
        if has_ffmpeg() {
            assert_eq!(decoded(&out).len(), 7 * W * H * 3 / 2, "{name}");
        }
        fs::remove_file(out).unwrap();
    }
}

#[test]
fn a_run_that_is_stopped_leaves_a_file_that_plays() {
    if !has_ffmpeg() {
        return;
    }
    let folder = Folder::new();
    for name in ["out.264", "out.mp4", "out.mkv"] {
        let out = folder.path(name);
        let cancel = CancelToken::new();
        let seen = Arc::new(AtomicU64::new(0));
        let options = Options {
            cancel: cancel.clone(),
            on_progress: Some(Box::new({
                let seen = seen.clone();
                move |progress| {
                    seen.store(progress.bytes.unwrap_or(0), Ordering::Relaxed);
                    cancel.cancel();
                }
            })),
            ..Options::default()
        };
        let outcome = run("testsrc:64x48:1000000", &out, options).unwrap();
        assert!(outcome.report.cancelled);
        let pictures = outcome.encoded.pictures as usize;
        assert!(pictures > 0 && pictures < 1_000_000);
        assert_eq!(decoded(&out).len(), pictures * W * H * 3 / 2, "{name}");
    }
}

#[test]
fn a_full_disk_is_one_line_and_leaves_nothing() {
    let error = encode("testsrc:320x240:60", Path::new("/dev/full")).unwrap_err();
    assert!(
        error.to_string().contains("No space left on device"),
        "{error}"
    );
}

#[test]
fn what_no_decoder_could_take_is_refused() {
    let folder = Folder::new();
    let open = |settings: Settings, input: &str| {
        let config = Config::new(&settings).unwrap();
        let out = folder.path("out.264");
        Session::open(&config, None, input, out, Audio::Copied)
            .err()
            .unwrap()
    };
    let low = Settings {
        level: Level::named("1"),
        ..Settings::default()
    };
    let error = open(low, "testsrc:352x288:2");
    assert!(error.to_string().contains("level 1"), "{error}");
    assert!(!error.is_request(), "another input may fit");
    let small = Settings {
        maxrate: Some(2_000_000),
        bufsize: Some(10_000),
        ..Settings::default()
    };
    let error = open(small, "testsrc:352x288:2");
    assert!(
        error.to_string().contains("make it at least 80k"),
        "{error}"
    );
    assert!(error.is_request());
    let error = open(Settings::default(), "testsrc:20000x16:1");
    assert!(error.to_string().contains("macroblocks"), "{error}");
    assert_eq!(folder.names(), [""; 0]);
}
