//! Two engines and memory that both share. Each is in a thread that polls, or both are in one.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use evener_net::device::Wire;
use evener_net::tcp::congestion::Algorithm;

use super::host::{Host, Work};
use super::{gbps, thousands, until};

const MTU: u16 = 1500;
const PORT: u16 = 80;
/// The first port of sockets of UDP.
const DATAGRAMS: u16 = 10_000;
/// Bytes of all rings of a direction together, and of one ring at least.
const RINGS: usize = 1 << 20;
const RING: usize = 16 << 10;
/// Bytes of the headers of IP and TCP, and of IP and UDP.
const TCP_HEADERS: u32 = 40;
const UDP_HEADERS: u32 = 28;
/// Bytes of a small datagram.
const SMALL: u32 = 64;

/// How long connections may take to be made.
const PATIENCE: Duration = Duration::from_secs(20);

fn address(host: u8) -> IpAddr {
    [10, 2, 0, host].into()
}

fn server(port: u16) -> SocketAddr {
    SocketAddr::new(address(2), port)
}

/// How two hosts are run. The second counts what comes.
#[derive(Clone, Copy, Debug)]
pub struct Pairing {
    /// Both are run by one thread, a turn each.
    pub one_thread: bool,
    offload: bool,
    mtu: u16,
    /// Bytes of a ring.
    ring: usize,
    works: [Work; 2],
    /// Sockets of each.
    sockets: usize,
}

impl Pairing {
    /// The first sends over so many connections, whose rings have `window` bytes, in segments of `segment` bytes, as much
    /// as it can.
    pub fn connections(segment: u32, window: u32, sockets: usize) -> Pairing {
        Pairing {
            one_thread: false,
            offload: false,
            mtu: (segment + TCP_HEADERS) as u16,
            ring: window as usize,
            works: [Work::Source(RING / 4), Work::Sink],
            sockets,
        }
    }

    /// The first sends datagrams of `len` bytes from so many sockets, each in a packet of its own.
    pub fn datagrams(len: u32, sockets: usize) -> Pairing {
        Pairing {
            one_thread: false,
            offload: false,
            mtu: MTU.max((len + UDP_HEADERS) as u16),
            ring: (RINGS / sockets).next_power_of_two().max(RING),
            works: [Work::Datagrams(len as usize, 1), Work::DatagramSink],
            sockets,
        }
    }

    fn hosts(&self) -> io::Result<[Host; 2]> {
        let [one, other] = Wire::pair(self.mtu, self.offload)?;
        let host = |device, number: u8, work| {
            Host::new(Box::new(device), address(number), self.ring, work)
        };
        Ok([host(one, 1, self.works[0]), host(other, 2, self.works[1])])
    }

    fn ready(&self, host: &mut Host) {
        match self.works[1] {
            Work::DatagramSink => {
                (0..self.sockets).for_each(|n| host.bind(DATAGRAMS + n as u16, None));
            }
            _ => host.listen(PORT, Algorithm::Cubic),
        }
    }

    fn begin(&self, host: &mut Host) {
        for n in 0..self.sockets {
            let port = DATAGRAMS + n as u16;
            match self.works[0] {
                Work::Datagrams(..) => host.bind(port, Some(server(port))),
                _ => host.connect(server(PORT), Algorithm::Cubic),
            }
        }
    }

    /// Runs both until the second has all its sockets, and then for `time`. Returns what came to the second meanwhile, how
    /// long that was, and the first.
    fn run(&self, time: Duration) -> io::Result<(u64, Duration, Host)> {
        let hosts = self.hosts()?;
        match self.one_thread {
            true => self.together(hosts, time),
            false => self.apart(hosts, time),
        }
    }

    fn together(
        &self,
        [mut first, mut second]: [Host; 2],
        time: Duration,
    ) -> io::Result<(u64, Duration, Host)> {
        self.ready(&mut second);
        self.begin(&mut first);
        let patience = until(PATIENCE);
        while second.connected() < self.sockets {
            if Instant::now() > patience {
                return Err(not_connected());
            }
            first.turn()?;
            second.turn()?;
        }
        let (before, begun) = (second.received, Instant::now());
        while begun.elapsed() < time {
            first.turn()?;
            second.turn()?;
        }
        Ok((second.received - before, begun.elapsed(), first))
    }

    fn apart(
        &self,
        [mut first, mut second]: [Host; 2],
        time: Duration,
    ) -> io::Result<(u64, Duration, Host)> {
        let (counting, stop) = (AtomicBool::new(false), AtomicBool::new(false));
        thread::scope(|scope| {
            let (counting, stop) = (&counting, &stop);
            let stopped = || stop.load(Ordering::Relaxed);
            let second = scope.spawn(move || -> io::Result<(u64, Duration)> {
                self.ready(&mut second);
                second.run_while(|host| host.connected() < self.sockets && !stopped())?;
                counting.store(true, Ordering::Relaxed);
                let (before, begun) = (second.received, Instant::now());
                second.run_while(|_| !stopped())?;
                Ok((second.received - before, begun.elapsed()))
            });
            self.begin(&mut first);
            let patience = until(PATIENCE);
            let counts = || counting.load(Ordering::Relaxed);
            let ran = first
                .run_while(|_| !counts() && Instant::now() < patience)
                .and_then(|()| match counts() {
                    true => first.run(until(time)),
                    false => Err(not_connected()),
                });
            stop.store(true, Ordering::Relaxed);
            let second = second.join().expect("the second host does not panic");
            ran?;
            let (received, took) = second?;
            Ok((received, took, first))
        })
    }
}

fn not_connected() -> io::Error {
    io::Error::other("not all connections were made")
}

/// Gbit/s of payload.
pub fn throughput(pairing: &Pairing, time: Duration) -> io::Result<f64> {
    let (received, took, _) = pairing.run(time)?;
    let unit = match pairing.works[0] {
        Work::Datagrams(len, _) => len as u64,
        _ => 1,
    };
    Ok(gbps(received * unit, took))
}

/// As much as goes over so many connections.
pub fn bulk(flows: usize, offload: bool, time: Duration) -> io::Result<f64> {
    let window = (RINGS / flows).next_power_of_two().max(RING);
    let pairing = Pairing {
        offload,
        ..Pairing::connections(u32::from(MTU) - TCP_HEADERS, window as u32, flows)
    };
    throughput(&pairing, time)
}

/// Small datagrams, each in a packet of its own.
pub fn datagrams(time: Duration) -> io::Result<f64> {
    let (count, took, _) = Pairing::datagrams(SMALL, 1).run(time)?;
    Ok(thousands(count, took))
}

/// A byte there and back, in microseconds.
pub fn round_trip(time: Duration) -> io::Result<f64> {
    let pairing = Pairing {
        works: [Work::Ask(1), Work::Echo],
        ..Pairing::connections(u32::from(MTU) - TCP_HEADERS, RINGS as u32, 1)
    };
    let (_, _, mut host) = pairing.run(time)?;
    host.took.sort();
    let median = host.took.get(host.took.len() / 2);
    let median = median.ok_or_else(|| io::Error::other("no answer came"))?;
    Ok(median.as_secs_f64() * 1e6)
}
