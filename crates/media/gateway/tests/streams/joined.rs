//! A stream that goes on in the place of another, which ended in the middle of a picture.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use bytes::Bytes;
use evener_gateway::media::Class;
use evener_gateway::payload::AccessUnit;
use evener_gateway::ts::packet::{LEN, View};
use evener_gateway::ts::{Classify, Mux, Splice};
use evener_testing::Folder;

use crate::origin::{Captured, capture, has_ffmpeg, make, pictures, run, units};

const DATAGRAM: usize = 7 * LEN;

/// The pictures that ffmpeg decodes, and what it says.
fn decoded(path: &Path) -> (Vec<String>, String) {
    let input = path.to_str().unwrap();
    let words = format!("-threads 1 -i {input} -map 0:v -fps_mode passthrough -f framemd5 -");
    let (out, errors) = run("ffmpeg", &words, &[]);
    let lines = out.lines().filter(|line| !line.starts_with('#'));
    let hash = |line: &str| line.rsplit(',').next().unwrap().trim().to_owned();
    (lines.map(hash).collect(), errors)
}

/// What of a stream goes through when it begins with this datagram.
fn spliced(bytes: &[u8], datagram: usize) -> Vec<u8> {
    let mut now = Instant::now();
    let (mut classify, mut splice) = (Classify::new(), Splice::new(now));
    let mut out = Vec::new();
    for datagram in bytes.chunks(DATAGRAM).skip(datagram) {
        now += Duration::from_millis(1);
        classify.push(Bytes::copy_from_slice(datagram), |chunk| {
            if let Some(chunk) = splice.push(&chunk, now) {
                let lengths: usize = chunk.parts.iter().map(|part| part.len as usize).sum();
                assert_eq!(lengths, chunk.bytes.len());
                out.extend_from_slice(&chunk.bytes);
            }
        });
    }
    out
}

fn check(encoders: &str, others: &str) {
    if !has_ffmpeg() {
        return;
    }
    let folder = Folder::new();
    let first = make(&folder, "first.ts", encoders);
    // Of another time, and its tables and key pictures are not where the first has them.
    let words = format!("{others} -output_ts_offset 20000");
    let second = make(&folder, "second.ts", &words);
    let (before, after) = (fs::read(&first).unwrap(), fs::read(&second).unwrap());
    let cut = before.len() / DATAGRAM / 2 * DATAGRAM;
    let joined = spliced(&after, 20);
    assert!(!joined.is_empty() && joined.len() < after.len());
    let all = [&before[..cut], &joined].concat();
    // Counters go on, or are marked: a demultiplexer finds no packet missing.
    let mut classify = Classify::new();
    classify.push(all.clone().into(), |_| {});
    assert_eq!((classify.gaps(), classify.damaged()), (0, 0));
    // The time of the second begins with a mark.
    let marked = joined.as_chunks().0.iter().filter_map(View::new);
    let clocks: Vec<_> = marked.filter(|view| view.pcr().is_some()).collect();
    assert!(clocks[0].is_discontinuous() && !clocks[1..].iter().any(View::is_discontinuous));
    let path = folder.file("all.ts", all);
    let (shown, said) = decoded(&path);
    let (firsts, seconds) = (pictures(&first), pictures(&second));
    let whole = shown
        .iter()
        .zip(&firsts)
        .take_while(|(one, other)| one == other)
        .count();
    // The pictures in which the first ended may be shown as far as they came.
    let begin = (whole..whole + 4).find(|&at| seconds.ends_with(&shown[at..]));
    let begin = begin.unwrap_or_else(|| panic!("{whole} of {}: {said}", shown.len()));
    assert!(
        whole > 60 && shown.len() - begin >= 75,
        "{whole}, {begin} of {}",
        shown.len()
    );
    // Those and the jump in time are all that is complained of.
    assert!(said.lines().count() <= 6, "{said}");
}

#[test]
fn transport_streams_of_h264_go_on() {
    let encoders = "-c:v libx264 -preset veryfast -g 25 -bf 2 -c:a aac";
    check(
        encoders,
        "-vf hue=h=90 -c:v libx264 -preset veryfast -g 40 -bf 1 -c:a aac",
    );
}

#[test]
fn transport_streams_of_mpeg2_go_on() {
    let encoders = "-c:v mpeg2video -b:v 1M -g 24 -bf 2 -c:a mp2";
    check(
        encoders,
        "-vf hue=h=90 -c:v mpeg2video -b:v 1M -g 30 -bf 2 -c:a mp2",
    );
}

/// The access units of both tracks, by their times.
fn both(path: &Path) -> (Vec<AccessUnit>, Vec<evener_gateway::payload::Codec>) {
    let mut all = Vec::new();
    let mut codecs = Vec::new();
    for (number, map) in ["0:v", "0:a"].into_iter().enumerate() {
        let Captured { packets, format } = capture(path, map);
        let (units, track, _) = units(&packets, &format, number);
        all.extend(units);
        codecs.push(track.codec());
    }
    all.sort_by_key(|unit| unit.dts);
    (all, codecs)
}

#[test]
fn access_units_go_on_in_the_same_stream() {
    if !has_ffmpeg() {
        return;
    }
    let folder = Folder::new();
    let first = make(
        &folder,
        "a.mp4",
        "-c:v libx264 -preset veryfast -g 25 -bf 2 -c:a aac",
    );
    // Other parameter sets.
    let second = make(
        &folder,
        "b.mp4",
        "-vf hue=h=90 -c:v libx264 -profile:v baseline -preset ultrafast -g 25 -c:a aac",
    );
    let ((before, codecs), (after, others)) = (both(&first), both(&second));
    let mut mux = Mux::new(&codecs);
    let mut out = Vec::new();
    let end = before.len() / 2;
    for unit in &before[..end] {
        out.extend_from_slice(&mux.push(unit).unwrap().bytes);
    }
    mux.join(&others);
    let begin = after
        .iter()
        .enumerate()
        .position(|(at, unit)| at > 40 && unit.class == Class::Key)
        .unwrap();
    let shift = before[end].dts + 45_000 - after[begin].dts;
    for unit in &after[begin..] {
        let (pts, dts) = (unit.pts + shift, unit.dts + shift);
        let unit = AccessUnit {
            pts,
            dts,
            ..unit.clone()
        };
        if dts >= before[end].dts + 45_000 {
            out.extend_from_slice(&mux.push(&unit).unwrap().bytes);
        }
    }
    let mut classify = Classify::new();
    classify.push(out.clone().into(), |_| {});
    assert_eq!(classify.gaps(), 0);
    let clocks = out.as_chunks().0.iter().filter_map(View::new);
    let marked = clocks.filter(|view| view.is_discontinuous());
    assert_eq!(marked.filter(|view| view.pcr().is_some()).count(), 1);
    let path = folder.file("all.ts", out);
    let (shown, said) = decoded(&path);
    assert_eq!(said, "");
    let seconds = pictures(&second);
    let rest = shown
        .iter()
        .position(|hash| seconds.contains(hash))
        .unwrap();
    assert!(pictures(&first).starts_with(&shown[..rest - 2]), "{rest}");
    assert!(seconds.ends_with(&shown[rest..]) && shown.len() - rest >= 75);
}
