//! Pictures and sound from RTP to a transport stream.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use bytes::Bytes;
use evener_gateway::media::Class;
use evener_gateway::payload::{AccessUnit, Codec};
use evener_gateway::ts::Mux;
use evener_testing::Folder;
use proptest::prelude::*;
use proptest::test_runner::{RngSeed, TestRunner};

use crate::origin::{Captured, capture, complaints, has_ffmpeg, make, pictures, run, units};

const H264: &str = "-an -c:v libx264 -preset veryfast -b:v 600k -g 50 -bf 3 -x264-params b-pyramid=normal:slices=2";
const BASELINE: &str = "-an -c:v libx264 -profile:v baseline -b:v 600k -g 25";
const H265: &str = "-an -c:v libx265 -preset ultrafast -b:v 500k -g 50 -bf 3 -x265-params log-level=none:open-gop=0:scenecut=0";
const SOUND: &str = "-vn -c:a aac -b:a 96k";

/// The units of all tracks as a stream, in order of decoding.
fn mux(codecs: &[Codec], mut units: Vec<AccessUnit>) -> Vec<u8> {
    units.sort_by_key(|unit| unit.dts);
    let mut mux = Mux::new(codecs);
    let mut bytes = Vec::new();
    for unit in &units {
        let chunk = mux.push(unit).unwrap();
        let lengths: usize = chunk.parts.iter().map(|part| part.len as usize).sum();
        assert_eq!(lengths, chunk.bytes.len());
        assert_eq!(chunk.starts(), unit.class == Class::Key);
        bytes.extend_from_slice(&chunk.bytes);
    }
    bytes
}

fn check_pictures(encoders: &str, name: &str, key_each: usize) {
    if !has_ffmpeg() {
        return;
    }
    let folder = Folder::new();
    let source = make(&folder, name, encoders);
    let Captured { packets, format } = capture(&source, "0:v");
    let (units, track, order) = units(&packets, &format, 0);
    assert_eq!(
        (order.counts().lost, order.counts().received as usize),
        (0, packets.len())
    );
    assert_eq!(units.len(), 150);
    let keys: Vec<usize> = (0..units.len())
        .filter(|&at| units[at].class == Class::Key)
        .collect();
    assert_eq!(keys, (0..150).step_by(key_each).collect::<Vec<_>>());
    assert!(
        units
            .iter()
            .all(|unit| !unit.damaged && unit.dts <= unit.pts)
    );
    assert!(units.is_sorted_by(|one, other| one.dts < other.dts));
    let out = folder.file("out.ts", mux(&[track.codec()], units));
    assert_eq!(complaints(&out), "");
    assert_eq!(pictures(&out), pictures(&source));
}

#[test]
fn h264_with_reordered_pictures_stays_the_same() {
    check_pictures(H264, "source.mkv", 50);
}

#[test]
fn h264_without_reordered_pictures_stays_the_same() {
    check_pictures(BASELINE, "source.mkv", 25);
}

#[test]
fn h265_stays_the_same() {
    check_pictures(H265, "source.mkv", 50);
}

#[test]
fn a_real_clip_stays_the_same() {
    let Some(clips) = std::env::var_os("EVENER_CLIPS").filter(|_| has_ffmpeg()) else {
        evener_testing::skip("EVENER_CLIPS names no folder of clips");
        return;
    };
    let clip = Path::new(&clips).join("foreman_352x288_300f.264");
    let folder = Folder::new();
    let source = folder.path("source.mkv");
    let words = format!("-i {} -c copy", clip.to_str().unwrap());
    run("ffmpeg", &words, &[&source]);
    let Captured { packets, format } = capture(&source, "0:v");
    let (units, track, _) = units(&packets, &format, 0);
    assert_eq!(units.len(), 300);
    let out = folder.file("out.ts", mux(&[track.codec()], units));
    assert_eq!(complaints(&out), "");
    assert_eq!(pictures(&out), pictures(&clip));
}

/// The frames of a file of ADTS.
fn adts(bytes: &[u8]) -> Vec<&[u8]> {
    let mut frames = Vec::new();
    let mut rest = bytes;
    while let [_, _, _, a, b, c, _, ..] = rest {
        let length = usize::from(a & 3) << 11 | usize::from(*b) << 3 | usize::from(c >> 5);
        frames.push(&rest[7..length]);
        rest = &rest[length..];
    }
    frames
}

#[test]
fn sound_goes_with_its_pictures() {
    if !has_ffmpeg() {
        return;
    }
    let folder = Folder::new();
    let contained = make(&folder, "sound.m4a", SOUND);
    let sound = folder.path("sound.aac");
    let words = format!("-i {} -c copy", contained.to_str().unwrap());
    run("ffmpeg", &words, &[&sound]);
    let source = make(&folder, "source.mkv", BASELINE);
    let captured = [capture(&source, "0:v"), capture(&contained, "0:a")];
    let (video, video_track, _) = units(&captured[0].packets, &captured[0].format, 0);
    let (audio, audio_track, _) = units(&captured[1].packets, &captured[1].format, 1);
    let bytes = fs::read(&sound).unwrap();
    let frames: Vec<_> = audio.iter().map(|unit| &unit.units[0][..]).collect();
    let count = frames.len();
    let expected = adts(&bytes);
    // ffmpeg does not send the frames of a packet that is not yet full.
    assert!(expected.starts_with(&frames) && count + 8 > expected.len());
    assert!(
        audio
            .windows(2)
            .all(|pair| (2089..=2090).contains(&(pair[1].pts - pair[0].pts)))
    );
    let codecs = [video_track.codec(), audio_track.codec()];
    let out = folder.file("out.ts", mux(&codecs, [video, audio].concat()));
    assert_eq!(complaints(&out), "");
    assert_eq!(pictures(&out), pictures(&source));
    let back = folder.path("back.aac");
    let words = format!("-i {} -map 0:a -c copy -y", out.to_str().unwrap());
    run("ffmpeg", &words, &[&back]);
    let back = fs::read(back).unwrap();
    assert_eq!(adts(&back).len(), count);
    assert!(bytes.starts_with(&back));
}

/// What a network does to packets: each is lost, comes twice, or comes after some that were sent later. The first
/// picture is not lost.
fn through_network(packets: &[Bytes], seed: u64, lost: f64) -> Vec<Bytes> {
    let config = ProptestConfig {
        rng_seed: RngSeed::Fixed(seed),
        ..ProptestConfig::default()
    };
    let mut runner = TestRunner::new(config);
    let mut random = || runner.rng().random::<f64>();
    let mut sent = Vec::new();
    for (at, packet) in packets.iter().enumerate() {
        if at > 60 && random() < lost {
            continue;
        }
        let delay = if at > 0 && random() < 0.1 {
            6.0 * random()
        } else {
            0.0
        };
        sent.push((at as f64 + delay, packet.clone()));
        if random() < 0.05 {
            sent.push((at as f64 + 4.0 * random(), packet.clone()));
        }
    }
    sent.sort_by(|one, other| one.0.total_cmp(&other.0));
    sent.into_iter().map(|(_, packet)| packet).collect()
}

#[test]
fn reordering_and_duplicates_change_nothing() {
    if !has_ffmpeg() {
        return;
    }
    let folder = Folder::new();
    let source = make(&folder, "source.mkv", H264);
    let Captured { packets, format } = capture(&source, "0:v");
    let expected = units(&packets, &format, 0).0;
    for seed in 0..8 {
        let (units, _, order) = units(&through_network(&packets, seed, 0.0), &format, 0);
        let begun = |units: &[AccessUnit]| units[0].pts;
        let moved = begun(&units) - begun(&expected);
        let mut expected = expected.clone();
        for unit in &mut expected {
            unit.pts += moved;
            unit.dts += moved;
        }
        assert_eq!(units, expected);
        let counts = order.counts();
        assert!(
            counts.reordered > 10 && counts.duplicated > 10 && counts.lost == 0,
            "{counts:?}"
        );
    }
}

fn check_loss(encoders: &str) {
    if !has_ffmpeg() {
        return;
    }
    let folder = Folder::new();
    let source = make(&folder, "source.mkv", encoders);
    let Captured { packets, format } = capture(&source, "0:v");
    let originals = units(&packets, &format, 0).0;
    let begin = originals[0].pts;
    let originals: HashMap<i64, AccessUnit> = originals
        .into_iter()
        .map(|unit| (unit.pts - begin, unit))
        .collect();
    for seed in 0..8 {
        let (units, track, order) = units(&through_network(&packets, seed, 0.03), &format, 0);
        assert!(order.counts().lost > 5);
        let begin = units[0].pts;
        let mut hit = 0;
        for unit in &units {
            let original = &originals[&(unit.pts - begin)];
            match unit.damaged {
                false => assert_eq!((&unit.units, unit.class), (&original.units, original.class)),
                true => {
                    hit += 1;
                    // What is there is whole, and a damaged picture is no place to begin.
                    assert!(unit.units.iter().all(|nal| original.units.contains(nal)));
                    assert_ne!(unit.class, Class::Key);
                }
            }
        }
        // A lost packet is of one picture, and may hide where the next begins.
        let gone = originals.len() - units.len();
        assert!((1..=2 * order.counts().lost as usize).contains(&(hit + gone)));
        let out = folder.file("lossy.ts", mux(&[track.codec()], units));
        // The decoder may miss what was lost; the packets are all right.
        let (_, errors) = run("ffprobe", "-show_packets -of csv", &[&out]);
        assert!(
            !errors.contains("corrupt") && !errors.contains("ontinuity"),
            "{errors}"
        );
    }
}

#[test]
fn what_loss_did_not_hit_of_h264_stays_the_same() {
    check_loss(H264);
}

#[test]
fn what_loss_did_not_hit_of_h265_stays_the_same() {
    check_loss(H265);
}
