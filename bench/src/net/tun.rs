//! Over TUN, with the kernel at the other end.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::thread;
use std::time::{Duration, Instant};

use evener_net::device::{Device, Specification};
use evener_net::tcp::congestion::Algorithm;

use super::host::{Host, Work};
use super::place::End;
use super::program::Running;
use super::{bare, gbps, kernel, smoltcp, thousands, until};

const DEVICE: &str = "tun:evbench,addr=10.1.0.1/24";
/// Bytes of a ring: with less the kernel waits for the window, as it sends what it may at once.
const RING: usize = 4 << 20;
/// Bytes of a super-segment that the bare loop sends, and evener.
const SUPER_SEGMENT: usize = 32 << 10;
const CONGESTION: &str = "cubic";
/// Bytes of a small datagram.
const SMALL: usize = 64;

/// Who is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stack {
    Evener,
    Bare,
    Smoltcp,
}

fn own() -> SocketAddr {
    SocketAddr::from(([10, 1, 0, 2], 80))
}

fn kernels() -> SocketAddr {
    SocketAddr::from(([10, 1, 0, 1], 9000))
}

fn open(offload: bool) -> io::Result<Box<dyn Device>> {
    let switch = if offload { "on" } else { "off" };
    let text = format!("{DEVICE},offload={switch}");
    Specification::parse(&text)
        .map_err(io::Error::other)?
        .open()
}

/// A host that listens.
fn listening(device: Box<dyn Device>, work: Work) -> Host {
    let mut host = Host::new(device, own().ip(), RING, work);
    host.listen(own().port(), Algorithm::Cubic);
    host
}

fn joined<T>(thread: thread::JoinHandle<io::Result<T>>) -> io::Result<T> {
    thread.join().expect("the kernel's end does not panic")
}

/// The kernel sends.
pub fn receive(stack: Stack, offload: bool, time: Duration) -> io::Result<f64> {
    let mut device = open(offload)?;
    let begun = Instant::now();
    let client = thread::spawn(move || {
        let mut stream = kernel::connect(own(), CONGESTION)?;
        kernel::send(&mut stream, until(time))
    });
    // The kernel's end goes on for a moment longer, so that it is not the stack that it waits for.
    let end = until(time);
    let bytes = match stack {
        Stack::Evener => {
            let mut host = listening(device, Work::Sink);
            host.run(end)?;
            host.received
        }
        Stack::Bare => bare::Bare::accept(&mut *device, own())?.acknowledge(end)?,
        Stack::Smoltcp => smoltcp::serve(
            device,
            own().ip(),
            own().port(),
            RING,
            smoltcp::Work::Sink,
            || Instant::now() < end,
        )?,
    };
    let rate = gbps(bytes, begun.elapsed());
    // What it had under way when the device closed is lost with the device.
    drop(client.join());
    Ok(rate)
}

/// The kernel receives.
pub fn send(stack: Stack, offload: bool, time: Duration) -> io::Result<f64> {
    let mut device = open(offload)?;
    let client = thread::spawn(move || {
        let mut stream = kernel::connect(own(), CONGESTION)?;
        let begun = Instant::now();
        let bytes = kernel::read(&mut stream, until(time))?;
        Ok(gbps(bytes, begun.elapsed()))
    });
    let goes_on = || !client.is_finished();
    match stack {
        Stack::Evener => {
            listening(device, Work::Source(SUPER_SEGMENT)).run_while(|_| goes_on())?;
        }
        Stack::Bare => {
            bare::Bare::accept(&mut *device, own())?.send(SUPER_SEGMENT, goes_on)?;
        }
        Stack::Smoltcp => {
            smoltcp::serve(
                device,
                own().ip(),
                own().port(),
                RING,
                smoltcp::Work::Source,
                goes_on,
            )?;
        }
    }
    joined(client)
}

/// The kernel asks, with a byte, and waits for a byte.
pub fn requests(stack: Stack, time: Duration) -> io::Result<f64> {
    let mut device = open(true)?;
    let client = thread::spawn(move || End::Peer.run(|| ask(time)));
    let goes_on = || !client.is_finished();
    End::Stack.run(|| {
        match stack {
            Stack::Evener => listening(device, Work::Echo).run_while(|_| goes_on())?,
            Stack::Bare => drop(bare::Bare::accept(&mut *device, own())?.echo(goes_on)?),
            Stack::Smoltcp => {
                smoltcp::serve(
                    device,
                    own().ip(),
                    own().port(),
                    RING,
                    smoltcp::Work::Echo,
                    goes_on,
                )?;
            }
        }
        Ok(())
    })?;
    joined(client)
}

fn ask(time: Duration) -> io::Result<f64> {
    let mut stream = kernel::connect(own(), CONGESTION)?;
    let count = kernel::ask(&mut stream, 1, until(time))?.len() as u64;
    Ok(thousands(count, time))
}

/// The kernel asks a program that knows nothing of the stack.
pub fn requests_to_program(time: Duration) -> io::Result<f64> {
    let _running = Running::start(DEVICE, own())?;
    End::Peer.run(|| ask(time))
}

/// The kernel counts datagrams, of which `together` go out under one header.
pub fn send_datagrams(stack: Stack, together: usize, time: Duration) -> io::Result<f64> {
    let mut device = open(true)?;
    let socket = UdpSocket::bind(kernels())?;
    let client = thread::spawn(move || kernel::count_datagrams(&socket, until(time)));
    let end = until(time);
    match stack {
        Stack::Evener => {
            let mut host = Host::new(device, own().ip(), RING, Work::Datagrams(SMALL, together));
            host.bind(own().port(), Some(kernels()));
            host.run(end)?;
        }
        _ => {
            bare::send_datagrams(&mut *device, own(), kernels(), SMALL as u16, together, end)?;
        }
    }
    Ok(thousands(joined(client)?, time))
}

/// The kernel sends datagrams, one at a time.
pub fn receive_datagrams(stack: Stack, time: Duration) -> io::Result<f64> {
    let mut device = open(true)?;
    let socket = UdpSocket::bind(kernels())?;
    let client = thread::spawn(move || kernel::send_datagrams(&socket, own(), SMALL, until(time)));
    let end = until(time);
    let count = match stack {
        Stack::Evener => {
            let mut host = Host::new(device, own().ip(), RING, Work::DatagramSink);
            host.bind(own().port(), None);
            host.run(end)?;
            host.received
        }
        _ => bare::count_datagrams(&mut *device, own(), end)?,
    };
    joined(client)?;
    Ok(thousands(count, time))
}
