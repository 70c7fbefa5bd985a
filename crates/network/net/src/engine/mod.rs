//! The engine: packets in and out, time, sockets. It has no thread, no clock and no device of its own.
//!
//! | file | contents |
//! | --- | --- |
//! | `input.rs` | received packets |
//! | `output.rs` | outgoing packets |
//! | `sockets.rs` | calls of applications |
//! | `datagrams.rs`, `datagrams/` | UDP |
//! | `fragment.rs` | datagrams that are larger than a packet |
//! | `messages.rs` | ICMP |
//! | `link.rs` | the layer below IP |
//! | `flows.rs` | the table of connections |
//! | `slab.rs` | the numbers of sockets |
//! | `listeners.rs` | listening ports |
//! | `pass.rs` | sockets that move from one application to another |
//! | `private.rs` | rings for an application that runs the engine itself |
//! | `wheel.rs` | deadlines |

mod datagrams;
mod flows;
mod fragment;
mod input;
mod link;
mod listeners;
mod messages;
mod output;
mod pass;
mod private;
mod slab;
mod sockets;
mod wheel;

use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

pub use evener_net_client::SocketId;
use thiserror::Error;

use crate::device::{Capabilities, Prefix};
use crate::fragments::Reassembly;
use crate::memory::{ReceiveBuffer, SendBuffer};
use crate::packet::Offload;
use crate::tcp::{Cookies, Happened, Reason, Requests};
use crate::time::Time;
use datagrams::Datagrams;
use flows::Flows;
use link::Link;
use listeners::Listeners;
use output::Replies;
use wheel::Wheel;

pub use crate::tcp::{Info, Options as SocketOptions};
pub use flows::CacheCounters;
pub use private::PrivateMemory;

/// An application.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Owner(pub u32);

/// The rings of a connection.
#[derive(Debug)]
pub struct Buffers {
    /// What the application sends.
    pub send: SendBuffer,
    /// What it receives.
    pub receive: ReceiveBuffer,
    /// Their place in the memory of the application.
    pub slot: u32,
}

/// Where rings come from.
pub trait Memory {
    /// Rings for a connection of `owner`; none if there is no room.
    fn allocate(&mut self, owner: Owner) -> Option<Buffers>;

    /// They are not used any more.
    fn release(&mut self, owner: Owner, slot: u32);

    /// Bytes of a ring for received data.
    fn receive_size(&self, owner: Owner) -> u64;
}

/// Bytes of fragments that wait for others.
const FRAGMENTS: usize = 4 << 20;

/// How an engine is set up.
#[derive(Clone, Debug)]
pub struct Config {
    /// Addresses of the machine, each with its network.
    pub addresses: Vec<Prefix>,
    /// Where packets go whose destination is within no prefix: one of each version at most. Without one they go to it
    /// at once.
    pub gateways: Vec<IpAddr>,
    /// Connections at most.
    pub flows: usize,
    /// Random bytes, for numbers that must not be guessed.
    pub seed: [u8; 16],
}

impl Default for Config {
    fn default() -> Config {
        Config {
            addresses: Vec::new(),
            gateways: Vec::new(),
            flows: 1 << 20,
            seed: [0; 16],
        }
    }
}

/// Why a call on a socket failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum SocketError {
    /// Another has it.
    #[error("the address is in use: choose another port")]
    InUse,
    /// It is none of this machine.
    #[error("the address is none of this stack's")]
    NotLocal,
    /// There is no way to it.
    #[error("no address of this stack is of the same family: there is no way to the peer")]
    Unreachable,
    /// All ports are taken.
    #[error("all ports for connections to this peer are in use")]
    NoPort,
    /// There is no memory for its rings, or there are too many connections.
    #[error("there is no room for another connection")]
    NoRoom,
    /// It is no more.
    #[error("the socket is gone")]
    Gone,
}

/// What happened to a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// Whose.
    pub owner: Owner,
    /// Which.
    pub socket: SocketId,
    /// The place of its rings.
    pub slot: u32,
    /// The listener that it came by: with [`Happened::CONNECTED`] it is a connection to be accepted.
    pub listener: Option<SocketId>,
    /// What.
    pub happened: Happened,
    /// With [`Happened::CLOSED`], if it ended before its time.
    pub reason: Option<Reason>,
}

/// What has been counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Counters {
    pub packets_in: u64,
    pub packets_out: u64,
    pub bytes_in: u64,
    pub bytes_out: u64,
    pub malformed: u64,
    pub bad_checksum: u64,
    pub not_for_us: u64,
    pub refused: u64,
    pub connections: u64,
    pub accepted: u64,
    pub cookies_sent: u64,
    pub cookies_taken: u64,
    pub requests_dropped: u64,
    pub datagrams_dropped: u64,
}

/// The stack: sockets and connections, without a thread, a clock or a device.
///
/// The caller provides all three. In a loop it makes these calls, each with the current time:
///
/// 1. [`Engine::receive`] for each packet from the device,
/// 2. calls on sockets, such as [`Engine::listen`], [`Engine::connect`] and [`Engine::notify`],
/// 3. [`Engine::advance`], at the latest at [`Engine::next_deadline`],
/// 4. [`Engine::transmit`], which sends packets to the device,
/// 5. [`Engine::next_event`] until it returns `None`.
///
/// [`run`](crate::run) has such a loop. Here, a client connects to a server on the same stack:
///
/// ```
/// use std::io;
/// use std::net::SocketAddr;
/// use std::os::fd::BorrowedFd;
///
/// use evener_net::device::{Capabilities, Device, Medium};
/// use evener_net::engine::{Config, Engine, Owner, PrivateMemory, SocketOptions};
/// use evener_net::packet::{Offload, Outgoing};
/// use evener_net::tcp::Happened;
/// use evener_net::time::Time;
///
/// /// A device without a peer.
/// struct Null;
///
/// impl Device for Null {
///     fn capabilities(&self) -> Capabilities {
///         Capabilities {
///             medium: Medium::Ip,
///             mtu: 1500,
///             tcp_segments: 1500,
///             udp_segments: 1500,
///             checksums: false,
///         }
///     }
///     fn receive(&mut self, _: usize, _: &mut dyn FnMut(&[u8], Offload)) -> io::Result<usize> {
///         Ok(0)
///     }
///     fn send(&mut self, _: Outgoing<'_>) -> io::Result<bool> {
///         Ok(true)
///     }
///     fn flush(&mut self) -> io::Result<()> {
///         Ok(())
///     }
///     fn readable(&self) -> Option<BorrowedFd<'_>> {
///         None
///     }
/// }
///
/// let own = "10.1.0.2/24".parse().expect("an address with its network");
/// let config = Config { addresses: vec![own], ..Config::default() };
/// let (mut device, memory) = (Null, PrivateMemory::new(1 << 16));
/// let mut engine = Engine::new(config, device.capabilities(), memory);
/// let (server, client) = (Owner(0), Owner(1));
/// let address: SocketAddr = "10.1.0.2:7".parse()?;
/// engine.listen(server, address, 16, SocketOptions::default(), false)?;
/// engine.connect(Time::ZERO, client, None, address, SocketOptions::default())?;
///
/// let mut connected = Vec::new();
/// for millis in 0..10 {
///     let now = Time::from_millis(millis);
///     device.receive(64, &mut |packet, offload| engine.receive(now, packet, offload))?;
///     engine.advance(now);
///     engine.transmit(now, &mut device)?;
///     while let Some(event) = engine.next_event() {
///         if event.happened.has(Happened::CONNECTED) {
///             connected.push(event.owner);
///         }
///     }
/// }
/// assert!(connected.contains(&server) && connected.contains(&client));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Engine<M> {
    config: Config,
    capabilities: Capabilities,
    memory: M,
    cookies: Cookies,
    flows: Flows,
    listeners: Listeners,
    requests: Requests<SocketId>,
    /// Added to where the search for a free port begins.
    next_port: u32,
    /// Ports that were chosen for sockets without a peer.
    ports_chosen: u64,
    /// Cookies may still be answered.
    cookies_until: Time,
    datagrams: Datagrams,
    wheel: Wheel<SocketId>,
    /// Flows that may have something to send.
    ready: VecDeque<u32>,
    /// Bytes that the first of those has sent in its turn.
    turn: u32,
    datagrams_first: bool,
    /// Flows of which applications should hear.
    news: VecDeque<u32>,
    link: Link,
    reassembly: Reassembly,
    replies: Replies,
    counters: Counters,
    /// Room for a packet whose checksum is to be completed.
    scratch: Vec<u8>,
}

impl<M: Memory> Engine<M> {
    /// Creates an engine whose time starts at [`Time::ZERO`].
    pub fn new(config: Config, capabilities: Capabilities, memory: M) -> Engine<M> {
        let cookies = Cookies::new(config.seed);
        let link = Link::new(capabilities.medium, &config);
        Engine {
            config,
            capabilities,
            memory,
            cookies,
            flows: Flows::new(),
            listeners: Listeners::default(),
            requests: Requests::default(),
            next_port: 0,
            ports_chosen: 0,
            cookies_until: Time::ZERO,
            datagrams: Datagrams::default(),
            wheel: Wheel::new(),
            ready: VecDeque::new(),
            turn: 0,
            datagrams_first: false,
            news: VecDeque::new(),
            link,
            reassembly: Reassembly::new(FRAGMENTS),
            replies: Replies::default(),
            counters: Counters::default(),
            scratch: vec![0; 1 << 16],
        }
    }

    /// Processes a received packet. `bytes` start with the header of the device's medium.
    pub fn receive(&mut self, now: Time, bytes: &[u8], offload: Offload) {
        self.counters.packets_in += 1;
        self.counters.bytes_in += bytes.len() as u64;
        self.input(now, bytes, offload);
    }

    /// Resets all connections. [`Engine::transmit`] then sends the resets to peers.
    pub fn reset_all(&mut self) {
        let all: Vec<u32> = self.flows.indices().collect();
        for index in all {
            self.abort(self.flows.id(index));
        }
    }

    /// Processes expired timers.
    pub fn advance(&mut self, now: Time) {
        self.input_looped(now);
        let mut due = Vec::new();
        self.wheel.advance(now, |id| due.push(id));
        for id in due {
            let Some(index) = self.flows.index(id) else {
                continue;
            };
            let flow = self.flows.get_mut(index).expect("it is there");
            if !Wheel::<SocketId>::is_current(&mut flow.timer, now) {
                continue;
            }
            if flow.connection.deadline() <= now {
                flow.connection.advance(now);
                self.touched(index);
            } else {
                self.arm(index);
            }
        }
        self.reassembly.expire(now);
        while let Some(frame) = self.link.question(now) {
            self.replies.push_frame(frame);
        }
        while let Some((ends, request)) = self.requests.next_due(now) {
            self.replies.push(ends, request.answer(now));
        }
    }

    /// The time at which [`advance`](Engine::advance) must be called, at the latest.
    pub fn next_deadline(&self) -> Time {
        if self.datagrams.has_more {
            return Time::ZERO;
        }
        self.wheel
            .next()
            .min(self.requests.deadline())
            .min(self.link.next_deadline())
            .min(self.reassembly.next_deadline())
    }

    /// Returns the next socket with news, and its events since the last time.
    pub fn next_event(&mut self) -> Option<Event> {
        while let Some(index) = self.news.pop_front() {
            let Some(flow) = self.flows.get_mut(index) else {
                continue;
            };
            flow.announced = false;
            if flow.closed {
                continue;
            }
            let happened = flow.connection.take_happened();
            let Some(slot) = flow.slot.get() else {
                continue;
            };
            let (owner, listener, reason) = (flow.owner, flow.listener, flow.connection.reason());
            return Some(Event {
                owner,
                socket: self.flows.id(index),
                slot,
                listener,
                happened,
                reason,
            });
        }
        self.datagrams.next_event()
    }

    /// The counters.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// The hits and misses of the cache of recent flows.
    pub fn cache(&self) -> CacheCounters {
        self.flows.cache
    }

    /// The memory of rings.
    pub fn memory(&mut self) -> &mut M {
        &mut self.memory
    }

    /// All connections, with their ends: ours and the peer's.
    pub fn connections(
        &self,
    ) -> impl Iterator<Item = (SocketId, SocketAddr, SocketAddr, Info)> + '_ {
        self.flows.indices().filter_map(|index| {
            let flow = self.flows.get(index)?;
            let (local, remote) = flow.ends;
            Some((self.flows.id(index), local, remote, flow.connection.info()))
        })
    }

    /// A connection changed: it may have something to send, to tell, a deadline, or be over.
    fn touched(&mut self, index: u32) {
        let Some(flow) = self.flows.get_mut(index) else {
            return;
        };
        if !flow.queued {
            flow.queued = true;
            self.ready.push_back(index);
        }
        self.settle(index);
    }

    /// Deadlines, news and the end of a connection.
    fn settle(&mut self, index: u32) {
        self.arm(index);
        let Some(flow) = self.flows.get_mut(index) else {
            return;
        };
        if !flow.closed {
            if !flow.announced && flow.connection.has_news() {
                flow.announced = true;
                self.news.push_back(index);
            }
            return;
        }
        if flow.connection.needs_no_rings()
            && let Some(slot) = flow.slot.take()
        {
            flow.connection.drop_rings();
            self.memory.release(flow.owner, slot);
        }
        if flow.connection.is_over() {
            self.flows.remove(index);
        }
    }

    fn arm(&mut self, index: u32) {
        let id = self.flows.id(index);
        if let Some(flow) = self.flows.get_mut(index) {
            let deadline = flow.connection.deadline();
            self.wheel.arm(&mut flow.timer, deadline, id);
        }
        let flows = &self.flows;
        self.wheel.sweep(|id| flows.index(id).is_some());
    }
}

/// The first of our addresses that is of the version of `peer`.
fn address_for(addresses: &[Prefix], peer: IpAddr) -> Option<IpAddr> {
    let mut addresses = addresses.iter().map(|own| own.address);
    addresses.find(|own| own.is_ipv4() == peer.is_ipv4())
}

/// Any address of the same version, with the same port.
fn unspecified(address: &SocketAddr) -> SocketAddr {
    let ip: IpAddr = match address.ip() {
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    SocketAddr::new(ip, address.port())
}

#[cfg(test)]
mod tests;
