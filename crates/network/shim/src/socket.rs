//! A socket of the stack.

mod events;
mod kernel;
mod listener;
mod processes;
mod stream;

use std::net::SocketAddr;
use std::os::fd::RawFd;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use evener_net_client::client::Link;
use evener_net_client::{Listener, SocketId};

use crate::datagrams::Datagrams;
use crate::options::Options;
use crate::process;

pub use events::Seen;
use kernel::Kernel;
use processes::Elsewhere;
use stream::Stream;

/// A socket, which several file descriptors may have.
pub struct Socket {
    /// The process that it is of.
    forks: u32,
    /// It was made for IPv6: addresses are told as such.
    pub six: bool,
    pub nonblocking: AtomicBool,
    pub options: Options,
    /// The kernel's socket, which keeps options that mean nothing to the stack. One that was accepted has its own when an
    /// option asks for it.
    kernel: OnceLock<Arc<Kernel>>,
    /// Connections come through the kernel's socket, too.
    both: AtomicBool,
    /// Whether the kernel is asked for a connection first at the next `accept`.
    kernel_first: AtomicBool,
    bound: OnceLock<SocketAddr>,
    listener: OnceLock<Listener>,
    stream: OnceLock<Stream>,
    datagrams: OnceLock<Datagrams>,
    elsewhere: Option<Elsewhere>,
    /// The engine knows that this process accepts, though its children may, too.
    accepts: AtomicBool,
    /// File descriptors that it has.
    fds: AtomicUsize,
    /// What it was is another socket now, or it has no file descriptor any more.
    over: AtomicBool,
    /// The error of the connection was told, or that a listener's stack is gone.
    told: AtomicBool,
    /// Bytes that were read, and how often there was no room to write: what tells an edge from a level.
    read: AtomicU64,
    blocked: AtomicU64,
}

/// What a socket is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Stream,
    Listener,
    Datagrams,
}

impl Kind {
    pub fn letter(self) -> &'static str {
        match self {
            Kind::Stream => "s",
            Kind::Listener => "l",
            Kind::Datagrams => "d",
        }
    }

    pub fn of_letter(letter: &str) -> Option<Kind> {
        let all = [Kind::Stream, Kind::Listener, Kind::Datagrams];
        all.into_iter().find(|kind| kind.letter() == letter)
    }
}

impl Socket {
    /// In the place of a socket of the kernel's with these options, which it keeps under the number `kernel`.
    pub fn in_place_of(
        kernel: Option<RawFd>,
        options: Options,
        six: bool,
        nonblocking: bool,
    ) -> Socket {
        let socket = Socket::new(options, six, nonblocking);
        if let Some(kernel) = kernel {
            let _ = socket.kernel.set(Arc::new(Kernel::new(kernel)));
        }
        socket
    }

    fn new(options: Options, six: bool, nonblocking: bool) -> Socket {
        Socket {
            forks: process::forks(),
            six,
            nonblocking: AtomicBool::new(nonblocking),
            options,
            kernel: OnceLock::new(),
            both: AtomicBool::new(false),
            kernel_first: AtomicBool::new(false),
            bound: OnceLock::new(),
            listener: OnceLock::new(),
            stream: OnceLock::new(),
            datagrams: OnceLock::new(),
            elsewhere: None,
            accepts: AtomicBool::new(false),
            fds: AtomicUsize::new(0),
            over: AtomicBool::new(false),
            told: AtomicBool::new(false),
            read: AtomicU64::new(0),
            blocked: AtomicU64::new(0),
        }
    }

    /// What it is, if the engine knows it.
    pub fn kind(&self) -> Kind {
        match &self.elsewhere {
            Some(elsewhere) => elsewhere.kind,
            None if self.listener.get().is_some() => Kind::Listener,
            None if self.datagrams.get().is_some() => Kind::Datagrams,
            None => Kind::Stream,
        }
    }

    /// Whether the direction that is received was ended, and the one that is sent.
    pub fn ended(&self) -> [bool; 2] {
        let elsewhere = self.elsewhere.as_ref().map(|elsewhere| elsewhere.ended);
        let link = self.any_link().map(|link| link.ended());
        elsewhere.or(link).unwrap_or_default()
    }

    /// The socket of UDP, if it is one.
    pub fn datagrams(&self) -> Option<&Datagrams> {
        self.datagrams.get()
    }

    pub fn set_datagrams(&self, datagrams: Datagrams) {
        let _ = self.datagrams.set(datagrams);
    }

    fn any_link(&self) -> Option<&Arc<Link>> {
        let stream = self.stream.get().map(|stream| &stream.link);
        stream.or_else(|| self.datagrams.get().map(|datagrams| &datagrams.link))
    }

    /// Its number in the engine.
    pub fn id(&self) -> Option<SocketId> {
        let elsewhere = self.elsewhere.as_ref().map(|elsewhere| elsewhere.id);
        let link = || self.any_link().map(|link| link.id());
        elsewhere
            .or_else(link)
            .or_else(|| self.listener.get().map(Listener::id))
    }

    /// Whether the engine knows it.
    pub fn has_id(&self) -> bool {
        self.id().is_some()
    }

    /// Whether the error of the socket was not told before.
    pub fn tell(&self) -> bool {
        !self.told.swap(true, Ordering::Relaxed)
    }

    pub fn local(&self) -> Option<SocketAddr> {
        let of_listener = || self.listener.get()?.local_addr().ok();
        self.any_link()
            .and_then(|link| link.local_addr().ok())
            .or_else(of_listener)
            .or_else(|| self.bound.get().copied())
    }

    pub fn remote(&self) -> Option<SocketAddr> {
        self.any_link()?.peer_addr().ok()
    }
}
