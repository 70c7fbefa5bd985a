//! `seal:PEER`: a tunnel to another stack. Each packet is sealed with AES-256-GCM, and carried in a datagram of UDP between
//! two addresses of the kernel's.
//!
//! | file | what it is for |
//! | --- | --- |
//! | `message.rs` | what the two ends send |
//! | `tunnel.rs` | sessions, keys and numbers |
//! | `window.rs` | packets that come again |
//! | `chunk.rs` | packets that one worker seals or opens |
//! | `counters.rs`, `timer.rs` | what is counted; what wakes the thread |
//! | [`README.md`](README.md) | how workers help |

use std::fs::File;
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use evener_crypt::keys::{self, Exposed, Key};
use evener_net_client::client::lock;
use evener_runtime::{Choice, Rounds, Runtime, Work};
use rustix::event::epoll;
use rustix::io::Errno;
use rustix::net::sockopt::{set_socket_recv_buffer_size, set_socket_recv_buffer_size_force};
use rustix::net::{RecvFlags, SendFlags, recv, send};

use super::specification::{Arguments, Open, SpecificationError};
use super::system::{join_udp_segments, send_udp_segments};
use super::{Capabilities, Context, Count, Device, Entry, Medium};
use crate::packet::{Checksum, Offload, Outgoing};
use crate::segments::Splitter;
use crate::time::Time;
use chunk::{Inbound, Outbound};
use counters::Counters;
use message::OVERHEAD;
use timer::Timer;
use tunnel::Tunnel;

mod chunk;
mod counters;
mod message;
mod timer;
mod tunnel;
mod window;

pub(super) const ENTRY: Entry = Entry {
    kind: "seal",
    syntax: "seal:PEER:PORT,local=ADDRESS:PORT,key=FILE[,mtu=BYTES]",
    about: "a tunnel to another stack, whose packets are sealed and carried in datagrams of UDP",
    options: &["local", "key", "mtu"],
    computes: true,
    parse,
};

/// What fits a way of 1,500 bytes, with the headers of IPv6 and UDP.
const MTU: u16 = 1420;
/// The largest packet: sealed, it fits a datagram.
const LARGEST_MTU: u16 = (chunk::LARGEST - OVERHEAD) as u16;
/// Chunks that are sealed or opened together at most.
const CHUNKS: usize = 16;
/// Bytes that wait for the device in the system: a large window.
const RECEIVE: usize = 4 << 20;
/// Operations of a byte of AES-GCM, as the service of files has it.
const WEIGHT: f64 = 4.5;

fn parse(peer: &str, arguments: &Arguments<'_>) -> Result<Open, SpecificationError> {
    let expected = "an address and a port, as in 192.0.2.1:7000,";
    let peer: SocketAddr = peer.parse().map_err(|_| SpecificationError::Value {
        option: "seal",
        value: peer.into(),
        expected,
    })?;
    let missing = |option| SpecificationError::Missing {
        kind: "seal",
        option,
    };
    let local: Option<SocketAddr> = arguments.value("local", expected)?;
    let local = local.ok_or_else(|| missing("local"))?;
    if local == peer {
        return Err(SpecificationError::Value {
            option: "local",
            value: local.to_string(),
            expected: "another address than the peer's",
        });
    }
    let key: Option<PathBuf> = arguments.value("key", "the name of a key file")?;
    let key = key.ok_or_else(|| missing("key"))?;
    let mtu = arguments.mtu()?.unwrap_or(MTU).min(LARGEST_MTU);
    Ok(Arc::new(move |context| {
        Ok(Box::new(Sealed::open(local, peer, &key, mtu, context)?))
    }))
}

/// One end of a tunnel.
struct Sealed {
    socket: UdpSocket,
    peer: SocketAddr,
    mtu: usize,
    tunnel: Tunnel,
    began: Instant,
    timer: Timer,
    /// Readable when the socket or the timer is.
    readable: OwnedFd,
    help: Option<(Arc<Runtime>, Rounds)>,
    splitter: Splitter,
    /// A super-segment in one piece.
    whole: Vec<u8>,
    outbound: Vec<Mutex<Outbound>>,
    /// Chunks in use; how many of them are sealed; and how many of those were sent.
    filled: usize,
    sealed: usize,
    sent: usize,
    inbound: Vec<Mutex<Inbound>>,
    received: usize,
    /// The next packet to hand over: of which chunk, and which of it.
    next: (usize, usize),
    counters: Counters,
    told: bool,
}

fn read_key(path: &Path) -> io::Result<Key> {
    let named = |error: io::Error| {
        let message = format!("{}: {error}", path.display());
        io::Error::new(error.kind(), message)
    };
    let file = File::open(path).map_err(named)?;
    if let Some(exposed) = Exposed::of(&file.metadata().map_err(named)?) {
        tracing::warn!("{}: {exposed}", path.display());
    }
    keys::read_all(&file).map_err(|error| {
        let message = format!("{} {error}", path.display());
        io::Error::new(io::ErrorKind::InvalidData, message)
    })
}

/// Has the system keep more of what comes while the thread does something else, as far as it allows that.
fn grow(socket: &UdpSocket) {
    let result = set_socket_recv_buffer_size_force(socket, RECEIVE)
        .or_else(|_| set_socket_recv_buffer_size(socket, RECEIVE));
    if let Err(error) = result {
        tracing::debug!("the socket of a tunnel has a small buffer: {error}");
    }
}

impl Sealed {
    fn open(
        local: SocketAddr,
        peer: SocketAddr,
        key: &Path,
        mtu: u16,
        context: &Context,
    ) -> io::Result<Sealed> {
        let key = read_key(key)?;
        // One that the system cannot give is found here; it gives all later ones.
        keys::salt().map_err(io::Error::other)?;
        let salts = || keys::salt().expect("random numbers, as there were before");
        let socket = UdpSocket::bind(local)?;
        socket.connect(peer)?;
        socket.set_nonblocking(true)?;
        join_udp_segments(socket.as_fd())?;
        grow(&socket);
        let timer = Timer::new()?;
        let readable = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let data = epoll::EventData::new_u64(0);
        epoll::add(&readable, &socket, data, epoll::EventFlags::IN)?;
        epoll::add(&readable, timer.as_fd(), data, epoll::EventFlags::IN)?;
        let work = Work {
            ops: chunk::LARGEST as f64 * WEIGHT,
            bytes: 2.0 * chunk::LARGEST as f64,
            fresh: 0.0,
        };
        let help = match &context.runtime {
            Some(runtime) => {
                let rounds = Rounds::new(runtime, work, Choice::Auto).map_err(io::Error::other)?;
                Some((Arc::clone(runtime), rounds))
            }
            None => None,
        };
        Ok(Sealed {
            socket,
            peer,
            mtu: mtu.into(),
            tunnel: Tunnel::new(key.bytes(), Box::new(salts)),
            began: Instant::now(),
            timer,
            readable,
            help,
            splitter: Splitter::new(),
            whole: Vec::new(),
            outbound: (0..CHUNKS).map(|_| Mutex::default()).collect(),
            filled: 0,
            sealed: 0,
            sent: 0,
            inbound: (0..CHUNKS).map(|_| Mutex::new(Inbound::new())).collect(),
            received: 0,
            next: (0, 0),
            counters: Counters::default(),
            told: false,
        })
    }

    fn now(&self) -> Time {
        Time(self.began.elapsed().as_nanos() as u64)
    }

    /// Sends what the tunnel has to say, and sets the timer.
    fn advance(&mut self) {
        let now = self.now();
        if let Some(message) = self.tunnel.advance(now) {
            self.say(&message);
        }
        self.timer.set(now, self.tunnel.next_deadline());
    }

    /// Sends a message, which may be lost like any other.
    fn say(&self, message: &[u8]) {
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        if let Err(error) = send(&self.socket, message, flags) {
            tracing::debug!("a message is lost: {error}");
        }
    }

    /// Adds a packet to what is to be sealed.
    fn push(
        &mut self,
        len: usize,
        is_partial: bool,
        fill: impl FnOnce(&mut [u8]),
    ) -> io::Result<()> {
        let fits = |at: usize| lock(&self.outbound[at]).has_room(len);
        if self.filled == self.sealed || !fits(self.filled - 1) {
            if self.filled == CHUNKS {
                self.flush()?;
            }
            if self.filled == CHUNKS || len > self.mtu {
                self.counters.unsent += 1;
                return Ok(());
            }
            self.filled += 1;
        }
        lock(&self.outbound[self.filled - 1]).push(len, is_partial, fill);
        Ok(())
    }

    /// Seals what there is, with the help of workers.
    fn seal(&mut self) {
        for number in self.sealed..self.filled {
            let mut chunk = lock(&self.outbound[number]);
            let count = chunk.count() as u64;
            match self.tunnel.seal(count) {
                Some((with, first)) => {
                    chunk.assign(with, first);
                    self.counters.sealed += count;
                }
                None => {
                    self.counters.unsent += count;
                    chunk.clear();
                }
            }
        }
        let chunks = &self.outbound[self.sealed..self.filled];
        each(&self.help, chunks, Outbound::seal);
        self.sealed = self.filled;
    }

    /// Sends what is sealed. False if the socket is full before all is sent.
    fn send_sealed(&mut self) -> io::Result<bool> {
        let mut is_first_try = true;
        while self.sent < self.sealed {
            let mut chunk = lock(&self.outbound[self.sent]);
            if chunk.count() > 0 {
                let size = chunk.datagram() as u16;
                let sent = send_udp_segments(self.socket.as_fd(), chunk.sealed(), size);
                let code = |error: &io::Error| Errno::from_io_error(error);
                match sent.as_ref().err().map(code) {
                    None => {}
                    Some(Some(Errno::AGAIN)) => return Ok(false),
                    Some(Some(Errno::INTR)) => continue,
                    // It may be of an earlier one, which the system tells once.
                    Some(Some(error)) if is_of_datagram(error) && is_first_try => {
                        self.counters.reported += 1;
                        is_first_try = false;
                        continue;
                    }
                    Some(Some(error)) if is_of_datagram(error) => {
                        tracing::debug!("packets are lost: {error}");
                        self.counters.unsent += chunk.count() as u64;
                    }
                    Some(_) => return sent.map(|()| false),
                }
            }
            chunk.clear();
            drop(chunk);
            is_first_try = true;
            self.sent += 1;
        }
        (self.filled, self.sealed, self.sent) = (0, 0, 0);
        Ok(true)
    }

    /// Receives and opens what has come.
    fn fill(&mut self) -> io::Result<()> {
        (self.received, self.next) = (0, (0, 0));
        for _ in 0..CHUNKS {
            let mut chunk = lock(&self.inbound[self.received]);
            let chunk = &mut *chunk;
            match recv(&self.socket, &mut chunk.sealed[..], RecvFlags::DONTWAIT) {
                Ok((len, _)) => {
                    chunk.len = len;
                    self.received += 1;
                }
                Err(Errno::AGAIN) => break,
                Err(Errno::INTR) => {}
                Err(error) if is_of_datagram(error) => self.counters.reported += 1,
                Err(error) => return Err(error.into()),
            }
        }
        if self.received == 0 {
            return self.flush();
        }
        let with = self.tunnel.opens();
        let chunks = &self.inbound[..self.received];
        each(&self.help, chunks, |chunk| chunk.open(&with));
        for number in 0..self.received {
            let (messages, refused, malformed) = {
                let mut chunk = lock(&self.inbound[number]);
                let messages = std::mem::take(&mut chunk.messages);
                (messages, chunk.refused, chunk.malformed)
            };
            self.counters.refused += refused;
            self.counters.malformed += malformed;
            for message in messages {
                let (answer, confirms) = self.tunnel.receive(self.now(), &message);
                if let Some(answer) = answer {
                    self.say(&answer);
                }
                if confirms {
                    self.push(0, false, |_| ())?;
                }
            }
        }
        if self.tunnel.rejected > 0 && !self.told {
            self.told = true;
            let peer = self.peer;
            tracing::warn!(
                "{peer} has a different key, or is not a tunnel: both ends need the same key file"
            );
        }
        self.flush()
    }

    /// Hands over packets that are opened, but for those that came before.
    fn deliver(&mut self, limit: usize, each: &mut dyn FnMut(&[u8], Offload)) -> usize {
        let mut count = 0;
        while count < limit && self.next.0 < self.received {
            let chunk = lock(&self.inbound[self.next.0]);
            let Some(opened) = chunk.opened.get(self.next.1) else {
                self.next = (self.next.0 + 1, 0);
                continue;
            };
            self.next.1 += 1;
            if !self.tunnel.opened(opened.session, opened.number) {
                self.counters.replayed += 1;
            } else if opened.len > 0 {
                let checksum = match opened.is_partial {
                    true => Checksum::Partial,
                    false => Checksum::Verified,
                };
                self.counters.opened += 1;
                count += 1;
                each(
                    chunk.packet(opened),
                    Offload {
                        segment: 0,
                        checksum,
                    },
                );
            }
        }
        count
    }

    fn has_packets(&self) -> bool {
        self.next.0 < self.received
    }
}

/// Does something with each chunk, on this thread and on workers.
fn each<T: Send>(
    help: &Option<(Arc<Runtime>, Rounds)>,
    chunks: &[Mutex<T>],
    body: impl Fn(&mut T) + Sync,
) {
    if let Some((runtime, rounds)) = help
        && chunks.len() > 1
    {
        let result = rounds.run(runtime.pool(), chunks.len() as u32, &|_, items| {
            for item in items {
                body(&mut lock(&chunks[item as usize]));
            }
        });
        if let Err(panic) = result {
            panic!("{panic}");
        }
        return;
    }
    chunks.iter().for_each(|chunk| body(&mut lock(chunk)));
}

/// Whether an error is of one datagram, which is lost like a packet on a wire, and not of the socket. A connected socket also
/// tells what routers and the peer's machine said of earlier ones (RFC 1122, 4.1.3.3): nothing listens there yet, they do not
/// fit the way, or there is none.
fn is_of_datagram(error: Errno) -> bool {
    matches!(
        error,
        Errno::MSGSIZE
            | Errno::INVAL
            | Errno::NOBUFS
            | Errno::NOMEM
            | Errno::PERM
            | Errno::ACCESS
            | Errno::CONNREFUSED
            | Errno::PROTO
            | Errno::NOPROTOOPT
            | Errno::OPNOTSUPP
            | Errno::NETDOWN
            | Errno::NETUNREACH
            | Errno::HOSTDOWN
            | Errno::HOSTUNREACH
            | Errno::NONET
    )
}

impl Device for Sealed {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            medium: Medium::Ip,
            mtu: self.mtu as u16,
            tcp_segments: 65_535,
            udp_segments: 65_535,
            checksums: true,
        }
    }

    fn receive(&mut self, limit: usize, each: &mut dyn FnMut(&[u8], Offload)) -> io::Result<usize> {
        if !self.has_packets() {
            self.fill()?;
            self.advance();
        }
        Ok(self.deliver(limit, each))
    }

    fn send(&mut self, packet: Outgoing<'_>) -> io::Result<bool> {
        // Room for a super-segment of the usual sizes, which may begin a chunk and end one.
        if self.filled + 2 > CHUNKS {
            self.flush()?;
            if self.filled > 0 {
                return Ok(false);
            }
        }
        let is_partial = packet.offload.checksum == Checksum::Partial;
        if packet.offload.segment == 0 {
            self.push(packet.len(), is_partial, |to| packet.copy_to(to))?;
            return Ok(true);
        }
        let mut whole = std::mem::take(&mut self.whole);
        let mut splitter = std::mem::take(&mut self.splitter);
        whole.resize(packet.len(), 0);
        packet.copy_to(&mut whole);
        let mut pushed = Ok(());
        splitter.split(&whole, packet.offload, 0, &mut |segment, offload| {
            let is_partial = offload.checksum == Checksum::Partial;
            if pushed.is_ok() {
                pushed = self.push(segment.len(), is_partial, |to| to.copy_from_slice(segment));
            }
        });
        (self.whole, self.splitter) = (whole, splitter);
        pushed.map(|()| true)
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.filled > self.sealed {
            self.seal();
        }
        if self.sealed > 0 {
            self.send_sealed()?;
        }
        Ok(())
    }

    fn readable(&self) -> Option<BorrowedFd<'_>> {
        Some(self.readable.as_fd())
    }

    fn before_wait(&mut self) -> bool {
        self.timer.take();
        self.advance();
        !self.has_packets()
    }

    fn counts(&self, to: &mut Vec<Count>) {
        self.counters.append(self.tunnel.rejected, to);
    }
}
