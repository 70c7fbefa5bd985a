//! A peer that sends anything: the engine keeps what holds of it (its debug assertions), and all memory comes back.

use std::net::SocketAddr;
use std::time::Duration;

use evener_net::engine::{Owner, SocketId, SocketOptions};
use evener_net::packet::{Checksum, Offload};
use evener_net::tcp::Happened;
use evener_net::tcp::congestion::Algorithm;
use evener_net::time::Time;
use evener_net::wire::ip::{self, protocol};
use evener_net::wire::tcp::{self, Header, SackBlocks, flags};

use crate::network::{Host, Random, Setup, seeds};

struct Attack {
    random: Random,
    host: Host,
    now: Time,
    local: SocketAddr,
    remote: SocketAddr,
    /// What the engine sent last: its next sequence number, what it acknowledged, its timestamp.
    theirs: u32,
    ours: u32,
    timestamp: u32,
    socket: Option<SocketId>,
}

impl Attack {
    fn below(&mut self, limit: u64) -> u64 {
        self.random.next() % limit
    }

    /// A number near `base`, mostly.
    fn near(&mut self, base: u32) -> u32 {
        match self.below(8) {
            0..=2 => base,
            3 => base.wrapping_add(self.below(3) as u32).wrapping_sub(1),
            4 | 5 => base.wrapping_add(self.below(20_000) as u32),
            6 => base.wrapping_sub(self.below(20_000) as u32),
            _ => self.random.next() as u32,
        }
    }

    fn segment(&mut self) -> Vec<u8> {
        let bits = match self.below(12) {
            0 => flags::SYN,
            1 => flags::SYN | flags::ACK,
            2 if self.random.chance(100_000) => flags::RST,
            3 if self.random.chance(300_000) => flags::FIN | flags::ACK,
            4 => self.random.next() as u8 & !flags::RST,
            _ => flags::ACK,
        };
        let mut header = Header {
            source_port: self.remote.port(),
            destination_port: self.local.port(),
            sequence: self.near(self.ours),
            acknowledgment: self.near(self.theirs),
            flags: bits,
            window: if self.random.chance(200_000) {
                self.below(3000) as u16
            } else {
                self.random.next() as u16
            },
            ..Header::default()
        };
        let options = &mut header.options;
        if self.random.chance(700_000) {
            let millis = (self.now.0 / 1_000_000) as u32;
            options.timestamps = Some((millis, self.timestamp));
        }
        if bits & flags::SYN != 0 {
            options.mss = Some(self.random.next() as u16);
            options.window_scale = Some(self.random.next() as u8);
            options.sack_permitted = true;
        } else if self.random.chance(500_000) {
            let mut blocks = SackBlocks::new();
            for _ in 0..self.random.next() % 4 {
                let left = self.near(self.theirs);
                blocks.push(left, left.wrapping_add(self.below(10_000) as u32));
            }
            header.options.sack = blocks;
        }
        let len = [0, 0, 1, 100, 1460][self.below(5) as usize];
        let mut bytes = vec![0; ip::MAX_LEN + tcp::MAX_LEN];
        let ip = ip::Header::new(self.remote.ip(), self.local.ip(), protocol::TCP);
        let at = ip::write(&ip, header.len() + len, &mut bytes);
        let header_len = tcp::write(&header, &mut bytes[at..]);
        bytes.resize(at + header_len + len, 0);
        bytes
    }

    fn poll(&mut self) {
        for (bytes, _) in self.host.poll(self.now) {
            let (_, at, end) = ip::parse(&bytes).unwrap();
            let (header, len) = tcp::parse(&bytes[at..end]).unwrap();
            self.local.set_port(header.source_port);
            let syn = u32::from(header.flags & flags::SYN != 0);
            let next = (header.sequence).wrapping_add((end - at - len) as u32 + syn);
            if header.flags & flags::RST == 0 {
                self.theirs = next;
                self.ours = if header.flags & flags::ACK != 0 {
                    header.acknowledgment
                } else {
                    self.ours
                };
                self.timestamp = header.options.timestamps.map_or(0, |(value, _)| value);
            }
        }
        for event in std::mem::take(&mut self.host.events) {
            if event.listener.is_some() && event.happened.has(Happened::CONNECTED) {
                let before = self.socket.replace(event.socket);
                before.map(|socket| self.host.engine.close(self.now, socket));
            }
        }
    }

    fn act(&mut self) {
        let Some(socket) = self.socket else { return };
        let Some(slot) = self.host.engine.slot(socket) else {
            return;
        };
        let pair = self.host.engine.memory().pairs[&slot].clone();
        match self.below(400) {
            0..40 => {
                let bytes = vec![1; self.below(5000) as usize];
                pair.writer.borrow_mut().write(&bytes);
            }
            40..80 => {
                let mut bytes = vec![0; self.below(5000) as usize];
                pair.reader.borrow_mut().read(&mut bytes);
            }
            80 => assert!(self.host.engine.shutdown(socket)),
            81 => assert!(self.host.engine.close(self.now, socket)),
            _ => return,
        }
        assert!(self.host.engine.notify(socket));
    }

    fn run(seed: u64) {
        let setup = Setup {
            ring: [2048, 1 << 16][seed as usize % 2],
            offload: seed.is_multiple_of(3),
            ..Setup::default()
        };
        let mut attack = Attack {
            random: Random::new(seed + 5),
            host: Host::new(1, &setup),
            now: Time::ZERO,
            local: "10.0.0.1:80".parse().unwrap(),
            remote: "10.0.0.2:4000".parse().unwrap(),
            theirs: 0,
            ours: 77,
            timestamp: 0,
            socket: None,
        };
        let options = SocketOptions {
            congestion: Algorithm::TABLE[seed as usize / 2 % Algorithm::TABLE.len()].1,
            ecn: seed.is_multiple_of(5),
            ..SocketOptions::default()
        };
        let (owner, local) = (Owner(0), attack.local);
        (attack.host.engine.listen(owner, local, 1, options, false)).unwrap();
        if seed.is_multiple_of(2) {
            let socket =
                (attack.host.engine).connect(Time::ZERO, owner, None, attack.remote, options);
            attack.socket = Some(socket.unwrap());
        }
        for _ in 0..2000 {
            let segment = attack.segment();
            let verified = Offload {
                checksum: Checksum::Verified,
                ..Offload::default()
            };
            attack.host.engine.receive(attack.now, &segment, verified);
            attack.poll();
            attack.act();
            attack.poll();
            let micros = [1, 100, 3000, 100_000][attack.below(4) as usize];
            attack.now = attack.now + Duration::from_micros(micros);
            attack.poll();
        }
        attack.host.engine.release(owner);
        for _ in 0..3 {
            attack.poll();
            attack.now = attack.now + Duration::from_secs(200);
        }
        assert_eq!(attack.host.engine.memory().in_use(), 0);
        assert_eq!(attack.host.engine.connections().count(), 0);
    }
}

#[test]
fn anything_may_come() {
    for seed in seeds(200) {
        if let Err(panic) = std::panic::catch_unwind(|| Attack::run(seed)) {
            eprintln!("seed {seed}");
            std::panic::resume_unwind(panic);
        }
    }
}
