//! Payloads of every format, some of them lost: no panic; times of decoding rise; what becomes of the access units is a
//! transport stream whose counters go on and whose packets hold the units, and fragments of a file that say their length.

#![no_main]
#![forbid(unsafe_code)]

use std::time::{Duration, Instant};

use bytes::Bytes;
use evener_gateway::fmp4::Fragments;
use evener_gateway::payload::{AccessUnit, Format, Track};
use evener_gateway::rtp::{Ordered, Packet};
use evener_gateway::ts::packet::{LEN, View};
use evener_gateway::ts::{Classify, Mux};
use libfuzzer_sys::fuzz_target;

const FORMATS: [(&str, u32, u8, &str); 8] = [
    (
        "H264",
        90_000,
        1,
        "packetization-mode=1;sprop-parameter-sets=Z0LAHtkDxWhAAAADAEAAAAwDxYuS,aMuMsg==",
    ),
    ("H265", 90_000, 1, ""),
    ("H265", 90_000, 1, "sprop-max-don-diff=2"),
    (
        "MPEG4-GENERIC",
        48_000,
        2,
        "mode=AAC-hbr;config=1190;sizelength=13;indexlength=3;indexdeltalength=3",
    ),
    ("MP4A-LATM", 44_100, 2, "cpresent=0;config=400024203fc0"),
    ("OPUS", 48_000, 2, ""),
    ("PCMA", 8000, 1, ""),
    ("PCMU", 8000, 1, ""),
];

type Steps<'a> = Vec<(u8, u16, bool, &'a [u8])>;

fuzz_target!(|input: (u8, &str, Steps)| {
    let (format, parameters, steps) = input;
    let (encoding, clock_rate, channels, known) = FORMATS[usize::from(format) % FORMATS.len()];
    let format = Format {
        encoding: encoding.into(),
        clock_rate,
        channels,
        parameters: if parameters.is_empty() {
            known
        } else {
            parameters
        }
        .into(),
    };
    let epoch = Instant::now();
    let Ok(mut track) = Track::new(0, &format, epoch) else {
        return;
    };
    let (mut sequence, mut timestamp, mut now) = (0u16, 0u32, epoch);
    let mut units = Vec::new();
    for (lost, later, marker, payload) in steps {
        // Most packets are the next.
        let missing = u32::from(lost.saturating_sub(200));
        sequence = sequence.wrapping_add(missing as u16 + 1);
        timestamp = timestamp.wrapping_add(later.into());
        now += Duration::from_millis(10);
        let ordered = Ordered {
            packet: Packet {
                sequence,
                timestamp,
                ssrc: 1,
                payload_type: 96,
                marker,
                payload: Bytes::copy_from_slice(payload),
            },
            missing,
            restarts: lost == 255,
        };
        track.push(ordered, now, |unit| units.push(unit));
    }
    assert!(units.is_sorted_by(|one, other| one.dts < other.dts));
    let codecs = [track.codec()];
    transport(Mux::new(&codecs), &units);
    if let Ok(mut fragments) = Fragments::new(&codecs) {
        boxes(&fragments.beginning());
        for unit in &units {
            let chunk = fragments.push(unit).expect("the track is there");
            boxes(&chunk.bytes);
        }
    }
});

fn transport(mut mux: Mux, units: &[AccessUnit]) {
    let mut classify = Classify::new();
    for unit in units {
        let Some(chunk) = mux.push(unit) else {
            continue;
        };
        let lengths: usize = chunk.parts.iter().map(|part| part.len as usize).sum();
        assert_eq!(lengths, chunk.bytes.len());
        let packets = chunk.bytes.as_chunks::<LEN>();
        assert!(packets.1.is_empty());
        let payload: usize = packets
            .0
            .iter()
            .map(|packet| View::new(packet).expect("a sync byte").payload().len())
            .sum();
        assert!(payload >= unit.units.iter().map(Bytes::len).sum());
        classify.push(chunk.bytes, |_| {});
    }
    assert_eq!((classify.gaps(), classify.damaged()), (0, 0));
}

/// Boxes lie one after the other, to the end.
fn boxes(mut bytes: &[u8]) {
    while !bytes.is_empty() {
        let length = u32::from_be_bytes(*bytes.first_chunk().expect("a length")) as usize;
        assert!((8..=bytes.len()).contains(&length));
        bytes = &bytes[length..];
    }
}
