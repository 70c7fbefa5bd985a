//! `poll` and `select` over sockets of the stack and file descriptors of the kernel's.

use std::ffi::{c_int, c_short};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::socket::Socket;
use crate::sys::{self, Errno};
use crate::{table, wait};

/// What `poll` tells whether it is asked for or not.
const ALWAYS: c_short = libc::POLLHUP | libc::POLLERR | libc::POLLNVAL;

/// Waits for file descriptors, some of which are of the stack; none if none is.
pub fn poll(
    fds: &mut [libc::pollfd],
    timeout: Option<Duration>,
    mask: *const libc::sigset_t,
) -> Option<Result<isize, Errno>> {
    let sockets: Vec<(usize, Arc<Socket>)> = fds
        .iter()
        .enumerate()
        .filter_map(|(at, fd)| Some((at, table::socket(fd.fd)?)))
        .collect();
    if sockets.is_empty() {
        return None;
    }
    Some(wait_for(fds, &sockets, timeout, mask))
}

fn wait_for(
    fds: &mut [libc::pollfd],
    sockets: &[(usize, Arc<Socket>)],
    timeout: Option<Duration>,
    mask: *const libc::sigset_t,
) -> Result<isize, Errno> {
    let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
    // The kernel's, in the places of all: a negative number is passed over.
    let mut others: Vec<libc::pollfd> = fds.to_vec();
    for (at, socket) in sockets {
        others[*at].fd = socket.kernel_listener().unwrap_or(-1);
    }
    let wanted: Vec<c_short> = sockets
        .iter()
        .map(|(at, _)| fds[*at].events | ALWAYS)
        .collect();
    let ready = || {
        let mut each = sockets.iter().zip(&wanted);
        each.any(|((_, socket), wanted)| socket.events() & wanted != 0)
            .then_some(())
    };
    // The kernel's may be ready already, which no wait for the stack may hide.
    let now = sys::poll(&mut others, Some(Duration::ZERO), std::ptr::null())?;
    if now == 0 && ready().is_none() && timeout != Some(Duration::ZERO) {
        wait::until(&mut others, deadline, mask, ready)?;
        sys::poll(&mut others, Some(Duration::ZERO), std::ptr::null())?;
    }
    for (fd, other) in fds.iter_mut().zip(&others) {
        fd.revents = if other.fd < 0 { 0 } else { other.revents };
    }
    for ((at, socket), wanted) in sockets.iter().zip(&wanted) {
        fds[*at].revents |= socket.events() & wanted;
    }
    Ok(fds.iter().filter(|fd| fd.revents != 0).count() as isize)
}

/// A set of `select`, as words of bits.
pub type Bits<'a> = Option<&'a mut [u64]>;

fn has(bits: &Bits<'_>, fd: usize) -> bool {
    bits.as_ref()
        .is_some_and(|bits| bits[fd / 64] & (1 << (fd % 64)) != 0)
}

/// What each set of `select` asks for, and what of `poll` answers it.
const SETS: [(c_short, c_short); 3] = [
    (
        libc::POLLIN,
        libc::POLLIN | libc::POLLRDNORM | libc::POLLHUP | libc::POLLERR,
    ),
    (
        libc::POLLOUT,
        libc::POLLOUT | libc::POLLWRNORM | libc::POLLERR,
    ),
    (libc::POLLPRI, libc::POLLPRI),
];

/// Waits for file descriptors below `end`, some of which are of the stack; none if none is.
pub fn select(
    end: c_int,
    mut sets: [Bits<'_>; 3],
    timeout: Option<Duration>,
    mask: *const libc::sigset_t,
) -> Option<Result<isize, Errno>> {
    let end = usize::try_from(end).ok()?;
    let mut fds = Vec::new();
    for fd in 0..end {
        let mut events = 0;
        for (set, (asks, _)) in sets.iter().zip(SETS) {
            if has(set, fd) {
                events |= asks;
            }
        }
        if events != 0 {
            fds.push(libc::pollfd {
                fd: fd as c_int,
                events,
                revents: 0,
            });
        }
    }
    if let Err(error) = poll(&mut fds, timeout, mask)? {
        return Some(Err(error));
    }
    if fds.iter().any(|fd| fd.revents & libc::POLLNVAL != 0) {
        return Some(Err(libc::EBADF));
    }
    let asked: Vec<[bool; 3]> = fds
        .iter()
        .map(|fd| [0, 1, 2].map(|set| has(&sets[set], fd.fd as usize)))
        .collect();
    for bits in sets.iter_mut().flatten() {
        bits[..end.div_ceil(64)].fill(0);
    }
    let mut count = 0;
    for (fd, asked) in fds.iter().zip(asked) {
        for ((set, (_, answers)), asked) in sets.iter_mut().zip(SETS).zip(asked) {
            if let Some(bits) = set
                && asked
                && fd.revents & answers != 0
            {
                bits[fd.fd as usize / 64] |= 1 << (fd.fd % 64);
                count += 1;
            }
        }
    }
    Some(Ok(count))
}
