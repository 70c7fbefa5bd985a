//! Other formats through the `ffmpeg` program, and y4m that `ffmpeg` writes and reads.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::process::Command;

use evener_files::SourceFile;
use evener_image::io::ffmpeg::{Decoder, Tools};
use evener_image::io::y4m::{Reader, Writer};
use evener_image::io::{Error, Input, TestSource, create_output, open_input};
use evener_image::{ColourRange, Depth, Format, Frame, Ratio, Timing};
use evener_testing::Folder;

use crate::{FORMATS, bytes_of, encode_to, format, frame_bytes, frame_of, text};

/// Whether the test can run; says so where it cannot.
fn has_ffmpeg() -> bool {
    let found = Command::new("ffmpeg").arg("-version").output().is_ok();
    if !found {
        evener_testing::skip("the program ffmpeg is not installed");
    }
    found
}

/// Runs ffmpeg with words separated by spaces, and more arguments as they are; its output.
fn ffmpeg(words: &str, more: &[&str]) -> Vec<u8> {
    let output = Command::new("ffmpeg")
        .args(["-v", "error", "-nostdin", "-y"])
        .args(words.split_whitespace())
        .args(more)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{words}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    output.stdout
}

fn ffprobe(entries: &str, path: &Path) -> String {
    let output = Command::new("ffprobe")
        .args([
            "-v",
            "error",
            "-count_frames",
            "-of",
            "default=nw=1:nk=1",
            "-show_entries",
            entries,
        ])
        .arg(path)
        .output()
        .unwrap();
    String::from_utf8(output.stdout)
        .unwrap()
        .trim()
        .replace('\n', " ")
}

/// A small lossless file (FFV1 keeps every bit, and so does y4m) in a format of `ffmpeg`'s.
fn lossless(path: &Path, size: &str, pixels: &str) {
    let source = format!("-f lavfi -i testsrc=s={size}:r=30000/1001:d=0.2 -vf setsar=4/3");
    let codec = if path.extension() == Some(OsStr::new("mkv")) {
        "-c:v ffv1"
    } else {
        ""
    };
    ffmpeg(
        &format!("{source} -strict -1 {codec} -pix_fmt {pixels}"),
        &[text(path)],
    );
}

/// Its frames, raw.
fn raw(path: &Path, pixels: &str) -> Vec<u8> {
    ffmpeg(
        "-i",
        &[text(path), "-f", "rawvideo", "-pix_fmt", pixels, "-"],
    )
}

/// Whether FFmpeg's y4m is broken: its writer rounds chroma of half a column down.
fn is_broken(name: &str, width: u32) -> bool {
    width % 2 == 1 && (name.starts_with("420p1") || name.starts_with("422p1"))
}

fn read_all(mut read: impl FnMut(&mut Frame) -> Result<bool, Error>, format: &Format) -> Vec<u8> {
    let mut frame = Frame::new(format);
    let mut bytes = Vec::new();
    while read(&mut frame).unwrap() {
        bytes.extend(bytes_of(&frame));
    }
    bytes
}

/// Writes a synthetic scene, giving its raw frames.
fn scene(description: &str, mut write: impl FnMut(&Frame)) -> Vec<u8> {
    let mut source = TestSource::parse(description).unwrap();
    let mut frame = Frame::new(source.format());
    let mut bytes = Vec::new();
    while source.read(&mut frame).unwrap() {
        write(&frame);
        bytes.extend(bytes_of(&frame));
    }
    bytes
}

#[test]
fn y4m_that_ffmpeg_wrote_is_read_to_the_byte() {
    if !has_ffmpeg() {
        return;
    }
    let folder = Folder::new();
    for (name, pixels) in FORMATS {
        let path = folder.path(&format!("{pixels}.y4m"));
        let width = if is_broken(name, 35) { 36 } else { 35 };
        lossless(&path, &format!("{width}x23"), pixels);
        let mut reader = Reader::open(&path).unwrap();
        assert_eq!(*reader.format(), format(name, width, 23));
        assert_eq!(
            reader.timing().rate,
            Ratio {
                num: 30000,
                den: 1001
            }
        );
        assert_eq!(reader.timing().aspect, Some(Ratio { num: 4, den: 3 }));
        let (frames, format) = (reader.frames(), *reader.format());
        let got = read_all(|frame| reader.read(frame), &format);
        assert!(got == raw(&path, pixels), "{pixels}");
        assert_eq!(
            frames,
            Some((got.len() / frame_bytes(name, width as usize, 23)) as u64)
        );
    }
}

#[test]
fn y4m_that_we_wrote_is_read_by_ffmpeg_alike() {
    if !has_ffmpeg() {
        return;
    }
    let folder = Folder::new();
    let sums = |listing: &[u8]| -> Vec<String> {
        let listing = String::from_utf8_lossy(listing).into_owned();
        let lines = listing.lines().filter(|l| !l.starts_with('#'));
        lines
            .map(|l| l.rsplit(',').next().unwrap().trim().to_owned())
            .collect()
    };
    for (name, pixels) in FORMATS {
        let (path, raw) = (folder.path("ours.y4m"), folder.path("ours.raw"));
        let mut writer = Writer::create(&path).unwrap();
        let bytes = scene(&format!("testsrc:35x23:6:{name}"), |f| {
            writer.write(f).unwrap()
        });
        writer.finish().unwrap();
        fs::write(&raw, bytes).unwrap();
        let ours = sums(&ffmpeg("-i", &[text(&path), "-f", "framemd5", "-"]));
        let theirs = sums(&ffmpeg(
            &format!("-f rawvideo -s 35x23 -pix_fmt {pixels} -i"),
            &[text(&raw), "-f", "framemd5", "-"],
        ));
        assert_eq!(ours.len(), 6);
        assert_eq!(ours, theirs, "{pixels}");
    }
}

#[test]
fn every_format_is_decoded_to_the_byte() {
    if !has_ffmpeg() {
        return;
    }
    let folder = Folder::new();
    for (name, pixels) in FORMATS {
        let path = folder.path(&format!("{pixels}.mkv"));
        lossless(&path, "35x23", pixels);
        let (name, pixels) = if is_broken(name, 35) {
            match &name[4..] {
                "10" => ("444p10", "yuv444p10le"),
                "12" => ("444p12", "yuv444p12le"),
                _ => ("444p16", "yuv444p16le"),
            }
        } else {
            (name, pixels)
        };
        let expected = raw(&path, pixels);
        let without_ffprobe = Tools {
            ffprobe: "no-such-program".into(),
            ..Tools::default()
        };
        for tools in [Tools::default(), without_ffprobe] {
            let mut decoder = Decoder::open(&tools, &path).unwrap();
            assert_eq!(*decoder.format(), format(name, 35, 23));
            assert_eq!(
                decoder.timing().rate,
                Ratio {
                    num: 30000,
                    den: 1001
                }
            );
            assert_eq!(decoder.timing().aspect, Some(Ratio { num: 4, den: 3 }));
            let format = *decoder.format();
            assert!(
                read_all(|frame| decoder.read(frame), &format) == expected,
                "{pixels}"
            );
            assert!(
                !decoder.read(&mut Frame::new(&format)).unwrap(),
                "the end stays the end"
            );
        }
    }
}

#[test]
fn an_encoded_file_has_the_frames_the_rate_the_aspect_and_the_range() {
    if !has_ffmpeg() {
        return;
    }
    let folder = Folder::new();
    for (name, extension, range) in [
        ("420jpeg", "mkv", ColourRange::Full),
        ("420jpeg", "mp4", ColourRange::Limited),
        ("420p10", "mkv", ColourRange::Limited),
        ("444", "mkv", ColourRange::Limited),
    ] {
        let expected = Format {
            range,
            ..format(name, 64, 48)
        };
        let timing = Timing {
            rate: Ratio {
                num: 30000,
                den: 1001,
            },
            aspect: Some(Ratio { num: 4, den: 3 }),
            range_named: true,
            ..Timing::default()
        };
        let path = folder.path(&format!("-out:{name}.{extension}"));
        let mut output = create_output(&path, &expected, &timing, &SourceFile::default()).unwrap();
        let raw = scene(&format!("testsrc:64x48:30:{name}"), |frame| {
            output
                .write(&frame_of(&expected, &bytes_of(frame)))
                .unwrap()
        });
        assert!(!path.exists());
        output.finish().unwrap();
        output.finish().unwrap();
        drop(output);
        let probed = ffprobe(
            "stream=width,height,sample_aspect_ratio,r_frame_rate,nb_read_frames",
            &path,
        );
        assert_eq!(probed, "64 48 4:3 30000/1001 30", "{name}");

        let mut input = open_input(&path).unwrap();
        assert!(matches!(input, Input::Ffmpeg(..)) && input.id().is_some());
        assert_eq!(*input.format(), expected, "{name}.{extension}");
        let format = *input.format();
        let seen = read_all(|frame| input.read(frame), &format);
        assert_eq!(seen.len(), raw.len());
        // Lossy, but the same pictures in the same order.
        if format.depth == Depth::U8 {
            let apart: u64 = seen
                .iter()
                .zip(&raw)
                .map(|(a, b)| u64::from(a.abs_diff(*b)))
                .sum();
            let mean = apart as f64 / raw.len() as f64;
            assert!(mean < 12.0, "{name}.{extension}: {mean} codes apart");
        }
    }
    assert_eq!(folder.names().len(), 4);
}

#[test]
fn awkward_names_are_taken_literally() {
    if !has_ffmpeg() {
        return;
    }
    let folder = Folder::new();
    let plain = folder.path("plain.mkv");
    lossless(&plain, "36x24", "yuv420p");
    let expected = raw(&plain, "yuv420p");
    for name in [
        "-y.mkv",
        "pipe:0.mkv",
        "a b'c\"$x;.mkv",
        "100%d.mkv",
        "new\nline.mkv",
        "http:.mkv",
    ] {
        let path = folder.path(name);
        fs::copy(&plain, &path).unwrap();
        let mut decoder = Decoder::open(&Tools::default(), &path).unwrap();
        let format = *decoder.format();
        assert!(
            read_all(|frame| decoder.read(frame), &format) == expected,
            "{name:?}"
        );

        let out = folder.path(&format!("out{name}"));
        let mut encoder = encode_to(&Tools::default(), &out, &format).unwrap();
        encoder.write(&Frame::new(&format)).unwrap();
        encoder.finish().unwrap();
        assert_eq!(ffprobe("stream=nb_read_frames", &out), "1", "{name:?}");
    }
}

#[test]
fn one_picture_can_be_written() {
    if !has_ffmpeg() {
        return;
    }
    let folder = Folder::new();
    let path = folder.path("picture.png");
    let format = format("444", 32, 20);
    let mut output =
        create_output(&path, &format, &Timing::default(), &SourceFile::default()).unwrap();
    output.write(&Frame::new(&format)).unwrap();
    output.finish().unwrap();
    assert_eq!(
        ffprobe("stream=codec_name,width,height", &path),
        "png 32 20"
    );
    assert_eq!(folder.names(), ["picture.png"]);
}

#[test]
fn what_is_no_video_is_refused() {
    if !has_ffmpeg() {
        return;
    }
    let folder = Folder::new();
    let (noise, sound) = (folder.path("noise.mp4"), folder.path("sound.wav"));
    fs::write(&noise, "no video in here").unwrap();
    ffmpeg("-f lavfi -i sine=d=0.1", &[text(&sound)]);
    let message = open_input(&noise).err().unwrap().to_string();
    assert!(message.contains("is not a video"), "{message}");
    fs::write(&noise, b"\0\0\0\x10ftypisom\0\0\0\0\0\0\xff\xffmdat").unwrap();
    let message = open_input(&noise).err().unwrap().to_string();
    assert!(message.contains("index (moov)"), "{message}");
    let message = open_input(&sound).err().unwrap().to_string();
    assert!(message.contains("holds no video"), "{message}");
    let message = open_input("nosuchprotocol://x").err().unwrap().to_string();
    assert!(message.contains("rotocol not found"), "{message}");

    // Without ffprobe the decoder itself finds out.
    let tools = Tools {
        ffprobe: "no-such-program".into(),
        ..Tools::default()
    };
    for (path, words) in [(&noise, "Invalid data"), (&sound, "matches no streams")] {
        let message = Decoder::open(&tools, path).err().unwrap().to_string();
        assert!(
            message.contains(words) && !message.contains('\n'),
            "{message}"
        );
    }
}

#[test]
fn an_output_ffmpeg_cannot_make_is_refused_with_its_words_and_leaves_nothing() {
    if !has_ffmpeg() {
        return;
    }
    let folder = Folder::new();
    let format = format("420jpeg", 64, 48);
    let path = folder.path("out.unheardof");
    let made = encode_to(&Tools::default(), &path, &format);
    let message = made.err().unwrap().to_string();
    assert!(
        message.contains("Unable to find a suitable output format for '")
            && message.matches("out.unheardof").count() == 2
            && !message.contains("part")
            && !message.contains("0x"),
        "{message}"
    );
    assert_eq!(folder.names(), [""; 0]);
    let frame = Frame::new(&format);

    let path = folder.path("empty.mkv");
    let mut encoder = encode_to(&Tools::default(), &path, &format).unwrap();
    assert!(matches!(encoder.finish(), Err(Error::NoFrames { .. })));
    drop(encoder);
    let mut encoder = encode_to(&Tools::default(), &path, &format).unwrap();
    encoder.write(&frame).unwrap();
    encoder.abort();
    assert_eq!(folder.names(), [""; 0]);
}

/// Black is 0 in full range and 16 in limited range, whatever the file and the depth.
#[test]
fn the_range_of_what_ffmpeg_wrote_is_found() {
    if !has_ffmpeg() {
        return;
    }
    let folder = Folder::new();
    let (full, limited) = (ColourRange::Full, ColourRange::Limited);
    for (extension, tag, pixels, range, black) in [
        ("y4m", "pc", "yuv420p", full, 0),
        ("y4m", "tv", "yuv420p", limited, 16),
        ("y4m", "tv", "yuv444p10le", limited, 64),
        ("mkv", "pc", "yuv422p10le", full, 0),
        ("mkv", "tv", "yuv420p", limited, 16),
        ("mp4", "pc", "yuv420p", full, 0),
    ] {
        let path = folder.path(&format!("{tag}-{pixels}.{extension}"));
        let codec = match extension {
            "y4m" => "-strict -1",
            "mkv" => "-c:v ffv1",
            _ => "-c:v libx264 -qp 0",
        };
        let words = format!(
            "-f lavfi -i color=black:s=32x32:r=1:d=1,format=rgb24,scale=out_range={tag},format={pixels} \
             -color_range {tag} {codec}"
        );
        ffmpeg(&words, &[text(&path)]);
        let mut input = open_input(&path).unwrap();
        assert_eq!(input.format().range, range, "{}", text(&path));
        let mut frame = Frame::new(input.format());
        assert!(input.read(&mut frame).unwrap());
        let bytes = frame.plane_bytes(0);
        let code = match input.format().depth {
            Depth::U8 => u16::from(bytes[0]),
            _ => u16::from_ne_bytes([bytes[0], bytes[1]]),
        };
        assert_eq!(code, black, "{}", text(&path));
    }
}

#[test]
fn camera_clips_are_decoded_as_ffmpeg_does() {
    let Some(clips) = std::env::var_os("EVENER_CLIPS") else {
        evener_testing::skip("EVENER_CLIPS names no folder of clips");
        return;
    };
    if !has_ffmpeg() {
        return;
    }
    let (limited, full) = (ColourRange::Limited, ColourRange::Full);
    for (name, width, height, frames, range) in [
        ("foreman_352x288_300f.264", 352, 288, 300, limited),
        ("street_1920x1080_54f.264", 1920, 1080, 54, full),
    ] {
        let path = Path::new(&clips).join(name);
        let mut input = open_input(&path).unwrap();
        let expected = Format {
            range,
            ..format("420jpeg", width, height)
        };
        assert_eq!(*input.format(), expected);
        let pixels = if range == full { "yuvj420p" } else { "yuv420p" };
        let raw = ffmpeg(
            "-i",
            &[text(&path), "-f", "rawvideo", "-pix_fmt", pixels, "-"],
        );
        let mut frame = Frame::new(input.format());
        let mut expected = raw.chunks_exact(input.format().frame_bytes());
        let mut count = 0;
        while input.read(&mut frame).unwrap() {
            assert!(
                expected.next() == Some(&bytes_of(&frame)[..]),
                "{name}: frame {count}"
            );
            count += 1;
        }
        assert_eq!(count, frames, "{name}");
    }
}
