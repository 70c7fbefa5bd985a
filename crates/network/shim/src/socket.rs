//! A socket of the stack.

use std::ffi::{c_int, c_short};
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr};
use std::os::fd::RawFd;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use evener_net_client::SocketId;
use evener_net_client::client::lock;
use evener_net_client::client::{Link, Progress, ReceiveHalf, SendHalf};
use evener_net_client::program::errno;
use evener_net_client::{Connection, Listener};

use crate::datagrams::Datagrams;
use crate::options::Options;
use crate::own;
use crate::process;
use crate::sys::{self, Errno};
use crate::wait;

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

/// A connection.
struct Stream {
    link: Arc<Link>,
    receive: Mutex<ReceiveHalf>,
    send: Mutex<SendHalf>,
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

/// A socket that the program had which this process ran before.
struct Elsewhere {
    kind: Kind,
    id: SocketId,
    ended: [bool; 2],
}

/// A socket of the kernel's that nothing is sent through.
struct Kernel(RawFd);

impl Kernel {
    fn new(fd: RawFd) -> Kernel {
        own::add(fd);
        Kernel(fd)
    }
}

impl Drop for Kernel {
    fn drop(&mut self) {
        own::remove(self.0);
        let _ = sys::close(self.0);
    }
}

/// What an edge-triggered epoll has told of a socket.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Seen {
    received: u64,
    blocked: u64,
    events: c_short,
}

impl Drop for Socket {
    fn drop(&mut self) {
        if self.is_own() {
            if let Some(stream) = self.stream.get()
                && self.options.resets()
            {
                stream.link.abort_at_end();
            }
        } else {
            self.leave();
            // The attachment that these use is the parent's.
            let inherited = (self.stream.take(), self.listener.take());
            std::mem::forget((inherited, self.datagrams.take()));
        }
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

    /// The kernel's socket for options.
    pub fn kernel(&self) -> Result<RawFd, Errno> {
        if let Some(kernel) = self.kernel.get() {
            return Ok(kernel.0);
        }
        let family = if self.six {
            libc::AF_INET6
        } else {
            libc::AF_INET
        };
        let kind = libc::SOCK_STREAM | libc::SOCK_CLOEXEC;
        let made = sys::call(libc::SYS_socket, [sys::word(family), sys::word(kind), 0])?;
        let made = Arc::new(Kernel::new(made as RawFd));
        Ok(self.kernel.get_or_init(|| made).0)
    }

    /// One that the program had which this process ran before.
    pub fn elsewhere(
        kind: Kind,
        id: SocketId,
        ended: [bool; 2],
        six: bool,
        nonblocking: bool,
    ) -> Socket {
        let mut socket = Socket::new(Options::default(), six, nonblocking);
        socket.elsewhere = Some(Elsewhere { kind, id, ended });
        socket
    }

    /// Whether it is of this process and program, and not of those before.
    fn is_own(&self) -> bool {
        self.forks == process::forks() && self.elsewhere.is_none()
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

    /// Another file descriptor has it.
    pub fn add_fd(&self) {
        self.fds.fetch_add(1, Ordering::Relaxed);
    }

    /// A file descriptor no longer has it. What a thread of the parent did with it at the fork is never over here, so its
    /// file descriptors say when an inherited one ends.
    pub fn remove_fd(&self) {
        if self.fds.fetch_sub(1, Ordering::Relaxed) == 1 && !self.is_own() {
            self.leave();
        }
    }

    /// Whether a file descriptor has it.
    pub fn is_open(&self) -> bool {
        self.fds.load(Ordering::Relaxed) > 0
    }

    /// This process no longer has what it inherited.
    fn leave(&self) {
        if let Some(id) = self.id()
            && !self.over.swap(true, Ordering::Relaxed)
        {
            process::release(id);
        }
    }

    /// Whether this process has its memory.
    pub fn is_here(&self) -> bool {
        self.is_own() && !self.is_moved()
    }

    /// Whether another process adopted it.
    pub fn is_moved(&self) -> bool {
        self.any_link().is_some_and(|link| link.is_moved())
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

    /// Whether others may have its address, by the options of the kernel's socket.
    pub fn shares_address(&self) -> Result<bool, Errno> {
        let kernel = self.kernel()?;
        let is_on = |name| sys::option(kernel, libc::SOL_SOCKET, name).unwrap_or(0) != 0;
        let datagram =
            sys::option(kernel, libc::SOL_SOCKET, libc::SO_TYPE) == Some(libc::SOCK_DGRAM);
        Ok(is_on(libc::SO_REUSEPORT) || datagram && is_on(libc::SO_REUSEADDR))
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

    /// The same socket in the memory of this process.
    pub fn adopt(&self) -> Result<Socket, Errno> {
        let new = Socket::new(
            self.options.copy(),
            self.six,
            self.nonblocking.load(Ordering::Relaxed),
        );
        if let Some(kernel) = self.kernel.get() {
            let _ = new.kernel.set(Arc::clone(kernel));
        }
        let both = self.both.load(Ordering::Relaxed);
        new.both.store(both, Ordering::Relaxed);
        if let Some(&bound) = self.bound.get() {
            let _ = new.bound.set(bound);
        }
        let stack = &process::attach()?.stack;
        let Some(id) = self.id() else {
            return Ok(new);
        };
        let told = self.told.load(Ordering::Relaxed);
        new.told.store(told, Ordering::Relaxed);
        match self.kind() {
            Kind::Listener => {
                let joined = stack.join(id).map_err(|error| errno(&error))?;
                joined.set_nonblocking(true);
                let _ = new.listener.set(joined);
                new.accepts.store(true, Ordering::Relaxed);
            }
            Kind::Stream => {
                let adopted = stack.adopt(id, self.ended());
                new.begin(adopted.map_err(|error| errno(&error))?);
            }
            Kind::Datagrams => {
                let adopted = stack.adopt_udp(id).map_err(|error| errno(&error))?;
                new.set_datagrams(Datagrams::new(adopted));
            }
        }
        self.over.store(true, Ordering::Relaxed);
        Ok(new)
    }

    pub fn check(&self) -> Result<(), Errno> {
        self.is_own().then_some(()).ok_or(libc::ECONNRESET)
    }

    /// Whether it listens, in this process or one that forked it, so that its address is known.
    pub fn has_listener(&self) -> bool {
        self.listener.get().is_some()
    }

    pub fn is_listening(&self) -> bool {
        self.kind() == Kind::Listener
    }

    pub fn bind(&self, address: SocketAddr) {
        let _ = self.bound.set(address);
    }

    /// Connections are to come through the kernel's socket too, which is bound.
    pub fn accept_from_kernel(&self) {
        self.both.store(true, Ordering::Relaxed);
    }

    /// The kernel's socket, if connections come through it too.
    pub fn kernel_listener(&self) -> Option<RawFd> {
        let kernel = self.kernel.get()?;
        (self.both.load(Ordering::Relaxed)).then_some(kernel.0)
    }

    /// The kernel's socket, if it is to be asked for a connection before the stack: both sides take turns, so that neither
    /// keeps the other waiting.
    pub fn kernel_to_accept(&self) -> Option<RawFd> {
        let kernel = self.kernel_listener()?;
        let is_turn = self.kernel_first.fetch_not(Ordering::Relaxed);
        let pending = self.listener.get().map_or(0, Listener::pending);
        (is_turn || pending == 0).then_some(kernel)
    }

    pub fn listen(&self, backlog: c_int) -> Result<(), Errno> {
        self.check()?;
        if self.is_listening() {
            return Ok(());
        }
        let local = *self.bound.get().ok_or(libc::EDESTADDRREQ)?;
        if let Some(kernel) = self.kernel_listener() {
            let flags = [kernel, libc::F_SETFL, libc::O_NONBLOCK].map(sys::word);
            sys::call(libc::SYS_fcntl, flags)?;
            sys::call(libc::SYS_listen, [kernel, backlog].map(sys::word))?;
        }
        let backlog = u32::try_from(backlog).unwrap_or(0).max(1);
        let stack = &process::attach()?.stack;
        let listener = match self.shares_address()? {
            true => stack.listen_shared(local, backlog),
            false => stack.listen(local, backlog),
        };
        let listener = listener.map_err(|error| errno(&error))?;
        listener.set_nonblocking(true);
        let _ = self.listener.set(listener);
        Ok(())
    }

    pub fn connect(&self, remote: SocketAddr) -> Result<(), Errno> {
        self.check()?;
        if let Some(stream) = self.stream.get() {
            let progress = stream.link.progress();
            return match (progress.connected, progress.closed) {
                (_, true) => Err(self.take_error().unwrap_or(libc::ECONNABORTED)),
                (true, false) => Err(libc::EISCONN),
                (false, false) => Err(libc::EALREADY),
            };
        }
        let local = self.bound.get().copied();
        let stack = &process::attach()?.stack;
        let connection = stack
            .start_connect(local, remote)
            .map_err(|error| errno(&error))?;
        self.options.apply(connection.link());
        self.begin(connection);
        if self.nonblocking.load(Ordering::Relaxed) {
            return Err(libc::EINPROGRESS);
        }
        let deadline = self.options.send_timeout.deadline();
        match wait::one(self, libc::POLLOUT, deadline) {
            Err(libc::EAGAIN) => return Err(libc::EINPROGRESS),
            waited => waited?,
        }
        self.take_error().map_or(Ok(()), Err)
    }

    fn begin(&self, connection: Connection) {
        connection.set_nonblocking(true);
        let link = Arc::clone(connection.link());
        let (receive, send) = connection.into_split();
        let _ = self.stream.set(Stream {
            link,
            receive: Mutex::new(receive),
            send: Mutex::new(send),
        });
    }

    /// Waits until a listener has a connection.
    pub fn wait_to_accept(&self) -> Result<(), Errno> {
        if !self.is_listening() {
            return Err(libc::EINVAL);
        }
        if self.is_own()
            && let Some(listener) = self.listener.get()
        {
            self.accept_too(listener);
            if listener.pending() > 0 {
                return Ok(());
            }
        }
        if self.listens_no_more() && self.tell() {
            return Err(libc::ENETDOWN);
        }
        match self.nonblocking.load(Ordering::Relaxed) {
            true => Err(libc::EAGAIN),
            false => wait::one(self, libc::POLLIN, self.options.receive_timeout.deadline()),
        }
    }

    /// Whether no more connections come to a listener, as the stack is gone. `accept` says so once. Then it is as if the
    /// kernel's interface were down: a program that waits sleeps, as it would otherwise try again and again.
    fn listens_no_more(&self) -> bool {
        let own = self.listener.get().filter(|_| self.is_own());
        own.is_none_or(Listener::is_gone)
    }

    fn accept_too(&self, listener: &Listener) {
        if !self.accepts.swap(true, Ordering::Relaxed) {
            listener.accept_too();
        }
    }

    /// The next connection of a listener; `EAGAIN` if there is none.
    pub fn accept(&self, nonblocking: bool) -> Result<Socket, Errno> {
        let listener = self.listener.get().ok_or(libc::EINVAL)?;
        let connection = loop {
            let connection = listener
                .accept()
                .map_err(|error| match listener.is_gone() {
                    // The next wait says so.
                    true => libc::EAGAIN,
                    false => errno(&error),
                })?;
            // The engine may have given it to another process at the last moment.
            if !connection.link().is_moved() {
                break connection;
            }
        };
        let socket = Socket::new(self.options.copy(), self.six, nonblocking);
        socket.options.apply(connection.link());
        socket.begin(connection);
        Ok(socket)
    }

    fn stream(&self) -> Result<&Stream, Errno> {
        self.check()?;
        self.stream.get().ok_or(libc::ENOTCONN)
    }

    pub fn link(&self) -> Result<&Link, Errno> {
        self.stream().map(|stream| &*stream.link)
    }

    pub fn waits(&self, flags: c_int) -> bool {
        flags & libc::MSG_DONTWAIT == 0 && !self.nonblocking.load(Ordering::Relaxed)
    }

    /// Receives bytes, some of them unless the flags say that all are wanted.
    pub fn receive(&self, to: &mut [u8], flags: c_int) -> Result<usize, Errno> {
        let stream = self.stream()?;
        let peeks = flags & libc::MSG_PEEK != 0;
        let all = flags & libc::MSG_WAITALL != 0 && !peeks;
        let deadline = self.options.receive_timeout.deadline();
        let mut done = 0;
        loop {
            let mut half = lock(&stream.receive);
            let result = match peeks {
                true => half.peek(&mut to[done..]),
                false => half.read(&mut to[done..]),
            };
            drop(half);
            let result = match result {
                Ok(n) => {
                    if !peeks {
                        self.read.fetch_add(n as u64, Ordering::Relaxed);
                    }
                    done += n;
                    if n == 0 || !all || done == to.len() {
                        return Ok(done);
                    }
                    continue;
                }
                Err(error) if error.kind() != ErrorKind::WouldBlock => Err(errno(&error)),
                Err(_) if self.waits(flags) => wait::one(self, libc::POLLIN, deadline),
                Err(_) => Err(libc::EAGAIN),
            };
            match result {
                Err(_) if done > 0 => return Ok(done),
                result => result?,
            }
        }
    }

    /// Sends bytes: all of them if it may wait.
    pub fn send(&self, bytes: &[u8], flags: c_int) -> Result<usize, Errno> {
        let stream = self.stream()?;
        let deadline = self.options.send_timeout.deadline();
        let mut done = 0;
        loop {
            let result = lock(&stream.send).write(&bytes[done..]);
            let result = match result {
                Ok(n) => {
                    done += n;
                    if done == bytes.len() {
                        return Ok(done);
                    }
                    continue;
                }
                Err(error) if error.kind() != ErrorKind::WouldBlock => Err(errno(&error)),
                Err(_) if self.waits(flags) => wait::one(self, libc::POLLOUT, deadline),
                Err(_) => {
                    self.blocked.fetch_add(1, Ordering::Relaxed);
                    Err(libc::EAGAIN)
                }
            };
            match result {
                Err(_) if done > 0 => return Ok(done),
                result => result?,
            }
        }
    }

    pub fn shutdown(&self, how: Shutdown) -> Result<(), Errno> {
        if let Some(datagrams) = self.datagrams() {
            return datagrams.remote().map(drop).ok_or(libc::ENOTCONN);
        }
        self.stream()?.link.shutdown(how);
        process::ring_alarms();
        Ok(())
    }

    /// Bytes that can be read.
    pub fn available(&self) -> Result<usize, Errno> {
        if let Some(datagrams) = self.datagrams() {
            return Ok(datagrams.available());
        }
        Ok(self.stream()?.link.progress().available)
    }

    /// The error of the connection, once.
    pub fn take_error(&self) -> Option<Errno> {
        let progress = self.stream.get()?.link.progress();
        let error = Some(progress.error).filter(|&error| error != 0)?;
        self.tell().then_some(error)
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

    /// What `poll` tells of it.
    pub fn events(&self) -> c_short {
        let hung_up = libc::POLLOUT | libc::POLLHUP;
        if self.is_listening() && !self.is_own() {
            return self.listening_events(0);
        }
        if !self.is_own() {
            return libc::POLLIN | hung_up | libc::POLLERR;
        }
        if self.is_moved() {
            // Another process reads and writes.
            return 0;
        }
        if let Some(datagrams) = self.datagrams() {
            return datagrams.events(self.told.load(Ordering::Relaxed));
        }
        if let Some(listener) = self.listener.get() {
            self.accept_too(listener);
            return self.listening_events(listener.pending());
        }
        let Some(stream) = self.stream.get() else {
            return hung_up;
        };
        let Progress {
            connected,
            finished,
            closed,
            error,
            available,
            room,
        } = stream.link.progress();
        let [received, sent] = stream.link.ended();
        let readable = available > 0 || finished || closed || received;
        let writable = closed || sent || connected && room > 0;
        let bit = |is: bool, bits| if is { bits } else { 0 };
        bit(readable, libc::POLLIN | libc::POLLRDNORM)
            | bit(writable, libc::POLLOUT | libc::POLLWRNORM)
            | bit(finished || closed || received, libc::POLLRDHUP)
            | bit(closed || sent && (finished || received), libc::POLLHUP)
            | bit(
                error != 0 && !self.told.load(Ordering::Relaxed),
                libc::POLLERR,
            )
    }

    fn listening_events(&self, pending: usize) -> c_short {
        let news = self.listens_no_more() && !self.told.load(Ordering::Relaxed);
        match pending > 0 || news {
            true => libc::POLLIN | libc::POLLRDNORM,
            false => 0,
        }
    }

    /// What is different after anything that an edge-triggered epoll tells of.
    pub fn seen(&self, events: c_short) -> Seen {
        let available = self.any_link().map_or(0, |link| link.progress().available);
        Seen {
            received: self.read.load(Ordering::Relaxed) + available as u64,
            blocked: self.blocked.load(Ordering::Relaxed),
            events,
        }
    }
}
