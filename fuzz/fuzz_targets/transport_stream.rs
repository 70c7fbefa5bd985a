//! Any packets as a transport stream, parts of which a client does not get: no panic; nothing is lost or added but marks;
//! what the client gets is whole packets, and its counters go on or are marked where they do not.

#![no_main]
#![forbid(unsafe_code)]

use std::collections::HashMap;

use bytes::Bytes;
use evener_gateway::payload::mp2t;
use evener_gateway::ts::packet::{LEN, NULL, SYNC, View};
use evener_gateway::ts::tables::{PAT_PID, Pat, Pmt, Stream, kind};
use evener_gateway::ts::{Classify, Instead, Resume};
use libfuzzer_sys::fuzz_target;

/// PIDs that the tables name.
const PIDS: [u16; 6] = [PAT_PID, 4096, 256, 257, 258, NULL];

/// A packet: what it is of, what its fourth byte is, whether a unit begins, and what follows. The client gets it or not.
type Steps<'a> = Vec<(u8, u8, bool, bool, &'a [u8])>;

fuzz_target!(|input: (bool, Steps)| {
    let (with_tables, steps) = input;
    let mut classify = Classify::new();
    let mut resume = Resume::new();
    let mut client = Vec::new();
    let mut counters = HashMap::new();
    if with_tables {
        for table in tables() {
            classify.push(Bytes::copy_from_slice(&table), |chunk| {
                resume.send(chunk.bytes, |bytes| client.extend_from_slice(&bytes));
            });
        }
    }
    for (pid, control, begins, gets, bytes) in steps {
        let packet = packet(pid, control, begins, bytes, &mut counters);
        let (packets, cut) = match mp2t::packets(Bytes::copy_from_slice(&packet)) {
            Ok(packets) => packets,
            Err(_) => continue,
        };
        assert_eq!(cut, 0);
        let (gaps, mut came) = (classify.gaps(), 0);
        classify.push(packets, |chunk| {
            let lengths: usize = chunk.parts.iter().map(|part| part.len as usize).sum();
            assert_eq!(lengths, chunk.bytes.len());
            assert!(chunk.parts.iter().all(|part| part.len > 0));
            came += chunk.bytes.len();
            match gets {
                true => resume.send(chunk.bytes, |bytes| client.extend_from_slice(&bytes)),
                false => resume.leave_out(chunk.bytes, |instead| match instead {
                    Instead::Rest(bytes) | Instead::Clock(bytes) => {
                        client.extend_from_slice(&bytes)
                    }
                }),
            }
        });
        assert_eq!(came, LEN + (classify.gaps() - gaps) as usize * LEN);
    }
    assert!(classify.tables().len().is_multiple_of(LEN));
    check(&client);
});

/// The counter of each PID is one more than before, or the same in a packet that is sent again, or a mark is before it.
fn check(client: &[u8]) {
    let (packets, rest) = client.as_chunks::<LEN>();
    assert!(rest.is_empty());
    let mut last: HashMap<u16, u8> = HashMap::new();
    for packet in packets {
        let view = View::new(packet).expect("a sync byte");
        if view.pid() == NULL {
            continue;
        }
        if view.is_discontinuous() {
            last.remove(&view.pid());
        }
        if !view.has_payload() {
            continue;
        }
        let counter = view.continuity();
        let before = last.insert(view.pid(), counter);
        assert!(before.is_none_or(|before| counter == before || counter == (before + 1) & 0xf));
    }
}

/// Most counters go on; the input says where one does not.
fn packet(
    pid: u8,
    control: u8,
    begins: bool,
    bytes: &[u8],
    counters: &mut HashMap<u16, u8>,
) -> [u8; LEN] {
    let pid = PIDS[usize::from(pid) % PIDS.len()];
    let counter = counters.entry(pid).or_default();
    if control & 0x10 != 0 {
        *counter = counter.wrapping_add(1 + u8::from(control & 0xf == 0xf)) & 0xf;
    }
    let [high, low] = pid.to_be_bytes();
    let mut packet = [0xff; LEN];
    packet[0] = SYNC;
    packet[1] = u8::from(begins) << 6 | high;
    packet[2] = low;
    packet[3] = control & 0xf0 | *counter;
    for (to, byte) in packet[4..].iter_mut().zip(bytes) {
        *to = *byte;
    }
    packet
}

fn tables() -> [[u8; LEN]; 2] {
    let stream = |(kind, pid)| Stream {
        kind,
        pid,
        descriptors: Vec::new(),
    };
    let streams = [(kind::H264, 256), (kind::H265, 257), (kind::MPEG2, 258)];
    let pmt = Pmt {
        program: 1,
        pcr_pid: 256,
        streams: streams.map(stream).into(),
    };
    let pat = Pat {
        id: 1,
        programs: vec![(1, 4096)],
    };
    [(PAT_PID, pat.section()), (4096, pmt.section())].map(|(pid, section)| {
        let mut packet = [0xff; LEN];
        let [high, low] = u16::to_be_bytes(pid);
        packet[..5].copy_from_slice(&[SYNC, 0x40 | high, low, 0x10, 0]);
        packet[5..5 + section.len()].copy_from_slice(&section);
        packet
    })
}
