//! The process at the other end of a Unix socket.

use std::ffi::c_int;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::net::UnixStream;

/// A file descriptor of the process that connected, which is readable when the process has ended; none where the kernel is
/// older than 6.5. It is of the right process even in another namespace, and after its number has been used again.
pub fn peer(socket: &UnixStream) -> Option<OwnedFd> {
    let mut fd: c_int = -1;
    let mut len = size_of::<c_int>() as libc::socklen_t;
    // SAFETY: `fd` and `len` are this function's, and `len` is the size of `fd`.
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERPIDFD,
            (&raw mut fd).cast(),
            &raw mut len,
        )
    };
    if result != 0 || fd < 0 {
        return None;
    }
    // SAFETY: the kernel made the file descriptor for this call, and nothing else has it.
    Some(unsafe { OwnedFd::from_raw_fd(fd) })
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    use super::*;

    fn has_ended(process: &OwnedFd) -> bool {
        let mut fds = [PollFd::new(process, PollFlags::IN)];
        poll(&mut fds, Some(&Timespec::default())).unwrap() == 1
    }

    #[test]
    fn the_end_of_a_process_is_seen() {
        let (one, _other) = UnixStream::pair().unwrap();
        let Some(own) = peer(&one) else {
            evener_testing::skip("the kernel is older than 6.5");
            return;
        };
        assert!(!has_ended(&own));
        // A child connects, says so, and ends when its input does.
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
        let program = "import socket, sys; s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); sys.stdin.read()";
        let child = Command::new("python3")
            .args(["-c", program])
            .arg(&path)
            .stdin(Stdio::piped())
            .spawn();
        let Ok(mut child) = child else {
            evener_testing::skip("there is no python3");
            return;
        };
        let (socket, _) = listener.accept().unwrap();
        let process = peer(&socket).unwrap();
        assert!(!has_ended(&process));
        drop(child.stdin.take());
        child.wait().unwrap();
        assert!(has_ended(&process));
    }
}
