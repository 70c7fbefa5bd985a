//! Any bytes as a packet: no panic, headers within the packet, and what is read can be written and read again. Taken apart
//! into segments, its payload is what it was.

#![no_main]
#![forbid(unsafe_code)]

use evener_net::packet::{Checksum, Offload};
use evener_net::segments::{Splitter, complete};
use evener_net::wire::{arp, ethernet, icmp, ip, ndp, tcp, udp};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (u16, &[u8])| {
    let (segment, bytes) = input;
    let _ = arp::parse(bytes);
    if let Ok(header) = ethernet::parse(bytes) {
        let mut written = [0; ethernet::LEN];
        ethernet::write(&header, &mut written);
        assert_eq!(written, bytes[..ethernet::LEN]);
    }
    split(bytes, segment);
    // The checksum is repaired: few bytes have the right one.
    let mut repaired = bytes.to_vec();
    let header_len = repaired
        .first()
        .map_or(0, |first| usize::from(first & 15) * 4);
    if repaired.first().is_some_and(|first| first >> 4 == 4)
        && (ip::V4_LEN..=repaired.len()).contains(&header_len)
    {
        ip::set_checksum(&mut repaired);
        split(&repaired, segment);
    }
    packet(&repaired);
});

fn packet(bytes: &[u8]) {
    let Ok((header, at, len)) = ip::parse(bytes) else {
        return;
    };
    assert!(at <= len && len <= bytes.len());
    let payload = &bytes[at..len];
    let mut written = vec![0; header.len() + payload.len()];
    let written_len = ip::write(&header, payload.len(), &mut written);
    let (again, again_at, again_len) = ip::parse(&written).expect("what was written is right");
    assert_eq!((again, again_at), (header, written_len));
    assert_eq!(again_len, written.len());
    segment(payload);
    let _ = udp::parse(payload);
    if let Ok(icmp::Message::Other { kind, code, body }) =
        icmp::parse(payload, header.source, header.destination)
    {
        let _ = ndp::parse(kind, code, body);
    }
}

fn segment(bytes: &[u8]) {
    let Ok((header, len)) = tcp::parse(bytes) else {
        return;
    };
    assert!((tcp::MIN_LEN..=bytes.len()).contains(&len));
    let mut written = [0; tcp::MAX_LEN];
    let len = tcp::write(&header, &mut written);
    let (mut again, again_len) = tcp::parse(&written).expect("what was written is right");
    assert_eq!(again_len, len);
    // Blocks for which there is no room are left out.
    assert!(
        again
            .options
            .sack
            .iter()
            .zip(header.options.sack.iter())
            .all(|(a, b)| a == b)
    );
    again.options.sack = header.options.sack;
    assert_eq!(again, header);
}

fn split(bytes: &[u8], size: u16) {
    let offload = Offload {
        segment: size,
        checksum: Checksum::Partial,
    };
    let (mut count, mut total) = (0, 0);
    let mut splitter = Splitter::new();
    splitter.split(bytes, offload, 0, &mut |segment, offload| {
        assert_eq!(offload.segment, 0);
        let mut segment = segment.to_vec();
        complete(&mut segment, 0);
        count += 1;
        total += segment.len();
    });
    assert!(count > 0 && total <= bytes.len() + count * 1000);
    if count == 1 {
        assert!(total <= bytes.len());
    }
}
