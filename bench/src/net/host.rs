//! An engine and an application in one thread: what the stack does, without what applications add.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

use evener_net::datagram::{self, Record};
use evener_net::device::{Device, Prefix};
use evener_net::engine::{Config, Engine, Owner, PrivateMemory, SocketId, SocketOptions};
use evener_net::memory::{Reader, Writer};
use evener_net::tcp::Happened;
use evener_net::tcp::congestion::Algorithm;
use evener_net::time::Time;

/// Packets that are taken from the device at a time.
const BATCH: usize = 64;
/// Turns between two looks at the time.
const TURNS: u32 = 64;
/// Bytes that an application handles at a time.
const CHUNK: usize = 64 << 10;

/// What the application does on its sockets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// Takes all that comes, in place, and looks at none of it.
    Sink,
    /// Sends whenever there is room, so many bytes at a time, what is in the ring.
    Source(usize),
    /// Sends back what comes.
    Echo,
    /// Sends so many bytes, waits for as many, and times that.
    Ask(usize),
    /// Sends datagrams of so many bytes, so many under one header.
    Datagrams(usize, usize),
    /// Counts datagrams.
    DatagramSink,
}

struct Socket {
    writer: Writer,
    reader: Reader,
    /// Bytes that are to come back.
    awaited: usize,
    asked_at: Instant,
}

/// One end.
pub struct Host {
    engine: Engine<PrivateMemory>,
    device: Box<dyn Device>,
    begun: Instant,
    address: IpAddr,
    work: Work,
    sockets: HashMap<SocketId, Socket>,
    scratch: Vec<u8>,
    /// Bytes, or datagrams, that have come.
    pub received: u64,
    /// How long answers took.
    pub took: Vec<Duration>,
}

impl Host {
    /// With rings of `ring` bytes, a power of two.
    pub fn new(device: Box<dyn Device>, address: IpAddr, ring: usize, work: Work) -> Host {
        let config = Config {
            addresses: vec![Prefix { address, len: 24 }],
            ..Config::default()
        };
        Host {
            engine: Engine::new(config, device.capabilities(), PrivateMemory::new(ring)),
            device,
            begun: Instant::now(),
            address,
            work,
            sockets: HashMap::new(),
            scratch: vec![0x5a; CHUNK],
            received: 0,
            took: Vec::new(),
        }
    }

    fn now(&self) -> Time {
        Time(self.begun.elapsed().as_nanos() as u64)
    }

    fn options(congestion: Algorithm) -> SocketOptions {
        SocketOptions {
            congestion,
            no_delay: true,
            ..SocketOptions::default()
        }
    }

    /// Connections may come to `port`.
    ///
    /// # Panics
    /// If the port is taken.
    pub fn listen(&mut self, port: u16, congestion: Algorithm) {
        let local = SocketAddr::new(self.address, port);
        let options = Self::options(congestion);
        let listener = self.engine.listen(Owner(0), local, 1024, options, false);
        listener.expect("a port that is free");
    }

    /// Begins to connect.
    ///
    /// # Panics
    /// If there is no way.
    pub fn connect(&mut self, to: SocketAddr, congestion: Algorithm) {
        let now = self.now();
        let options = Self::options(congestion);
        let socket = self.engine.connect(now, Owner(0), None, to, options);
        socket.expect("a way to the peer");
    }

    /// A socket of UDP.
    ///
    /// # Panics
    /// If the port is taken.
    pub fn bind(&mut self, port: u16, to: Option<SocketAddr>) {
        let local = SocketAddr::new(self.address, port);
        let socket = self.engine.bind_datagrams(Owner(0), local, to, false);
        let socket = socket.expect("a port that is free");
        let slot = self.engine.slot(socket).expect("it has rings");
        self.add(socket, slot);
    }

    fn add(&mut self, id: SocketId, slot: u32) {
        let (writer, reader) = self.engine.memory().ends(slot);
        let socket = Socket {
            writer,
            reader,
            awaited: 0,
            asked_at: self.begun,
        };
        self.sockets.insert(id, socket);
        self.serve(id);
    }

    /// Connections that are established.
    pub fn connected(&self) -> usize {
        self.sockets.len()
    }

    /// Until `until`.
    ///
    /// # Errors
    /// What the device says.
    pub fn run(&mut self, until: Instant) -> io::Result<()> {
        self.run_while(|_| Instant::now() < until)
    }

    /// While `goes_on`, which is asked now and then.
    ///
    /// # Errors
    /// What the device says.
    pub fn run_while(&mut self, mut goes_on: impl FnMut(&Host) -> bool) -> io::Result<()> {
        while goes_on(self) {
            for _ in 0..TURNS {
                self.turn()?;
            }
        }
        Ok(())
    }

    /// Takes a batch of packets, lets applications do their work, and sends.
    ///
    /// # Errors
    /// What the device says.
    pub fn turn(&mut self) -> io::Result<()> {
        let now = self.now();
        let engine = &mut self.engine;
        self.device.receive(BATCH, &mut |bytes, offload| {
            engine.receive(now, bytes, offload)
        })?;
        if self.engine.next_deadline() <= now {
            self.engine.advance(now);
        }
        while let Some(event) = self.engine.next_event() {
            if event.happened.has(Happened::CONNECTED) {
                self.add(event.socket, event.slot);
            } else {
                self.serve(event.socket);
            }
        }
        self.engine.transmit(now, &mut *self.device)?;
        Ok(())
    }

    /// What the application does when something happened to a socket.
    fn serve(&mut self, id: SocketId) {
        let Some(socket) = self.sockets.get_mut(&id) else {
            return;
        };
        let scratch = &mut self.scratch;
        let did = match self.work {
            Work::Sink => {
                let len = socket.reader.available();
                socket.reader.advance(len);
                self.received += len as u64;
                len > 0
            }
            Work::Source(len) => {
                let mut wrote = false;
                while socket.writer.room() >= len {
                    socket.writer.advance(len);
                    wrote = true;
                }
                wrote
            }
            Work::Echo => {
                let mut echoed = false;
                while let len @ 1.. = socket.reader.read(scratch) {
                    socket.writer.write(&scratch[..len]);
                    echoed = true;
                }
                echoed
            }
            Work::Ask(len) => {
                let got = socket.reader.read(scratch);
                socket.awaited -= got.min(socket.awaited);
                if socket.awaited > 0 {
                    got > 0
                } else {
                    let now = Instant::now();
                    if got > 0 {
                        self.took.push(now - socket.asked_at);
                    }
                    socket.asked_at = now;
                    socket.awaited = len;
                    socket.writer.write(&scratch[..len]);
                    true
                }
            }
            Work::Datagrams(len, count) => {
                let record = Record {
                    len: len * count,
                    segment: if count > 1 { len as u16 } else { 0 },
                    remote: SocketAddr::new([0, 0, 0, 0].into(), 0),
                };
                let mut wrote = false;
                while datagram::write(&mut socket.writer, &record, &scratch[..record.len]) {
                    wrote = true;
                }
                wrote
            }
            Work::DatagramSink => {
                let before = self.received;
                while let Ok(Some(record)) = datagram::read(&mut socket.reader, scratch) {
                    self.received += match record.segment {
                        0 => 1,
                        size => record.len.div_ceil(usize::from(size)) as u64,
                    };
                }
                self.received > before
            }
        };
        if did {
            self.engine.notify(id);
        }
    }
}
