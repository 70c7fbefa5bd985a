//! Any fragments in any order: no panic, no more memory than allowed, and no packet but of fragments that fit together.

#![no_main]
#![forbid(unsafe_code)]

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use evener_net::fragments::Reassembly;
use evener_net::time::Time;
use evener_net::wire::ip::{self, Fragment, Header, protocol};
use libfuzzer_sys::fuzz_target;

/// Bytes that packets may take together.
const LIMIT: usize = 200_000;

fuzz_target!(|fragments: Vec<(bool, u8, u16, bool, u16, u8, u16)>| {
    let mut reassembly = Reassembly::new(LIMIT);
    let mut now = Time::ZERO;
    for (is_v6, identification, offset, more, len, traffic_class, wait) in fragments {
        now = Time::from_millis(now.micros() / 1000 + u64::from(wait));
        let (source, destination): (IpAddr, IpAddr) = match is_v6 {
            true => (Ipv6Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()),
            false => (Ipv4Addr::LOCALHOST.into(), Ipv4Addr::LOCALHOST.into()),
        };
        let offset = offset & !7;
        let len = usize::from(len).min(65_535 - usize::from(offset));
        let len = if more { len & !7 } else { len };
        let header = Header {
            traffic_class,
            fragment: Some(Fragment {
                identification: u32::from(identification % 4),
                offset,
                more,
            }),
            ..Header::new(source, destination, protocol::UDP)
        };
        // Bytes say where they belong.
        let payload: Vec<u8> = (0..len)
            .map(|at| ((usize::from(offset) + at) % 251) as u8)
            .collect();
        if let Some(packet) = reassembly.insert(now, &header, &payload) {
            let (header, at, len) = ip::parse(&packet).expect("a packet");
            assert_eq!((header.fragment, len), (None, packet.len()));
            assert!(
                packet[at..]
                    .iter()
                    .enumerate()
                    .all(|(n, byte)| usize::from(*byte) == n % 251)
            );
        }
        assert!(reassembly.bytes() <= LIMIT);
        assert!(reassembly.next_deadline() > now);
    }
});
