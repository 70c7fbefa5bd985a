//! The library for applications.
//!
//! ```no_run
//! use std::io::{Read, Write};
//!
//! let stack = evener_net_client::Stack::attach("/run/evener-net.sock")?;
//! let mut connection = stack.connect("10.1.0.2:80".parse()?)?;
//! connection.write_all(b"GET / HTTP/1.0\r\n\r\n")?;
//! let mut answer = String::new();
//! connection.read_to_string(&mut answer)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! While data flows and both sides are busy, there are no system calls. A child of `fork` cannot use its parent's
//! sockets, unless the parent [bequeaths](Stack::bequeath) them.

mod alarm;
mod calls;
mod completions;
mod connection;
mod datagrams;
mod inherit;
mod link;
mod listener;
mod poller;
mod progress;
mod queues;
mod wait;

use std::fs::File;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

pub use alarm::Alarm;
pub use completions::{Completion, Completions};
pub use connection::{Connection, ReceiveHalf, SendHalf};
pub use datagrams::UdpSocket;
pub use inherit::Inheritance;
pub use link::Link;
pub use listener::Listener;
pub use poller::{Interest, Poller, Readiness, Source};
pub use progress::{Description, Progress};

pub use super::entry::Choice;
pub use super::entry::KEY;
use super::entry::Request;
use super::handshake::{Wish, request_file, request_text};
use super::layout::{Control, Layout};
use super::slot::Head;
use crate::Prefix;
use crate::memory::Mapping;
use calls::Calls;
use wait::Board;
pub use wait::lock;

/// How long a thread spins before it sleeps, unless set: to wake a thread takes about as long.
const SPIN: Duration = Duration::from_micros(50);
/// How long an engine may take to hand over memory.
const ATTACH_TIMEOUT: Duration = Duration::from_secs(5);

/// A stack that this process is attached to.
///
/// Call [`Stack::attach`] first. Then [`Stack::connect`], [`Stack::listen`] and [`Stack::bind_udp`] make sockets, and
/// [`Stack::poller`] waits for many of them. Clones refer to the same attachment. The process detaches when all clones,
/// connections, listeners and pollers are dropped. Dropped connections still send their written data. If the process is
/// killed, its connections are reset.
#[derive(Clone, Debug)]
pub struct Stack {
    shared: Arc<Shared>,
}

/// What all of this process have of a stack.
#[derive(Debug)]
struct Shared {
    socket: UnixStream,
    mapping: Arc<Mapping>,
    control: Control,
    calls: Mutex<Calls>,
    board: Mutex<Board>,
    /// Replies that were handed out.
    replies_seen: AtomicU64,
    /// The engine is gone.
    gone: AtomicBool,
    spin_nanos: AtomicU64,
    /// Numbers pollers.
    pollers: AtomicU64,
}

impl Stack {
    /// Attaches this process to the engine that listens at the Unix socket `path`.
    ///
    /// # Errors
    /// There is no engine, it has too many applications, or it is of another version.
    pub fn attach(path: impl AsRef<Path>) -> io::Result<Stack> {
        Stack::over(UnixStream::connect(path)?)
    }

    /// As [`attach`](Stack::attach), over a socket whose other end an engine has.
    ///
    /// # Errors
    /// As `attach`.
    pub fn over(mut socket: UnixStream) -> io::Result<Stack> {
        socket.set_read_timeout(Some(ATTACH_TIMEOUT))?;
        let file = request_file(&mut socket)?;
        Stack::with_file(socket, file)
    }

    /// As [`over`](Stack::over), with the memory that came over the socket.
    ///
    /// # Errors
    /// The memory is of another version, or what the operating system says.
    pub fn with_file(socket: UnixStream, file: File) -> io::Result<Stack> {
        let wrong = |error| io::Error::new(io::ErrorKind::InvalidData, error);
        let layout = Layout::of_file(&file).map_err(wrong)?;
        let mapping = Mapping::new(&file, *layout.slots())?;
        Ok(Stack {
            shared: Arc::new(Shared {
                socket,
                control: Control::new(mapping.control(), layout),
                mapping,
                calls: Mutex::default(),
                board: Mutex::default(),
                replies_seen: AtomicU64::new(0),
                gone: AtomicBool::new(false),
                spin_nanos: AtomicU64::new(SPIN.as_nanos() as u64),
                pollers: AtomicU64::new(0),
            }),
        })
    }

    /// Connects, and waits until the connection is established.
    ///
    /// # Errors
    /// The peer refuses or does not answer, there is no room, or the engine is gone.
    pub fn connect(&self, remote: SocketAddr) -> io::Result<Connection> {
        let connection = self.start_connect(None, remote)?;
        connection.wait_connected()?;
        Ok(connection)
    }

    /// Begins to connect, from `local` if there is one. The connection is writable when it is established; an operation
    /// on it waits for that, unless it is non-blocking.
    ///
    /// # Errors
    /// There is no way to the peer, no port, no room, or the engine is gone.
    pub fn start_connect(
        &self,
        local: Option<SocketAddr>,
        remote: SocketAddr,
    ) -> io::Result<Connection> {
        let reply = self.shared.call(Request::Connect { local, remote })?;
        lock(&self.shared.board).opened(reply.number, reply.generation);
        Connection::open(&self.shared, reply.number)
    }

    /// Listens at an address; port 0 is any that is free. `backlog` connections may wait to be accepted.
    ///
    /// # Errors
    /// The address is in use, there is no room, or the engine is gone.
    pub fn listen(&self, local: SocketAddr, backlog: u32) -> io::Result<Listener> {
        Listener::open(&self.shared, local, backlog, false)
    }

    /// As [`listen`](Stack::listen), together with other listeners of this kind at the same address, which take turns.
    ///
    /// # Errors
    /// As `listen`.
    pub fn listen_shared(&self, local: SocketAddr, backlog: u32) -> io::Result<Listener> {
        Listener::open(&self.shared, local, backlog, true)
    }

    /// A socket of UDP at an address; port 0 is any that is free.
    ///
    /// # Errors
    /// The address is in use, there is no room, or the engine is gone.
    pub fn bind_udp(&self, local: SocketAddr) -> io::Result<UdpSocket> {
        UdpSocket::open(&self.shared, local, None, false)
    }

    /// A socket of UDP that sends to `remote` and receives from there alone.
    ///
    /// # Errors
    /// As [`bind_udp`](Stack::bind_udp).
    pub fn connect_udp(&self, local: SocketAddr, remote: SocketAddr) -> io::Result<UdpSocket> {
        UdpSocket::open(&self.shared, local, Some(remote), false)
    }

    /// As [`bind_udp`](Stack::bind_udp), together with other sockets of this kind at the same address.
    ///
    /// # Errors
    /// As `bind_udp`.
    pub fn bind_udp_shared(&self, local: SocketAddr) -> io::Result<UdpSocket> {
        UdpSocket::open(&self.shared, local, None, true)
    }

    /// All of these: a socket of UDP at `local` that sends to `remote`, if there is one, and receives from there
    /// alone. With `share` others of this kind may have the address.
    ///
    /// # Errors
    /// As [`bind_udp`](Stack::bind_udp).
    pub fn open_udp(
        &self,
        local: SocketAddr,
        remote: Option<SocketAddr>,
        share: bool,
    ) -> io::Result<UdpSocket> {
        UdpSocket::open(&self.shared, local, remote, share)
    }

    /// Something that tells of many connections.
    ///
    /// # Errors
    /// What the operating system says.
    pub fn poller(&self) -> io::Result<Poller> {
        Poller::new(&self.shared)
    }

    /// From now on the end of this process, however it comes, closes its connections as if they were dropped, and
    /// resets none.
    pub fn close_at_end(&self) {
        self.shared.tell(Request::CloseAtEnd);
    }

    /// Whether the engine was found to be gone: then every call fails with `ConnectionReset`.
    pub fn is_gone(&self) -> bool {
        self.shared.is_gone()
    }

    /// The socket by which the engine is reached, which is to stay open.
    pub fn as_fd(&self) -> BorrowedFd<'_> {
        self.shared.socket.as_fd()
    }

    /// How long threads spin before they sleep; 50 µs unless set.
    pub fn set_spin(&self, time: Duration) {
        let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        self.shared.spin_nanos.store(nanos, Ordering::Relaxed);
    }
}

/// Asks the engine at the Unix socket `path` for its addresses.
///
/// # Errors
/// There is no engine, or it does not answer.
pub fn addresses(path: impl AsRef<Path>) -> io::Result<Vec<Prefix>> {
    let text = ask(path.as_ref(), Wish::Addresses)?;
    let wrong = |()| io::Error::new(io::ErrorKind::InvalidData, "these are no addresses");
    let addresses: Result<Vec<Prefix>, ()> = text.split_whitespace().map(str::parse).collect();
    addresses.map_err(wrong)
}

/// Asks the engine at the Unix socket `path` how it is doing.
///
/// # Errors
/// There is no engine, or it does not answer.
pub fn status(path: impl AsRef<Path>) -> io::Result<String> {
    ask(path.as_ref(), Wish::Status)
}

fn ask(path: &Path, wish: Wish) -> io::Result<String> {
    let mut socket = UnixStream::connect(path)?;
    socket.set_read_timeout(Some(ATTACH_TIMEOUT))?;
    request_text(&mut socket, wish).map_err(|error| match error.kind() {
        io::ErrorKind::WouldBlock => {
            let what = "it does not answer; if its device is a wire, it begins when the other end of that is there";
            io::Error::new(io::ErrorKind::TimedOut, what)
        }
        _ => error,
    })
}

impl Shared {
    fn head(&self, slot: u32) -> Head {
        Head::new(self.mapping.head(slot))
    }

    fn is_gone(&self) -> bool {
        self.gone.load(Ordering::Acquire) || self.control.ended().load(Ordering::Relaxed) != 0
    }

    fn check_engine(&self) -> io::Result<()> {
        match self.is_gone() {
            true => {
                self.mark_gone();
                let what = "the engine is gone";
                Err(io::Error::new(io::ErrorKind::ConnectionReset, what))
            }
            false => Ok(()),
        }
    }
}
