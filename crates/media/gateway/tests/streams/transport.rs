//! Transport streams as they come: what their packets are for, and streams with parts left out.

use std::fs;
use std::time::Instant;

use bytes::Bytes;
use evener_gateway::media::{Chunk, Class};
use evener_gateway::payload::mp2t;
use evener_gateway::rtp::{Bounds, Order, Packet};
use evener_gateway::ts::{Classify, Instead, Resume};
use evener_testing::Folder;

use crate::origin::{complaints, has_ffmpeg, make, pictures, run, sent};

/// Chunks of datagrams of seven packets.
fn chunks(bytes: &[u8]) -> (Vec<Chunk>, Classify) {
    let mut classify = Classify::new();
    let mut chunks = Vec::new();
    for datagram in bytes.chunks(7 * 188) {
        classify.push(Bytes::copy_from_slice(datagram), |chunk| chunks.push(chunk));
    }
    (chunks, classify)
}

/// How many pictures of a class begin.
fn count(chunks: &[Chunk], class: Class) -> usize {
    let parts = chunks.iter().flat_map(|chunk| &chunk.parts);
    parts
        .filter(|part| part.class == class && part.begins)
        .count()
}

/// What a client gets that goes without a class.
fn without(chunks: &[Chunk], class: Class) -> Vec<u8> {
    let mut resume = Resume::new();
    let mut out = Vec::new();
    for chunk in chunks {
        let mut bytes = chunk.bytes.clone();
        for part in &chunk.parts {
            let bytes = bytes.split_to(part.len as usize);
            match part.class == class {
                true => resume.leave_out(bytes, |instead| match instead {
                    Instead::Rest(bytes) | Instead::Clock(bytes) => out.extend_from_slice(&bytes),
                }),
                false => resume.send(bytes, |bytes| out.extend_from_slice(&bytes)),
            }
        }
    }
    out
}

/// Pictures by kind, as ffprobe has them: I, P and B.
fn kinds(path: &std::path::Path) -> String {
    let words = "-select_streams v -show_entries frame=pict_type -of csv=p=0";
    run("ffprobe", words, &[path])
        .0
        .chars()
        .filter(char::is_ascii_alphabetic)
        .collect()
}

fn check(encoders: &str) {
    if !has_ffmpeg() {
        return;
    }
    let folder = Folder::new();
    let source = make(&folder, "source.ts", encoders);
    let bytes = fs::read(&source).unwrap();
    let (chunks, classify) = chunks(&bytes);
    assert_eq!((classify.gaps(), classify.damaged()), (0, 0));
    assert_eq!(
        chunks
            .iter()
            .flat_map(|chunk| chunk.bytes.to_vec())
            .collect::<Vec<_>>(),
        bytes
    );
    let kinds = kinds(&source);
    let of = |kind| kinds.chars().filter(|&other| other == kind).count();
    assert_eq!(count(&chunks, Class::Key), of('I'));
    assert_eq!(count(&chunks, Class::Reference), of('P'));
    assert_eq!(count(&chunks, Class::Disposable), of('B'));
    assert!(count(&chunks, Class::Sound) > 20);
    let fewer = folder.file("fewer.ts", without(&chunks, Class::Disposable));
    assert_eq!(complaints(&fewer), "");
    let all = pictures(&source);
    let kept: Vec<_> = all
        .iter()
        .zip(kinds.chars())
        .filter(|(_, kind)| *kind != 'B')
        .map(|(hash, _)| hash.clone())
        .collect();
    assert_eq!(pictures(&fewer), kept);
    assert!(kept.len() < all.len() / 2);
}

#[test]
fn h264_without_its_disposable_pictures_is_whole() {
    check(
        "-c:v libx264 -preset veryfast -g 50 -bf 2 -x264-params b-pyramid=none:b-adapt=0:scenecut=0 -c:a aac",
    );
}

#[test]
fn h265_without_its_disposable_pictures_is_whole() {
    check(
        "-c:v libx265 -preset ultrafast -g 50 -x265-params log-level=none:bframes=2:b-adapt=0:b-pyramid=0:scenecut=0:open-gop=0 -c:a aac",
    );
}

#[test]
fn mpeg2_without_its_disposable_pictures_is_whole() {
    check("-c:v mpeg2video -b:v 1M -g 24 -bf 2 -c:a mp2");
}

#[test]
fn missing_packets_are_marked() {
    if !has_ffmpeg() {
        return;
    }
    let folder = Folder::new();
    let source = make(
        &folder,
        "source.ts",
        "-c:v libx264 -preset veryfast -g 50 -c:a aac",
    );
    let bytes = fs::read(&source).unwrap();
    let mut classify = Classify::new();
    let mut out = Vec::new();
    for (at, datagram) in bytes.chunks(7 * 188).enumerate() {
        if at % 40 != 20 {
            classify.push(Bytes::copy_from_slice(datagram), |chunk| {
                out.extend_from_slice(&chunk.bytes)
            });
        }
    }
    assert!(classify.gaps() > 5);
    let lossy = folder.file("lossy.ts", out);
    let errors = run("ffprobe", "-show_packets -of csv", &[&lossy]).1;
    // Pictures have no length, so that only the counters say that packets are missing.
    assert!(!errors.contains("corrupt (stream = 0"), "{errors}");
    let torn: Vec<u8> = bytes
        .chunks(7 * 188)
        .enumerate()
        .filter(|(at, _)| at % 40 != 20)
        .flat_map(|(_, bytes)| bytes.to_vec())
        .collect();
    let torn = folder.file("torn.ts", torn);
    assert!(
        run("ffprobe", "-show_packets -of csv", &[&torn])
            .1
            .contains("corrupt")
    );
}

#[test]
fn a_client_can_begin_at_a_key_picture() {
    if !has_ffmpeg() {
        return;
    }
    let folder = Folder::new();
    let source = make(
        &folder,
        "source.ts",
        "-c:v libx264 -preset veryfast -g 50 -bf 2 -c:a aac -pat_period 1",
    );
    let bytes = fs::read(&source).unwrap();
    let mut classify = Classify::new();
    let mut chunks = Vec::new();
    for datagram in bytes.chunks(7 * 188) {
        let tables = classify.tables();
        classify.push(Bytes::copy_from_slice(datagram), |chunk| {
            chunks.push((chunk, tables.clone()))
        });
    }
    let begin = chunks
        .iter()
        .skip(100)
        .position(|(chunk, _)| chunk.starts())
        .unwrap()
        + 100;
    let (first, tables) = &chunks[begin];
    let mut out = tables.to_vec();
    let mut skip = 0;
    for part in &first.parts {
        if part.class == Class::Key && part.begins {
            break;
        }
        skip += part.len as usize;
    }
    out.extend_from_slice(&first.bytes[skip..]);
    chunks[begin + 1..]
        .iter()
        .for_each(|(chunk, _)| out.extend_from_slice(&chunk.bytes));
    let late = folder.file("late.ts", out);
    let (all, late) = (pictures(&source), pictures(&late));
    assert!(late.len() >= 50 && all.ends_with(&late));
}

#[test]
fn a_stream_in_rtp_comes_out_as_it_was() {
    if !has_ffmpeg() {
        return;
    }
    let folder = Folder::new();
    let source = make(
        &folder,
        "source.ts",
        "-c:v libx264 -preset veryfast -g 50 -bf 2 -c:a aac",
    );
    let datagrams = sent(&source, "rtp_mpegts", "rtp");
    let now = Instant::now();
    let mut order = Order::new(Bounds::default(), 90_000);
    let mut classify = Classify::new();
    let mut out = Vec::new();
    for turn in 0..datagrams.len() {
        // Each third packet comes after the next, and each fifth twice.
        let at = match turn % 3 {
            1 if turn + 1 < datagrams.len() => turn + 1,
            2 => turn - 1,
            _ => turn,
        };
        for _ in 0..if turn % 5 == 0 { 2 } else { 1 } {
            assert!(!mp2t::is_bare(&datagrams[at]));
            let packet = Packet::parse(datagrams[at].clone()).unwrap();
            order.push(packet, now, |ordered| {
                let (packets, cut) = mp2t::packets(ordered.packet.payload).unwrap();
                assert_eq!(cut, 0);
                classify.push(packets, |chunk| out.extend_from_slice(&chunk.bytes));
            });
        }
    }
    let counts = order.counts();
    assert!(counts.reordered > 10 && counts.duplicated > 10);
    assert_eq!((counts.lost, classify.gaps()), (0, 0));
    let headerless: Vec<_> = datagrams.iter().map(|datagram| &datagram[12..]).collect();
    assert!(out == headerless.concat());
}

#[test]
fn a_stream_in_udp_is_known_by_its_packets() {
    if !has_ffmpeg() {
        return;
    }
    let folder = Folder::new();
    let source = make(&folder, "source.ts", "-c:v mpeg2video -g 24 -c:a mp2");
    let datagrams = sent(&source, "mpegts", "udp");
    assert!(datagrams.iter().all(|datagram| mp2t::is_bare(datagram)));
    let (chunks, classify) = chunks(&datagrams.concat());
    assert_eq!(
        (classify.gaps(), count(&chunks, Class::Key)),
        (0, kinds(&source).matches('I').count())
    );
}
