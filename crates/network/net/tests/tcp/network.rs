//! Two engines and a path between them, in virtual time.

use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::ops::Range;
use std::os::fd::BorrowedFd;
use std::rc::Rc;
use std::time::Duration;

use evener_net::device::{Capabilities, Device, Medium, Prefix};
use evener_net::engine::{
    Buffers, Config, Engine, Event, Memory, Owner, PrivateMemory, SocketId, SocketOptions,
};
use evener_net::memory::{Reader, Writer};
use evener_net::packet::{Offload, Outgoing};
use evener_net::tcp::Happened;
use evener_net::time::Time;

/// Numbers that look random and are the same in each run.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// With a chance of so many in a million.
    pub fn chance(&mut self, millionths: u32) -> bool {
        self.next() % 1_000_000 < u64::from(millionths)
    }
}

/// The ends of rings that an application has.
#[derive(Clone)]
pub struct Pair {
    pub writer: Rc<RefCell<Writer>>,
    pub reader: Rc<RefCell<Reader>>,
}

/// Rings in memory of the test, of which the application's ends are kept when the engine has given them back.
pub struct TestMemory {
    rings: PrivateMemory,
    pub pairs: HashMap<u32, Pair>,
}

impl TestMemory {
    pub fn in_use(&self) -> usize {
        self.rings.in_use()
    }
}

impl Memory for TestMemory {
    fn allocate(&mut self, owner: Owner) -> Option<Buffers> {
        let buffers = self.rings.allocate(owner)?;
        let (writer, reader) = self.rings.ends(buffers.slot);
        let pair = Pair {
            writer: Rc::new(RefCell::new(writer)),
            reader: Rc::new(RefCell::new(reader)),
        };
        self.pairs.insert(buffers.slot, pair);
        Some(buffers)
    }

    fn release(&mut self, owner: Owner, slot: u32) {
        self.rings.release(owner, slot);
    }

    fn receive_size(&self, owner: Owner) -> u64 {
        self.rings.receive_size(owner)
    }
}

/// What the path does to packets.
#[derive(Clone, Copy, Debug)]
pub struct Path {
    pub delay: Duration,
    /// Bits a second; 0 for no limit.
    pub rate: u64,
    /// Bytes that wait at most.
    pub queue: u64,
    /// In a million.
    pub loss: u32,
    pub reordered: u32,
    pub duplicated: u32,
}

impl Default for Path {
    fn default() -> Path {
        Path {
            delay: Duration::from_millis(5),
            rate: 0,
            queue: 256 << 10,
            loss: 0,
            reordered: 0,
            duplicated: 0,
        }
    }
}

struct Outbox {
    capabilities: Capabilities,
    /// Packets that it takes until they are taken from it.
    room: usize,
    packets: VecDeque<(Vec<u8>, Offload)>,
}

impl Device for Outbox {
    fn capabilities(&self) -> Capabilities {
        self.capabilities
    }

    fn receive(
        &mut self,
        _limit: usize,
        _each: &mut dyn FnMut(&[u8], Offload),
    ) -> io::Result<usize> {
        Ok(0)
    }

    fn send(&mut self, packet: Outgoing<'_>) -> io::Result<bool> {
        if self.packets.len() == self.room {
            return Ok(false);
        }
        let mut bytes = vec![0; packet.len()];
        packet.copy_to(&mut bytes);
        self.packets.push_back((bytes, packet.offload));
        Ok(true)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn readable(&self) -> Option<BorrowedFd<'_>> {
        None
    }
}

pub struct Host {
    pub engine: Engine<TestMemory>,
    pub address: IpAddr,
    outbox: Outbox,
    pub events: Vec<Event>,
}

/// How hosts are made.
#[derive(Clone, Copy, Debug)]
pub struct Setup {
    pub ring: usize,
    pub mtu: u16,
    pub offload: bool,
    pub v6: bool,
    /// Packets that a device takes at a time.
    pub room: usize,
}

impl Default for Setup {
    fn default() -> Setup {
        Setup {
            ring: 1 << 18,
            mtu: 1500,
            offload: false,
            v6: false,
            room: usize::MAX,
        }
    }
}

impl Host {
    pub fn new(number: u8, setup: &Setup) -> Host {
        let address: IpAddr = if setup.v6 {
            format!("fd00::{number}").parse().unwrap()
        } else {
            format!("10.0.0.{number}").parse().unwrap()
        };
        let capabilities = Capabilities {
            medium: Medium::Ip,
            mtu: setup.mtu,
            tcp_segments: if setup.offload {
                65535
            } else {
                u32::from(setup.mtu)
            },
            udp_segments: u32::from(setup.mtu),
            checksums: setup.offload,
        };
        let config = Config {
            addresses: vec![Prefix { address, len: 24 }],
            seed: [number; 16],
            ..Config::default()
        };
        let memory = TestMemory {
            rings: PrivateMemory::new(setup.ring),
            pairs: HashMap::new(),
        };
        Host {
            engine: Engine::new(config, capabilities, memory),
            address,
            outbox: Outbox {
                capabilities,
                room: setup.room,
                packets: VecDeque::new(),
            },
            events: Vec::new(),
        }
    }

    /// What the engine does at `now`. Returns what goes out.
    pub fn poll(&mut self, now: Time) -> VecDeque<(Vec<u8>, Offload)> {
        self.engine.advance(now);
        let more = self.engine.transmit(now, &mut self.outbox).unwrap();
        assert!(!more || self.outbox.packets.len() == self.outbox.room);
        while let Some(event) = self.engine.next_event() {
            self.events.push(event);
        }
        std::mem::take(&mut self.outbox.packets)
    }

    pub fn pair(&mut self, socket: SocketId) -> Pair {
        let slot = self.engine.slot(socket).expect("it has rings");
        self.engine.memory().pairs[&slot].clone()
    }
}

struct Flight {
    arrives: Time,
    number: u64,
    to: usize,
    bytes: Vec<u8>,
    offload: Offload,
}

/// Sees a packet of a host, and says whether it goes on.
pub type Filter = Box<dyn FnMut(usize, &[u8]) -> bool>;

/// Two hosts and a path in each direction.
pub struct Network {
    pub now: Time,
    pub hosts: [Host; 2],
    pub paths: [Path; 2],
    free_at: [Time; 2],
    flights: Vec<Flight>,
    numbers: u64,
    random: Random,
    /// Sees each packet that goes out, by host; false drops it.
    pub filter: Filter,
    pub dropped: u64,
}

impl Network {
    pub fn new(setup: Setup, path: Path, seed: u64) -> Network {
        Network {
            now: Time::ZERO,
            hosts: [Host::new(1, &setup), Host::new(2, &setup)],
            paths: [path; 2],
            free_at: [Time::ZERO; 2],
            flights: Vec::new(),
            numbers: 0,
            random: Random::new(seed),
            filter: Box::new(|_, _| true),
            dropped: 0,
        }
    }

    /// A packet of host `from` that a test made.
    pub fn inject(&mut self, from: usize, bytes: Vec<u8>) {
        self.carry(from, bytes, Offload::default());
    }

    fn carry(&mut self, from: usize, bytes: Vec<u8>, offload: Offload) {
        let path = self.paths[from];
        if !(self.filter)(from, &bytes) || self.random.chance(path.loss) {
            self.dropped += 1;
            return;
        }
        let mut leaves = self.now;
        if path.rate > 0 {
            let begins = self.free_at[from].max(self.now);
            let waiting = begins.since(self.now).as_nanos() as u64 * path.rate / 8_000_000_000;
            if waiting > path.queue {
                self.dropped += 1;
                return;
            }
            let takes = Duration::from_nanos(bytes.len() as u64 * 8_000_000_000 / path.rate);
            leaves = begins + takes;
            self.free_at[from] = leaves;
        }
        let late = self.random.chance(path.reordered);
        let arrives = leaves + path.delay + if late { path.delay / 2 } else { Duration::ZERO };
        let copies = 1 + usize::from(self.random.chance(path.duplicated));
        for _ in 0..copies {
            self.numbers += 1;
            self.flights.push(Flight {
                arrives,
                number: self.numbers,
                to: 1 - from,
                bytes: bytes.clone(),
                offload,
            });
        }
    }

    /// Everything that happens without time passing.
    pub fn settle(&mut self) {
        loop {
            let mut quiet = true;
            for number in 0..2 {
                let now = self.now;
                for (bytes, offload) in self.hosts[number].poll(now) {
                    self.carry(number, bytes, offload);
                }
            }
            let now = self.now;
            self.flights
                .sort_by_key(|flight| (flight.arrives, flight.number));
            while self
                .flights
                .first()
                .is_some_and(|flight| flight.arrives <= now)
            {
                let flight = self.flights.remove(0);
                self.hosts[flight.to]
                    .engine
                    .receive(now, &flight.bytes, flight.offload);
                quiet = false;
            }
            if quiet {
                return;
            }
        }
    }

    /// To the next thing that happens, though not beyond `until`. False when that is reached.
    pub fn step(&mut self, until: Time) -> bool {
        self.settle();
        let arrival = (self.flights.iter().map(|flight| flight.arrives))
            .min()
            .unwrap_or(Time::NEVER);
        let deadline = (self.hosts.iter().map(|host| host.engine.next_deadline()))
            .min()
            .unwrap();
        let next = arrival.min(deadline).max(Time(self.now.0 + 1));
        if next > until {
            self.now = until;
            self.settle();
            return false;
        }
        self.now = next;
        true
    }

    /// Lets `time` pass.
    pub fn pass(&mut self, time: Duration) {
        let until = self.now + time;
        while self.step(until) {}
    }

    /// A connection from the first host to the second, established.
    pub fn connected(&mut self, options: SocketOptions) -> (SocketId, SocketId) {
        let remote = SocketAddr::new(self.hosts[1].address, 80);
        let server = &mut self.hosts[1].engine;
        server.listen(Owner(0), remote, 16, options, false).unwrap();
        let now = self.now;
        let client = &mut self.hosts[0].engine;
        let client = client
            .connect(now, Owner(0), None, remote, options)
            .unwrap();
        let until = self.now + Duration::from_secs(60);
        while self.accepted().is_none() {
            assert!(self.step(until), "no connection");
        }
        self.settle();
        (client, self.accepted().unwrap())
    }

    /// The connection that the second host was told to accept last.
    pub fn accepted(&self) -> Option<SocketId> {
        (self.hosts[1].events.iter().rev())
            .find(|event| event.listener.is_some() && event.happened.has(Happened::CONNECTED))
            .map(|event| event.socket)
    }

    /// Sends `bytes` from a socket of host `from` to one of the other, with reads of up to `chunk`, and returns how long
    /// that took.
    pub fn transfer(
        &mut self,
        from: usize,
        sockets: [SocketId; 2],
        bytes: &[u8],
        chunk: usize,
        limit: Duration,
    ) -> Duration {
        let to = 1 - from;
        let writer = self.hosts[from].pair(sockets[from]).writer;
        let reader = self.hosts[to].pair(sockets[to]).reader;
        let begun = self.now;
        let mut written = 0;
        let mut received = Vec::with_capacity(bytes.len());
        let mut buffer = vec![0; chunk];
        while received.len() < bytes.len() {
            let len = writer.borrow_mut().write(&bytes[written..]);
            if len > 0 {
                written += len;
                assert!(self.hosts[from].engine.notify(sockets[from]));
            }
            self.settle();
            loop {
                let len = reader.borrow_mut().read(&mut buffer);
                if len == 0 {
                    break;
                }
                received.extend_from_slice(&buffer[..len]);
                assert!(self.hosts[to].engine.notify(sockets[to]));
            }
            assert!(
                self.step(begun + limit),
                "{} of {} bytes after {limit:?}; {:?}",
                received.len(),
                bytes.len(),
                self.hosts[from].engine.info(sockets[from]),
            );
        }
        assert!(received == bytes, "the bytes differ");
        self.now.since(begun)
    }
}

/// The seeds of a test that has so many: `EVENER_SEED` is the first, and there are `EVENER_SEEDS`.
pub fn seeds(count: u64) -> Range<u64> {
    let number = |name| {
        std::env::var(name)
            .ok()
            .map(|text| text.parse::<u64>().unwrap())
    };
    let first = number("EVENER_SEED").unwrap_or(0);
    first..first + number("EVENER_SEEDS").unwrap_or(count)
}

/// Bytes that look random.
pub fn bytes(len: usize, seed: u64) -> Vec<u8> {
    let mut random = Random::new(seed);
    (0..len).map(|_| random.next() as u8).collect()
}
