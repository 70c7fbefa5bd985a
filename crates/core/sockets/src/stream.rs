//! A connection to a client, over either kind of socket.

use std::io::{self, IoSlice, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// Bytes that a socket should buffer before a write blocks. The system may give less.
const SEND_BUFFER: usize = 2 << 20;

/// A connection. It can be read and written at the same time.
#[derive(Debug)]
pub enum Stream {
    /// Over a Unix domain socket, or one that is used in the same way, as of vsock.
    Unix(UnixStream),
    /// Over TCP.
    Tcp(TcpStream),
}

impl Stream {
    /// Sets options of a new connection. Without them it is only slower.
    pub fn configure(&self) {
        let _ = rustix::net::sockopt::set_socket_send_buffer_size(self, SEND_BUFFER);
        if let Stream::Tcp(tcp) = self {
            let _ = tcp.set_nodelay(true);
            let _ = rustix::net::sockopt::set_socket_keepalive(tcp, true);
        }
    }

    /// Whether something can be read, or the client is gone.
    pub fn is_ready(&self) -> bool {
        let mut fds = [PollFd::new(self, PollFlags::IN)];
        let now = Timespec::default();
        matches!(poll(&mut fds, Some(&now)), Ok(1..))
    }

    /// Ends one direction or both, for all threads that use it.
    pub fn shutdown(&self, how: Shutdown) {
        let _ = match self {
            Stream::Unix(unix) => unix.shutdown(how),
            Stream::Tcp(tcp) => tcp.shutdown(how),
        };
    }

    /// How long a read may wait for the client.
    ///
    /// # Errors
    /// The system refuses it.
    pub fn set_read_timeout(&self, time: Option<Duration>) -> io::Result<()> {
        match self {
            Stream::Unix(unix) => unix.set_read_timeout(time),
            Stream::Tcp(tcp) => tcp.set_read_timeout(time),
        }
    }

    /// How long a write may wait for the client.
    ///
    /// # Errors
    /// The system refuses it.
    pub fn set_write_timeout(&self, time: Option<Duration>) -> io::Result<()> {
        match self {
            Stream::Unix(unix) => unix.set_write_timeout(time),
            Stream::Tcp(tcp) => tcp.set_write_timeout(time),
        }
    }

    /// Writes all of `slices`.
    ///
    /// # Errors
    /// The client is gone.
    pub fn write_slices(mut self: &Stream, mut slices: &mut [IoSlice<'_>]) -> io::Result<()> {
        // An empty one at the front would look as if nothing could be written.
        IoSlice::advance_slices(&mut slices, 0);
        while !slices.is_empty() {
            match self.write_vectored(slices) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(n) => IoSlice::advance_slices(&mut slices, n),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Stream::Unix(unix) => unix.as_fd(),
            Stream::Tcp(tcp) => tcp.as_fd(),
        }
    }
}

impl Read for &Stream {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::Unix(unix) => (&*unix).read(room),
            Stream::Tcp(tcp) => (&*tcp).read(room),
        }
    }
}

impl Write for &Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Stream::Unix(unix) => (&*unix).write(bytes),
            Stream::Tcp(tcp) => (&*tcp).write(bytes),
        }
    }

    fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        match self {
            Stream::Unix(unix) => (&*unix).write_vectored(slices),
            Stream::Tcp(tcp) => (&*tcp).write_vectored(slices),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
