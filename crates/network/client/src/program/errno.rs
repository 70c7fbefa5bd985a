//! Errors as the operating system numbers them.

use std::io::{self, ErrorKind};

/// The number of the operating system's for an error of a stack, or of its own.
pub fn errno(error: &io::Error) -> i32 {
    error.raw_os_error().unwrap_or(match error.kind() {
        ErrorKind::WouldBlock => libc::EAGAIN,
        ErrorKind::BrokenPipe => libc::EPIPE,
        ErrorKind::TimedOut => libc::ETIMEDOUT,
        ErrorKind::ConnectionRefused => libc::ECONNREFUSED,
        ErrorKind::ConnectionAborted => libc::ECONNABORTED,
        ErrorKind::NotConnected => libc::ENOTCONN,
        ErrorKind::AddrInUse => libc::EADDRINUSE,
        ErrorKind::AddrNotAvailable => libc::EADDRNOTAVAIL,
        ErrorKind::Interrupted => libc::EINTR,
        _ => libc::ECONNRESET,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_have_the_numbers_that_the_standard_library_gives_their_kinds() {
        for number in [
            libc::EAGAIN,
            libc::EPIPE,
            libc::ETIMEDOUT,
            libc::ECONNREFUSED,
            libc::ECONNABORTED,
            libc::ECONNRESET,
            libc::ENOTCONN,
            libc::EADDRINUSE,
            libc::EADDRNOTAVAIL,
            libc::EINTR,
        ] {
            let kind = io::Error::from_raw_os_error(number).kind();
            assert_eq!(errno(&kind.into()), number, "{kind}");
        }
        assert_eq!(
            errno(&io::Error::from_raw_os_error(libc::EMFILE)),
            libc::EMFILE
        );
    }
}
