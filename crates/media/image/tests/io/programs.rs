//! How the `ffmpeg` program is run: missing, failing, talkative and endless programs.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use evener_image::Frame;
use evener_image::io::Error;
use evener_image::io::ffmpeg::{Decoder, Tools};
use evener_testing::Folder;

use crate::{bytes_of, encode_to, format};

#[test]
fn missing_programs_are_named_with_their_package() {
    let folder = Folder::new();
    let tools = Tools {
        ffmpeg: "no-such-ffmpeg".into(),
        ffprobe: "no-such-ffprobe".into(),
    };
    let path = folder.path("x.mp4");
    fs::write(&path, "").unwrap();
    let format = format("mono", 4, 4);
    let decode = Decoder::open(&tools, &path).err().unwrap();
    let encode = encode_to(&tools, folder.path("out.mp4"), &format);
    for error in [decode, encode.err().unwrap()] {
        assert!(matches!(error, Error::NoProgram { .. }));
        let message = error.to_string();
        assert!(
            message.contains("'no-such-ffmpeg'") && message.contains("apt install ffmpeg"),
            "{message}"
        );
    }
    assert_eq!(folder.names(), ["x.mp4"]);
}

/// Tools of which `ffmpeg` is a shell script and `ffprobe` says what it must.
fn fake(folder: &Folder, script: &str) -> Tools {
    Tools {
        ffmpeg: folder.program("ffmpeg", script),
        ffprobe: folder.program(
            "ffprobe",
            r#"echo '{"streams": [{"codec_type": "video", "pix_fmt": "gray", "nb_frames": "2"}]}'"#,
        ),
    }
}

const CHATTER: &str = "yes 'what a bad frame' | head -n 500000 >&2";

#[test]
fn a_decoder_that_says_much_and_fails_is_heard_to_the_end() {
    let folder = Folder::new();
    let frame = "printf 'FRAME\\n0123456789abcdef'";
    let script = format!(
        "printf 'YUV4MPEG2 W4 H4 Cmono\\n'; {frame}; {CHATTER}; {frame}; echo 'I give up' >&2; exit 3"
    );
    let tools = fake(&folder, &script);
    let mut decoder = Decoder::open(&tools, "in.mp4").unwrap();
    assert_eq!(decoder.frames(), Some(2));
    let mut frame = Frame::new(decoder.format());
    assert!(decoder.read(&mut frame).unwrap());
    assert!(decoder.read(&mut frame).unwrap());
    assert_eq!(bytes_of(&frame), b"0123456789abcdef");
    match decoder.read(&mut frame) {
        Err(Error::Ffmpeg {
            frames: 2, said, ..
        }) => {
            assert_eq!(said, "what a bad frame; I give up");
        }
        other => panic!("{other:?}"),
    }
    assert!(!decoder.read(&mut frame).unwrap());
}

#[test]
fn a_decoder_that_stops_inside_a_frame_is_an_error() {
    let folder = Folder::new();
    for (end, words) in [("exit 0", "closed its pipe"), ("kill -9 $$", "signal: 9")] {
        let script = format!("printf 'YUV4MPEG2 W4 H4 Cmono\\nFRAME\\n01234'; {end}");
        let mut decoder = Decoder::open(&fake(&folder, &script), "in.mp4").unwrap();
        let error = decoder.read(&mut Frame::new(&format("mono", 4, 4))).err();
        let message = error.unwrap().to_string();
        assert!(message.contains(words), "{message}");
    }
    let none = Decoder::open(&fake(&folder, "exit 0"), "in.mp4")
        .err()
        .unwrap();
    assert!(none.to_string().contains("no frame"), "{none}");
}

#[test]
fn an_encoder_that_says_much_and_fails_is_heard_to_the_end() {
    let folder = Folder::new();
    let format = format("mono", 640, 480);
    let frame = Frame::new(&format);
    let late = format!("cat > /dev/null; {CHATTER}; echo 'no room' >&2; exit 1");
    let early = format!("{CHATTER}; head -c 1000000 > /dev/null; echo 'no room' >&2; exit 1");
    for (script, frames) in [(late, 20), (early, 100)] {
        let tools = fake(&folder, &script);
        let path = folder.path("out.mkv");
        let mut encoder = encode_to(&tools, &path, &format).unwrap();
        let error = (0..frames).find_map(|_| encoder.write(&frame).err());
        assert_eq!(error.is_some(), frames == 100);
        match error.or_else(|| encoder.finish().err()) {
            Some(Error::Ffmpeg { said, .. }) => assert_eq!(said, "what a bad frame; no room"),
            other => panic!("{other:?}"),
        }
        drop(encoder);
        assert_eq!(folder.names(), ["ffmpeg", "ffprobe"]);
    }
}

#[test]
fn programs_end_when_they_are_dropped() {
    let folder = Folder::new();
    let pid = folder.path("pid");
    let note = format!("echo $$ > '{0}.new'; mv '{0}.new' '{0}'", pid.display());
    let gone = |pid_file: &Path| {
        let deadline = Instant::now() + Duration::from_secs(20);
        let pid = fs::read_to_string(pid_file).unwrap();
        fs::remove_file(pid_file).unwrap();
        let process = Path::new("/proc").join(pid.trim());
        while process.exists() {
            assert!(
                Instant::now() < deadline,
                "{} is still there",
                process.display()
            );
            std::thread::sleep(Duration::from_millis(5));
        }
    };
    let tools = fake(
        &folder,
        &format!("{note}; printf 'YUV4MPEG2 W4 H4 Cmono\\n'; exec sleep 600"),
    );
    drop(Decoder::open(&tools, "in.mp4").unwrap());
    gone(&pid);

    let tools = fake(&folder, &format!("{note}; exec sleep 600"));
    let format = format("mono", 4, 4);
    let path = folder.path("out.mkv");
    let encoder = encode_to(&tools, &path, &format).unwrap();
    let deadline = Instant::now() + Duration::from_secs(20);
    while !pid.exists() {
        assert!(Instant::now() < deadline, "the program does not start");
        std::thread::sleep(Duration::from_millis(5));
    }
    drop(encoder);
    gone(&pid);
    assert_eq!(folder.names(), ["ffmpeg", "ffprobe"]);
}
