//! Two engines in threads, and a link between them.

use std::collections::VecDeque;
use std::io::{self, BufRead, Read, Write};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use evener_net::device::{Capabilities, Device, Medium};
use evener_net::engine::{Config, SocketOptions};
use evener_net::handshake::request_file;
use evener_net::layout::{Control, Layout, Sizes};
use evener_net::memory::{Region, Span};
use evener_net::packet::{Offload, Outgoing};
use evener_net::run::{Commands, LoopOptions, channel, run};
use evener_net::server::Attached;
use evener_net::{Connection, Stack};
use rustix::event::{EventfdFlags, eventfd};

/// Small rings, so that they wrap and fill.
pub const SIZES: Sizes = Sizes {
    connections: 256,
    send: 1 << 16,
    receive: 1 << 16,
};

/// Packets in one direction.
struct Queue {
    packets: Mutex<VecDeque<(Vec<u8>, Offload)>>,
    event: OwnedFd,
}

/// An end of the link.
struct End {
    incoming: Arc<Queue>,
    outgoing: Arc<Queue>,
}

fn link() -> [End; 2] {
    let queue = || {
        Arc::new(Queue {
            packets: Mutex::default(),
            event: eventfd(0, EventfdFlags::NONBLOCK).unwrap(),
        })
    };
    let (one, other) = (queue(), queue());
    [
        End {
            incoming: Arc::clone(&one),
            outgoing: Arc::clone(&other),
        },
        End {
            incoming: other,
            outgoing: one,
        },
    ]
}

impl Device for End {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            medium: Medium::Ip,
            mtu: 1500,
            tcp_segments: 65_535,
            udp_segments: 65_535,
            checksums: true,
        }
    }

    fn receive(&mut self, limit: usize, each: &mut dyn FnMut(&[u8], Offload)) -> io::Result<usize> {
        let mut packets = self.incoming.packets.lock().unwrap();
        let n = limit.min(packets.len());
        let some: Vec<_> = packets.drain(..n).collect();
        drop(packets);
        some.iter()
            .for_each(|(bytes, offload)| each(bytes, *offload));
        Ok(n)
    }

    fn send(&mut self, packet: Outgoing<'_>) -> io::Result<bool> {
        let mut bytes = vec![0; packet.len()];
        packet.copy_to(&mut bytes);
        let mut packets = self.outgoing.packets.lock().unwrap();
        packets.push_back((bytes, packet.offload));
        Ok(true)
    }

    fn flush(&mut self) -> io::Result<()> {
        if !self.outgoing.packets.lock().unwrap().is_empty() {
            let _ = rustix::io::write(&self.outgoing.event, &1_u64.to_ne_bytes());
        }
        Ok(())
    }

    fn readable(&self) -> Option<BorrowedFd<'_>> {
        Some(self.incoming.event.as_fd())
    }

    fn before_wait(&mut self) -> bool {
        let _ = rustix::io::read(&self.incoming.event, &mut [0; 8]);
        self.incoming.packets.lock().unwrap().is_empty()
    }
}

/// An engine in a thread.
pub struct Host {
    pub address: IpAddr,
    pub commands: Commands,
    thread: Option<JoinHandle<io::Result<()>>>,
}

impl Host {
    fn start(device: End, address: &str, spin: Duration) -> Host {
        let (commands, inbox) = channel().unwrap();
        let address: IpAddr = address.parse().unwrap();
        let options = LoopOptions {
            engine: Config {
                addresses: vec![evener_net::device::Prefix { address, len: 24 }],
                ..Config::default()
            },
            sockets: SocketOptions::default(),
            spin,
        };
        let thread = thread::spawn(move || run(Box::new(device), options, inbox));
        Host {
            address,
            commands,
            thread: Some(thread),
        }
    }

    /// An application in this process.
    pub fn attach(&self) -> Stack {
        let stack = Stack::over(self.socket()).unwrap();
        stack.set_spin(Duration::from_micros(20));
        stack
    }

    /// A socket by which an application may attach.
    pub fn socket(&self) -> UnixStream {
        let (engine, application) = UnixStream::pair().unwrap();
        self.serve(engine);
        application
    }

    /// As [`attach`](Host::attach), and what makes the memory say what cannot be, until the engine has closed the socket.
    pub fn attach_breakable(&self) -> (Stack, impl FnOnce() + use<>) {
        let mut socket = self.socket();
        let file = request_file(&mut socket).unwrap();
        let layout = Layout::of_file(&file).unwrap();
        let region = Region::of_file(&file, layout.bytes()).unwrap();
        let mut bell = socket.try_clone().unwrap();
        let stack = Stack::with_file(socket, file).unwrap();
        let break_it = move || {
            let control = Control::new(Span::new(&region, 0, layout.slots().start), layout);
            control.submitted().store(u64::MAX, Ordering::Release);
            let _ = bell.write(&[1]);
            while matches!(bell.read(&mut [0; 64]), Ok(1..)) {}
        };
        (stack, break_it)
    }

    /// Makes the process at the other end of a socket an application.
    pub fn serve(&self, socket: UnixStream) {
        let layout = Layout::new(SIZES).unwrap();
        let attached = Attached::new(socket, layout).unwrap();
        assert!(self.commands.attach(attached));
    }

    pub fn at(&self, port: u16) -> SocketAddr {
        SocketAddr::new(self.address, port)
    }

    /// Connections that the engine has, those in TIME-WAIT too.
    pub fn flows(&self) -> usize {
        self.commands.inspect(true).unwrap().flows.len()
    }

    /// Ends the engine.
    pub fn stop(&mut self) {
        if let Some(thread) = self.thread.take() {
            self.commands.stop();
            thread.join().unwrap().unwrap();
        }
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Two engines that sleep soon, as the machine may have one processor.
pub fn hosts() -> [Host; 2] {
    hosts_with_spin(Duration::from_micros(20))
}

/// Two engines that do not sleep.
pub fn hosts_that_spin() -> [Host; 2] {
    hosts_with_spin(Duration::from_secs(600))
}

fn hosts_with_spin(spin: Duration) -> [Host; 2] {
    let [one, other] = link();
    let hosts = [
        Host::start(one, "10.0.0.1", spin),
        Host::start(other, "10.0.0.2", spin),
    ];
    watch(hosts.each_ref().map(|host| host.commands.clone()));
    hosts
}

/// Says what engines do that are still there after a time in which each test is over, and ends the process.
fn watch(commands: [Commands; 2]) {
    thread::spawn(move || {
        thread::sleep(Duration::from_secs(300));
        let snapshots = commands.map(|commands| commands.inspect(true));
        if let [Some(one), Some(other)] = snapshots {
            eprintln!("a test hangs: {one:#?} {other:#?}");
            std::process::abort();
        }
    });
}

/// A connection from the first engine to the second, with its two ends.
pub fn connected([one, other]: &[Host; 2]) -> (Connection, Connection) {
    let (client, server) = (one.attach(), other.attach());
    let listener = server.listen(other.at(0), 5).unwrap();
    let to = listener.local_addr().unwrap();
    let near = client.connect(to).unwrap();
    (near, listener.accept().unwrap())
}

/// Sends back what comes, to the end.
pub fn echo(mut connection: Connection) -> io::Result<()> {
    let (receive, send) = connection.halves();
    loop {
        let data = receive.fill_buf()?;
        if data.is_empty() {
            return Ok(());
        }
        let n = send.write(data)?;
        receive.consume(n);
    }
}

/// Waits until something is so.
pub fn eventually(what: &str, mut so: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(60);
    while !so() {
        assert!(Instant::now() < end, "it never came that {what}");
        thread::sleep(Duration::from_millis(10));
    }
}

/// Bytes that tell where they are.
pub fn pattern(at: usize, len: usize) -> Vec<u8> {
    (at..at + len).map(|n| (n * 7 + n / 251) as u8).collect()
}
