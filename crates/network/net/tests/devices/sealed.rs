//! A tunnel whose datagrams pass routers that refuse some of them.

use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

use evener_crypt::keys::{Key, write_new};
use evener_net::device::Device;
use evener_net::packet::{Checksum, Offload, Outgoing};
use evener_net::wire::checksum::Sum;
use evener_net::wire::{icmp, ip};
use evener_testing::namespace;

use super::peer::{PATIENCE, Received, datagram, open, send_datagram, wait_for};

/// A message of ICMP by its type and code, with what a datagram began with.
fn refuse(way: &mut dyn Device, kind: u8, code: u8, rest: u32, datagram: &[u8]) {
    let (header, at, _) = ip::parse(datagram).expect("a packet of IP");
    let (from, to) = (header.destination, header.source);
    let protocol = match from {
        IpAddr::V4(_) => ip::protocol::ICMP,
        IpAddr::V6(_) => ip::protocol::ICMPV6,
    };
    let quoted = &datagram[..at + 8];
    let len = icmp::LEN + quoted.len();
    let header = ip::Header::new(from, to, protocol);
    let mut bytes = vec![0; header.len() + len];
    let at = ip::write(&header, len, &mut bytes);
    let body = &mut bytes[at..];
    (body[0], body[1]) = (kind, code);
    body[4..8].copy_from_slice(&rest.to_be_bytes());
    body[icmp::LEN..].copy_from_slice(quoted);
    let sum = match from {
        IpAddr::V4(_) => Sum::default(),
        IpAddr::V6(_) => Sum::pseudo(from, to, protocol, len as u32),
    };
    let checksum = sum.add(body).folded();
    body[2..4].copy_from_slice(&checksum.to_be_bytes());
    super::peer::send(way, &bytes, at, Offload::default());
}

fn count(device: &dyn Device, name: &str) -> u64 {
    let mut counts = Vec::new();
    device.counts(&mut counts);
    let named = format!("seal_{name}_total");
    let found = counts.iter().find(|count| count.name == named);
    found.expect(name).value
}

/// Two ends, and the way between them: what each sends passes an interface of its own.
struct Ends {
    tunnels: [Box<dyn Device>; 2],
    ways: [Box<dyn Device>; 2],
    /// Of each end: its own, and what it takes for the other.
    addresses: [[SocketAddr; 2]; 2],
    /// The last datagram of the first end.
    last: Vec<u8>,
}

impl Ends {
    fn new(addresses: [[&str; 2]; 2], prefix: u8, key: &str) -> Ends {
        let names = ["s0", "s1"];
        let ways = [0, 1].map(|end| {
            let way = format!("tun:{},addr={}/{prefix}", names[end], addresses[end][0]);
            let way = open(&way);
            wait_for(addresses[end][0].parse().expect("an address"));
            way
        });
        let addresses =
            addresses.map(|pair| pair.map(|ip| SocketAddr::new(ip.parse().expect("one"), 7000)));
        let tunnels = addresses
            .map(|[local, peer]| open(&format!("seal:{peer},local={local},key={key},mtu=1000")));
        Ends {
            tunnels,
            ways,
            addresses,
            last: Vec::new(),
        }
    }

    /// Lets pass what was sent. Returns what came out of the second end.
    fn pass(&mut self) -> Vec<Vec<u8>> {
        for from in [0, 1] {
            let mut packets = Vec::new();
            let mut each = |bytes: &[u8], offload| {
                let bytes = bytes.to_vec();
                packets.push(Received { bytes, offload });
            };
            self.ways[from].receive(64, &mut each).expect("a device");
            let [to, source] = self.addresses[1 - from];
            for packet in &packets {
                let Some((_, _, payload)) = datagram(packet) else {
                    continue;
                };
                if from == 0 {
                    self.last.clone_from(&packet.bytes);
                }
                let offload = Offload {
                    checksum: Checksum::Complete,
                    ..packet.offload
                };
                let way = &mut *self.ways[1 - from];
                send_datagram(way, source, to, &payload, offload);
            }
        }
        let mut came = Vec::new();
        for (end, tunnel) in self.tunnels.iter_mut().enumerate() {
            let mut each = |bytes: &[u8], _| {
                if end == 1 {
                    came.push(bytes.to_vec());
                }
            };
            tunnel.receive(64, &mut each).expect("a tunnel goes on");
        }
        came
    }

    /// The first end sends a packet.
    fn send(&mut self, packet: &[u8]) {
        let packet = Outgoing {
            header: packet,
            payload: [[].as_slice().into(), [].as_slice().into()],
            offload: Offload::default(),
        };
        assert!(self.tunnels[0].send(packet).expect("a tunnel goes on"));
        self.tunnels[0].flush().expect("a tunnel goes on");
    }

    fn meet(&mut self) {
        let start = Instant::now();
        loop {
            self.send(b"hello");
            if !self.pass().is_empty() {
                break;
            }
            assert!(start.elapsed() < PATIENCE, "no session");
            std::thread::sleep(Duration::from_millis(1));
        }
        // What is left of the beginning.
        for _ in 0..20 {
            self.pass();
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// What a router says of a datagram is counted, and the tunnel goes on.
    fn refused(&mut self, (kind, code, rest): (u8, u8, u32)) {
        let about = format!("type {kind}, code {code}");
        // Told to a thread that receives.
        let before = count(&*self.tunnels[0], "reported");
        let last = self.last.clone();
        refuse(&mut *self.ways[0], kind, code, rest, &last);
        let start = Instant::now();
        while count(&*self.tunnels[0], "reported") == before {
            assert!(start.elapsed() < PATIENCE, "{about} is not told");
            self.pass();
        }
        // And to one that sends, whose packet is another and not lost.
        refuse(&mut *self.ways[0], kind, code, rest, &last);
        self.send(about.as_bytes());
        assert_eq!(count(&*self.tunnels[0], "reported"), before + 2, "{about}");
        let start = Instant::now();
        let mut came = Vec::new();
        while came.is_empty() {
            assert!(start.elapsed() < PATIENCE, "a packet after {about}");
            came = self.pass();
        }
        assert_eq!(came, [about.as_bytes()]);
    }
}

#[test]
fn what_routers_say_ends_no_tunnel() {
    namespace::run("sealed::what_routers_say_ends_no_tunnel", || {
        let folder = tempfile::tempdir().expect("a folder");
        let key = folder.path().join("key");
        write_new(&key, &Key::generate().expect("a key")).expect("a file");
        let key = key.display().to_string();

        let addresses = [["10.1.0.1", "10.1.0.2"], ["10.2.0.1", "10.2.0.2"]];
        let mut ends = Ends::new(addresses, 24, &key);
        ends.meet();
        // No protocol, no port, too big for 1,200 bytes; host unknown, isolated, prohibited; a parameter that is wrong.
        for message in [
            (3, 2, 0),
            (3, 3, 0),
            (3, 4, 1200),
            (3, 7, 0),
            (3, 8, 0),
            (3, 10, 0),
            (12, 0, 0),
        ] {
            ends.refused(message);
        }
        drop(ends);

        let addresses = [["fd01::1", "fd01::2"], ["fd02::1", "fd02::2"]];
        let mut ends = Ends::new(addresses, 64, &key);
        ends.meet();
        // Prohibited, no port, against a policy, a route that rejects; too big for 1,300 bytes; a parameter that is wrong.
        for message in [
            (1, 1, 0),
            (1, 4, 0),
            (1, 5, 0),
            (1, 6, 0),
            (2, 0, 1300),
            (4, 1, 0),
        ] {
            ends.refused(message);
        }
    });
}
