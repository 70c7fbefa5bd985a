//! Random schedules between two engines: whatever the path and the applications do, the same bytes arrive, connections end
//! and all memory comes back.

use std::net::SocketAddr;
use std::time::Duration;

use evener_net::engine::{Owner, SocketId, SocketOptions};
use evener_net::tcp::congestion::Algorithm;
use evener_net::tcp::{Happened, Reason};

use crate::network::{Network, Pair, Path, Random, Setup, bytes, seeds};

/// The application of one side.
struct Side {
    socket: Option<SocketId>,
    pair: Option<Pair>,
    to_send: Vec<u8>,
    sent: usize,
    received: Vec<u8>,
    shut: bool,
    closed: bool,
    aborted: bool,
    finished: bool,
    over: Option<Option<Reason>>,
}

impl Side {
    fn new(to_send: Vec<u8>) -> Side {
        Side {
            socket: None,
            pair: None,
            to_send,
            sent: 0,
            received: Vec::new(),
            shut: false,
            closed: false,
            aborted: false,
            finished: false,
            over: None,
        }
    }
}

fn below(random: &mut Random, limit: u64) -> u64 {
    random.next() % limit
}

fn one_of<T: Copy>(random: &mut Random, items: &[T]) -> T {
    items[below(random, items.len() as u64) as usize]
}

fn random_options(random: &mut Random) -> SocketOptions {
    SocketOptions {
        congestion: one_of(random, &Algorithm::TABLE).1,
        no_delay: random.chance(500_000),
        sack: random.chance(800_000),
        timestamps: random.chance(700_000),
        ecn: random.chance(500_000),
        ..SocketOptions::default()
    }
}

fn random_path(random: &mut Random) -> Path {
    Path {
        delay: Duration::from_micros(one_of(random, &[50, 500, 5_000, 40_000])),
        rate: one_of(random, &[0, 0, 2_000_000, 50_000_000]),
        queue: one_of(random, &[10_000, 100_000]),
        loss: one_of(random, &[0, 1_000, 20_000, 80_000]),
        reordered: one_of(random, &[0, 20_000, 200_000]),
        duplicated: one_of(random, &[0, 0, 30_000]),
    }
}

struct Schedule {
    network: Network,
    sides: [Side; 2],
    random: Random,
    aborts: bool,
}

impl Schedule {
    fn new(seed: u64) -> Schedule {
        let mut random = Random::new(seed + 1);
        for _ in 0..8 {
            random.next();
        }
        let setup = Setup {
            ring: one_of(&mut random, &[1024, 4096, 16384, 1 << 17]),
            mtu: one_of(&mut random, &[576, 1500, 9000]),
            offload: random.chance(500_000),
            v6: false,
            room: usize::MAX,
        };
        let mut network = Network::new(setup, random_path(&mut random), seed);
        network.paths[1] = random_path(&mut random);
        let most = if setup.ring < 4096 { 20_000 } else { 200_000 };
        let sides = [0, 1].map(|_| {
            let len = one_of(&mut random, &[0, 10, most / 10, most]);
            let len = below(&mut random, len + 1) as usize;
            Side::new(bytes(len, random.next()))
        });
        let aborts = random.chance(100_000);
        Schedule {
            network,
            sides,
            random,
            aborts,
        }
    }

    fn open(&mut self) {
        let ends = [0, 1].map(|side| SocketAddr::new(self.network.hosts[side].address, 5000));
        let options = [0, 1].map(|_| random_options(&mut self.random));
        let both = self.random.chance(200_000);
        let now = self.network.now;
        let owner = Owner(0);
        for side in 0..2 {
            let (local, remote) = (ends[side], ends[1 - side]);
            let engine = &mut self.network.hosts[side].engine;
            if side == 1 && !both {
                let backlog = one_of(&mut self.random, &[0, 16]);
                (engine.listen(owner, local, backlog, options[1], false)).unwrap();
            } else {
                let socket = engine.connect(now, owner, Some(local), remote, options[side]);
                self.sides[side].socket = Some(socket.unwrap());
                self.sides[side].pair = Some(self.network.hosts[side].pair(socket.unwrap()));
            }
        }
    }

    fn events(&mut self, number: usize) {
        for event in std::mem::take(&mut self.network.hosts[number].events) {
            if event.listener.is_some() && event.happened.has(Happened::CONNECTED) {
                // A second one is what an old SYN began.
                if self.sides[number].socket.is_some() {
                    let now = self.network.now;
                    self.network.hosts[number].engine.close(now, event.socket);
                    continue;
                }
                self.sides[number].socket = Some(event.socket);
                self.sides[number].pair = Some(self.network.hosts[number].pair(event.socket));
            }
            let side = &mut self.sides[number];
            if side.socket != Some(event.socket) {
                continue;
            }
            side.finished |= event.happened.has(Happened::FINISHED);
            if event.happened.has(Happened::CLOSED) {
                side.over = Some(event.reason);
            }
        }
    }

    /// What the application of one side does now.
    fn act(&mut self, number: usize) {
        self.events(number);
        let now = self.network.now;
        let side = &mut self.sides[number];
        let engine = &mut self.network.hosts[number].engine;
        let (Some(socket), Some(pair)) = (side.socket, &side.pair) else {
            return;
        };
        if side.closed {
            return;
        }
        if self.aborts && self.random.chance(3_000) {
            engine.abort(socket);
            side.closed = true;
            side.aborted = true;
            return;
        }
        if self.random.chance(700_000) && !side.shut {
            let len = below(&mut self.random, 20_000) as usize;
            let rest = &side.to_send[side.sent..];
            let written = pair.writer.borrow_mut().write(&rest[..rest.len().min(len)]);
            side.sent += written;
            if written > 0 {
                assert!(engine.notify(socket));
            }
        }
        if self.random.chance(700_000) {
            let mut buffer = vec![0; 1 + below(&mut self.random, 20_000) as usize];
            let len = pair.reader.borrow_mut().read(&mut buffer);
            side.received.extend_from_slice(&buffer[..len]);
            if len > 0 {
                assert!(engine.notify(socket));
            }
        }
        if side.over.is_some() {
            // What had come before it ended can still be read.
            let mut buffer = vec![0; 1 << 17];
            let len = pair.reader.borrow_mut().read(&mut buffer);
            side.received.extend_from_slice(&buffer[..len]);
            engine.close(now, socket);
            side.closed = true;
            return;
        }
        let connected = engine.info(socket).is_some_and(|info| {
            use evener_net::tcp::State;
            !matches!(info.state, State::SynSent | State::SynReceived)
        });
        if side.sent == side.to_send.len() && !side.shut && connected {
            if self.random.chance(500_000) {
                assert!(engine.shutdown(socket));
            }
            side.shut = self.random.chance(500_000);
            if side.shut {
                assert!(engine.shutdown(socket));
            }
        }
        if side.shut && side.finished && pair.reader.borrow().available() == 0 {
            assert!(engine.close(now, socket));
            side.closed = true;
        }
    }

    fn run(mut self) {
        self.open();
        let limit = self.network.now + Duration::from_secs(3600);
        while !self
            .sides
            .iter()
            .all(|side| side.closed || side.socket.is_none())
        {
            for number in 0..2 {
                self.act(number);
            }
            // Applications look at their sockets at least so often.
            let soon = (self.network.now + Duration::from_millis(20)).min(limit);
            self.network.step(soon);
            assert!(
                self.network.now < limit,
                "no end: {:?}",
                [0, 1].map(|side| self.sides[side]
                    .socket
                    .and_then(|socket| self.network.hosts[side].engine.info(socket)))
            );
        }
        let failed = |side: &Side| side.over.is_some_and(|reason| reason.is_some());
        let aborted = self.sides.iter().any(|side| side.aborted);
        for number in 0..2 {
            let (side, other) = (&self.sides[number], &self.sides[1 - number]);
            let sent = &other.to_send[..other.sent];
            assert!(sent.starts_with(&side.received), "the bytes differ");
            if !aborted && !failed(side) && !failed(other) {
                assert_eq!(
                    side.received.len(),
                    sent.len(),
                    "side {number}; over {:?} and {:?}, finished {} and {}",
                    side.over,
                    other.over,
                    side.finished,
                    other.finished
                );
            }
            if !self.aborts {
                assert_eq!(side.over.flatten(), None, "it failed");
            }
        }
        // The longest wait there is: an orphan that sends again and again.
        let end = self.network.now + Duration::from_secs(700);
        while self.network.step(end) {
            for host in &mut self.network.hosts {
                // One that came when its peer was gone.
                for event in std::mem::take(&mut host.events) {
                    host.engine.close(self.network.now, event.socket);
                }
            }
        }
        for number in 0..2 {
            let host = &mut self.network.hosts[number];
            assert_eq!(host.engine.connections().count(), 0);
            assert_eq!(
                host.engine.memory().in_use(),
                0,
                "rings were not given back"
            );
        }
    }
}

#[test]
fn whatever_happens_the_same_bytes_arrive() {
    for seed in seeds(300) {
        if let Err(panic) = std::panic::catch_unwind(|| Schedule::new(seed).run()) {
            eprintln!("seed {seed}");
            std::panic::resume_unwind(panic);
        }
    }
}
