//! Packets by hand, and packets of any bytes.

use bytes::Bytes;
use proptest::prelude::*;

use super::marker::{clock, discontinuity, pcr_field};
use super::packet::{LEN, NULL, SYNC, View};
use super::tables::{PAT_PID, Pat, Pmt, Stream, kind};
use super::{Classify, Instead, Mux, Resume};
use crate::media::{Chunk, Class};
use crate::payload::{AccessUnit, AudioConfig, Codec};

/// A packet with this payload, and stuffing before it.
fn packet(pid: u16, begins: bool, counter: u8, payload: &[u8]) -> [u8; LEN] {
    let mut packet = [0xff; LEN];
    let [high, low] = pid.to_be_bytes();
    packet[..4].copy_from_slice(&[
        SYNC,
        u8::from(begins) << 6 | high,
        low,
        0x30 | counter & 0xf,
    ]);
    let field = LEN - 5 - payload.len();
    packet[4] = field as u8;
    if field > 0 {
        packet[5] = 0;
    }
    packet[LEN - payload.len()..].copy_from_slice(payload);
    packet
}

fn section(pid: u16, counter: u8, section: &[u8]) -> [u8; LEN] {
    packet(pid, true, counter, &[&[0], section].concat())
}

/// The tables of a program with H.264 and AAC.
fn tables() -> [[u8; LEN]; 2] {
    let stream = |kind, pid| Stream {
        kind,
        pid,
        descriptors: Vec::new(),
    };
    let pmt = Pmt {
        program: 1,
        pcr_pid: 256,
        streams: vec![stream(kind::H264, 256), stream(kind::AAC, 257)],
    };
    let pat = Pat {
        id: 1,
        programs: vec![(1, 4096)],
    };
    [
        section(PAT_PID, 0, &pat.section()),
        section(4096, 0, &pmt.section()),
    ]
}

/// The first packet of a picture with one slice.
fn picture(counter: u8, nal: &[u8]) -> [u8; LEN] {
    let header = [
        0, 0, 1, 0xe0, 0, 0, 0x80, 0x80, 5, 0x21, 0, 1, 0, 1, 0, 0, 1,
    ];
    packet(256, true, counter, &[&header[..], nal].concat())
}

fn push(classify: &mut Classify, packets: &[[u8; LEN]]) -> Vec<Chunk> {
    let mut chunks = Vec::new();
    classify.push(packets.concat().into(), |chunk| chunks.push(chunk));
    chunks
}

#[test]
fn packets_are_classed_by_the_pictures_that_they_are_of() {
    let mut classify = Classify::new();
    let [pat, pmt] = tables();
    let sound = packet(257, true, 0, &[0, 0, 1, 0xc0, 0, 0, 0x80, 0, 0]);
    let packets = [
        pat,
        pmt,
        picture(0, &[0x65, 0x88]),
        packet(256, false, 1, &[1]),
        sound,
        packet(256, false, 2, &[1]),
        picture(3, &[0x41, 0x9a]),
        picture(4, &[0x01, 0x9a]),
        packet(NULL, false, 0, &[]),
        picture(5, &[0x01, 0x9a]),
    ];
    let chunks = push(&mut classify, &packets);
    assert_eq!(chunks.len(), 1);
    let parts: Vec<_> = chunks[0]
        .parts
        .iter()
        .map(|part| (part.len as usize / LEN, part.class, part.begins))
        .collect();
    let expected = [
        (2, Class::Table, false),
        (2, Class::Key, true),
        (1, Class::Sound, true),
        (1, Class::Key, false),
        (1, Class::Reference, true),
        (2, Class::Disposable, true),
        (1, Class::Disposable, true),
    ];
    assert_eq!(parts, expected);
    assert_eq!(classify.tables(), [pat, pmt].concat());
}

#[test]
fn a_missing_packet_is_marked_where_it_is_missing() {
    let mut classify = Classify::new();
    let [pat, pmt] = tables();
    push(&mut classify, &[pat, pmt, picture(0, &[0x65, 0x88])]);
    let rest = [
        packet(256, false, 2, &[1]),
        packet(256, false, 2, &[1]),
        packet(256, false, 3, &[1]),
    ];
    let chunks = push(&mut classify, &rest);
    let bytes: Vec<u8> = chunks
        .iter()
        .flat_map(|chunk| chunk.bytes.to_vec())
        .collect();
    assert_eq!(bytes, [&discontinuity(256, 1)[..], &rest.concat()].concat());
    assert_eq!(classify.gaps(), 1);
    let view = View::new(bytes.first_chunk().unwrap()).unwrap();
    assert!(view.is_discontinuous() && !view.has_payload() && view.pid() == 256);
    // A damaged picture is none to begin at.
    assert_eq!(chunks[1].parts[0].class, Class::Reference);
}

/// One whose client has had units of the streams 256 and 257.
fn resume() -> Resume {
    let mut resume = Resume::new();
    let nulls = packet(NULL, false, 0, &[]).repeat(3000);
    resume.send(packet(256, true, 3, &[1]).to_vec().into(), |_| {});
    resume.send(packet(257, true, 8, &[1]).to_vec().into(), |_| {});
    resume.send(nulls.into(), |_| {});
    assert!(resume.is_whole());
    resume
}

fn sent(resume: &mut Resume, packets: &[[u8; LEN]]) -> Vec<u8> {
    let mut out = Vec::new();
    resume.send(packets.concat().into(), |bytes| {
        out.extend_from_slice(&bytes)
    });
    out
}

fn left_out(resume: &mut Resume, packets: &[[u8; LEN]]) -> Vec<Instead> {
    let mut out = Vec::new();
    resume.leave_out(packets.concat().into(), |instead| out.push(instead));
    out
}

#[test]
fn what_is_left_out_is_marked_and_the_clock_goes_on() {
    let mut with_clock = packet(256, false, 5, &[1; 100]);
    with_clock[5] = 0x10;
    with_clock[6..12].copy_from_slice(&pcr_field(300 * 90_000 + 17));
    let mut resume = resume();
    let out = left_out(&mut resume, &[packet(256, true, 4, &[1]), with_clock]);
    let expected = Bytes::copy_from_slice(&clock(256, 3, 300 * 90_000 + 17));
    assert_eq!(out, [Instead::Clock(expected)]);
    assert_eq!(left_out(&mut resume, &[packet(256, false, 6, &[1])]), []);
    assert!(!resume.is_whole());
    let next = [
        packet(257, false, 9, &[1]),
        packet(256, true, 7, &[1]),
        packet(256, false, 8, &[1]),
    ];
    assert_eq!(
        sent(&mut resume, &next),
        [&next[0][..], &discontinuity(256, 6), &next[1], &next[2]].concat()
    );
    assert!(resume.is_whole());
}

#[test]
fn a_unit_goes_to_the_client_whole_or_not_at_all() {
    let mut resume = resume();
    // It has the beginning of one of 256.
    let rest = packet(256, false, 4, &[1]);
    let begins = packet(256, true, 5, &[1]);
    let out = left_out(&mut resume, &[rest, begins]);
    assert_eq!(out, [Instead::Rest(Bytes::copy_from_slice(&rest))]);
    // It has none of the next.
    let next = [
        packet(256, false, 6, &[1]),
        packet(257, true, 9, &[1]),
        packet(256, false, 7, &[1]),
        packet(256, true, 8, &[1]),
    ];
    assert_eq!(
        sent(&mut resume, &next),
        [&next[1][..], &discontinuity(256, 7), &next[3]].concat()
    );
}

#[test]
fn a_client_gets_each_stream_from_where_a_unit_begins() {
    let packets = [
        packet(256, false, 6, &[1]),
        packet(257, true, 9, &[1]),
        packet(NULL, false, 0, &[]),
        packet(256, false, 7, &[1]),
        packet(256, true, 8, &[1]),
        packet(256, false, 9, &[1]),
    ];
    assert_eq!(
        sent(&mut Resume::new(), &packets),
        [packets[1], packets[2], packets[4], packets[5]].concat()
    );
    // What it lost and did not see is marked.
    let mut resume = resume();
    resume.lose();
    assert_eq!(
        sent(&mut resume, &packets),
        [
            &discontinuity(257, 8)[..],
            &packets[1],
            &packets[2],
            &discontinuity(256, 7),
            &packets[4],
            &packets[5]
        ]
        .concat()
    );
}

#[test]
fn a_mark_that_is_left_out_is_made_up_for() {
    let mut resume = resume();
    assert_eq!(left_out(&mut resume, &[discontinuity(256, 6)]), []);
    let next = packet(256, true, 7, &[1]);
    let out = sent(&mut resume, &[next]);
    assert_eq!(out, [discontinuity(256, 6), next].concat());
}

#[test]
fn a_mark_of_the_origin_needs_no_other() {
    let mut classify = Classify::new();
    let [pat, pmt] = tables();
    push(&mut classify, &[pat, pmt, picture(0, &[0x65, 0x88])]);
    let rest = [discontinuity(256, 8), packet(256, false, 9, &[1])];
    assert_eq!(push(&mut classify, &rest).len(), 1);
    assert_eq!(classify.gaps(), 0);
}

#[test]
fn a_clock_is_read_as_it_is_written() {
    for pcr in [0, 299, 300, 27_000_000, 300 * ((1 << 33) - 1) + 299] {
        let packet = clock(256, 7, pcr);
        let view = View::new(&packet).unwrap();
        assert_eq!(
            (view.pcr(), view.continuity(), view.payload().len()),
            (Some(pcr), 7, 0)
        );
    }
}

#[test]
fn the_clock_goes_on_where_sound_is_behind_its_pictures() {
    let config = AudioConfig::parse(&[0x12, 0x10]).unwrap();
    let mut mux = Mux::new(&[Codec::H264(Vec::new()), Codec::Aac(config)]);
    let mut clocks = Vec::new();
    let mut tables = 0;
    for at in 0..100i64 {
        // Ten pictures a second, and sound that is 80 ms behind.
        let (track, time) = match at % 5 {
            0 => (0, at / 5 * 9000),
            _ => (1, at * 1800 - 7200),
        };
        let unit = AccessUnit {
            track,
            pts: time,
            dts: time,
            class: if track == 0 {
                Class::Reference
            } else {
                Class::Sound
            },
            damaged: false,
            units: vec![Bytes::from_static(&[0x41, 0x9a])],
        };
        let chunk = mux.push(&unit).unwrap();
        for packet in chunk.bytes.as_chunks().0 {
            let view = View::new(packet).unwrap();
            clocks.extend(view.pcr().map(|pcr| (view.pid(), pcr)));
            tables += usize::from(view.pid() == PAT_PID);
        }
    }
    assert!(clocks.iter().all(|&(pid, _)| pid == 256));
    // At most 100 ms apart, which is what H.222.0 asks for, and at least 40.
    let between = clocks
        .windows(2)
        .map(|pair| pair[1].1 as i64 - pair[0].1 as i64);
    assert!(
        between
            .into_iter()
            .all(|between| (1_080_000..=2_700_000).contains(&between)),
        "{clocks:?}"
    );
    assert!((18..=21).contains(&tables), "{tables}");
}

proptest! {
    #[test]
    fn any_packets_go_through(packets in proptest::collection::vec((0..6usize, any::<u8>(), proptest::collection::vec(any::<u8>(), LEN)), 0..40)) {
        let mut classify = Classify::new();
        push(&mut classify, &tables());
        let mut bytes = Vec::new();
        for (which, control, packet) in &packets {
            let at = bytes.len();
            bytes.extend_from_slice(packet);
            bytes[at] = SYNC;
            if let Some(pid) = [0u16, 256, 257, 4096, NULL].get(*which) {
                bytes[at + 1..at + 3].copy_from_slice(&(pid | 0x4000).to_be_bytes());
                bytes[at + 3] = control & 0x3f;
            }
        }
        let all: Bytes = bytes.into();
        let mut out = Vec::new();
        let mut resume = Resume::new();
        classify.push(all.clone(), |chunk| {
            let lengths: usize = chunk.parts.iter().map(|part| part.len as usize).sum();
            assert_eq!(lengths, chunk.bytes.len());
            assert!(chunk.parts.iter().all(|part| part.len > 0));
            out.push(chunk);
        });
        // Nothing is lost, and what is added is marks.
        let marks = classify.gaps() as usize * LEN;
        prop_assert_eq!(out.iter().map(|chunk| chunk.bytes.len()).sum::<usize>(), all.len() + marks);
        for (at, chunk) in out.iter().enumerate() {
            let mut sent = 0;
            match at % 2 {
                0 => resume.leave_out(chunk.bytes.clone(), |instead| match instead {
                    Instead::Rest(bytes) | Instead::Clock(bytes) => sent += bytes.len(),
                }),
                _ => resume.send(chunk.bytes.clone(), |bytes| sent += bytes.len()),
            }
            prop_assert!(sent.is_multiple_of(LEN) && sent <= 2 * chunk.bytes.len() + 64 * LEN);
        }
    }
}
