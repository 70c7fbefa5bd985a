//! The system calls that are answered, but for `accept`.

use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd, RawFd};
use std::rc::Rc;

use super::caller::Caller;
use super::filter;
use super::options::{self, is_on, number};
use super::run::Supervisor;
use super::socket::{Accept, Listening, Socket, State, Stream, fill, number_of, pair};
use super::sys::{Errno, Notification, Place, Reply};
use crate::client::Interest;
use crate::program::{errno, sockaddr};

/// What becomes of a call: an answer at once, or none yet.
pub type Outcome = Result<Option<Reply>, Errno>;

const DONE: Outcome = Ok(Some(Reply::Value(0)));
const KERNEL: Outcome = Ok(Some(Reply::Continue));

/// The family of a socket of the kernel's for TCP, in either of its forms.
fn tcp_family(socket: &OwnedFd) -> Option<i32> {
    let option = |name| number(socket.as_fd(), libc::SOL_SOCKET, name);
    let protocols = [libc::IPPROTO_TCP, libc::IPPROTO_MPTCP];
    let is_tcp = option(libc::SO_TYPE)? == libc::SOCK_STREAM
        && protocols.contains(&option(libc::SO_PROTOCOL)?);
    option(libc::SO_DOMAIN).filter(|_| is_tcp)
}

impl Supervisor {
    /// Answers a call, unless it has to wait.
    pub fn answer(&mut self, call: &Notification) -> Outcome {
        let caller = Caller(call.thread);
        let [fd, second, third, fourth, fifth, _] = call.arguments;
        let fd = fd as RawFd;
        let name = caller.number(fd);
        // What was found out is about the thread that waits, and not about one that has its number now.
        if !self.notifier.waits(call.id) {
            return Ok(None);
        }
        let known = name.filter(|name| self.sockets.contains_key(name));
        if let Some(name) = known
            && let Some(socket) = self.sockets.get_mut(&name)
        {
            socket.seen = (caller, fd);
        }
        match (call.call, known) {
            (libc::SYS_connect, known) => self.connect(call, caller, fd, known),
            (filter::EPOLL, _) => {
                let added = caller.number(third as RawFd);
                let added = added.filter(|name| !self.sockets.contains_key(name));
                if let Some(added) = added {
                    self.registered.add(added, fd);
                }
                KERNEL
            }
            (libc::SYS_bind, None) => self.bind(call, caller, fd),
            (libc::SYS_bind, Some(_)) => Err(libc::EINVAL),
            (libc::SYS_listen, Some(name)) => self.listen(name, second as i32),
            (libc::SYS_accept | libc::SYS_accept4, Some(name)) => {
                let flags = match call.call {
                    libc::SYS_accept => 0,
                    _ => fourth as i32,
                };
                let accept = Accept {
                    id: call.id,
                    caller,
                    fd,
                    address: [second, third],
                    flags,
                };
                self.accept(name, accept)
            }
            (libc::SYS_getsockname | libc::SYS_getpeername, _) => {
                let is_peer = call.call == libc::SYS_getpeername;
                let Some(name) = name else {
                    return KERNEL;
                };
                let (address, six) = match self.sockets.get(&name) {
                    Some(socket) => ends(socket, is_peer)?,
                    None => match self.remains.get(name) {
                        Some(_) if is_peer => return Err(libc::ENOTCONN),
                        Some(local) => local,
                        None => return KERNEL,
                    },
                };
                caller.give(&sockaddr::encode(address, six), second, third, true)?;
                DONE
            }
            (libc::SYS_getsockopt, Some(name)) => {
                let socket = self.sockets.get_mut(&name).ok_or(libc::EBADF)?;
                let value = options::get(socket, second as i32, third as i32)?;
                caller.give(&value, fourth, fifth, false)?;
                DONE
            }
            (libc::SYS_setsockopt, Some(name)) => {
                let value = caller.read(fourth, options::length(fifth)?)?;
                let socket = self.sockets.get_mut(&name).ok_or(libc::EBADF)?;
                match options::set(socket, second as i32, third as i32, &value)? {
                    true => KERNEL,
                    false => DONE,
                }
            }
            _ => KERNEL,
        }
    }

    fn connect(
        &mut self,
        call: &Notification,
        caller: Caller,
        fd: RawFd,
        known: Option<u64>,
    ) -> Outcome {
        let remote = caller.address(call.arguments[1], call.arguments[2]);
        let remote = match known {
            Some(_) => remote?,
            // The kernel knows what is wrong with it.
            None => remote.unwrap_or(None),
        };
        let name = match (known, remote) {
            (Some(name), Some(_)) => match self.connect_again(call, caller, name)? {
                Some(outcome) => return outcome,
                None => self.renew(call, caller, fd, name)?,
            },
            (Some(_), None) => return Err(libc::EAFNOSUPPORT),
            (None, Some(remote)) if self.places.reaches(&remote) => {
                let kernel = caller.socket(fd).map_err(|error| errno(&error))?;
                let Some(family) = tcp_family(&kernel) else {
                    return KERNEL;
                };
                let six = family == libc::AF_INET6;
                self.take(call, caller, fd, Rc::new(kernel), six)?
            }
            (None, _) => return KERNEL,
        };
        let remote = remote.ok_or(libc::EAFNOSUPPORT)?;
        self.start_connect(call, caller, (fd, name), remote)
    }

    /// `connect` for a socket that knows the word already. None if it can begin.
    fn connect_again(
        &mut self,
        call: &Notification,
        caller: Caller,
        name: u64,
    ) -> Result<Option<Outcome>, Errno> {
        let nonblocking = caller.flags(call.arguments[0] as RawFd).nonblocking;
        let socket = self.sockets.get_mut(&name).ok_or(libc::EBADF)?;
        match &mut socket.state {
            State::Idle => Ok(None),
            State::Listening(_) => Err(libc::EISCONN),
            State::Failed { told: true, .. } => Ok(None),
            State::Failed { error, told, .. } => {
                *told = true;
                match std::mem::take(error) {
                    0 => Err(libc::ECONNABORTED),
                    error => Err(error),
                }
            }
            State::Stream(stream) if !stream.connected && nonblocking => Err(libc::EALREADY),
            State::Stream(stream) if !stream.connected => {
                // A signal ended the call, and the thread makes it again.
                stream.waiting.retain(|(waits, _)| waits.0 != caller.0);
                stream.waiting.push((caller, call.id));
                Ok(Some(Ok(None)))
            }
            State::Stream(stream) if !stream.told => {
                stream.told = true;
                Ok(Some(DONE))
            }
            State::Stream(_) => Err(libc::EISCONN),
        }
    }

    /// A socket whose connection was not made gets a pair that works, for another attempt. Returns its new name.
    fn renew(
        &mut self,
        call: &Notification,
        caller: Caller,
        fd: RawFd,
        name: u64,
    ) -> Result<u64, Errno> {
        let socket = self.sockets.get(&name).ok_or(libc::EBADF)?;
        if matches!(socket.state, State::Idle) {
            return Ok(name);
        }
        let (kernel, six, bound) = (Rc::clone(&socket.kernel), socket.six, socket.bound);
        let new = self.take(call, caller, fd, kernel, six)?;
        if let Some(socket) = self.sockets.get_mut(&new) {
            socket.bound = bound;
        }
        Ok(new)
    }

    /// Puts one end of a pair into the place of a socket of the program's. Returns its name. The end is not writable if the
    /// socket is to connect, and that is not waited for.
    fn take(
        &mut self,
        call: &Notification,
        caller: Caller,
        fd: RawFd,
        kernel: Rc<OwnedFd>,
        six: bool,
    ) -> Result<u64, Errno> {
        let flags = caller.flags(fd);
        let number = |error| errno(&error);
        let (near, far) = pair(flags.nonblocking).map_err(number)?;
        let name = number_of(far.as_fd()).map_err(number)?;
        let before = number_of(kernel.as_fd()).map_err(number)?;
        let mut socket = Socket::new(near, Rc::clone(&kernel), six, (caller, fd));
        if flags.nonblocking && call.call == libc::SYS_connect {
            socket.filling = fill(far.as_fd());
        }
        self.watch(&socket, name).map_err(number)?;
        self.notifier
            .add(call.id, far.as_fd(), Place::At(fd), flags.close_on_exec)
            .map_err(number)?;
        let both = [kernel.as_fd(), far.as_fd()];
        self.registered.replace(caller, before, fd, both);
        self.sockets.insert(name, socket);
        Ok(name)
    }

    fn start_connect(
        &mut self,
        call: &Notification,
        caller: Caller,
        (fd, name): (RawFd, u64),
        remote: SocketAddr,
    ) -> Outcome {
        let socket = self.sockets.get_mut(&name).ok_or(libc::EBADF)?;
        let connection = self.stack.start_connect(socket.bound, remote);
        let connection = connection.map_err(|error| errno(&error))?;
        socket.equip(&connection);
        let mut stream = Stream::new(connection, false);
        let nonblocking = caller.flags(fd).nonblocking;
        stream.filling = std::mem::take(&mut socket.filling);
        if !nonblocking {
            stream.waiting.push((caller, call.id));
        } else if stream.filling == 0
            && let Ok(far) = caller.socket(fd)
            && number_of(far.as_fd()).is_ok_and(|number| number == name)
        {
            // It was bound before.
            stream.filling = fill(far.as_fd());
        }
        self.poller.add(&stream.connection, name, stream.interest);
        socket.state = State::Stream(Box::new(stream));
        match nonblocking {
            true => Err(libc::EINPROGRESS),
            false => Ok(None),
        }
    }

    fn bind(&mut self, call: &Notification, caller: Caller, fd: RawFd) -> Outcome {
        let Ok(Some(local)) = caller.address(call.arguments[1], call.arguments[2]) else {
            return KERNEL;
        };
        // Most need no look at the socket.
        if self.places.binds(local, true).is_none() && self.places.binds(local, false).is_none() {
            return KERNEL;
        }
        let kernel = caller.socket(fd).map_err(|error| errno(&error))?;
        let Some(family) = tcp_family(&kernel) else {
            return KERNEL;
        };
        let six = family == libc::AF_INET6;
        let only = is_on(kernel.as_fd(), libc::IPPROTO_IPV6, libc::IPV6_V6ONLY);
        let Some(local) = self.places.binds(local, six && !only) else {
            return KERNEL;
        };
        let name = self.take(call, caller, fd, Rc::new(kernel), six)?;
        if let Some(socket) = self.sockets.get_mut(&name) {
            socket.bound = Some(local);
        }
        DONE
    }

    fn listen(&mut self, name: u64, backlog: i32) -> Outcome {
        let socket = self.sockets.get_mut(&name).ok_or(libc::EBADF)?;
        match socket.state {
            State::Idle => {}
            State::Listening(_) => return DONE,
            State::Stream(_) | State::Failed { .. } => return Err(libc::EINVAL),
        }
        let local = socket.bound.ok_or(libc::EDESTADDRREQ)?;
        let backlog = u32::try_from(backlog).unwrap_or(0).max(1);
        let share = is_on(socket.kernel.as_fd(), libc::SOL_SOCKET, libc::SO_REUSEPORT);
        let listener = match share {
            true => self.stack.listen_shared(local, backlog),
            false => self.stack.listen(local, backlog),
        };
        let listener = listener.map_err(|error| errno(&error))?;
        listener.set_nonblocking(true);
        self.poller.add(&listener, name, Interest::READABLE);
        socket.state = State::Listening(Listening {
            listener,
            pending: Default::default(),
            waiting: Default::default(),
            marks: 0,
            told: false,
        });
        DONE
    }
}

/// An address of a socket, and whether it is told as one of IPv6.
fn ends(socket: &Socket, is_peer: bool) -> Result<(SocketAddr, bool), Errno> {
    let address = match (is_peer, &socket.state) {
        (false, _) => socket.local().ok_or(libc::EINVAL)?,
        (true, State::Stream(stream)) if stream.connected => {
            (stream.connection.peer_addr()).map_err(|_| libc::ENOTCONN)?
        }
        (true, _) => return Err(libc::ENOTCONN),
    };
    Ok((address, socket.six))
}
