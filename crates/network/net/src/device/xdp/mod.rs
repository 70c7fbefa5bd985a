//! `xdp:INTERFACE`: frames of an interface of Ethernet through AF_XDP, in copy mode. They pass the kernel's stack by.
//!
//! | file | what it is for |
//! | --- | --- |
//! | `program.rs` | which packets the sockets get |
//! | `queue.rs` | the socket of one queue of the interface |
//! | `ring.rs` | rings shared with the system |
//! | `calls.rs` | calls of the system |
//!
//! A socket has one queue, so there is one for each: what comes is received from all, and the first sends.

use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use rustix::event::epoll;

use super::specification::{Arguments, Open, SpecificationError, interface_name};
use super::system::{Interface, join_all_groups};
use super::tun::lost;
use super::{Capabilities, Count, Device, Entry, Medium};
use crate::packet::{Offload, Outgoing};
use queue::{LARGEST_MTU, Queue, Sent};

#[allow(unsafe_code)]
mod calls;
mod program;
mod queue;
mod ring;

pub(super) const ENTRY: Entry = Entry {
    kind: "xdp",
    syntax: "xdp:INTERFACE",
    about: "an interface of Ethernet through AF_XDP",
    options: &[],
    computes: false,
    parse,
};

fn parse(name: &str, _: &Arguments<'_>) -> Result<Open, SpecificationError> {
    let name = interface_name(name)?;
    Ok(Arc::new(move |context| {
        Ok(Box::new(Xdp::open(&name, &context.addresses)?))
    }))
}

#[derive(Debug)]
struct Xdp {
    /// The program is attached as long as this is open.
    _link: OwnedFd,
    /// Groups are joined as long as this is open.
    _groups: OwnedFd,
    capabilities: Capabilities,
    /// At least one.
    queues: Vec<Queue>,
    /// The queue whose turn it is to be received from.
    turn: usize,
    /// Readable when a socket is.
    readable: OwnedFd,
    lost: u64,
    /// What is wrong with a socket.
    failure: Option<io::Error>,
}

impl Xdp {
    fn open(name: &str, addresses: &[IpAddr]) -> io::Result<Xdp> {
        let interface = Interface::new(name)?;
        let (index, mtu) = (interface.index()?, interface.mtu()?);
        let address = interface.hardware_address()?;
        if mtu > LARGEST_MTU {
            let message = format!(
                "packets of {name} have up to {mtu} bytes, and AF_XDP has room for {LARGEST_MTU}: ip link set {name} mtu {LARGEST_MTU}"
            );
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        let said = |what: &'static str| {
            move |error: io::Error| io::Error::new(error.kind(), format!("{what}: {error}"))
        };
        let mut queues = Vec::new();
        while let Some(queue) =
            Queue::bind(index as u32, queues.len() as u32, mtu).map_err(said("a socket of XDP"))?
        {
            queues.push(queue);
        }
        let sockets = calls::make_map(queues.len() as u32).map_err(said("a map of BPF"))?;
        let data = epoll::EventData::new_u64(0);
        let readable = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        for (number, queue) in queues.iter().enumerate() {
            calls::set_socket(sockets.as_fd(), number as u32, queue.socket())
                .map_err(said("a map of BPF"))?;
            epoll::add(&readable, queue.socket(), data, epoll::EventFlags::IN)?;
        }
        let program = program::program(sockets.as_raw_fd(), addresses);
        let program = calls::load(&program).map_err(said("a program of XDP"))?;
        let link = calls::attach(&program, index as u32).map_err(said("a program of XDP"))?;
        Ok(Xdp {
            _link: link,
            _groups: join_all_groups(index)?,
            capabilities: Capabilities {
                medium: Medium::Ethernet(address),
                mtu,
                tcp_segments: mtu.into(),
                udp_segments: mtu.into(),
                checksums: false,
            },
            queues,
            turn: 0,
            readable,
            lost: 0,
            failure: None,
        })
    }
}

impl Device for Xdp {
    fn capabilities(&self) -> Capabilities {
        self.capabilities
    }

    fn receive(&mut self, limit: usize, each: &mut dyn FnMut(&[u8], Offload)) -> io::Result<usize> {
        let mut count = 0;
        for _ in 0..self.queues.len() {
            self.turn = (self.turn + 1) % self.queues.len();
            let queue = &mut self.queues[self.turn];
            count += queue.receive(limit - count, &mut |bytes| each(bytes, Offload::default()));
        }
        if count == 0
            && let Some(failure) = self.failure.take()
        {
            return Err(failure);
        }
        Ok(count)
    }

    fn send(&mut self, packet: Outgoing<'_>) -> io::Result<bool> {
        let sent = self.queues[0].send(&packet)?;
        self.lost += u64::from(sent == Sent::Lost);
        Ok(sent != Sent::Full)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.queues[0].flush()
    }

    fn readable(&self) -> Option<BorrowedFd<'_>> {
        Some(self.readable.as_fd())
    }

    fn before_wait(&mut self) -> bool {
        // The system tells of it once.
        if self.failure.is_none() {
            self.failure = self.queues.iter().find_map(Queue::failure);
        }
        self.failure.is_none()
    }

    fn counts(&self, to: &mut Vec<Count>) {
        to.push(lost(self.lost));
    }
}
