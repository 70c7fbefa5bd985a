//! Beside another implementation: smoltcp, in virtual time, over a path that loses, delays and doubles packets.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::Duration;

use evener_net::engine::{Owner, SocketId, SocketOptions};
use evener_net::packet::Offload;
use evener_net::tcp::Happened;
use evener_net::tcp::congestion::Algorithm;
use evener_net::time::Time;
use smoltcp::iface::{Config, Interface, SocketHandle, SocketSet};
use smoltcp::phy::{Device, DeviceCapabilities, Medium, RxToken, TxToken};
use smoltcp::socket::tcp;
use smoltcp::time::Instant;
use smoltcp::wire::{HardwareAddress, IpCidr};

use crate::network::{Host, Pair, Random, Setup, bytes, seeds};

#[derive(Default)]
struct Wire {
    arrived: VecDeque<Vec<u8>>,
    sent: Vec<Vec<u8>>,
}

struct Arrived(Vec<u8>);

impl RxToken for Arrived {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, f: F) -> R {
        f(&self.0)
    }
}

struct Room<'a>(&'a mut Vec<Vec<u8>>);

impl TxToken for Room<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, len: usize, f: F) -> R {
        let mut packet = vec![0; len];
        let result = f(&mut packet);
        self.0.push(packet);
        result
    }
}

impl Device for Wire {
    type RxToken<'a> = Arrived;
    type TxToken<'a> = Room<'a>;

    fn receive(&mut self, _now: Instant) -> Option<(Arrived, Room<'_>)> {
        let packet = self.arrived.pop_front()?;
        Some((Arrived(packet), Room(&mut self.sent)))
    }

    fn transmit(&mut self, _now: Instant) -> Option<Room<'_>> {
        Some(Room(&mut self.sent))
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        capabilities.medium = Medium::Ip;
        capabilities.max_transmission_unit = 1500;
        capabilities
    }
}

struct Peer {
    wire: Wire,
    interface: Interface,
    sockets: SocketSet<'static>,
    socket: SocketHandle,
}

fn instant(time: Time) -> Instant {
    Instant::from_micros(time.micros() as i64)
}

impl Peer {
    fn new() -> Peer {
        let mut wire = Wire::default();
        let config = Config::new(HardwareAddress::Ip);
        let mut interface = Interface::new(config, &mut wire, instant(Time::ZERO));
        interface.update_ip_addrs(|addresses| {
            addresses
                .push("10.0.0.2/24".parse::<IpCidr>().unwrap())
                .unwrap();
        });
        let buffer = || tcp::SocketBuffer::new(vec![0; 1 << 16]);
        let mut sockets = SocketSet::new(Vec::new());
        let socket = sockets.add(tcp::Socket::new(buffer(), buffer()));
        Peer {
            wire,
            interface,
            sockets,
            socket,
        }
    }

    fn socket(&mut self) -> &mut tcp::Socket<'static> {
        self.sockets.get_mut(self.socket)
    }

    fn poll(&mut self, now: Time) -> Vec<Vec<u8>> {
        (self.interface).poll(instant(now), &mut self.wire, &mut self.sockets);
        std::mem::take(&mut self.wire.sent)
    }

    fn deadline(&mut self, now: Time) -> Time {
        let at = self.interface.poll_at(instant(now), &self.sockets);
        at.map_or(Time::NEVER, |at| {
            Time::from_micros(at.total_micros() as u64 + 1)
        })
    }
}

struct Run {
    now: Time,
    random: Random,
    host: Host,
    peer: Peer,
    /// When, in which order, to the peer or the host, what.
    flights: Vec<(Time, u64, bool, Vec<u8>)>,
    count: u64,
    loss: u32,
    socket: Option<SocketId>,
    pair: Option<Pair>,
}

impl Run {
    fn carry(&mut self, to_peer: bool, packet: Vec<u8>) {
        if self.random.chance(self.loss) {
            return;
        }
        let copies = 1 + usize::from(self.random.chance(self.loss / 4));
        for _ in 0..copies {
            let late = Duration::from_micros(if self.random.chance(self.loss) {
                3000
            } else {
                0
            });
            let at = self.now + Duration::from_millis(2) + late;
            self.count += 1;
            self.flights.push((at, self.count, to_peer, packet.clone()));
        }
    }

    fn step(&mut self) {
        for (packet, _) in self.host.poll(self.now) {
            self.carry(true, packet);
        }
        for packet in self.peer.poll(self.now) {
            self.carry(false, packet);
        }
        for event in std::mem::take(&mut self.host.events) {
            if event.listener.is_some() && event.happened.has(Happened::CONNECTED) {
                self.socket = Some(event.socket);
                self.pair = Some(self.host.pair(event.socket));
            }
            assert_eq!(event.reason, None);
        }
        let arrival = self.flights.iter().map(|flight| flight.0).min();
        let next = (self.host.engine.next_deadline())
            .min(self.peer.deadline(self.now))
            .min(arrival.unwrap_or(Time::NEVER))
            .min(self.now + Duration::from_millis(20));
        self.now = next.max(Time(self.now.0 + 1000));
        self.flights.sort();
        while self
            .flights
            .first()
            .is_some_and(|flight| flight.0 <= self.now)
        {
            let (_, _, to_peer, packet) = self.flights.remove(0);
            if to_peer {
                self.peer.wire.arrived.push_back(packet);
            } else {
                (self.host.engine).receive(self.now, &packet, Offload::default());
            }
        }
    }
}

fn exchange(seed: u64) {
    let mut random = Random::new(seed + 77);
    let options = SocketOptions {
        congestion: Algorithm::TABLE[seed as usize / 4 % Algorithm::TABLE.len()].1,
        no_delay: random.chance(500_000),
        ..SocketOptions::default()
    };
    let setup = Setup {
        ring: [4096, 1 << 16][random.next() as usize % 2],
        ..Setup::default()
    };
    let mut run = Run {
        now: Time::ZERO,
        host: Host::new(1, &setup),
        peer: Peer::new(),
        flights: Vec::new(),
        count: 0,
        loss: [0, 10_000, 60_000][random.next() as usize % 3],
        socket: None,
        pair: None,
        random,
    };
    let local: SocketAddr = "10.0.0.1:80".parse().unwrap();
    if seed % 4 < 2 {
        let remote = "10.0.0.2:81".parse().unwrap();
        run.peer.socket().listen(81).unwrap();
        let socket = (run
            .host
            .engine
            .connect(run.now, Owner(0), None, remote, options))
        .unwrap();
        run.socket = Some(socket);
        run.pair = Some(run.host.pair(socket));
    } else {
        (run.host.engine.listen(Owner(0), local, 4, options, false)).unwrap();
        let Peer {
            interface,
            sockets,
            socket,
            ..
        } = &mut run.peer;
        let socket = sockets.get_mut::<tcp::Socket<'_>>(*socket);
        socket
            .connect(interface.context(), (local.ip(), 80), 4000)
            .unwrap();
    }
    let ours = bytes(run.random.next() as usize % 200_000, seed);
    let theirs = bytes(run.random.next() as usize % 200_000, seed + 1);
    let (mut sent, mut received) = (0, Vec::new());
    let (mut peer_sent, mut peer_received) = (0, Vec::new());
    let mut buffer = vec![0; 1 << 16];
    let (mut shut, mut closed) = (false, false);
    while !closed || run.peer.socket().is_active() {
        run.step();
        assert!(
            run.now < Time::from_millis(3_600_000),
            "no end: {:?}",
            run.peer.socket().state()
        );
        let chunk = 1 + run.random.next() as usize % 20_000;
        let reads = run.random.chance(600_000);
        let socket = run.peer.socket();
        if socket.can_send() && peer_sent < theirs.len() {
            peer_sent += socket.send_slice(&theirs[peer_sent..]).unwrap();
        } else if peer_sent == theirs.len() && socket.may_send() {
            socket.close();
        }
        if reads && socket.can_recv() {
            let len = socket.recv_slice(&mut buffer[..chunk]).unwrap();
            peer_received.extend_from_slice(&buffer[..len]);
        }
        let (Some(socket), Some(pair), false) = (run.socket, &run.pair, closed) else {
            continue;
        };
        if sent < ours.len() {
            let end = ours.len().min(sent + chunk);
            sent += pair.writer.borrow_mut().write(&ours[sent..end]);
            assert!(run.host.engine.notify(socket));
        }
        if run.random.chance(600_000) {
            let len = pair.reader.borrow_mut().read(&mut buffer[..chunk]);
            received.extend_from_slice(&buffer[..len]);
            assert!(run.host.engine.notify(socket));
        }
        use evener_net::tcp::State;
        let state = run.host.engine.info(socket).unwrap().state;
        if sent == ours.len() && !shut && !matches!(state, State::SynSent | State::SynReceived) {
            shut = run.host.engine.shutdown(socket);
        }
        if shut && received.len() == theirs.len() && peer_received.len() == ours.len() {
            closed = run.host.engine.close(run.now, socket);
        }
    }
    assert!(
        received == theirs && peer_received == ours,
        "the bytes differ"
    );
    for _ in 0..40_000 {
        run.step();
    }
    assert_eq!(
        run.host.engine.memory().in_use(),
        0,
        "rings were not given back"
    );
}

#[test]
fn the_same_bytes_arrive() {
    for seed in seeds(60) {
        if let Err(panic) = std::panic::catch_unwind(|| exchange(seed)) {
            eprintln!("seed {seed}");
            std::panic::resume_unwind(panic);
        }
    }
}
