//! MP4 files hold the stream and say the same of it.

use std::fs;
use std::path::Path;

use evener_h264::annex_b::nal_units;
use evener_testing::Folder;

use crate::{decoded, encode, has_ffmpeg, probed, run};

/// Packets of the video: their times, in seconds, and whether they are key frames.
fn packets(file: &Path) -> Vec<(f64, bool)> {
    let line = "-v error -select_streams v -of csv=p=0 -show_entries packet=pts_time,flags {}";
    let text = String::from_utf8(run("ffprobe", line, &[file])).unwrap();
    let packet = |line: &str| {
        let (time, flags) = line.split_once(',').unwrap();
        (time.parse().unwrap(), flags.starts_with('K'))
    };
    text.lines().map(packet).collect()
}

#[test]
fn a_file_has_the_frames_times_and_key_frames_of_the_stream() {
    if !has_ffmpeg() {
        return;
    }
    let folder = Folder::new();
    let (stream, file) = (folder.path("out.264"), folder.path("out.mp4"));
    // Several chunks, the last of which is not full.
    let input = "testsrc:320x240:24";
    encode(input, &stream).unwrap();
    let outcome = encode(input, &file).unwrap();
    assert!(decoded(&file) == decoded(&stream));
    assert_eq!(outcome.report.bytes, Some(outcome.encoded.bytes));
    assert_eq!(outcome.encoded.bytes, fs::metadata(&stream).unwrap().len());
    let bytes = fs::read(&file).unwrap();
    assert_eq!(bytes.windows(4).filter(|w| w == b"mdat").count(), 3);
    let expected = (0..24).map(|i| (i as f64 * 0.04, i % 5 == 0));
    for (found, expected) in packets(&file).iter().zip(expected.clone()) {
        assert!(
            (found.0 - expected.0).abs() < 1e-6 && found.1 == expected.1,
            "{found:?}"
        );
    }
    assert_eq!(packets(&file).len(), expected.count());
    let entries = "stream=codec_tag_string,profile,nb_frames,duration,avg_frame_rate,time_base:format=duration";
    assert_eq!(
        probed(&file, entries),
        "profile=High\ncodec_tag_string=avc1\navg_frame_rate=25/1\ntime_base=1/25\nduration=0.960000\n\
         nb_frames=24\nduration=0.960000\n"
    );
    // The other way round: the NAL units are those of the stream.
    let line = "-v error -i {} -c copy -bsf:v h264_mp4toannexb -f h264 -";
    let (back, stream) = (run("ffmpeg", line, &[&file]), fs::read(&stream).unwrap());
    assert!(nal_units(&back).eq(nal_units(&stream)));
}

#[test]
fn a_pipe_can_be_written_since_nothing_is_sought() {
    if !has_ffmpeg() {
        return;
    }
    let folder = Folder::new();
    let (file, pipe) = (folder.path("out.mp4"), folder.path("pipe.mp4"));
    run("mkfifo", "{}", &[&pipe]);
    let reader = std::thread::spawn({
        let pipe = pipe.clone();
        move || fs::read(pipe).unwrap()
    });
    encode("testsrc:320x240:24", &pipe).unwrap();
    encode("testsrc:320x240:24", &file).unwrap();
    assert!(reader.join().unwrap() == fs::read(&file).unwrap());
}

#[test]
fn colours_of_the_source_are_in_the_stream_and_in_the_file() {
    if !has_ffmpeg() {
        return;
    }
    let folder = Folder::new();
    let input = folder.path("in.mkv");
    let line = "-v error -f lavfi -i testsrc2=s=64x48:r=30:d=0.2 -vf \
                setparams=color_primaries=bt2020:color_trc=arib-std-b67:colorspace=bt2020nc:range=tv,setsar=4/3 \
                -c:v ffv1 -pix_fmt yuv420p -y {}";
    run("ffmpeg", line, &[&input]);
    let entries =
        "stream=color_space,color_transfer,color_primaries,sample_aspect_ratio,color_range";
    for name in ["out.264", "out.mp4", "out.mkv"] {
        let out = folder.path(name);
        encode(input.to_str().unwrap(), &out).unwrap();
        assert_eq!(
            probed(&out, entries),
            "sample_aspect_ratio=4:3\ncolor_range=tv\ncolor_space=bt2020nc\n\
             color_transfer=arib-std-b67\ncolor_primaries=bt2020\n",
            "{name}"
        );
    }
    // The boxes of the file say so, too.
    let bytes = fs::read(folder.path("out.mp4")).unwrap();
    let boxed = |name: &[u8]| bytes.windows(name.len()).any(|w| w == name);
    assert!(boxed(b"colrnclx\0\x09\0\x12\0\x09\0"));
    assert!(boxed(b"pasp\0\0\0\x04\0\0\0\x03"));
}
