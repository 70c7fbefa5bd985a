//! A doorbell: a Unix socket between two processes, over which a byte wakes the other side.
//!
//! Neither side can make the other block, because each has a file description of its own. Two sides of an eventfd share
//! one, and either could clear `O_NONBLOCK` for both.

use std::os::unix::net::UnixStream;

use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};

/// Rings at the other side of a socket. If the socket is full, the other side is awake. False if
/// it is gone.
pub fn ring(socket: &UnixStream) -> bool {
    let rung = send(socket, &[1], SendFlags::DONTWAIT | SendFlags::NOSIGNAL);
    !matches!(rung, Err(Errno::PIPE | Errno::CONNRESET))
}

/// Takes what was rung, or some of it: more makes the socket readable again. False if the other side is gone.
pub fn answer(socket: &UnixStream) -> bool {
    let mut bytes = [0; 256];
    match recv(socket, &mut bytes, RecvFlags::DONTWAIT) {
        Ok((n, _)) => n > 0,
        Err(error) => matches!(error, Errno::AGAIN | Errno::INTR),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_doorbell_never_blocks_and_tells_of_the_end() {
        let (one, other) = UnixStream::pair().unwrap();
        for _ in 0..10_000 {
            assert!(ring(&one));
        }
        assert!(answer(&other));
        assert!(answer(&one));
        drop(other);
        // What was not taken is lost with it, which tells of the end as well.
        assert!(!answer(&one));
        assert!(!ring(&one));
    }
}
