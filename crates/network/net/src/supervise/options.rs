//! Options of sockets.

use std::os::fd::{AsFd, BorrowedFd};

use super::socket::{Socket, State};
use super::sys::{Errno, get_option, set_option};
use crate::program::options::{self, Linger, choice};
use crate::program::tcp_info;

/// What the kernel's socket keeps and tells. No option is among them that has a pointer in it: the kernel would follow it
/// in the memory of this process.
const KEPT: [(i32, &[i32]); 4] = [
    (
        libc::SOL_SOCKET,
        &[
            libc::SO_REUSEADDR,
            libc::SO_REUSEPORT,
            libc::SO_KEEPALIVE,
            libc::SO_BROADCAST,
            libc::SO_SNDBUF,
            libc::SO_RCVBUF,
            libc::SO_PRIORITY,
            libc::SO_LINGER,
            libc::SO_RCVTIMEO,
            libc::SO_SNDTIMEO,
            libc::SO_RCVLOWAT,
            libc::SO_OOBINLINE,
            libc::SO_BUSY_POLL,
            libc::SO_DONTROUTE,
        ],
    ),
    (
        libc::IPPROTO_TCP,
        &[
            libc::TCP_NODELAY,
            libc::TCP_MAXSEG,
            libc::TCP_CORK,
            libc::TCP_KEEPIDLE,
            libc::TCP_KEEPINTVL,
            libc::TCP_KEEPCNT,
            libc::TCP_SYNCNT,
            libc::TCP_LINGER2,
            libc::TCP_DEFER_ACCEPT,
            libc::TCP_WINDOW_CLAMP,
            libc::TCP_QUICKACK,
            libc::TCP_CONGESTION,
            libc::TCP_USER_TIMEOUT,
            libc::TCP_FASTOPEN,
            libc::TCP_NOTSENT_LOWAT,
        ],
    ),
    (
        libc::IPPROTO_IP,
        &[
            libc::IP_TOS,
            libc::IP_TTL,
            libc::IP_MTU_DISCOVER,
            libc::IP_RECVERR,
        ],
    ),
    (
        libc::IPPROTO_IPV6,
        &[
            libc::IPV6_V6ONLY,
            libc::IPV6_TCLASS,
            libc::IPV6_UNICAST_HOPS,
        ],
    ),
];
/// What is told and cannot be set.
const TOLD: [i32; 3] = [libc::SO_TYPE, libc::SO_DOMAIN, libc::SO_PROTOCOL];
/// The longest value that is set.
const MOST: u64 = 16;

fn is_kept(level: i32, name: i32) -> bool {
    KEPT.iter()
        .any(|(of, names)| *of == level && names.contains(&name))
}

/// How long a value may be that is to be set.
pub fn length(len: u64) -> Result<usize, Errno> {
    if len as i32 <= 0 {
        return Err(libc::EINVAL);
    }
    Ok(len.min(MOST) as usize)
}

/// Whether an option is on, in a socket of the kernel's.
pub fn is_on(socket: BorrowedFd<'_>, level: i32, name: i32) -> bool {
    number(socket, level, name).is_some_and(|value| value != 0)
}

/// The number that is the value of an option, of a socket of the kernel's.
pub fn number(socket: BorrowedFd<'_>, level: i32, name: i32) -> Option<i32> {
    options::number(&get_option(socket, level, name).ok()?)
}

/// The value of an option of a socket of the stack.
pub fn get(socket: &mut Socket, level: i32, name: i32) -> Result<Vec<u8>, Errno> {
    let bytes = |number: i32| Ok(number.to_ne_bytes().to_vec());
    match (level, name) {
        (libc::SOL_SOCKET, libc::SO_ERROR) => bytes(socket.take_error()),
        (libc::SOL_SOCKET, libc::SO_ACCEPTCONN) => {
            bytes(matches!(socket.state, State::Listening(_)).into())
        }
        (libc::IPPROTO_TCP, libc::TCP_INFO) => Ok(tcp_info::encode(socket.link()).into()),
        (libc::SOL_SOCKET, name) if TOLD.contains(&name) => {
            get_option(socket.kernel.as_fd(), level, name)
        }
        (level, name) if is_kept(level, name) => get_option(socket.kernel.as_fd(), level, name),
        _ => Err(libc::ENOPROTOOPT),
    }
}

/// Sets an option. True if the pair of sockets is to have it, too: then the kernel does what the program called for.
pub fn set(socket: &mut Socket, level: i32, name: i32, value: &[u8]) -> Result<bool, Errno> {
    if !is_kept(level, name) {
        return Err(libc::ENOPROTOOPT);
    }
    set_option(socket.kernel.as_fd(), level, name, value)?;
    let on = options::number(value).is_some_and(|value| value != 0);
    if let (Some(choice), Some(link)) = (choice(level, name, on), socket.link()) {
        link.choose_without_reply(choice);
    }
    if (level, name) == (libc::SOL_SOCKET, libc::SO_LINGER) {
        socket.resets = Linger::decode(value).is_some_and(Linger::resets);
    }
    let waits = [libc::SO_RCVTIMEO, libc::SO_SNDTIMEO, libc::SO_RCVLOWAT];
    Ok(level == libc::SOL_SOCKET && waits.contains(&name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_option_with_a_pointer_is_kept() {
        for (level, name) in [
            (libc::SOL_SOCKET, libc::SO_ATTACH_FILTER),
            (libc::SOL_SOCKET, libc::SO_ATTACH_REUSEPORT_CBPF),
            (libc::IPPROTO_TCP, libc::TCP_MD5SIG),
            (libc::IPPROTO_TCP, libc::TCP_ZEROCOPY_RECEIVE),
            (libc::IPPROTO_TCP, libc::TCP_REPAIR),
        ] {
            assert!(!is_kept(level, name), "{level} {name}");
        }
        assert!(is_kept(libc::IPPROTO_TCP, libc::TCP_NODELAY));
    }

    #[test]
    fn lengths_are_bounded() {
        assert_eq!(length(4), Ok(4));
        assert_eq!(length(1 << 20), Ok(16));
        for len in [0, u64::MAX, 1 << 31] {
            assert_eq!(length(len), Err(libc::EINVAL));
        }
    }
}
