//! Pictures and sound from RTP to a fragmented file.

use evener_gateway::fmp4::{Fragments, Unsupported};
use evener_gateway::payload::{AccessUnit, Codec};
use evener_testing::Folder;

use crate::origin::{capture, complaints, has_ffmpeg, make, pictures, run, units};

/// The file of all tracks, in order of decoding.
pub fn file(codecs: &[Codec], mut units: Vec<AccessUnit>) -> Vec<u8> {
    units.sort_by_key(|unit| unit.dts);
    let mut fragments = Fragments::new(codecs).unwrap();
    let mut bytes = fragments.beginning().to_vec();
    for unit in &units {
        bytes.extend_from_slice(&fragments.push(unit).unwrap().bytes);
    }
    bytes
}

fn check(video: &str, audio: &str, container: &str) {
    if !has_ffmpeg() {
        return;
    }
    let folder = Folder::new();
    let source = make(&folder, "source.mkv", &format!("-an {video}"));
    let sound = make(&folder, container, &format!("-vn {audio}"));
    let captured = [capture(&source, "0:v"), capture(&sound, "0:a")];
    let (video, video_track, _) = units(&captured[0].packets, &captured[0].format, 0);
    let (audio, audio_track, _) = units(&captured[1].packets, &captured[1].format, 1);
    let codecs = [video_track.codec(), audio_track.codec()];
    let frames: Vec<String> = audio
        .iter()
        .map(|unit| unit.units[0].len().to_string())
        .collect();
    let out = folder.file("out.mp4", file(&codecs, [video, audio].concat()));
    assert_eq!(complaints(&out), "");
    assert_eq!(pictures(&out), pictures(&source));
    let words = "-select_streams a -show_entries packet=size -of csv=p=0";
    let sizes = run("ffprobe", words, &[&out]).0;
    assert_eq!(sizes.lines().collect::<Vec<_>>(), frames);
    let (_, errors) = run(
        "ffmpeg",
        &format!("-i {} -map 0:a -f null -", out.to_str().unwrap()),
        &[],
    );
    assert_eq!(errors, "");
}

#[test]
fn h264_and_aac_stay_the_same() {
    check(
        "-c:v libx264 -preset veryfast -g 50 -bf 3",
        "-c:a aac",
        "sound.m4a",
    );
}

#[test]
fn h265_and_opus_stay_the_same() {
    check(
        "-c:v libx265 -preset ultrafast -g 50 -bf 3 -x265-params log-level=none",
        "-c:a libopus",
        "sound.mka",
    );
}

#[test]
fn h264_and_g711_stay_the_same() {
    check(
        "-c:v libx264 -profile:v high10 -pix_fmt yuv420p10le -g 50",
        "-c:a pcm_alaw -ar 8000",
        "sound.mka",
    );
}

#[test]
fn a_file_begins_when_the_parameter_sets_are_known() {
    assert_eq!(
        Fragments::new(&[Codec::H264(Vec::new())]).unwrap_err(),
        Unsupported::NotYet
    );
    assert_eq!(
        Fragments::new(&[Codec::H265(Vec::new())]).unwrap_err(),
        Unsupported::NotYet
    );
    assert_eq!(
        Fragments::new(&[Codec::ALaw(1, 96_000)]).unwrap_err(),
        Unsupported::Rate(96_000)
    );
}
