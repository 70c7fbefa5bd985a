//! Packets by hand, and packets of any bytes.

use std::time::Instant;

use bytes::Bytes;
use proptest::prelude::*;

use super::{AccessUnit, Codec, Format, Track, Unsupported, synchronise};
use crate::media::Class;
use crate::rtp::{Ordered, Packet};

fn format(encoding: &str, parameters: &str) -> Format {
    Format {
        encoding: encoding.into(),
        clock_rate: 90_000,
        channels: 1,
        parameters: parameters.into(),
    }
}

const AAC: &str =
    "streamtype=5; mode=AAC-hbr; config=1210; SizeLength=13; IndexLength=3; IndexDeltaLength=3";
// The example of RFC 6416, section 7.3: AAC-LC, 24 kHz, mono.
const LATM: &str = "cpresent=0; config=400026103fc0";

fn ordered(timestamp: u32, marker: bool, missing: u32, payload: &[u8]) -> Ordered {
    Ordered {
        packet: Packet {
            sequence: 0,
            timestamp,
            ssrc: 0,
            payload_type: 96,
            marker,
            payload: Bytes::copy_from_slice(payload),
        },
        missing,
        restarts: false,
    }
}

/// What packets of timestamp, marker, missing and payload become.
fn units(format: &Format, packets: &[(u32, bool, u32, &[u8])]) -> Vec<AccessUnit> {
    let now = Instant::now();
    let mut track = Track::new(0, format, now).unwrap();
    let mut units = Vec::new();
    for &(timestamp, marker, missing, payload) in packets {
        track.push(ordered(timestamp, marker, missing, payload), now, |unit| {
            units.push(unit)
        });
    }
    units
}

const SPS: &[u8] = &[0x67, 66, 0, 30, 0xda, 0x05, 0x82, 0x59];
const PPS: &[u8] = &[0x68, 0xce, 0x38, 0x80];

#[test]
fn aggregated_and_fragmented_units_of_h264_are_put_together() {
    let mut aggregate = vec![0x78];
    for unit in [SPS, PPS] {
        aggregate.extend((unit.len() as u16).to_be_bytes());
        aggregate.extend(unit);
    }
    let units = units(
        &format("h264", "packetization-mode=1"),
        &[
            (0, false, 0, &aggregate),
            (0, false, 0, &[0x7c, 0x85, 0x88, 1]),
            (0, false, 0, &[0x7c, 0x05, 2]),
            (0, true, 0, &[0x7c, 0x45, 3]),
            (3000, false, 0, &[0x09, 0xf0]),
            (3000, true, 0, &[0x01, 0x9a, 4]),
        ],
    );
    assert_eq!(units.len(), 2);
    assert_eq!(units[0].units, [SPS, PPS, &[0x65, 0x88, 1, 2, 3]]);
    assert_eq!((units[0].class, units[0].damaged), (Class::Key, false));
    assert_eq!(units[1].units, [&[0x01, 0x9a, 4][..]]);
    assert_eq!(
        (units[1].class, units[1].pts - units[0].pts),
        (Class::Disposable, 3000)
    );
}

#[test]
fn a_unit_with_a_missing_fragment_is_dropped() {
    let sets = "sprop-parameter-sets=Z0IAHtoFglk=,aM44gA==";
    let units = units(
        &format("H264", sets),
        &[
            // A whole first slice, then a torn one: the picture is damaged.
            (0, false, 0, &[0x65, 0x88, 1]),
            (0, false, 0, &[0x7c, 0x85, 0x40, 1]),
            (0, true, 1, &[0x7c, 0x45, 3]),
            // All is torn: there is no picture.
            (3000, false, 0, &[0x7c, 0x81, 0x9a, 1]),
            (3000, true, 1, &[0x7c, 0x41, 3]),
            // The first slice is there: whole, with the sets of the description.
            (6000, true, 1, &[0x65, 0x88, 5]),
            // Packets were lost, and the first slice is not the first of its picture.
            (9000, true, 1, &[0x41, 0x50, 5]),
        ],
    );
    let outline: Vec<_> = units
        .iter()
        .map(|unit| (unit.damaged, unit.class, unit.units.len()))
        .collect();
    let expected = [
        (true, Class::Reference, 3),
        (false, Class::Key, 3),
        (true, Class::Reference, 1),
    ];
    assert_eq!(outline, expected);
    assert_eq!(units[1].units, [SPS, PPS, &[0x65, 0x88, 5]]);
}

#[test]
fn frames_of_aac_are_taken_apart_and_put_together() {
    let units = units(
        &Format {
            clock_rate: 44_100,
            ..format("mpeg4-generic", AAC)
        },
        &[
            (0, true, 0, &[0, 32, 0, 2 << 3, 0, 3 << 3, 1, 2, 3, 4, 5]),
            (2048, false, 0, &[0, 16, 0, 4 << 3, 6, 7]),
            (2048, true, 0, &[0, 16, 0, 4 << 3, 8, 9]),
            (3072, false, 0, &[0, 16, 0, 4 << 3, 6, 7]),
            (4096, true, 1, &[0, 16, 0, 1 << 3, 8]),
        ],
    );
    let frames: Vec<_> = units
        .iter()
        .map(|unit| (unit.damaged, &unit.units[0][..]))
        .collect();
    assert_eq!(
        frames,
        [
            (false, &[1, 2][..]),
            (false, &[3, 4, 5]),
            (false, &[6, 7, 8, 9]),
            (true, &[8])
        ]
    );
    assert_eq!(units[1].pts - units[0].pts, 1024 * 90_000 / 44_100);
}

#[test]
fn frames_of_latm_come_after_their_lengths() {
    let format = Format {
        clock_rate: 24_000,
        ..format("MP4A-LATM", LATM)
    };
    let mut long = vec![255, 45];
    long.extend([7; 300]);
    let units = units(
        &format,
        &[
            (0, true, 0, &[2, 8, 9]),
            (1024, false, 0, &long[..200]),
            (1024, true, 0, &long[200..]),
        ],
    );
    let frames: Vec<_> = units.iter().map(|unit| &unit.units[0][..]).collect();
    assert_eq!(frames, [&[8, 9][..], &[7; 300]]);
    let Codec::Aac(config) = Track::new(0, &format, Instant::now()).unwrap().codec() else {
        panic!("no AAC")
    };
    assert_eq!(
        (config.rate, config.channels, config.object, config.samples),
        (24_000, 1, 2, 1024)
    );
}

#[test]
fn formats_that_cannot_be_read_are_refused() {
    let error = |encoding, parameters| {
        Track::new(0, &format(encoding, parameters), Instant::now()).unwrap_err()
    };
    assert_eq!(error("VP8", ""), Unsupported::Encoding("VP8".into()));
    assert_eq!(
        error("mpeg4-generic", "mode=CELP-cbr"),
        Unsupported::Parameter("MPEG4-GENERIC", "mode")
    );
    assert_eq!(
        error("H265", "sprop-max-don-diff=2"),
        Unsupported::Parameter("H265", "sprop-max-don-diff")
    );
    let clockless = Format {
        clock_rate: 0,
        ..format("H264", "")
    };
    assert_eq!(
        Track::new(0, &clockless, Instant::now()).unwrap_err(),
        Unsupported::ClockRate(0)
    );
}

#[test]
fn reports_bring_sound_to_its_pictures() {
    let now = Instant::now();
    let law = Format {
        clock_rate: 8000,
        ..format("PCMU", "")
    };
    let mut tracks = [format("H264", ""), law].map(|format| Track::new(0, &format, now).unwrap());
    let mut last = [0; 2];
    let mut push = |tracks: &mut [Track; 2], timestamps: [u32; 2]| {
        tracks[0].push(
            ordered(timestamps[0], true, 0, &[0x65, 0x88, 5]),
            now,
            |unit| last[0] = unit.pts,
        );
        tracks[1].push(ordered(timestamps[1], true, 0, &[1]), now, |unit| {
            last[1] = unit.pts
        });
        last[1] - last[0]
    };
    assert_eq!(push(&mut tracks, [1000, 700]), 0);
    // At the same moment, one clock is at 91,000 (a second later), the other at 4700 (half a second).
    tracks[0].reported(5 << 32, 91_000);
    tracks[1].reported(5 << 32, 4700);
    synchronise(&mut tracks);
    assert_eq!(push(&mut tracks, [91_000, 4700]), 0);
    // Now sound is a tenth of a second too late: its times wait, and do not go back.
    tracks[0].reported(6 << 32, 181_000);
    tracks[1].reported(6 << 32, 13_500);
    synchronise(&mut tracks);
    assert_eq!(push(&mut tracks, [91_001, 4701]), 0);
    assert_eq!(push(&mut tracks, [181_000, 13_500]), 0);
}

proptest! {
    #[test]
    fn any_payloads_are_taken(
        which in 0..7usize,
        packets in proptest::collection::vec(
            (0..4u32, any::<bool>(), 0..10u32, proptest::collection::vec(any::<u8>(), 0..60), any::<[bool; 2]>()), 0..40),
    ) {
        let (encoding, parameters) = [
            ("H264", ""), ("H265", ""), ("MPEG4-GENERIC", AAC), ("MP4A-LATM", LATM), ("opus", ""), ("PCMA", ""), ("PCMU", ""),
        ][which];
        let format = format(encoding, parameters);
        let mut sent = Vec::new();
        for (timestamp, marker, missing, mut payload, [fragment, aggregate]) in packets {
            // Kinds that have a structure of their own come often.
            if let Some(first) = payload.first_mut() {
                match (which, fragment, aggregate) {
                    (0, true, _) => *first = 0x7c,
                    (0, _, true) => *first = 0x78,
                    (1, true, _) => *first = 49 << 1,
                    (1, _, true) => *first = 48 << 1,
                    _ => {}
                }
            }
            sent.push((timestamp * 3000, marker, missing.saturating_sub(7), payload));
        }
        let packets: Vec<_> = sent.iter().map(|(at, marker, missing, payload)| (*at, *marker, *missing, &payload[..])).collect();
        let units = units(&format, &packets);
        let bytes: usize = packets.iter().map(|packet| packet.3.len() + 2).sum();
        let out: usize = units.iter().flat_map(|unit| &unit.units).map(Bytes::len).sum();
        // Parameter sets come again at each key picture.
        prop_assert!(out <= bytes * (1 + units.len()));
        let codec = Track::new(0, &format, Instant::now()).unwrap().codec();
        let mut mux = crate::ts::Mux::new(std::slice::from_ref(&codec));
        for unit in &units {
            prop_assert!(unit.units.iter().all(|bytes| !bytes.is_empty()));
            if let Some(chunk) = mux.push(unit) {
                prop_assert!(chunk.bytes.len().is_multiple_of(188));
                prop_assert!(chunk.bytes.chunks(188).all(|packet| packet[0] == 0x47));
            }
        }
    }

    #[test]
    fn any_parameters_are_read_or_refused(parameters in "[ -~]{0,80}", which in 0..4usize) {
        let encoding = ["H264", "H265", "MPEG4-GENERIC", "MP4A-LATM"][which];
        let tail = format!("{parameters};{AAC};config={parameters}");
        for parameters in [parameters, tail] {
            let _ = Track::new(0, &format(encoding, &parameters), Instant::now());
        }
    }

    #[test]
    fn any_parameter_sets_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 1..120)) {
        let with = |first: &[u8]| [first, &bytes].concat();
        let h264 = Codec::H264(vec![with(&[0x67]).into(), PPS.into()]);
        let sets = [with(&[64, 1]), with(&[66, 1]), with(&[68, 1])];
        let h265 = Codec::H265(sets.map(Bytes::from).to_vec());
        for codec in [h264, h265] {
            if let Ok(fragments) = crate::fmp4::Fragments::new(&[codec]) {
                prop_assert!(fragments.beginning().len() < 2000);
            }
        }
    }
}
