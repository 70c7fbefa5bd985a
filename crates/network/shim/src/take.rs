//! How a socket of the kernel's becomes one of the stack.

use std::ffi::c_int;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::AsRawFd;
use std::sync::Arc;

use crate::epoll::{self, Watch};
use crate::options::Options;
use crate::process;
use crate::socket::Socket;
use crate::sys::{self, Errno, Outcome};
use crate::table::{self, Entry};

/// What of the kernel's sockets the stack has, too.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Tcp,
    Udp,
}

/// The family and the kind of a socket of the kernel's.
fn family(fd: c_int) -> Option<(c_int, Kind)> {
    let option = |name| sys::option(fd, libc::SOL_SOCKET, name);
    let kind = match (option(libc::SO_TYPE)?, option(libc::SO_PROTOCOL)?) {
        (libc::SOCK_STREAM, libc::IPPROTO_TCP) => Kind::Tcp,
        (libc::SOCK_DGRAM, libc::IPPROTO_UDP) => Kind::Udp,
        _ => return None,
    };
    Some((option(libc::SO_DOMAIN)?, kind))
}

/// Keeps in mind what epolls ask of a socket of the kernel's, as it may become one of the stack.
pub fn watch(epoll: c_int, operation: c_int, fd: c_int, event: Option<libc::epoll_event>) {
    let known = table::watched(fd);
    if !process::has_addresses()
        || !table::has_place(fd)
        || known.is_none() && (operation != libc::EPOLL_CTL_ADD || family(fd).is_none())
    {
        return;
    }
    let mut watches = known.map_or(Vec::new(), |known| known.to_vec());
    watches.retain(|watch| watch.epoll != epoll);
    if operation != libc::EPOLL_CTL_DEL
        && let Some(event) = event
    {
        watches.push(Watch { epoll, event });
    }
    drop(table::replace(fd, Some(Entry::Watched(Arc::new(watches)))));
}

/// Puts a socket of the stack into the place of a kernel's, which has the number `fd`. With `both` connections are to come
/// through the kernel's too.
fn take(fd: c_int, family: c_int, both: bool) -> Result<Arc<Socket>, Errno> {
    if !table::has_place(fd) {
        return Err(libc::EMFILE);
    }
    let flags = |command| sys::call(libc::SYS_fcntl, [sys::word(fd), sys::word(command)]);
    let nonblocking = flags(libc::F_GETFL)? as c_int & libc::O_NONBLOCK != 0;
    let close_on_exec = flags(libc::F_GETFD)? as c_int & libc::FD_CLOEXEC != 0;
    let kept = [sys::word(fd), sys::word(libc::F_DUPFD_CLOEXEC), 0];
    // Without a file descriptor for it the kernel's socket is lost, and with it options that change nothing.
    let options = Options::of_kernel(fd);
    let kernel = sys::call(libc::SYS_fcntl, kept)
        .ok()
        .map(|kept| kept as c_int);
    let placeholder = process::attach()?.placeholder.as_raw_fd();
    let flag = if close_on_exec { libc::O_CLOEXEC } else { 0 };
    // The kernel would go on telling of its own socket. An epoll that it does not have any more is closed.
    let watches = table::watched(fd);
    let leaves = |watch: &&Watch| {
        let remove = [watch.epoll, libc::EPOLL_CTL_DEL, fd].map(sys::word);
        let [epoll, operation, fd] = remove;
        sys::call(libc::SYS_epoll_ctl, [epoll, operation, fd, 0]).is_ok()
    };
    let watches: Vec<Watch> = (watches.iter().flat_map(|watches| watches.iter()))
        .filter(leaves)
        .copied()
        .collect();
    let placed = sys::call(
        libc::SYS_dup3,
        [sys::word(placeholder), sys::word(fd), sys::word(flag)],
    );
    placed?;
    let six = family == libc::AF_INET6;
    let socket = Arc::new(Socket::in_place_of(kernel, options, six, nonblocking));
    if both {
        socket.accept_from_kernel();
    }
    drop(table::replace(fd, Some(Entry::Socket(Arc::clone(&socket)))));
    for Watch { epoll, event } in watches {
        epoll::control(epoll, libc::EPOLL_CTL_ADD, fd, &socket, Some(event))?;
    }
    Ok(socket)
}

/// Connects a socket of the kernel's, if the address is the stack's; none if it is not.
pub fn connect(fd: c_int, remote: SocketAddr) -> Option<Result<(), Errno>> {
    if !process::places().reaches(&remote) {
        return None;
    }
    let (family, kind) = family(fd)?;
    // A stack that is gone leaves the socket as it is.
    let attached = process::attach().map(drop);
    Some(attached.and_then(|()| match kind {
        Kind::Tcp => take(fd, family, false)?.connect(remote),
        Kind::Udp => {
            let socket = take_datagrams(fd, family, &remote)?;
            reconnect(&socket, Some(remote))
        }
    }))
}

/// Connects a socket of UDP to another peer, or to none.
pub fn reconnect(socket: &Socket, remote: Option<SocketAddr>) -> Result<(), Errno> {
    socket.check()?;
    let datagrams = socket.datagrams().ok_or(libc::EAFNOSUPPORT)?;
    datagrams.reconnect(remote)
}

/// Puts a socket of UDP of the stack into the place of a kernel's, at the port that it has.
fn take_datagrams(fd: c_int, family: c_int, remote: &SocketAddr) -> Result<Arc<Socket>, Errno> {
    let port = sys::local_port(fd).unwrap_or(0);
    let any = match remote {
        SocketAddr::V4(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        SocketAddr::V6(_) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
    };
    let socket = take(fd, family, false)?;
    socket.bind_datagrams(SocketAddr::new(any, port))?;
    Ok(socket)
}

/// The socket of the stack that a socket of the kernel's becomes by sending a datagram there; none if it does not.
pub fn send_to(fd: c_int, remote: SocketAddr) -> Option<Result<Arc<Socket>, Errno>> {
    if !process::places().reaches(&remote) {
        return None;
    }
    let (family, kind) = family(fd)?;
    if kind != Kind::Udp {
        return None;
    }
    let attached = process::attach().map(drop);
    Some(attached.and_then(|()| take_datagrams(fd, family, &remote)))
}

/// Binds a socket of the kernel's, if the stack is to listen at the address; none if it is not. One of TCP that names no
/// address is to listen at the kernel's, too, where `kernel` binds it.
pub fn bind(
    fd: c_int,
    local: SocketAddr,
    kernel: impl FnOnce() -> Outcome,
) -> Option<Result<(), Errno>> {
    let only = || sys::option(fd, libc::IPPROTO_IPV6, libc::IPV6_V6ONLY).unwrap_or(0) != 0;
    let local = process::places().binds(local, local.is_ipv6() && !only())?;
    let (family, kind) = family(fd)?;
    let attached = process::attach().map(drop);
    Some(attached.and_then(|()| {
        let both = kind == Kind::Tcp && local.ip().is_unspecified();
        if both {
            kernel()?;
        }
        let socket = take(fd, family, both)?;
        match kind {
            Kind::Tcp => socket.bind(local),
            Kind::Udp => socket.bind_datagrams(local)?,
        }
        Ok(())
    }))
}
