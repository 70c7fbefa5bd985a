//! A long path that loses packets: two engines over wires, and the kernel's stack twice over TUN, with the same link in
//! between.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::thread;
use std::time::{Duration, Instant};

use evener_net::device::{Device, Specification, Wire};
use evener_net::link::{self, Conditions};
use evener_net::tcp::congestion::Algorithm;
use evener_runtime::CancelToken;

use super::host::{Host, Work};
use super::namespace::Namespace;
use super::{kernel, until};

/// The round trip is twice this.
const DELAY: Duration = Duration::from_millis(5);
/// The share of packets that each direction loses.
const LOSS: f64 = 0.01;
/// Bits a second of the link.
const RATE: u64 = 200_000_000;
/// Which packets are lost: a contestant runs once with each of these, and all lose the same ones.
const SEEDS: std::ops::RangeInclusive<u64> = 1..=4;
const MTU: u16 = 1500;
/// Bytes of a ring: several times what is under way at the rate of the link.
const RING: usize = 4 << 20;
/// Bytes that an engine's application sends at a time.
const CHUNK: usize = 32 << 10;
const PORT: u16 = 80;
/// How long a connection may take to be made, and a sender to notice that the receiver is gone.
const PATIENCE: Duration = Duration::from_secs(10);

const SENDER: Ipv4Addr = Ipv4Addr::new(10, 5, 0, 1);
const RECEIVER: Ipv4Addr = Ipv4Addr::new(10, 5, 0, 2);

fn receiver() -> SocketAddr {
    (RECEIVER, PORT).into()
}

/// Sends for a time with the conditions of a link, and returns the bytes that came and how long that took.
type Transfer = fn(Algorithm, &Conditions, Duration) -> io::Result<(u64, Duration)>;

/// Megabits a second of two engines, over all seeds.
///
/// # Errors
/// What a device says.
pub fn engines(congestion: Algorithm, time: Duration) -> io::Result<f64> {
    over_seeds(send_between_engines, congestion, time)
}

/// The same of the kernel.
///
/// # Errors
/// What the operating system says.
pub fn kernels(congestion: Algorithm, time: Duration) -> io::Result<f64> {
    over_seeds(send_between_kernels, congestion, time)
}

fn over_seeds(transfer: Transfer, congestion: Algorithm, time: Duration) -> io::Result<f64> {
    let (mut bytes, mut took) = (0, Duration::ZERO);
    for seed in SEEDS {
        let conditions = Conditions {
            delay: DELAY,
            loss: LOSS,
            rate: Some(RATE),
            seed,
            ..Conditions::default()
        };
        let (came, lasted) = transfer(congestion, &conditions, time)?;
        bytes += came;
        took += lasted;
    }
    Ok(bytes as f64 * 8e-6 / took.as_secs_f64())
}

/// Runs `what` while a link forwards between two devices.
fn linked<T>(
    [first, second]: [&mut dyn Device; 2],
    conditions: &Conditions,
    what: impl FnOnce() -> io::Result<T>,
) -> io::Result<T> {
    let stop = CancelToken::new();
    thread::scope(|scope| {
        let forwards = scope.spawn(|| link::run(first, second, conditions, &stop));
        let result = what();
        stop.cancel();
        forwards.join().expect("the link does not panic")?;
        result
    })
}

/// Both engines are in one thread, so that there is a processor for each thread.
fn send_between_engines(
    congestion: Algorithm,
    conditions: &Conditions,
    time: Duration,
) -> io::Result<(u64, Duration)> {
    let [near, mut first] = Wire::pair(MTU, true)?;
    let [far, mut second] = Wire::pair(MTU, true)?;
    let mut sender = Host::new(Box::new(near), SENDER.into(), RING, Work::Source(CHUNK));
    let mut sink = Host::new(Box::new(far), RECEIVER.into(), RING, Work::Sink);
    linked([&mut first, &mut second], conditions, || {
        sink.listen(PORT, congestion);
        sender.connect(receiver(), congestion);
        let patience = until(PATIENCE);
        while sink.connected() == 0 {
            if Instant::now() > patience {
                return Err(io::ErrorKind::TimedOut.into());
            }
            sender.turn()?;
            sink.turn()?;
        }
        let begun = Instant::now();
        while begun.elapsed() < time {
            sender.turn()?;
            sink.turn()?;
        }
        Ok((sink.received, begun.elapsed()))
    })
}

fn open(address: Ipv4Addr) -> io::Result<Box<dyn Device>> {
    Specification::parse(&format!("tun:evbench,addr={address}/24,mtu={MTU}"))
        .map_err(io::Error::other)?
        .open()
}

fn send_between_kernels(
    congestion: Algorithm,
    conditions: &Conditions,
    time: Duration,
) -> io::Result<(u64, Duration)> {
    let namespace = Namespace::new()?;
    let mut first = open(SENDER)?;
    let (mut second, listener) = namespace.within(|| {
        let device = open(RECEIVER)?;
        Ok((device, TcpListener::bind(receiver())?))
    })?;
    linked([&mut *first, &mut *second], conditions, || {
        thread::scope(|scope| {
            let sender = scope.spawn(|| {
                let mut stream = kernel::connect(receiver(), congestion.name())?;
                // It ends when the receiver is gone, which is an error.
                let _ = kernel::send(&mut stream, until(time + PATIENCE));
                io::Result::Ok(())
            });
            let mut stream = kernel::accept(&listener, congestion.name())?;
            let begun = Instant::now();
            let bytes = kernel::read(&mut stream, until(time))?;
            let took = begun.elapsed();
            drop(stream);
            sender.join().expect("the sender does not panic")?;
            Ok((bytes, took))
        })
    })
}
