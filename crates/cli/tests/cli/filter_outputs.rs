//! Outputs of `filter` that are no common files: raw ones, pipes, names without an extension, full disks.

use std::fs;

use crate::ffmpeg::has_ffmpeg;
use crate::run::{Done, Folder};

/// Makes `in.mkv`: 64x48, one second, with sound.
fn film(folder: &Folder) {
    let args = "-v error -nostdin -f lavfi -i testsrc2=s=64x48:r=25:d=1 -f lavfi -i sine=d=1 \
                -c:v ffv1 -pix_fmt yuv420p -c:a aac in.mkv";
    let args = args.split_whitespace();
    let made = folder.command("ffmpeg").args(args).status();
    assert!(made.unwrap().success());
}

/// The codecs of the streams of a file, sorted.
fn codecs(folder: &Folder, name: &str) -> Vec<String> {
    let args = "-v error -show_entries stream=codec_name -of csv=p=0";
    let mut ffprobe = folder.command("ffprobe");
    let done = ffprobe.args(args.split(' ')).arg(name).output().unwrap();
    let said = String::from_utf8(done.stdout).unwrap();
    let mut all: Vec<_> = said.lines().map(str::to_owned).collect();
    all.sort();
    all
}

/// A line in a shell in a folder, `$EVENER` being the program.
fn shell(folder: &Folder, line: &str) -> Done {
    let mut sh = folder.command("sh");
    let evener = folder.evener(["--version"]);
    sh.args(["-c", line]).env("EVENER", evener.get_program());
    Done::of(&mut sh)
}

#[test]
fn raw_outputs_have_the_video_and_the_sound_is_told_of() {
    if !has_ffmpeg() {
        return;
    }
    let folder = Folder::new();
    film(&folder);
    let frame = 64 * 48 * 3 / 2;
    for (name, arguments) in [("out.yuv", ""), ("out.bin", " -- -f rawvideo")] {
        let done = folder.line(&format!("filter null -i in.mkv -o {name}{arguments}"));
        let note = "note: in.mkv: audio left out, as .yuv holds only samples\n";
        assert_eq!(
            done.succeeded().stderr.matches(note).count(),
            1,
            "{}",
            done.stderr
        );
        assert_eq!(fs::metadata(folder.path(name)).unwrap().len(), 25 * frame);
    }
    for name in ["out.h264", "out.ivf"] {
        let done = folder.line(&format!("filter null -i in.mkv -o {name}"));
        let left_out = done.succeeded().stderr.matches("left out").count();
        assert_eq!(left_out, 1, "{name}: {}", done.stderr);
        assert_eq!(codecs(&folder, name).len(), 1, "{name}");
    }
}

#[test]
fn a_format_for_ffmpeg_stands_for_an_extension() {
    if !has_ffmpeg() {
        return;
    }
    let folder = Folder::new();
    film(&folder);
    folder
        .line("filter null -i in.mkv -o film")
        .failed(1, &["film: has no extension", "-- -f FORMAT"]);
    folder
        .line("filter null -i in.mkv -o film -- -f matroska")
        .succeeded();
    assert_eq!(codecs(&folder, "film"), ["aac", "h264"]);
}

#[test]
fn a_pipe_gets_y4m_and_a_name_that_says_otherwise_is_told_of() {
    let folder = Folder::new();
    for (name, told) in [("pipe.mkv", true), ("pipe.y4m", false), ("pipe", false)] {
        let line = format!(
            "mkfifo {name}; head -c 9 {name} & $EVENER filter null -i testsrc:64x48:1 -o {name}; wait"
        );
        let done = shell(&folder, &line);
        assert_eq!(done.text(), "YUV4MPEG2", "{}", done.stderr);
        let warned = done.stderr.contains("gets y4m whatever its name");
        assert_eq!(warned, told, "{}", done.stderr);
    }
}

/// What ffmpeg had written when the disk was full is kept, if that is asked for and it can be read.
#[test]
fn a_full_disk_leaves_the_frames_that_are_on_it() {
    if !has_ffmpeg() {
        return;
    }
    let folder = Folder::new();
    let line = "filter null -i testsrc:320x240:100 --keep-partial -o";
    let fast = "-- -preset ultrafast -qp 0";
    // Of 512 bytes in some shells, of 1024 in others.
    let limited = |line: &str| shell(&folder, &format!("ulimit -f 1000; $EVENER {line} {fast}"));
    let done = limited(&format!("{line} out.mkv"));
    done.failed(1, &["evener: out.mkv: ffmpeg failed"]);
    let kept = done.stderr.split(" frames kept in out.mkv").next().unwrap();
    let kept: u64 = kept.rsplit(' ').next().unwrap().parse().unwrap();
    let count = "-v error -count_frames -show_entries stream=nb_read_frames -of csv=p=0 out.mkv";
    let count = folder.command("ffprobe").args(count.split(' ')).output();
    let count = String::from_utf8(count.unwrap().stdout).unwrap();
    assert_eq!(count.trim(), kept.to_string(), "{}", done.stderr);
    assert!((1..100).contains(&kept), "{}", done.stderr);

    let done = limited(&format!("{line} out.mp4"));
    let said = "warning: out.mp4: nothing is kept, as a .mp4 that is not finished cannot be read; a .mkv can\n";
    assert!(done.stderr.contains(said), "{}", done.stderr);
    assert_eq!((done.status, done.stderr.lines().count()), (Some(1), 2));
    let done = limited("filter null -i testsrc:320x240:100 -o no.mkv");
    let said = ["no.mkv: ffmpeg failed", "ile too large; free some space"];
    done.failed(1, &said);
    assert_eq!(folder.names(), ["out.mkv"]);
}

/// FFmpeg succeeds where the last bytes alone find no room.
#[test]
fn a_file_without_its_end_is_not_put_in_place() {
    if !has_ffmpeg() {
        return;
    }
    let folder = Folder::new();
    let script = "cat >/dev/null\n\
                  echo '[error] Error writing trailer of x: No space left on device' >&2";
    folder.program("bin/ffmpeg", script);
    let line = "filter null -i testsrc:64x48:3 -o out.mkv";
    let mut command = folder.evener(line.split(' '));
    let done = Done::of(command.env("PATH", folder.search_path("bin")));
    done.failed(1, &["out.mkv: ffmpeg failed", "No space left on device"]);
    assert!(!folder.path("out.mkv").exists());
}

/// A word that ffmpeg would take for another output loses no file.
#[test]
fn arguments_of_ffmpeg_name_no_other_file() {
    let folder = Folder::new();
    let input = folder.scene("in.y4m", "64x48:5");
    let before = fs::read(&input).unwrap();
    for (arguments, said) in [
        ("-crf 30 in.y4m", "`in.y4m` is neither an option"),
        ("other.mp4", "`other.mp4` is neither an option"),
        ("-y other.mp4", "`other.mp4` is neither an option"),
        ("-vf negate", "`-vf` is not for the output"),
        ("-crf", "`-crf` is an option without its value"),
    ] {
        let line = format!("filter hflip -i in.y4m -o out.mkv -- {arguments}");
        folder.line(&line).failed(2, &["arguments of ffmpeg", said]);
    }
    assert_eq!(folder.names(), ["in.y4m"]);
    assert_eq!(fs::read(&input).unwrap(), before);
}

#[test]
fn quiet_has_no_notes_and_keeps_warnings() {
    if !has_ffmpeg() {
        return;
    }
    let folder = Folder::new();
    film(&folder);
    let done = folder.line("-q filter null -i in.mkv -o out.y4m");
    assert_eq!(done.succeeded().stderr, "");
    let done = folder.line("-q filter null -i in.mkv -o out.h264");
    let said = &done.succeeded().stderr;
    assert!(said.starts_with("evener: warning: out.h264: "), "{said}");
}

#[test]
fn names_may_have_the_prefixes_of_ffmpeg() {
    let folder = Folder::new();
    folder.scene("in.y4m", "64x48:2");
    folder
        .line("filter null -i file:in.y4m -o file:out.y4m")
        .succeeded();
    assert_eq!(folder.names(), ["in.y4m", "out.y4m"]);
    let line = "$EVENER filter null -i pipe:0 -o pipe:1 < in.y4m";
    let done = shell(&folder, line);
    done.succeeded();
    assert_eq!(done.stdout, fs::read(folder.path("out.y4m")).unwrap());
}

#[test]
fn two_percent_signs_are_one() {
    if !has_ffmpeg() {
        return;
    }
    let folder = Folder::new();
    folder
        .line("filter null -i testsrc:64x48:9 -o x%%d.png --frames 1")
        .succeeded();
    assert_eq!(folder.names(), ["x%d.png"]);
}

#[test]
fn odd_sides_are_made_even_or_told_of() {
    if !has_ffmpeg() {
        return;
    }
    let folder = Folder::new();
    folder
        .line("filter null -i testsrc:65x49:2 -o odd.mkv")
        .failed(1, &["odd.mkv", "divisible by 2", "`scale=-2:-2`"]);
    folder
        .line("filter scale=-2:-2 -i testsrc:65x49:2 -o even.mkv")
        .succeeded();
    folder
        .line("filter null -i even.mkv -o even.y4m")
        .succeeded();
    let header = fs::read(folder.path("even.y4m")).unwrap();
    assert!(header.starts_with(b"YUV4MPEG2 W64 H48 "));
}

#[test]
fn an_example_of_a_number_makes_sense() {
    let folder = Folder::new();
    let line = "filter eq=brightness=5% -i testsrc:64x48:1 -o null:";
    folder.line(line).failed(2, &["e.g. `brightness=0.05`"]);
    let line = "filter eq=brightness=lots -i testsrc:64x48:1 -o null:";
    folder.line(line).failed(2, &["e.g. `brightness=0.1`"]);
}
