//! What lies between files of all kinds and the frames: names, colours, other streams, damage, and what is told of it.

use std::fs;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::ffmpeg::has_ffmpeg;
use crate::run::{Done, Folder, frames_of};
use crate::signals::{ended, is_ignored, send};

/// Runs ffmpeg in a folder; arguments have no white space in them.
#[track_caller]
fn ffmpeg(folder: &Folder, line: &str) -> String {
    let done = Command::new("ffmpeg")
        .args(["-nostdin", "-hide_banner", "-nostats", "-y"])
        .args(line.split_whitespace())
        .current_dir(folder.path(""))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(done.status.success(), "{line}: {said}");
    said
}

/// What ffprobe tells of entries of a file, as `key=value` lines.
fn ffprobe(folder: &Folder, name: &str, entries: &str) -> String {
    let done = Command::new("ffprobe")
        .args(["-v", "error", "-count_frames", "-of", "default=nw=1"])
        .args(["-show_entries", entries, name])
        .current_dir(folder.path(""))
        .output()
        .unwrap();
    String::from_utf8(done.stdout).unwrap()
}

const SCENE: &str = "-f lavfi -i testsrc2=s=64x48:r=25:d=0.4";
const X264: &str = "-c:v libx264 -pix_fmt yuv420p";

#[test]
fn a_name_is_a_name_and_no_pattern() {
    if !has_ffmpeg() {
        return;
    }
    let folder = Folder::new();
    for (colour, name) in [("black", "black.png"), ("white", "p001.png")] {
        ffmpeg(
            &folder,
            &format!("-f lavfi -i color={colour}:s=64x48 -frames:v 1 {name}"),
        );
    }
    fs::rename(folder.path("black.png"), folder.path("p%03d.png")).unwrap();
    let done = folder.line("filter crop=1 -i p%03d.png -o out.y4m");
    done.succeeded();
    let bytes = fs::read(folder.path("out.y4m")).unwrap();
    let at = bytes.windows(6).position(|w| w == b"FRAME\n").unwrap();
    assert_eq!(bytes[at + 6], 16, "black, in limited range");

    fs::create_dir(folder.path("d%03d")).unwrap();
    let name = "d%03d/o.png";
    let done = folder.line(&format!("filter crop=1 -i testsrc:64x48:1 -o {name}"));
    done.succeeded();
    assert!(folder.path(name).is_file());
    let done = folder.line(&format!("filter crop=1 -i testsrc:64x48:2 -o {name}"));
    done.failed(1, &[name, "is one picture", "PICTURE-%04d.png"]);
    let done = folder.line("filter crop=1 -i testsrc:64x48:2 -o d%03d/50%%-%d.png");
    done.succeeded();
    for name in ["d%03d/50%-1.png", "d%03d/50%-2.png"] {
        assert!(folder.path(name).is_file(), "{name}");
    }
    assert_eq!(
        folder.names(),
        ["d%03d", "out.y4m", "p%03d.png", "p001.png"]
    );
}

#[test]
fn an_output_that_cannot_be_is_refused_before_anything_is_read() {
    if !has_ffmpeg() {
        return;
    }
    let folder = Folder::new();
    for (output, words) in [
        ("out.xyz", &["no format or encoder", "use .mkv"][..]),
        ("out", &["has no extension"]),
        ("out.m3u8", &["lists of several files"]),
        ("http://localhost/out.mkv", &["is an address"]),
    ] {
        let done = folder.line(&format!("filter blur -i not-there.mkv -o {output}"));
        done.failed(1, &[&["evener: ", output][..], words].concat());
        for noise in ["0x", ".part", "file:", "not-there"] {
            assert!(!done.stderr.contains(noise), "{}", done.stderr);
        }
    }
    let mut command = folder.evener("filter blur -i not-there.mkv -o out.mkv".split(' '));
    let done = Done::of(command.env("PATH", folder.path("nothing")));
    done.failed(1, &["out.mkv", "'ffmpeg'", "not installed"]);
    // One that has to be asked for, and is known.
    folder
        .line("filter blur -i testsrc:64x48:2 -o out.nut")
        .succeeded();
    assert_eq!(folder.names(), ["out.nut"]);
}

#[test]
fn colours_are_kept_or_their_loss_is_told() {
    if !has_ffmpeg() {
        return;
    }
    let folder = Folder::new();
    let params = "log-level=none:hdr10=1:colorprim=bt2020:transfer=smpte2084:colormatrix=bt2020nc:range=limited:\
                  chromaloc=2:master-display=G(13250,34500)B(7500,3000)R(34000,16000)WP(15635,16450)L(10000000,1):\
                  max-cll=1000,400";
    ffmpeg(
        &folder,
        &format!(
            "{SCENE} -frames:v 3 -c:v libx265 -pix_fmt yuv420p10le -x265-params {params} in.mkv"
        ),
    );
    let entries =
        "stream=pix_fmt,color_range,color_space,color_transfer,color_primaries,chroma_location";
    let done = folder.line("filter flip=h -i in.mkv -o out.mp4");
    done.succeeded();
    assert!(!done.stderr.contains("note"), "{}", done.stderr);
    assert_eq!(
        ffprobe(&folder, "out.mp4", entries),
        "pix_fmt=yuv420p10le\ncolor_range=tv\ncolor_space=bt2020nc\ncolor_transfer=smpte2084\n\
         color_primaries=bt2020\nchroma_location=topleft\n"
    );
    // What ffprobe is too old to tell.
    let headers = ffmpeg(
        &folder,
        "-i out.mp4 -c copy -bsf:v trace_headers -frames:v 1 -f null -",
    );
    for (key, value) in [
        ("white_point_x", "15635"),
        ("max_display_mastering_luminance", "10000000"),
        ("max_content_light_level", "1000"),
        ("max_pic_average_light_level", "400"),
    ] {
        let mut lines = headers.lines().filter(|line| line.contains(key));
        assert!(
            lines.any(|line| line.ends_with(&format!("= {value}"))),
            "{key}: {headers}"
        );
    }
    let done = folder.line("filter flip=h -i in.mkv -o out.avi");
    done.succeeded();
    for words in [
        "evener: note: in.mkv: colour tags (bt2020nc, bt2020, smpte2084) are not kept in .avi\n",
        "evener: note: in.mkv: how the picture was mastered (HDR metadata) is not kept in .avi\n",
    ] {
        assert_eq!(done.stderr.matches(words).count(), 1, "{}", done.stderr);
    }
}

#[test]
fn rgb_is_converted_as_it_is_tagged() {
    if !has_ffmpeg() {
        return;
    }
    let folder = Folder::new();
    // Red, by the matrices of BT.601 and BT.709.
    for (height, space, codes) in [
        (96, "smpte170m", [81, 90, 240]),
        (720, "bt709", [63, 102, 240]),
    ] {
        ffmpeg(
            &folder,
            &format!("-f lavfi -i color=red:s=64x{height}:d=0.08 -c:v png -pix_fmt rgb24 in.mkv"),
        );
        folder
            .line("filter crop=1 -i in.mkv -o out.mkv")
            .succeeded();
        let tags = ffprobe(&folder, "out.mkv", "stream=color_range,color_space");
        assert_eq!(tags, format!("color_range=tv\ncolor_space={space}\n"));
        folder
            .line("filter crop=1 -i out.mkv -o out.y4m")
            .succeeded();
        let bytes = fs::read(folder.path("out.y4m")).unwrap();
        let at = bytes.windows(6).position(|w| w == b"FRAME\n").unwrap() + 6;
        for (plane, code) in codes.into_iter().enumerate() {
            let found = bytes[at + plane * 64 * height];
            assert!(found.abs_diff(code) <= 1, "{space}: {found}, not {code}");
        }
    }
}

/// A film with sound, subtitles, a title and chapters, whose video begins after its sound.
fn film(folder: &Folder) {
    folder.file("s.srt", "1\n00:00:00,100 --> 00:00:00,300\nhello\n");
    folder.file(
        "m.txt",
        ";FFMETADATA1\ntitle=Ice\n[CHAPTER]\nTIMEBASE=1/1000\nSTART=0\nEND=400\ntitle=One\n",
    );
    ffmpeg(
        folder,
        &format!(
            "-itsoffset 0.5 {SCENE} -f lavfi -i sine=d=1 -i s.srt -i m.txt -map 0 -map 1 -map 2 \
                  -map_metadata 3 -map_chapters 3 -metadata:s:a language=nor {X264} -c:a aac -c:s srt film.mkv"
        ),
    );
}

const STREAMS: &str = "stream=codec_name";

#[test]
fn sound_subtitles_title_and_chapters_go_from_file_to_file() {
    if !has_ffmpeg() {
        return;
    }
    let folder = Folder::new();
    film(&folder);
    let done = folder.line("filter flip=h -i film.mkv -o out.mkv");
    done.succeeded();
    assert!(
        !done.stderr.contains("note:") && !done.stderr.contains("warning:"),
        "{}",
        done.stderr
    );
    let told = |name: &str| {
        let entries = "stream=codec_name,start_time:stream_tags=language:format_tags=title";
        let chapters = ffprobe(
            &folder,
            name,
            "chapter=start_time,end_time:chapter_tags=title",
        );
        ffprobe(&folder, name, entries) + &chapters
    };
    let kept = told("out.mkv");
    assert_eq!(kept, told("film.mkv"));
    for word in ["h264", "aac", "subrip", "=nor", "=Ice", "=One"] {
        assert!(kept.contains(word), "{kept}");
    }
    // No packet of the sound is lost or another, and no frame is repeated for the wait before the first.
    let sound = |name: &str| {
        ffmpeg(&folder, &format!("-i {name} -map 0:a -c copy -f md5 sum"));
        fs::read(folder.path("sum")).unwrap()
    };
    assert_eq!(sound("film.mkv"), sound("out.mkv"));
    assert_eq!(
        ffprobe(&folder, "out.mkv", "stream=nb_read_frames")
            .lines()
            .next(),
        Some("nb_read_frames=10")
    );

    folder
        .line("filter flip=h -i film.mkv -o out.mkv --no-audio")
        .succeeded();
    assert_eq!(
        ffprobe(&folder, "out.mkv", STREAMS),
        "codec_name=h264\ncodec_name=subrip\n"
    );
    assert_eq!(
        folder.names(),
        ["film.mkv", "m.txt", "out.mkv", "s.srt", "sum"]
    );
}

#[test]
fn a_stream_that_the_output_cannot_hold_is_left_out_with_a_line() {
    if !has_ffmpeg() {
        return;
    }
    let folder = Folder::new();
    film(&folder);
    let line = "left out, as .mp4 cannot hold it; write .mkv to keep it\n";
    let done = folder.line("filter flip=h -i film.mkv -o out.mp4");
    done.succeeded();
    assert!(
        done.stderr.starts_with(&format!(
            "evener: warning: out.mp4: subtitles (subrip) of film.mkv {line}"
        )),
        "{}",
        done.stderr
    );
    assert_eq!(
        done.stderr.matches("left out").count(),
        1,
        "{}",
        done.stderr
    );
    let streams = ffprobe(&folder, "out.mp4", STREAMS);
    assert!(
        streams.starts_with("codec_name=h264\ncodec_name=aac\n"),
        "{streams}"
    );
    assert!(
        !streams.contains("subrip") && !streams.contains("mov_text"),
        "{streams}"
    );

    let done = folder.line("filter flip=h -i film.mkv -o out.y4m");
    let note = "evener: note: film.mkv: audio, subtitles dropped: y4m holds only video\n";
    assert!(done.succeeded().stderr.starts_with(note), "{}", done.stderr);
    let done = folder.line("filter flip=h -i film.mkv -o null:");
    assert!(
        !done.succeeded().stderr.contains("note:"),
        "{}",
        done.stderr
    );

    // One that holds one of a kind.
    ffmpeg(
        &folder,
        "-i film.mkv -map 0:v -map 0:a -map 0:a -c copy two.mkv",
    );
    let done = folder.line("filter flip=h -i two.mkv -o out.flv");
    let line = "audio (aac) of two.mkv left out, as .flv cannot hold it; write .mkv to keep it\n";
    assert!(done.succeeded().stderr.contains(line), "{}", done.stderr);
    let streams = ffprobe(&folder, "out.flv", STREAMS);
    let count = |codec: &str| streams.matches(codec).count();
    assert_eq!((count("flv1"), count("aac")), (1, 1), "{streams}");

    // A title alone needs no second pass.
    ffmpeg(
        &folder,
        &format!("{SCENE} {X264} -metadata title=Ice title.mkv"),
    );
    folder
        .line("filter flip=h -i title.mkv -o out.mp4")
        .succeeded();
    assert_eq!(
        ffprobe(&folder, "out.mp4", "format_tags=title"),
        "TAG:title=Ice\n"
    );
}

#[test]
fn sound_ends_where_an_interruption_ends_the_video() {
    if !has_ffmpeg() || is_ignored(Signal::INT) {
        return;
    }
    let folder = Folder::new();
    ffmpeg(
        &folder,
        &format!(
            "-f lavfi -i color=red:s=64x48:r=25:d=30 -f lavfi -i sine=d=30 {X264} -preset ultrafast -c:a aac in.mkv"
        ),
    );
    // A decoder that stops for a while where more than a pipe holds has been read from it.
    let path = std::env::var("PATH").unwrap();
    folder.program(
        "bin/ffmpeg",
        &format!(
            "PATH='{path}'\ncase \"$*\" in\n*pipe:1) ;;\n*) exec ffmpeg \"$@\";;\nesac\n\
             ffmpeg \"$@\" | (dd bs=1400000 count=1 iflag=fullblock 2>/dev/null; touch begun; sleep 1; exec cat)"
        ),
    );
    let child = folder
        .evener("filter flip=h -i in.mkv -o out.mkv --plan sequential".split(' '))
        .env("PATH", folder.search_path("bin"))
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let begin = Instant::now();
    while !folder.path("begun").exists() {
        assert!(begin.elapsed() < Duration::from_secs(60), "nothing begins");
        thread::sleep(Duration::from_millis(2));
    }
    send(&child, Signal::INT);
    let done = ended(child);
    assert_eq!(done.status, Some(130), "{}", done.stderr);
    let ends = ffprobe(&folder, "out.mkv", "stream_tags=DURATION");
    let ends: Vec<f64> = ends
        .lines()
        .map(|line| line.rsplit(':').next().unwrap().parse().unwrap())
        .collect();
    assert!(ends.len() == 2 && ends[0] < 25.0, "{ends:?}");
    assert!((ends[0] - ends[1]).abs() < 0.2, "{ends:?}");
}

#[test]
fn a_cut_or_damaged_file_is_an_error_that_says_how_far_it_came_and_a_whole_one_is_none() {
    if !has_ffmpeg() {
        return;
    }
    let folder = Folder::new();
    let scene = "-f lavfi -i testsrc2=s=64x48:r=25:d=2 -f lavfi -i sine=d=2 -g 10";
    for (name, options, frames) in [
        ("a.mkv", format!("{X264} -c:a aac"), Some(50)),
        (
            "a.mp4",
            format!("{X264} -c:a aac -movflags faststart"),
            Some(50),
        ),
        ("a.avi", "-c:v mjpeg -c:a pcm_s16le".to_owned(), Some(50)),
        ("a.ts", format!("{X264} -c:a aac"), None),
        (
            "a.h264",
            format!("{X264} -an -bsf:v h264_mp4toannexb"),
            None,
        ),
    ] {
        ffmpeg(&folder, &format!("{scene} {options} {name}"));
        let done = folder.line(&format!("filter crop=1 -i {name} -o out.y4m"));
        assert!(
            !done.succeeded().stderr.contains("warning"),
            "{}",
            done.stderr
        );
        assert_eq!(frames_of(&folder.path("out.y4m")), 50, "{name}");
        fs::remove_file(folder.path("out.y4m")).unwrap();

        let mut bytes = fs::read(folder.path(name)).unwrap();
        let length = bytes.len();
        match name {
            // A broadcast that ends anywhere is whole.
            "a.ts" => bytes[length / 2..length * 3 / 5].fill(0x5a),
            _ => bytes.truncate(length * 3 / 5),
        }
        folder.file(name, bytes);
        let done = folder.run([
            "filter",
            "crop=1",
            "-i",
            name,
            "-o",
            "out.y4m",
            "--no-audio",
        ]);
        assert_eq!(done.status, Some(1), "{name}: {}", done.stderr);
        let last = done.stderr.lines().last().unwrap();
        assert!(
            last.starts_with(&format!("evener: {name}: is cut or damaged: ffmpeg read ")),
            "{last}"
        );
        assert!(!last.contains("0x5"), "{last}");
        if let Some(frames) = frames {
            assert!(last.contains(&format!(" of {frames} frames")), "{last}");
        }
        assert!(!folder.path("out.y4m").exists());
    }
    let done = folder.line("filter crop=1 -i a.mkv -o out.y4m --keep-partial");
    assert_eq!(done.status, Some(1), "{}", done.stderr);
    let kept = frames_of(&folder.path("out.y4m"));
    assert!((15..45).contains(&kept), "{kept}");
    assert!(
        done.stderr
            .contains(&format!("{kept} frames kept in out.y4m")),
        "{}",
        done.stderr
    );
}

#[test]
fn what_frames_cannot_keep_is_told_once() {
    if !has_ffmpeg() {
        return;
    }
    let folder = Folder::new();
    let notes = |graph: &str| {
        let done = folder.line(&format!("filter {graph} -i in.mkv -o out.mkv"));
        let lines = done
            .succeeded()
            .stderr
            .lines()
            .filter(|line| line.contains("note:") || line.contains("warning:"));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    let make = |options: &str| ffmpeg(&folder, &format!("{SCENE} {options} in.mkv"));
    for (options, graph, note) in [
        (
            "-c:v png -pix_fmt rgba",
            "crop=1",
            "alpha is left out; filter it by itself",
        ),
        (
            "-c:v ffv1 -pix_fmt yuva420p",
            "crop=1",
            "alpha is left out; filter it by itself",
        ),
        (
            "-c:v ffv1 -pix_fmt yuv420p12le",
            "crop=1",
            "its encoder keeps 10 bits",
        ),
        (
            "-c:v ffv1 -pix_fmt yuv444p16le",
            "crop=1",
            "its encoder keeps 10 bits",
        ),
        (
            "-c:v ffv1 -pix_fmt yuv420p -vf setpts=PTS+floor(N/5)/TB -vsync vfr",
            "crop=1",
            "its frame rate varies; 25 frames were repeated",
        ),
        (
            "-c:v ffv1 -pix_fmt yuv420p -vf setpts=PTS+9/TB",
            "crop=1",
            "its time begins at 9.000 s",
        ),
        (
            "-vf setfield=tff -flags +ilme+ildct -c:v libx264 -pix_fmt yuv420p",
            "crop=1,rotate=3",
            "it is interlaced, and rotate mixes",
        ),
    ] {
        make(options);
        let notes = notes(graph);
        assert_eq!(notes.len(), 1, "{options}: {notes:?}");
        let file = if note.contains("encoder") {
            "out"
        } else {
            "in"
        };
        let note = format!(": {file}.mkv: {note}");
        assert!(notes[0].contains(&note), "{notes:?}");
    }
    // Fields that stay apart are kept, and so is the order of the two.
    assert_eq!(notes("flip=h"), [""; 0]);
    let order = ffprobe(&folder, "out.mkv", "stream=field_order");
    assert!(
        ["field_order=tt\n", "field_order=tb\n"].contains(&order.as_str()),
        "{order}"
    );
    assert_eq!(notes("crop=1"), [""; 0]);
}

#[test]
fn the_number_of_frames_is_known_beforehand() {
    if !has_ffmpeg() {
        return;
    }
    let folder = Folder::new();
    for name in ["a.mp4", "a.mkv", "a.ts"] {
        ffmpeg(&folder, &format!("{SCENE} {X264} {name}"));
        let done = folder.line(&format!("filter crop=1 -i {name} -o null: --explain"));
        assert!(
            done.succeeded().stderr.contains(", 25 fps, 10 frames"),
            "{}",
            done.stderr
        );
    }
}
