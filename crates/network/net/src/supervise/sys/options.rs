//! Options of sockets, as bytes.

use std::os::fd::{AsRawFd, BorrowedFd};

use super::{Errno, check};

fn number(error: &std::io::Error) -> Errno {
    error.raw_os_error().unwrap_or(libc::EINVAL)
}

/// The value of an option, of 256 bytes at most. The option must be one that has no pointers in it.
///
/// # Errors
/// What the operating system says.
pub fn get_option(socket: BorrowedFd<'_>, level: i32, name: i32) -> Result<Vec<u8>, Errno> {
    let mut value = vec![0; 256];
    let mut len = value.len() as libc::socklen_t;
    // SAFETY: the value has `len` bytes, and both live through the call.
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            level,
            name,
            value.as_mut_ptr().cast(),
            &raw mut len,
        )
    };
    check(result).map_err(|error| number(&error))?;
    value.truncate(len as usize);
    Ok(value)
}

/// Sets an option. It must be one that has no pointers in it.
///
/// # Errors
/// What the operating system says.
pub fn set_option(
    socket: BorrowedFd<'_>,
    level: i32,
    name: i32,
    value: &[u8],
) -> Result<(), Errno> {
    // SAFETY: the value has that many bytes, and lives through the call.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            name,
            value.as_ptr().cast(),
            value.len() as libc::socklen_t,
        )
    };
    check(result).map(drop).map_err(|error| number(&error))
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::os::fd::AsFd;

    use super::*;

    #[test]
    fn options_come_back() {
        let socket = TcpListener::bind("127.0.0.1:0").unwrap();
        let get = |name| get_option(socket.as_fd(), libc::SOL_SOCKET, name);
        let one = 1_i32.to_ne_bytes();
        set_option(socket.as_fd(), libc::SOL_SOCKET, libc::SO_KEEPALIVE, &one).unwrap();
        assert_eq!(get(libc::SO_KEEPALIVE), Ok(one.to_vec()));
        assert_eq!(get(9999), Err(libc::ENOPROTOOPT));
        let short = set_option(socket.as_fd(), libc::SOL_SOCKET, libc::SO_KEEPALIVE, &[1]);
        assert_eq!(short, Err(libc::EINVAL));
    }
}
