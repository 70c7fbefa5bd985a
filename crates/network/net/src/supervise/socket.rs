//! A socket of the stack, for which the program has one end of a pair of Unix sockets.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd, RawFd};
use std::rc::Rc;

use rustix::fs::{OFlags, fcntl_setfl, fstat};
use rustix::io::Errno as Kernel;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, shutdown, socketpair,
};

use super::caller::Caller;
use super::options::{is_on, number};
use super::sys::Errno;
use crate::client::{Choice, Interest, Link};
use crate::{Connection, Listener};

/// A socket. The number of the program's end is its name.
#[derive(Debug)]
pub struct Socket {
    /// This process's end.
    pub near: OwnedFd,
    /// A socket of the kernel's, which nothing is sent through: it keeps options. Connections share their listener's.
    pub kernel: Rc<OwnedFd>,
    /// It was made for IPv6: addresses are told as such.
    pub six: bool,
    pub bound: Option<SocketAddr>,
    /// Bytes that keep the program's end from being writable, before there is a connection.
    pub filling: usize,
    /// What is not sent when it is closed is lost, and the peer gets a reset.
    pub resets: bool,
    /// Where the program's end was seen last.
    pub seen: (Caller, RawFd),
    pub state: State,
    pub ready: Ready,
}

/// What is known of this process's end of the pair. The kernel tells of changes alone (edges).
#[derive(Clone, Copy, Debug)]
pub struct Ready {
    /// A read might not fail for want of bytes.
    pub readable: bool,
    /// A write might not fail for want of room.
    pub writable: bool,
    /// The program has closed its end, or ended both directions.
    pub hung_up: bool,
}

/// What it is.
#[derive(Debug)]
pub enum State {
    /// It was bound at most.
    Idle,
    Listening(Listening),
    Stream(Box<Stream>),
    /// A connection that was not waited for was not made. The first event of this process's end is of its own doing.
    Failed {
        error: Errno,
        told: bool,
        fresh: bool,
    },
}

/// A thread that waits in `accept`.
#[derive(Clone, Copy, Debug)]
pub struct Accept {
    pub id: u64,
    pub caller: Caller,
    pub fd: RawFd,
    /// Where it wants the address of the peer, and its length; 0 if it does not.
    pub address: [u64; 2],
    pub flags: i32,
}

/// A listener.
#[derive(Debug)]
pub struct Listening {
    pub listener: Listener,
    /// Connections that were not accepted.
    pub pending: VecDeque<Connection>,
    pub waiting: VecDeque<Accept>,
    /// Bytes that make the program's end readable.
    pub marks: usize,
    /// The program was told that the stack is gone.
    pub told: bool,
}

/// A connection.
#[derive(Debug)]
pub struct Stream {
    pub connection: Connection,
    pub connected: bool,
    /// `connect` has said that it is connected.
    pub told: bool,
    /// Threads that wait in `connect`, and their notifications.
    pub waiting: Vec<(Caller, u64)>,
    /// Bytes that keep the program's end from being writable while it is not connected.
    pub filling: usize,
    pub error: Errno,
    /// The program sends no more, and the stack knows.
    pub program_ended: bool,
    /// The program reads no more.
    pub program_deaf: bool,
    /// The peer sends no more, and the program knows.
    pub peer_ended: bool,
    /// There were bytes of the program's, and no room in the stack.
    pub no_room: bool,
    /// The connection is over.
    pub over: bool,
    /// What is asked of the stack.
    pub interest: Interest,
}

/// The number of a socket.
pub fn number_of(socket: BorrowedFd<'_>) -> io::Result<u64> {
    Ok(fstat(socket)?.st_ino)
}

/// The ends of a pair, the program's last.
pub fn pair(nonblocking: bool) -> io::Result<(OwnedFd, OwnedFd)> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let (near, far) = socketpair(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    if !nonblocking {
        fcntl_setfl(&far, OFlags::empty())?;
    }
    Ok((near, far))
}

impl Socket {
    pub fn new(near: OwnedFd, kernel: Rc<OwnedFd>, six: bool, seen: (Caller, RawFd)) -> Socket {
        let ready = Ready {
            readable: false,
            writable: true,
            hung_up: false,
        };
        Socket {
            near,
            kernel,
            six,
            bound: None,
            filling: 0,
            resets: false,
            seen,
            state: State::Idle,
            ready,
        }
    }

    /// The connection, if it is one.
    pub fn link(&self) -> Option<&Link> {
        match &self.state {
            State::Stream(stream) => Some(stream.connection.link()),
            _ => None,
        }
    }

    /// The address of this end.
    pub fn local(&self) -> Option<SocketAddr> {
        match &self.state {
            State::Stream(stream) => stream.connection.local_addr().ok(),
            State::Listening(listening) => listening.listener.local_addr().ok(),
            State::Idle | State::Failed { .. } => self.bound,
        }
    }

    /// The error that `SO_ERROR` tells once.
    pub fn take_error(&mut self) -> Errno {
        match &mut self.state {
            State::Stream(stream) => std::mem::take(&mut stream.error),
            State::Failed { error, .. } => std::mem::take(error),
            _ => 0,
        }
    }

    /// Gives a new connection the options that the kernel's socket has.
    pub fn equip(&self, connection: &Connection) {
        connection.set_nonblocking(true);
        let kernel = self.kernel.as_fd();
        let link = connection.link();
        if is_on(kernel, libc::IPPROTO_TCP, libc::TCP_NODELAY) {
            link.choose_without_reply(Choice::NoDelay(true));
        }
        if is_on(kernel, libc::SOL_SOCKET, libc::SO_KEEPALIVE) {
            link.choose_without_reply(Choice::KeepAlive(true));
        }
    }

    /// A connection that was not waited for is not made: the program's end becomes writable, and nothing can be done with
    /// it.
    pub fn fail(&mut self, error: Errno) {
        if let State::Stream(stream) = &mut self.state {
            let _ = discard(self.near.as_fd(), &mut stream.filling);
        }
        self.state = State::Failed {
            error,
            told: false,
            fresh: true,
        };
        let _ = shutdown(&self.near, rustix::net::Shutdown::Both);
    }
}

impl Stream {
    pub fn new(connection: Connection, connected: bool) -> Stream {
        Stream {
            connection,
            connected,
            told: connected,
            waiting: Vec::new(),
            filling: 0,
            error: 0,
            program_ended: false,
            program_deaf: false,
            peer_ended: false,
            no_room: false,
            over: false,
            interest: Interest::BOTH,
        }
    }
}

/// Fills the program's end so far that it is not writable, and returns with how many bytes.
pub fn fill(far: BorrowedFd<'_>) -> usize {
    // A Unix socket is writable while no more than a quarter of its room is taken.
    let room = number(far, libc::SOL_SOCKET, libc::SO_SNDBUF).unwrap_or(0);
    let bytes = vec![0; usize::try_from(room).unwrap_or(0) / 4 + 1];
    send(far, &bytes, SendFlags::DONTWAIT | SendFlags::NOSIGNAL).unwrap_or(0)
}

/// Takes bytes that mean nothing. False if they are not all there.
pub fn discard(from: BorrowedFd<'_>, left: &mut usize) -> bool {
    let mut bytes = [0; 1 << 14];
    while *left > 0 {
        let most = (*left).min(bytes.len());
        match recv(from, &mut bytes[..most], RecvFlags::DONTWAIT) {
            Ok((0, _)) => *left = 0,
            Ok((n, _)) => *left -= n,
            Err(Kernel::INTR) => {}
            Err(_) => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    use super::*;

    fn is_writable(socket: &OwnedFd) -> bool {
        let mut fds = [PollFd::new(socket, PollFlags::OUT)];
        poll(&mut fds, Some(&Timespec::default())).unwrap() == 1
    }

    #[test]
    fn an_end_is_writable_when_it_is_no_longer_filled() {
        let (near, far) = pair(true).unwrap();
        assert!(is_writable(&far));
        let mut filling = fill(far.as_fd());
        assert!(filling > 0 && !is_writable(&far));
        // What the program writes comes after it.
        send(&far, b"x", SendFlags::empty()).unwrap();
        assert!(discard(near.as_fd(), &mut filling));
        assert!(is_writable(&far));
        let mut bytes = [0; 8];
        let (n, _) = recv(&near, &mut bytes, RecvFlags::DONTWAIT).unwrap();
        assert_eq!(&bytes[..n], b"x");
    }
}
