//! The engine and the kernel of this machine, over TUN and TAP, in a network namespace that the test makes.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use evener_net::datagram;
use evener_net::device::Specification;
use evener_net::engine::{Config, Counters, Engine, Owner, PrivateMemory, SocketId, SocketOptions};
use evener_net::memory::{Reader, Writer};
use evener_net::tcp::Happened;
use evener_net::time::Time;
use evener_testing::{namespace, veth};

const PATIENCE: Duration = Duration::from_secs(60);
const PORT: u16 = 7;

/// An engine in a thread of its own, whose application sends back what comes: streams and datagrams, at port 7.
struct Echo {
    stop: Arc<AtomicBool>,
    /// Where it connects to next.
    connect: Arc<Mutex<Option<SocketAddr>>>,
    thread: JoinHandle<Counters>,
}

struct Socket {
    writer: Writer,
    reader: Reader,
    held: Vec<u8>,
    finished: bool,
}

impl Echo {
    fn start(device: &str, addresses: &[&str]) -> Echo {
        let device = Specification::parse(device).unwrap().open();
        let mut device = device.unwrap_or_else(|error| panic!("{error}"));
        let config = Config {
            addresses: addresses
                .iter()
                .map(|address| format!("{address}/24").parse().unwrap())
                .collect(),
            ..Config::default()
        };
        let memory = PrivateMemory::new(1 << 17);
        let mut engine = Engine::new(config, device.capabilities(), memory);
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let connect = Arc::new(Mutex::new(None));
        let connects = Arc::clone(&connect);
        let own: Vec<IpAddr> = addresses
            .iter()
            .map(|address| address.parse().unwrap())
            .collect();
        let thread = thread::spawn(move || {
            let begun = Instant::now();
            let mut streams: HashMap<SocketId, Socket> = HashMap::new();
            let mut datagrams = Vec::new();
            for ip in own {
                let local = SocketAddr::new(ip, PORT);
                engine
                    .listen(Owner(0), local, 16, SocketOptions::default(), false)
                    .unwrap();
                let socket = engine.bind_datagrams(Owner(0), local, None, false).unwrap();
                let slot = engine.slot(socket).unwrap();
                datagrams.push((socket, engine.memory().ends(slot)));
            }
            let mut buffer = vec![0; 1 << 16];
            while !stopped.load(Ordering::Relaxed) {
                let now = Time(begun.elapsed().as_nanos() as u64);
                let got = device
                    .receive(64, &mut |bytes, offload| {
                        engine.receive(now, bytes, offload)
                    })
                    .unwrap();
                engine.advance(now);
                if let Some(to) = connects.lock().unwrap().take() {
                    let options = SocketOptions::default();
                    engine.connect(now, Owner(0), None, to, options).unwrap();
                }
                while let Some(event) = engine.next_event() {
                    if event.happened.has(Happened::CONNECTED) {
                        let (writer, reader) = engine.memory().ends(event.slot);
                        let socket = Socket {
                            writer,
                            reader,
                            held: Vec::new(),
                            finished: false,
                        };
                        streams.insert(event.socket, socket);
                    }
                    if event.happened.has(Happened::FINISHED) {
                        streams.get_mut(&event.socket).unwrap().finished = true;
                    }
                }
                streams.retain(|&id, socket| {
                    let before = socket.held.len();
                    if before < 1 << 17 {
                        let len = socket.reader.read(&mut buffer);
                        socket.held.extend_from_slice(&buffer[..len]);
                    }
                    let sent = socket.writer.write(&socket.held);
                    let changed = sent > 0 || socket.held.len() > before;
                    socket.held.drain(..sent);
                    if changed {
                        assert!(engine.notify(id));
                    }
                    let over =
                        socket.finished && socket.held.is_empty() && socket.reader.available() == 0;
                    if over {
                        assert!(engine.close(now, id));
                    }
                    !over
                });
                for (id, (writer, reader)) in &mut datagrams {
                    while let Some(record) = datagram::read(reader, &mut buffer).unwrap() {
                        assert!(datagram::write(writer, &record, &buffer[..record.len]));
                        engine.notify(*id);
                    }
                }
                engine.transmit(now, &mut *device).unwrap();
                if got == 0 {
                    thread::yield_now();
                }
            }
            *engine.counters()
        });
        Echo {
            stop,
            connect,
            thread,
        }
    }

    fn end(self) -> Counters {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().unwrap()
    }
}

fn bytes(len: usize) -> Vec<u8> {
    (0..len as u64)
        .map(|at| (at.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56) as u8)
        .collect()
}

/// Sends `len` bytes and compares what comes back.
fn echo(stream: TcpStream, len: usize) {
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let all = bytes(len);
    let mut sender = stream.try_clone().unwrap();
    thread::scope(|scope| {
        scope.spawn(|| {
            sender.write_all(&all).unwrap();
            sender.shutdown(Shutdown::Write).unwrap();
        });
        let mut back = Vec::new();
        (&stream).read_to_end(&mut back).unwrap();
        assert!(back == all, "{} bytes came back", back.len());
    });
}

fn echo_datagrams(from: &str, to: SocketAddr) {
    let socket = UdpSocket::bind(from).unwrap();
    socket.connect(to).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut back = vec![0; 1 << 16];
    for len in [0, 1, 100, 1400, 1473, 5000, 65_000] {
        let all = bytes(len);
        socket.send(&all).unwrap();
        assert_eq!(socket.recv(&mut back).unwrap(), len);
        assert!(back[..len] == all);
    }
}

fn ping(address: &str) {
    match Command::new("ping")
        .args(["-c", "3", "-i", "0.2", "-W", "5", address])
        .output()
    {
        Ok(output) => {
            let text = String::from_utf8_lossy(&output.stdout);
            assert!(
                text.contains(" 0% packet loss"),
                "{text}{}",
                String::from_utf8_lossy(&output.stderr)
            );
        }
        Err(error) => evener_testing::skip(format_args!("no ping here: {error}")),
    }
}

fn everything(device: &str) {
    let own = SocketAddr::from(([10, 1, 0, 2], PORT));
    let engine = Echo::start(device, &["10.1.0.2"]);
    ping("10.1.0.2");
    for len in [0, 1, 1000, 5_000_000] {
        echo(TcpStream::connect_timeout(&own, PATIENCE).unwrap(), len);
    }
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| echo(TcpStream::connect_timeout(&own, PATIENCE).unwrap(), 300_000));
        }
    });
    echo_datagrams("10.1.0.1:0", own);
    // No socket listens there.
    let refused = TcpStream::connect_timeout(&SocketAddr::new(own.ip(), 9), PATIENCE);
    assert_eq!(
        refused.unwrap_err().kind(),
        std::io::ErrorKind::ConnectionRefused
    );
    let counters = engine.end();
    assert_eq!((counters.malformed, counters.bad_checksum), (0, 0));
    assert_eq!(counters.accepted, 12);
    // The other way round: the engine connects.
    let engine = Echo::start(device, &["10.1.0.2"]);
    let listener = TcpListener::bind("10.1.0.1:8").unwrap();
    *engine.connect.lock().unwrap() = Some(listener.local_addr().unwrap());
    echo(listener.accept().unwrap().0, 2_000_000);
    engine.end();
}

#[test]
fn over_tun_with_offload() {
    namespace::run("over_tun_with_offload", || {
        everything("tun:evt0,addr=10.1.0.1/24")
    });
}

#[test]
fn over_tun_without_offload() {
    namespace::run("over_tun_without_offload", || {
        everything("tun:evt0,addr=10.1.0.1/24,offload=off")
    });
}

#[test]
fn over_xdp_of_a_veth() {
    namespace::run_as_administrator("over_xdp_of_a_veth", || {
        if !veth::pair() || !veth::complete_checksums() {
            return;
        }
        match Specification::parse("xdp:v0").unwrap().open() {
            Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
                evener_testing::skip(error);
            }
            device => {
                drop(device);
                everything("xdp:v0");
            }
        }
    });
}

#[test]
fn datagrams_of_any_size_over_ipv6() {
    namespace::run("datagrams_of_any_size_over_ipv6", || {
        let engine = Echo::start("tun:evt0,addr=fd00::1/64", &["fd00::2"]);
        let kernel = "[fd00::1]:0";
        let start = Instant::now();
        // The address takes a moment.
        while UdpSocket::bind(kernel).is_err() {
            assert!(start.elapsed() < PATIENCE);
            thread::sleep(Duration::from_millis(1));
        }
        let own: IpAddr = "fd00::2".parse().unwrap();
        echo_datagrams(kernel, SocketAddr::new(own, PORT));
        assert_eq!(engine.end().malformed, 0);
    });
}

#[test]
fn over_tap_with_neighbours() {
    namespace::run("over_tap_with_neighbours", || {
        everything("tap:evt0,addr=10.1.0.1/24")
    });
}
