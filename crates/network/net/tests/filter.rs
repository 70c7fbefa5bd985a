//! Rules between a device and what uses it.

use std::net::SocketAddr;

use etherparse::PacketBuilder;
use evener_net::datagram::{self, Record};
use evener_net::device::{Count, Device, Wire};
use evener_net::engine::{Config, Engine, Owner, PrivateMemory};
use evener_net::filter::{Filtered, Rules};
use evener_net::memory::Shared;
use evener_net::packet::{Checksum, Offload, Outgoing};
use evener_net::time::Time;
use evener_testing::pcapng;

fn filtered(rules: &str) -> (Filtered, Wire) {
    let [one, other] = Wire::pair(1500, true).unwrap();
    let rules: Rules = rules.parse().unwrap();
    (Filtered::new(Box::new(one), &rules).unwrap(), other)
}

fn syn(to: [u8; 4], port: u16) -> Vec<u8> {
    let mut bytes = Vec::new();
    let packet = PacketBuilder::ipv4([10, 1, 0, 1], to, 64).tcp(5000, port, 7, 100);
    packet.syn().write(&mut bytes, &[]).unwrap();
    bytes
}

fn datagram(port: u16, len: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    let packet = PacketBuilder::ipv6([0xfd; 16], [0xfe; 16], 64).udp(53, port);
    packet.write(&mut bytes, &vec![7; len]).unwrap();
    bytes
}

fn send(device: &mut dyn Device, header: &[u8], payload: &[u8], offload: Offload) -> bool {
    let packet = Outgoing {
        header,
        payload: [payload.into(), Shared::EMPTY],
        offload,
    };
    let sent = device.send(packet).unwrap();
    device.flush().unwrap();
    sent
}

fn received(device: &mut dyn Device) -> Vec<Vec<u8>> {
    let mut packets = Vec::new();
    let mut each = |bytes: &[u8], _| packets.push(bytes.to_vec());
    device.receive(64, &mut each).unwrap();
    packets
}

/// Packets and bytes of each rule.
fn counted(device: &dyn Device) -> Vec<(u64, u64)> {
    let mut counts = Vec::new();
    device.counts(&mut counts);
    let of = |name: &str| -> Vec<u64> {
        let named = counts.iter().filter(|count: &&Count| count.name == name);
        named.map(|count| count.value).collect()
    };
    let packets = of("filter_packets_total");
    packets.into_iter().zip(of("filter_bytes_total")).collect()
}

#[test]
fn the_first_rule_that_matches_decides() {
    let rules = "pass in to 10.1.0.2 tcp dport 22; drop in tcp flags syn,!ack; drop out udp; count";
    let (mut device, mut peer) = filtered(rules);
    let none = Offload::default();
    let (ssh, web) = (syn([10, 1, 0, 2], 22), syn([10, 1, 0, 2], 80));
    for packet in [&ssh, &web, &datagram(9, 10)] {
        assert!(send(&mut peer, packet, &[], none));
    }
    assert_eq!(received(&mut device), [ssh.clone(), datagram(9, 10)]);
    // What is dropped on its way out counts as sent.
    for packet in [&web, &datagram(9, 10)] {
        assert!(send(&mut device, packet, &[], none));
    }
    assert_eq!(received(&mut peer), std::slice::from_ref(&web));
    let (tcp, udp) = (web.len() as u64, datagram(9, 10).len() as u64);
    let expected = [(1, tcp), (1, tcp), (1, udp), (2, tcp + udp)];
    assert_eq!(counted(&device), expected);
}

#[test]
fn segments_of_a_super_segment_count_each() {
    let (mut device, mut peer) = filtered("count udp dport 9");
    let many = Offload {
        segment: 1000,
        checksum: Checksum::Partial,
    };
    let packet = datagram(9, 4500);
    let (header, payload) = packet.split_at(48);
    assert!(send(&mut device, header, payload, many));
    assert_eq!(received(&mut peer), std::slice::from_ref(&packet));
    assert!(send(&mut peer, header, payload, many));
    assert_eq!(received(&mut device), std::slice::from_ref(&packet));
    assert_eq!(counted(&device), [(10, 2 * packet.len() as u64)]);
}

#[test]
fn a_packet_that_comes_again_to_a_full_device_counts_once() {
    let (mut device, mut peer) = filtered("count");
    let packet = datagram(9, 60_000);
    let mut sent = 0;
    while send(&mut device, &packet, &[], Offload::default()) {
        sent += 1;
    }
    assert_eq!(counted(&device)[0].0, sent);
    assert!(!received(&mut peer).is_empty());
    assert!(send(&mut device, &packet, &[], Offload::default()));
    assert_eq!(counted(&device)[0].0, sent + 1);
}

fn count(device: &dyn Device, name: &str) -> u64 {
    let mut counts = Vec::new();
    device.counts(&mut counts);
    let found = counts.iter().find(|count| count.name == name);
    found.expect(name).value
}

/// RFC 1858 and RFC 3128.
#[test]
fn small_fragments_do_not_get_round_a_rule_on_ports_or_flags() {
    let part = |offset: usize, len: usize, more: bool| {
        let whole = syn([10, 1, 0, 2], 23);
        let mut bytes = [&whole[..20], &whole[20 + offset..][..len]].concat();
        bytes[2..4].copy_from_slice(&(20 + len as u16).to_be_bytes());
        let word = (offset as u16 / 8) | (u16::from(more) << 13);
        bytes[6..8].copy_from_slice(&word.to_be_bytes());
        bytes
    };
    for rules in [
        "drop in tcp dport 23",
        "drop tcp flags syn,!ack",
        "pass tcp dport 22",
        "mirror /dev/null tcp sport 1",
    ] {
        let (mut device, mut peer) = filtered(rules);
        for packet in [part(0, 8, true), part(8, 8, true), part(8, 12, false)] {
            assert!(send(&mut peer, &packet, &[], Offload::default()));
        }
        assert!(received(&mut device).is_empty(), "{rules}");
        assert_eq!(count(&device, "filter_hidden_total"), 3, "{rules}");
    }
    // Where no rule asks for what they hide, they are like others.
    for rules in [
        "drop out tcp dport 23",
        "drop in udp dport 23",
        "count tcp; drop tcp dport 23",
        "drop from 10.9.0.0/16 tcp dport 23",
    ] {
        let (mut device, mut peer) = filtered(rules);
        assert!(send(&mut peer, &part(0, 8, true), &[], Offload::default()));
        assert_eq!(received(&mut device).len(), 1, "{rules}");
        assert_eq!(count(&device, "filter_hidden_total"), 0, "{rules}");
    }
}

#[test]
fn the_stacks_own_fragments_have_their_ports() {
    for address in ["10.1.0.1", "fd00::1"] {
        let (mut device, mut peer) = filtered("drop out udp dport 53; count out udp dport 54");
        let config = Config {
            addresses: vec![format!("{address}/24").parse().unwrap()],
            ..Config::default()
        };
        let memory = PrivateMemory::new(1 << 17);
        let mut engine = Engine::new(config, device.capabilities(), memory);
        let local = SocketAddr::new(address.parse().unwrap(), 5000);
        let socket = engine.bind_datagrams(Owner(0), local, None, false).unwrap();
        let slot = engine.slot(socket).unwrap();
        let (mut writer, _) = engine.memory().ends(slot);
        for port in [53, 54] {
            let remote = match local {
                SocketAddr::V4(_) => "10.1.0.2".parse().unwrap(),
                SocketAddr::V6(_) => "fd00::2".parse().unwrap(),
            };
            let record = Record {
                len: 2000,
                segment: 0,
                remote: SocketAddr::new(remote, port),
            };
            assert!(datagram::write(&mut writer, &record, &[7; 2000]));
        }
        engine.notify(socket);
        engine.transmit(Time::ZERO, &mut device).unwrap();
        // The second fragment of either has no ports.
        assert_eq!(received(&mut peer).len(), 3, "{address}");
        let packets: Vec<u64> = counted(&device).iter().map(|counted| counted.0).collect();
        assert_eq!(packets, [1, 1], "{address}");
    }
}

#[test]
fn packets_are_mirrored_to_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("dns.pcapng");
    let (mut device, mut peer) = filtered(&format!("mirror {} udp dport 53", path.display()));
    let none = Offload::default();
    assert!(send(&mut peer, &datagram(53, 20), &[], none));
    assert!(send(&mut peer, &datagram(54, 20), &[], none));
    assert_eq!(received(&mut device).len(), 2);
    assert!(send(&mut device, &datagram(53, 30), &[], none));
    assert!(send(&mut device, &syn([10, 1, 0, 2], 53), &[], none));
    assert_eq!(received(&mut peer).len(), 2);
    device.before_wait();
    let recording = pcapng::read(&path);
    assert_eq!(recording.link, 101);
    let packets: Vec<_> = (recording.packets.iter())
        .map(|packet| (packet.direction, packet.bytes.clone()))
        .collect();
    assert_eq!(packets, [(1, datagram(53, 20)), (2, datagram(53, 30))]);

    let [one, _other] = Wire::pair(1500, true).unwrap();
    let rules: Rules = "mirror no-such-folder/a.pcapng".parse().unwrap();
    let error = Filtered::new(Box::new(one), &rules).err().unwrap();
    assert!(error.to_string().starts_with("no-such-folder/a.pcapng: "));
}
