//! Which frames `filter` reads, what it replaces, and what it passes to ffmpeg.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::ffmpeg::has_ffmpeg;
use crate::run::{Done, Folder};

const SCENE: &str = "testsrc:64x48:10:mono";
const FRAME: usize = 64 * 48;

/// The samples of the frames of a y4m file in mono.
fn frames(path: &Path) -> Vec<Vec<u8>> {
    let bytes = fs::read(path).unwrap();
    let header = bytes.iter().position(|&b| b == b'\n').unwrap() + 1;
    let frames = bytes[header..].chunks_exact(6 + FRAME);
    assert!(frames.remainder().is_empty());
    frames.map(|frame| frame[6..].to_vec()).collect()
}

#[test]
fn a_file_is_replaced_unless_it_is_to_be_kept() {
    let folder = Folder::new();
    folder.file("out.y4m", "old");
    let line = format!("filter null -i {SCENE} -o out.y4m");
    let done = folder.line(&format!("{line} -n"));
    done.failed(1, &["out.y4m", "already exists"]);
    assert_eq!(fs::read(folder.path("out.y4m")).unwrap(), b"old");
    folder.line(&format!("{line} -y")).succeeded();
    assert_eq!(frames(&folder.path("out.y4m")).len(), 10);
    folder.file("out.y4m", "old");
    folder.line(&line).succeeded();
    assert_eq!(frames(&folder.path("out.y4m")).len(), 10);
    folder
        .line(&format!("filter null -i {SCENE} -o new.y4m -n"))
        .succeeded();
    folder
        .line(&format!("filter null -i {SCENE} -o null: -n"))
        .succeeded();
    folder
        .line(&format!("{line} -n -y"))
        .failed(2, &["cannot be used with"]);
}

#[test]
fn frames_are_read_from_a_time_on_and_so_many() {
    let folder = Folder::new();
    folder
        .line(&format!("filter null -i {SCENE} -o all.y4m"))
        .succeeded();
    let all = frames(&folder.path("all.y4m"));
    // 25 frames a second.
    for (args, range) in [
        ("--frames 3", 0..3),
        ("--start 0.12", 3..10),
        ("--start 0.121 --frames 2", 4..6),
        ("--start 0:00:00.2 --frames 100", 5..10),
    ] {
        for plan in ["sequential", "farm"] {
            let line = format!("filter null -i all.y4m -o part.y4m --plan {plan} {args}");
            folder.line(&line).succeeded();
            assert!(
                frames(&folder.path("part.y4m")) == all[range.clone()],
                "{args}"
            );
        }
    }
    let line = format!("filter null -i {SCENE} -o none.y4m");
    let late = ["has no frame at 60 s or later, as it is 0.4 s long"];
    folder
        .line("filter null -i all.y4m --start 60 -o none.y4m --keep-partial")
        .failed(1, &[&["evener: all.y4m: "], &late[..]].concat());
    for output in ["none.y4m", "none.mkv", "null:"] {
        if output != "none.mkv" || has_ffmpeg() {
            let none = format!("filter null -i {SCENE} --start 60 -o {output}");
            folder.line(&none).failed(1, &late);
        }
    }
    assert!(!folder.path("none.y4m").exists());
    folder
        .line(&format!("{line} --start 1:70"))
        .failed(2, &["'1:70' is not a time"]);
    folder
        .line(&format!("{line} --frames 0"))
        .failed(2, &["--frames"]);
    folder
        .line(&format!("{line} --fps 0"))
        .failed(2, &["'0' is not a rate"]);
}

#[test]
fn another_rate_has_the_frames_that_ffmpeg_gives_it() {
    if !has_ffmpeg() {
        return;
    }
    let folder = Folder::new();
    folder
        .line(&format!("filter null -i {SCENE} -o all.y4m"))
        .succeeded();
    for rate in [
        "25",
        "50",
        "30",
        "30000/1001",
        "10",
        "12.5",
        "24",
        "7",
        "100",
        "1",
    ] {
        let line = format!("filter null -i all.y4m -o ours.y4m --fps {rate}");
        folder.line(&line).succeeded();
        let filter = format!("fps={rate}");
        let args = [
            "-v",
            "error",
            "-y",
            "-i",
            "all.y4m",
            "-vf",
            &filter,
            "theirs.y4m",
        ];
        let done = folder.command("ffmpeg").args(args).status().unwrap();
        assert!(done.success());
        let (ours, theirs) = ["ours.y4m", "theirs.y4m"]
            .map(|n| frames(&folder.path(n)))
            .into();
        assert_eq!(ours.len(), theirs.len(), "{rate}");
        assert!(ours == theirs, "{rate}");
        let header = fs::read(folder.path("ours.y4m")).unwrap();
        let rate = rate.replace("12.5", "12500/1000").replace('/', ":");
        let header = String::from_utf8_lossy(&header[..header.len().min(80)]).into_owned();
        assert!(header.contains(&format!(" F{rate}")), "{header}");
    }
}

#[test]
fn arguments_after_two_hyphens_are_those_of_the_encoder() {
    if !has_ffmpeg() {
        return;
    }
    let folder = Folder::new();
    let size = |crf: u32| {
        let line = format!("filter null -i testsrc:320x240:10 -o {crf}.mkv -- -crf {crf}");
        folder.line(&line).succeeded();
        fs::metadata(folder.path(&format!("{crf}.mkv")))
            .unwrap()
            .len()
    };
    assert!(size(5) > 2 * size(45));
    let line = format!("filter null -i {SCENE} -o out.y4m -- -crf 18");
    folder
        .line(&line)
        .failed(1, &["out.y4m", "not written by ffmpeg"]);
    folder
        .line(&format!("filter null -i {SCENE} -o 45.mkv -- -f nonsense"))
        .failed(1, &["45.mkv", "ffmpeg failed: ", "'nonsense'"]);
    let line = "filter null -i testsrc:320x240:10 -o out.mkv -- -crf lots";
    // Not "after 3 frames", which were passed on before it had begun.
    folder.line(line).failed(1, &["out.mkv: ffmpeg failed: "]);
    assert_eq!(folder.names(), ["45.mkv", "5.mkv"]);
}

#[test]
fn arguments_after_two_hyphens_are_for_sound_and_titles_as_well() {
    if !has_ffmpeg() {
        return;
    }
    let folder = Folder::new();
    let args = "-v error -f lavfi -i testsrc=s=64x48:r=25:d=1 -f lavfi -i sine=d=1 -c:v libx264 -metadata title=old in.mkv";
    let made = folder.command("ffmpeg").args(args.split(' ')).status();
    assert!(made.unwrap().success());
    let shown = |further: &str| {
        let line = format!("filter null -i in.mkv -o out.mkv -- {further}");
        folder.line(&line).succeeded();
        let probe =
            "-v error -show_entries stream=codec_name:format_tags=title -of csv=p=0 out.mkv";
        let probe = folder.command("ffprobe").args(probe.split(' ')).output();
        String::from_utf8(probe.unwrap().stdout).unwrap()
    };
    // Video is coded once.
    let said = shown("-c:a flac -c:v ffv1 -metadata title=new");
    assert_eq!(
        said.split_whitespace().collect::<Vec<_>>(),
        ["ffv1", "flac", "new"]
    );
    let said = shown("-an -crf 30");
    assert_eq!(said.split_whitespace().collect::<Vec<_>>(), ["h264", "old"]);
}

#[test]
fn sound_is_cut_as_the_frames_are() {
    if !has_ffmpeg() {
        return;
    }
    let folder = Folder::new();
    let args = "-v error -f lavfi -i testsrc=s=64x48:r=25:d=4 -f lavfi -i sine=d=4 -c:v libx264 -c:a pcm_s16le in.mkv";
    let made = folder.command("ffmpeg").args(args.split(' ')).status();
    assert!(made.unwrap().success());
    let line = "filter null -i in.mkv -o out.mkv --start 1 --frames 50";
    folder.line(line).succeeded();
    let seconds = |stream: &str| -> f64 {
        let mut probe = Command::new("ffprobe");
        let args =
            "-v error -show_entries packet=pts_time,duration_time -of csv=p=0 -select_streams";
        let probe = probe.args(args.split(' ')).args([stream, "out.mkv"]);
        let said = probe.current_dir(folder.path(".")).output().unwrap().stdout;
        let said = String::from_utf8(said).unwrap();
        let ends = said.lines().filter_map(|line| {
            let mut numbers = line.split(',').map(str::parse::<f64>);
            Some(numbers.next()?.ok()? + numbers.next()?.ok()?)
        });
        ends.fold(0.0, f64::max)
    };
    assert!((seconds("v:0") - 2.0).abs() < 0.05, "{}", seconds("v:0"));
    assert!((seconds("a:0") - 2.0).abs() < 0.1, "{}", seconds("a:0"));
}

#[test]
fn deinterlaced_frames_are_whole_and_nothing_is_said() {
    let folder = Folder::new();
    let samples = [b'x'; 16];
    let fields = [b"YUV4MPEG2 W4 H4 F25:1 It Cmono\nFRAME\n", &samples[..]].concat();
    folder.file("in.y4m", fields);
    for (graph, interlacing, note) in [
        ("null", " It ", false),
        // The upper field becomes the lower one.
        ("vflip", " Ib ", false),
        ("hflip,flip=v,vflip", " It ", false),
        ("crop=4:2:0:1", " Ib ", false),
        ("crop=4:2:0:2", " It ", false),
        ("deinterlace,blur", " Ip ", false),
        ("blur,deinterlace", " Ip ", true),
    ] {
        let line = format!("filter {graph} -i in.y4m -o out.y4m");
        let done = folder.line(&line);
        let said = &done.succeeded().stderr;
        assert_eq!(said.contains("begin with deinterlace"), note, "{said}");
        let out = fs::read(folder.path("out.y4m")).unwrap();
        let header = String::from_utf8_lossy(&out[..32]).into_owned();
        assert!(header.contains(interlacing), "{graph}: {header}");
    }
}

/// Whatever ffmpeg reads can come through a pipe, a fifo, or as the standard input.
#[test]
fn pipes_hold_any_container() {
    if !has_ffmpeg() {
        return;
    }
    let folder = Folder::new();
    for (pixels, format) in [
        ("yuv420p", "420"),
        ("yuv444p10le", "444p10"),
        ("gray", "mono"),
    ] {
        let scene = format!("testsrc2=s=64x48:r=25:d=0.4,format={pixels}");
        let args = [
            "-v", "error", "-y", "-f", "lavfi", "-i", &scene, "-c:v", "ffv1", "in.mkv",
        ];
        assert!(
            folder
                .command("ffmpeg")
                .args(args)
                .status()
                .unwrap()
                .success()
        );
        folder
            .line("filter flip=h -i in.mkv -o file.y4m")
            .succeeded();
        let expected = fs::read(folder.path("file.y4m")).unwrap();
        let header = String::from_utf8_lossy(&expected[..60]).into_owned();
        assert!(header.contains(&format!("C{format}")), "{header}");
        for shell in [
            "cat in.mkv | $EVENER filter flip=h -i - -o pipe.y4m",
            "$EVENER filter flip=h -i - -o pipe.y4m < in.mkv",
            "rm -f fifo; mkfifo fifo; cat in.mkv > fifo & $EVENER filter flip=h -i fifo -o pipe.y4m",
            "cat file.y4m | $EVENER filter null -i - -o pipe.y4m",
        ] {
            let evener = folder.evener(["--version"]);
            let mut sh = folder.command("sh");
            sh.args(["-c", shell]).env("EVENER", evener.get_program());
            let done = sh.output().unwrap();
            let said = String::from_utf8_lossy(&done.stderr).into_owned();
            assert!(done.status.success(), "{shell}: {said}");
            let got = fs::read(folder.path("pipe.y4m")).unwrap();
            assert!(got == expected, "{pixels}, {shell}: {said}");
        }
    }
    let shell = "echo something that is no video | $EVENER filter null -i - -o no.y4m";
    let mut sh = folder.command("sh");
    let evener = folder.evener(["--version"]);
    let done = sh
        .args(["-c", shell])
        .env("EVENER", evener.get_program())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(
        !done.status.success() && said.contains("standard input: "),
        "{said}"
    );
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(!folder.path("no.y4m").exists());
}

#[test]
fn numbered_pictures_are_a_stream() {
    if !has_ffmpeg() {
        return;
    }
    let folder = Folder::new();
    folder
        .line("filter null -i testsrc:64x48:5:mono -o all.y4m")
        .succeeded();
    let args = "-v error -i all.y4m -pix_fmt gray p-%03d.png";
    let made = folder.command("ffmpeg").args(args.split(' ')).status();
    assert!(made.unwrap().success());
    folder
        .line("filter hflip -i p-%03d.png --pictures 12 -o back.y4m")
        .succeeded();
    folder
        .line("filter hflip -i all.y4m -o flipped.y4m")
        .succeeded();
    assert!(frames(&folder.path("back.y4m")) == frames(&folder.path("flipped.y4m")));
    let header = fs::read(folder.path("back.y4m")).unwrap();
    assert!(String::from_utf8_lossy(&header[..60]).contains(" F12:1 "));
    // A `%` in a name is one, unless asked otherwise.
    let done = folder.line("filter null -i p-%03d.png -o no.y4m");
    done.failed(1, &["p-%03d.png", "is not a file", "--pictures 25"]);
    let done = folder.line("filter null -i all.y4m --pictures 12 -o no.y4m");
    done.failed(1, &["all.y4m", "is not a pattern"]);
    let done = folder.line("filter null -i q-%03d.png --pictures 12 -o no.y4m");
    done.failed(1, &["q-%03d.png", "there is no such picture"]);
    assert!(!folder.path("no.y4m").exists());

    // Any number may be the first, and what lies behind a gap is told of.
    fs::rename(folder.path("p-003.png"), folder.path("p-000.png")).unwrap();
    let done = folder.line("filter null -i p-%03d.png --pictures 12 -o part.y4m");
    let note = "it ends before the picture 3, which is missing; 2 further ones are not read";
    assert!(done.succeeded().stderr.contains(note), "{}", done.stderr);
    assert!(!done.stderr.contains("ffmpeg"), "{}", done.stderr);
    assert_eq!(frames(&folder.path("part.y4m")).len(), 3);
    for n in 0..3 {
        let [from, to] = [n, n + 70].map(|n| folder.path(&format!("p-{n:03}.png")));
        fs::rename(from, to).unwrap();
    }
    for name in ["p-004.png", "p-005.png"] {
        fs::remove_file(folder.path(name)).unwrap();
    }
    let done = folder.line("filter null -i p-%03d.png --pictures 12 -o late.y4m");
    assert!(!done.succeeded().stderr.contains("note"), "{}", done.stderr);
    assert!(frames(&folder.path("late.y4m")) == frames(&folder.path("part.y4m")));
}

#[test]
fn pictures_of_another_size_are_an_error() {
    if !has_ffmpeg() {
        return;
    }
    let folder = Folder::new();
    for (n, size) in [(1, "64x48"), (2, "64x48"), (3, "32x48"), (4, "64x48")] {
        let line = format!("filter null -i testsrc:{size}:1 -o p-{n}.png");
        folder.line(&line).succeeded();
    }
    for output in ["out.y4m", "out.mkv"] {
        let line = format!("filter null -i p-%d.png --pictures 25 -o {output}");
        let done = folder.line(&line);
        done.failed(
            1,
            &["evener: p-3.png: is 32x48, and the pictures before it are 64x48"],
        );
        assert_eq!(done.stderr.lines().count(), 1, "{}", done.stderr);
        assert!(!folder.path(output).exists());
    }
}

/// The codes of a picture or a video, as ffmpeg reads them.
fn codes(folder: &Folder, name: &str, pixels: &str) -> Vec<u8> {
    let line = format!("-v error -nostdin -i {name} -f rawvideo -pix_fmt {pixels} -");
    let mut ffmpeg = folder.command("ffmpeg");
    let done = ffmpeg.args(line.split(' ')).output().unwrap();
    assert!(done.status.success(), "{name}");
    done.stdout
}

#[test]
fn frames_become_numbered_pictures() {
    if !has_ffmpeg() {
        return;
    }
    let folder = Folder::new();
    let line = format!("filter null -i {SCENE} -o");
    folder.line(&format!("{line} all.y4m")).succeeded();
    let all = frames(&folder.path("all.y4m"));
    for pattern in ["p-%03d.png", "%d.pgm", "x/q%02d.tiff"] {
        fs::create_dir_all(folder.path("x")).unwrap();
        let done = folder.line(&format!("{line} {pattern}"));
        assert!(
            done.succeeded()
                .stderr
                .contains(&format!("{pattern}: 10 frames"))
        );
        for (n, frame) in all.iter().enumerate() {
            let name = match pattern {
                "p-%03d.png" => format!("p-{:03}.png", n + 1),
                "%d.pgm" => format!("{}.pgm", n + 1),
                _ => format!("x/q{:02}.tiff", n + 1),
            };
            assert!(codes(&folder, &name, "gray") == *frame, "{name}");
        }
    }
    let back = "filter null -i p-%03d.png --pictures 25 -o back.y4m";
    folder.line(back).succeeded();
    assert!(frames(&folder.path("back.y4m")) == all);

    // Three of ten are new, and the others are told of; no run changes what it reads.
    let done = folder.line(&format!("{line} p-%03d.png --frames 3"));
    let said = &done.succeeded().stderr;
    assert!(said.contains("p-%03d.png: 7 further pictures"), "{said}");
    folder
        .line(&format!("{line} p-%03d.png -n"))
        .failed(1, &["p-001.png", "already exists"]);
    let line = "filter flip=h --pictures 25 -i p-%03d.png -o ./p-%03d.png";
    folder
        .line(line)
        .failed(1, &["p-%03d.png", "is an input as well"]);
    let line = "filter flip=h -i p-004.png -o p-%03d.png";
    folder
        .line(line)
        .failed(1, &["p-%03d.png", "is an input as well"]);
    assert!(codes(&folder, "p-004.png", "gray") == all[3]);
    let of_16_bits = "filter null -i testsrc:64x48:2:444p16 -o deep-%d.png";
    assert_eq!(
        folder.line(of_16_bits).succeeded().stderr.lines().count(),
        1
    );
    assert_eq!(codes(&folder, "deep-2.png", "rgb48le").len(), 2 * 3 * FRAME);
}

#[test]
fn pictures_that_cannot_be_written_leave_nothing_behind() {
    if !has_ffmpeg() {
        return;
    }
    let folder = Folder::new();
    let line = format!("filter null -i {SCENE} -o");
    for (pattern, said) in [
        ("none/p-%d.png", "No such file or directory"),
        ("p-%d-%d.png", "is one picture"),
    ] {
        let done = folder.line(&format!("{line} {pattern}"));
        done.failed(1, &[pattern, said]);
        assert_eq!(done.stderr.lines().count(), 1, "{}", done.stderr);
    }
    fs::create_dir(folder.path("p-7.png")).unwrap();
    folder
        .line(&format!("{line} p-%d.png"))
        .failed(1, &["p-7.png", "is a directory"]);
    assert_eq!(folder.names(), ["p-7.png"]);
    folder
        .line(&format!("{line} q-%d.png -- -c:v nonsense"))
        .failed(1, &["q-%d.png", "nonsense"]);
    assert_eq!(folder.names(), ["p-7.png"]);
}

#[test]
fn a_full_disk_leaves_no_picture() {
    if !has_ffmpeg() {
        return;
    }
    let folder = Folder::new();
    fs::create_dir(folder.path("small")).unwrap();
    let alone = |line: &str| {
        let mut unshare = folder.command("unshare");
        let mount = format!("mount -t tmpfs -o size=200k none small && {line}");
        unshare.args(["-rm", "sh", "-c", &mount]).output().unwrap()
    };
    if !alone("true").status.success() {
        evener_testing::skip("no file system can be mounted here");
        return;
    }
    let evener = env!("CARGO_BIN_EXE_evener");
    let line = "filter null -i testsrc:320x240:20:420 -o small/p-%03d.png";
    let done = alone(&format!("{evener} {line}; echo status $?; ls -A small"));
    let (out, said) = (done.stdout, String::from_utf8(done.stderr).unwrap());
    assert_eq!(String::from_utf8_lossy(&out), "status 1\n", "{said}");
    assert!(said.starts_with("evener: small/p-%03d.png: "), "{said}");
    assert!(said.contains("No space left on device"), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
}

/// The frame at a time is that of a run from the start on, and what lies before it is not read.
#[test]
fn a_start_in_a_file_is_found_and_not_read_up_to() {
    if !has_ffmpeg() {
        return;
    }
    let folder = Folder::new();
    let scene = "testsrc2=s=64x48:r=30000/1001:d=50,format=gray,format=yuv420p";
    let make = |args: &str| {
        let mut ffmpeg = folder.command("ffmpeg");
        let args = format!("-v error -y -nostdin {args}");
        assert!(
            ffmpeg.args(args.split(' ')).status().unwrap().success(),
            "{args}"
        );
    };
    make(&format!(
        "-f lavfi -i {scene} -f lavfi -i sine=d=50 -c:v libx264 -g 100 -c:a aac a.mp4"
    ));
    for name in ["a.mkv", "a.ts", "a.y4m"] {
        let coded = match name {
            "a.y4m" => "-an -pix_fmt yuv420p",
            _ => "-c copy",
        };
        make(&format!("-i a.mp4 {coded} {name}"));
    }
    let filter = |args: &str| {
        let line = format!("filter crop=64:48 --planes luma {args}");
        folder.line(&line).succeeded();
    };
    for name in ["a.mp4", "a.mkv", "a.ts", "a.y4m"] {
        filter(&format!("-i {name} -o all.y4m"));
        let all = frames(&folder.path("all.y4m"));
        for start in [2, 1000, 1203, 1497] {
            // A time just before that of the frame.
            let time = (f64::from(start) - 0.4) * 1001.0 / 30000.0;
            filter(&format!(
                "-i {name} -o part.y4m --start {time:.4} --frames 4"
            ));
            let part = frames(&folder.path("part.y4m"));
            let end = all.len().min(start as usize + 4);
            assert!(part == all[start as usize..end], "{name}, {start}");
        }
        let line = format!("filter null -i {name} -o null: --start 60");
        let done = folder.line(&line);
        let said = format!("evener: {name}: has no frame at 60 s or later, as it is 50");
        assert!(done.stderr.contains(&said), "{}", done.stderr);
        assert_eq!(done.status, Some(1));
    }
    // As ffmpeg has it.
    make("-ss 40 -i a.mp4 -frames:v 5 -pix_fmt yuv420p theirs.y4m");
    filter("-i theirs.y4m -o luma.y4m");
    filter("-i a.mp4 --start 40 --frames 5 -o part.y4m");
    assert!(frames(&folder.path("part.y4m")) == frames(&folder.path("luma.y4m")));

    let mut bytes = fs::read(folder.path("a.mp4")).unwrap();
    let (from, to) = (bytes.len() / 20, bytes.len() / 10);
    bytes[from..to].fill(0);
    folder.file("a.mp4", bytes);
    let whole = folder.line("filter null -i a.mp4 -o all.y4m --no-audio");
    whole.failed(1, &["a.mp4", "damaged"]);
    filter("-i a.mp4 --start 40 --frames 5 -o part.y4m");
    assert!(frames(&folder.path("part.y4m")) == frames(&folder.path("luma.y4m")));
}

#[test]
fn frames_of_12_and_16_bits_stay_such() {
    if !has_ffmpeg() {
        return;
    }
    let folder = Folder::new();
    for (pixels, layout) in [
        ("yuv420p12le", "420p12"),
        ("yuv444p16le", "444p16"),
        ("gray16le", "mono16"),
        ("yuv422p14le", "422p16"),
    ] {
        let scene = format!("testsrc2=s=64x48:r=25:d=0.2,noise=alls=9,format={pixels}");
        let args = [
            "-v", "error", "-y", "-f", "lavfi", "-i", &scene, "-c:v", "ffv1",
        ];
        let mut ffmpeg = folder.command("ffmpeg");
        // FFV1 has no 14 bits.
        let name = if pixels == "yuv422p14le" {
            "in.nut"
        } else {
            "in.mkv"
        };
        let raw = if name == "in.nut" {
            &["-c:v", "rawvideo"][..]
        } else {
            &[]
        };
        assert!(
            ffmpeg
                .args(args)
                .args(raw)
                .arg(name)
                .status()
                .unwrap()
                .success()
        );
        let done = folder.line(&format!("filter flip=v -i {name} -o out.y4m"));
        assert_eq!(
            done.succeeded().stderr.lines().count(),
            1,
            "{}",
            done.stderr
        );
        let header = fs::read(folder.path("out.y4m")).unwrap();
        let header = String::from_utf8_lossy(&header[..80]).into_owned();
        assert!(header.contains(&format!(" C{layout}")), "{header}");
        let line = "filter flip=v -i out.y4m -o back.mkv -- -c:v ffv1";
        let done = folder.line(line);
        assert_eq!(
            done.succeeded().stderr.lines().count(),
            1,
            "{}",
            done.stderr
        );
        let deep = pixels.replace("14", "16");
        assert!(
            codes(&folder, "back.mkv", &deep) == codes(&folder, name, &deep),
            "{pixels}"
        );
    }
}

#[test]
fn what_cannot_be_read_is_said_with_a_way_to_read_it() {
    if !has_ffmpeg() {
        return;
    }
    let folder = Folder::new();
    let make = |args: &str| {
        let mut ffmpeg = folder.command("ffmpeg");
        let args = format!("-v error -y -nostdin -f lavfi -i {args}");
        let made = ffmpeg.args(args.split(' ')).status();
        assert!(made.unwrap().success(), "{args}");
    };
    // Larger than what FFmpeg reads ahead, with its index at the end.
    make(
        "testsrc2=s=320x240:r=25:d=4,noise=alls=50,format=yuv420p -c:v libx264 -qp 0 -preset ultrafast in.mp4",
    );
    assert!(fs::metadata(folder.path("in.mp4")).unwrap().len() > 1 << 20);
    let evener = folder.evener(["--version"]);
    let mut sh = folder.command("sh");
    sh.env("EVENER", evener.get_program())
        .args(["-c", "cat in.mp4 | $EVENER filter null -i - -o no.y4m"]);
    let done = Done::of(&mut sh);
    done.failed(1, &["standard input: ", "-movflags +faststart"]);
    assert_eq!(done.stderr.lines().count(), 1, "{}", done.stderr);

    folder.file("in.yuv", [0; 64 * 48 * 3 / 2]);
    folder
        .line("filter null -i in.yuv -o no.y4m")
        .failed(1, &["in.yuv: has no header", "-f rawvideo -s"]);

    // One picture is one, in whatever file, and a name may have any character.
    make("testsrc2=s=16x16:r=5:d=0.2 file:a:b.mp4");
    make("testsrc2=s=16x16:r=5 -frames:v 1 c,d.gif");
    for name in ["'a:b.mp4'", "c\\,d.gif:x=3"] {
        folder
            .line(&format!("filter overlay={name} -i {SCENE} -o out.y4m"))
            .succeeded();
    }
    folder
        .line(&format!("filter overlay=in.mp4 -i {SCENE} -o no.y4m"))
        .failed(2, &["in.mp4: is a video, and one picture is needed"]);
    assert!(!folder.path("no.y4m").exists());
}
