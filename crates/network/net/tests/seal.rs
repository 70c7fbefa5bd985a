//! Tunnels over loopback, with what is between their ends in the hands of the test.

use std::io::{Read, Write};
use std::net::{SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use etherparse::PacketBuilder;
use evener_crypt::keys::{Key, write_new};
use evener_net::Stack;
use evener_net::device::{Context, Device, Specification};
use evener_net::layout::Sizes;
use evener_net::memory::Shared;
use evener_net::packet::{Checksum, Offload, Outgoing};
use evener_net::session::{DEFAULT_SPIN, RunOptions, run, status};
use evener_net::tcp::congestion::Algorithm;
use evener_runtime::Runtime;
use evener_runtime::stream::CancelToken;

const PATIENCE: Duration = Duration::from_secs(60);

fn key(folder: &Path, name: &str) -> PathBuf {
    let path = folder.join(name);
    write_new(&path, &Key::generate().unwrap()).unwrap();
    path
}

/// Addresses of loopback that nothing has now.
fn free<const N: usize>() -> [SocketAddr; N] {
    let sockets = [(); N].map(|()| UdpSocket::bind("127.0.0.1:0").unwrap());
    sockets.map(|socket| socket.local_addr().unwrap())
}

fn open(local: SocketAddr, peer: SocketAddr, key: &Path, context: &Context) -> Box<dyn Device> {
    let text = format!("seal:{peer},local={local},key={}", key.display());
    let specification: Specification = text.parse().unwrap();
    specification.open_with(context).unwrap()
}

fn count(device: &dyn Device, name: &str) -> u64 {
    let mut counts = Vec::new();
    device.counts(&mut counts);
    let named = format!("seal_{name}_total");
    let found = counts.iter().find(|count| count.name == named);
    found.expect(name).value
}

fn datagram(len: usize, number: u8) -> Vec<u8> {
    let mut bytes = Vec::new();
    let packet = PacketBuilder::ipv4([10, 1, 0, 1], [10, 1, 0, 2], 64).udp(5000, 6000);
    packet.write(&mut bytes, &vec![number; len]).unwrap();
    bytes
}

fn send(device: &mut dyn Device, bytes: &[u8], offload: Offload) {
    let (header, payload) = bytes.split_at(28);
    let packet = Outgoing {
        header,
        payload: [payload.into(), Shared::EMPTY],
        offload,
    };
    assert!(device.send(packet).unwrap());
    device.flush().unwrap();
}

fn receive(device: &mut dyn Device, to: &mut Vec<(Vec<u8>, Checksum)>) {
    let mut each = |bytes: &[u8], offload: Offload| to.push((bytes.to_vec(), offload.checksum));
    device.receive(64, &mut each).unwrap();
    device.flush().unwrap();
}

/// Sends a packet again and again until one comes.
fn reach(from: &mut dyn Device, to: &mut dyn Device) {
    let start = Instant::now();
    let mut got = Vec::new();
    while got.is_empty() {
        assert!(start.elapsed() < PATIENCE, "no session");
        send(from, &datagram(1, 1), Offload::default());
        std::thread::sleep(Duration::from_millis(2));
        receive(to, &mut got);
        receive(from, &mut Vec::new());
    }
}

fn meet(a: &mut dyn Device, b: &mut dyn Device) {
    reach(a, b);
    reach(b, a);
    // What is left of the beginning.
    for _ in 0..20 {
        std::thread::sleep(Duration::from_millis(1));
        receive(a, &mut Vec::new());
        receive(b, &mut Vec::new());
    }
}

fn wait_for(device: &mut dyn Device, packets: usize) -> Vec<(Vec<u8>, Checksum)> {
    let start = Instant::now();
    let mut got = Vec::new();
    while got.len() < packets {
        assert!(start.elapsed() < PATIENCE, "{} packets", got.len());
        receive(device, &mut got);
    }
    got
}

#[test]
fn packets_pass_both_ways_with_and_without_workers() {
    let folder = tempfile::tempdir().unwrap();
    let key = key(folder.path(), "key");
    let workers = Context {
        runtime: Some(Arc::new(Runtime::builder().workers(2).build().unwrap())),
        ..Context::default()
    };
    for context in [Context::default(), workers] {
        let [left, right] = free();
        let mut a = open(left, right, &key, &context);
        let mut b = open(right, left, &key, &context);
        assert_eq!(a.capabilities().mtu, 1420);
        meet(&mut *a, &mut *b);
        for (from, to) in [(0, 1), (1, 0)] {
            let ends = [&mut a, &mut b];
            for len in [0, 1, 100, 1392] {
                send(&mut **ends[from], &datagram(len, 7), Offload::default());
                let got = wait_for(&mut **ends[to], 1);
                assert_eq!(got, [(datagram(len, 7), Checksum::Verified)]);
            }
            // A super-segment arrives as its segments, whose checksums nothing needs.
            let many = Offload {
                segment: 1000,
                checksum: Checksum::Partial,
            };
            for number in 0..20 {
                send(&mut **ends[from], &datagram(40_500, number), many);
                let got = wait_for(&mut **ends[to], 41);
                assert_eq!(got.len(), 41);
                for (at, (bytes, checksum)) in got.iter().enumerate() {
                    let len = if at == 40 { 500 } else { 1000 };
                    assert_eq!(*checksum, Checksum::Partial);
                    assert_eq!(bytes[28..], vec![number; len]);
                }
            }
        }
        let (sealed, opened) = (count(&*a, "sealed"), count(&*b, "opened"));
        assert!(opened >= 4 + 820 && sealed >= opened);
        for name in ["refused", "replayed", "malformed", "rejected"] {
            assert_eq!((count(&*a, name), count(&*b, name)), (0, 0), "{name}");
        }
    }
}

/// A network between two ends, which records what passes.
struct Between {
    /// What `a` and `b` each take for the other.
    sockets: [UdpSocket; 2],
    ends: [SocketAddr; 2],
    passed: [Vec<Vec<u8>>; 2],
}

impl Between {
    fn new(ends: [SocketAddr; 2], own: [SocketAddr; 2]) -> Between {
        let sockets = own.map(|own| {
            let socket = UdpSocket::bind(own).unwrap();
            socket.set_nonblocking(true).unwrap();
            socket
        });
        Between {
            sockets,
            ends,
            passed: Default::default(),
        }
    }

    /// Lets through what has come.
    fn pass(&mut self) {
        let mut bytes = vec![0; 1 << 16];
        for from in [0, 1] {
            while let Ok((len, _)) = self.sockets[from].recv_from(&mut bytes) {
                self.passed[from].push(bytes[..len].to_vec());
                self.send(1 - from, &bytes[..len]);
            }
        }
    }

    fn send(&self, to: usize, bytes: &[u8]) {
        let sent = self.sockets[to].send_to(bytes, self.ends[to]);
        assert_eq!(sent.unwrap(), bytes.len());
    }
}

/// Two ends that have met, with a network between them.
fn tapped(keys: [&Path; 2], meets: bool) -> ([Box<dyn Device>; 2], Between) {
    let [left, right, near, far] = free();
    let context = Context::default();
    let mut ends = [
        open(left, near, keys[0], &context),
        open(right, far, keys[1], &context),
    ];
    let mut between = Between::new([left, right], [near, far]);
    let start = Instant::now();
    let mut got = Vec::new();
    while got.is_empty() && start.elapsed() < PATIENCE {
        for end in &mut ends {
            receive(&mut **end, &mut Vec::new());
        }
        send(&mut *ends[0], &datagram(1, 1), Offload::default());
        between.pass();
        receive(&mut *ends[1], &mut got);
        if !meets && start.elapsed() > Duration::from_secs(1) {
            break;
        }
    }
    assert_eq!(got.is_empty(), !meets);
    for _ in 0..20 {
        for end in &mut ends {
            receive(&mut **end, &mut Vec::new());
        }
        between.pass();
        std::thread::sleep(Duration::from_millis(1));
    }
    (ends, between)
}

#[test]
fn replayed_and_changed_packets_are_dropped_and_counted() {
    let folder = tempfile::tempdir().unwrap();
    let key = key(folder.path(), "key");
    let ([mut a, mut b], mut between) = tapped([&key, &key], true);
    between.passed = Default::default();
    send(&mut *a, &datagram(100, 9), Offload::default());
    between.pass();
    assert_eq!(wait_for(&mut *b, 1).len(), 1);
    let sealed = between.passed[0].pop().unwrap();
    // Nothing of the packet can be read.
    assert!(!sealed.windows(8).any(|part| part == [9; 8]));

    let before = count(&*b, "replayed");
    for _ in 0..3 {
        between.send(1, &sealed);
    }
    let mut got = Vec::new();
    let start = Instant::now();
    while count(&*b, "replayed") < before + 3 {
        assert!(start.elapsed() < PATIENCE);
        receive(&mut *b, &mut got);
    }
    assert_eq!(got, []);

    // One bit of a packet that is new, each byte in turn.
    send(&mut *a, &datagram(100, 8), Offload::default());
    let mut fresh = vec![0; 2000];
    let start = Instant::now();
    let len = loop {
        assert!(start.elapsed() < PATIENCE);
        if let Ok((len, _)) = between.sockets[0].recv_from(&mut fresh) {
            break len;
        }
    };
    fresh.truncate(len);
    let wrong = |device: &dyn Device| -> u64 {
        let names = ["refused", "malformed", "rejected"];
        names.iter().map(|name| count(device, name)).sum()
    };
    let before = wrong(&*b);
    for at in 0..len {
        let mut changed = fresh.clone();
        changed[at] ^= 1 << (at % 8);
        between.send(1, &changed);
        receive(&mut *b, &mut got);
    }
    let start = Instant::now();
    while wrong(&*b) < before + len as u64 {
        assert!(start.elapsed() < PATIENCE);
        receive(&mut *b, &mut got);
    }
    assert_eq!(got, []);
    between.send(1, &fresh);
    assert_eq!(wait_for(&mut *b, 1)[0].0, datagram(100, 8));

    // To the end that sent it, it is nothing.
    let before = count(&*a, "refused");
    between.send(0, &fresh);
    let start = Instant::now();
    while count(&*a, "refused") == before {
        assert!(start.elapsed() < PATIENCE);
        receive(&mut *a, &mut got);
    }
    assert_eq!(got, []);
}

#[test]
fn ends_with_different_keys_do_not_meet() {
    let folder = tempfile::tempdir().unwrap();
    let (one, other) = (key(folder.path(), "one"), key(folder.path(), "other"));
    let ([a, b], _) = tapped([&one, &other], false);
    for end in [&a, &b] {
        assert!(count(&**end, "rejected") > 0);
        assert_eq!((count(&**end, "sealed"), count(&**end, "opened")), (0, 0));
    }
    assert!(count(&*a, "unsent") > 0);
}

#[test]
fn two_stacks_talk_through_a_tunnel() {
    let folder = tempfile::tempdir().unwrap();
    let key = key(folder.path(), "key");
    let runtime = Arc::new(Runtime::builder().workers(2).build().unwrap());
    let cancel = CancelToken::new();
    let [left, right] = free();
    let stacks = [("a", left, right), ("b", right, left)].map(|(name, local, peer)| {
        let device = format!("seal:{peer},local={local},key={}", key.display());
        let address = if name == "a" {
            "10.3.0.1/24"
        } else {
            "10.3.0.2/24"
        };
        let options = RunOptions {
            device: Arc::new(device.parse().unwrap()),
            addresses: vec![address.parse().unwrap()],
            gateways: Vec::new(),
            core: None,
            socket: folder.path().join(name),
            congestion: Algorithm::Cubic,
            metrics: None,
            hosts: Vec::new(),
            spin: DEFAULT_SPIN,
            pcap: None,
            filter: None,
            sizes: Sizes::default(),
        };
        let context = Context {
            runtime: Some(Arc::clone(&runtime)),
            ..Context::from(cancel.clone())
        };
        let session = run(options, context).unwrap();
        let runtime = Arc::clone(&runtime);
        thread::spawn(move || session.run(&runtime).unwrap())
    });
    let near = Stack::attach(folder.path().join("a")).unwrap();
    let far = Stack::attach(folder.path().join("b")).unwrap();
    let listener = far.listen("10.3.0.2:80".parse().unwrap(), 5).unwrap();
    let mut client = near.connect(listener.local_addr().unwrap()).unwrap();
    let mut server = listener.accept().unwrap();
    let sent: Vec<u8> = (0..20_000_000u32).map(|at| (at / 7) as u8).collect();
    let mut back = vec![0; sent.len()];
    thread::scope(|scope| {
        scope.spawn(|| {
            let (mut bytes, mut left) = (vec![0; 1 << 16], sent.len());
            while left > 0 {
                let len = server.read(&mut bytes).unwrap();
                server.write_all(&bytes[..len]).unwrap();
                left -= len;
            }
        });
        let (receive, send) = client.halves();
        scope.spawn(|| send.write_all(&sent).unwrap());
        receive.read_exact(&mut back).unwrap();
    });
    assert!(back == sent);
    let text = status(folder.path().join("a")).unwrap();
    assert!(text.contains("seal sealed: "), "{text}");
    assert!(!text.contains("seal refused"), "{text}");
    cancel.cancel();
    for stack in stacks {
        stack.join().unwrap();
    }
}

#[test]
fn an_end_that_begins_anew_is_met_again() {
    let folder = tempfile::tempdir().unwrap();
    let key = key(folder.path(), "key");
    let context = Context::default();
    let [left, right] = free();
    let mut a = open(left, right, &key, &context);
    let mut b = open(right, left, &key, &context);
    meet(&mut *a, &mut *b);
    drop(b);
    // Nothing listens there for a while.
    for _ in 0..10 {
        send(&mut *a, &datagram(9, 9), Offload::default());
        receive(&mut *a, &mut Vec::new());
    }
    let mut b = open(right, left, &key, &context);
    meet(&mut *a, &mut *b);
}

#[test]
fn what_is_no_key_file_and_what_is_missing_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("key");
    std::fs::write(&path, "not a key\n").unwrap();
    let text = format!("seal:127.0.0.1:9,local=127.0.0.1:0,key={}", path.display());
    let specification: Specification = text.parse().unwrap();
    let error = specification.open().err().unwrap().to_string();
    assert!(
        error.contains("/key is not a key file: a key is one line"),
        "{error}"
    );
    for (text, expected) in [
        ("seal:127.0.0.1", "seal=127.0.0.1: an address and a port"),
        ("seal:127.0.0.1:9,key=k", "seal needs the option 'local'"),
        (
            "seal:127.0.0.1:9,local=0.0.0.0:9",
            "seal needs the option 'key'",
        ),
    ] {
        let error = Specification::parse(text).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
    }
}
