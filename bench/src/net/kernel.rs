//! The kernel's end of what is measured: sockets of the operating system, each in the caller's thread.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::sockopt;

/// Bytes of a call.
const CALL: usize = 1 << 18;
/// How long a peer may be silent.
const PATIENCE: Duration = Duration::from_secs(10);

/// Connects with this congestion control, which a namespace need not have as its default.
///
/// # Errors
/// What the operating system says.
pub fn connect(to: SocketAddr, congestion: &str) -> io::Result<TcpStream> {
    let stream = TcpStream::connect_timeout(&to, PATIENCE)?;
    prepare(&stream, congestion)?;
    Ok(stream)
}

/// Waits for a connection, whose congestion control is set too.
///
/// # Errors
/// None comes, or what the operating system says.
pub fn accept(listener: &TcpListener, congestion: &str) -> io::Result<TcpStream> {
    let wait = Timespec::try_from(PATIENCE).map_err(io::Error::other)?;
    let mut ready = [PollFd::new(listener, PollFlags::IN)];
    if poll(&mut ready, Some(&wait))? == 0 {
        return Err(io::ErrorKind::TimedOut.into());
    }
    let (stream, _) = listener.accept()?;
    prepare(&stream, congestion)?;
    Ok(stream)
}

fn prepare(stream: &TcpStream, congestion: &str) -> io::Result<()> {
    sockopt::set_tcp_congestion(stream, congestion).map_err(|error| match error {
        Errno::NOENT => io::Error::other(format!(
            "this kernel has no congestion control {congestion}: modprobe tcp_{congestion}"
        )),
        error => error.into(),
    })?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))
}

/// Sends until `until`, and returns the bytes that the socket took.
///
/// # Errors
/// What the operating system says.
pub fn send(stream: &mut TcpStream, until: Instant) -> io::Result<u64> {
    let bytes = vec![0x5a; CALL];
    let mut total = 0;
    while Instant::now() < until {
        total += stream.write(&bytes)? as u64;
    }
    Ok(total)
}

/// Reads until `until` or the end, and returns how many bytes that was.
///
/// # Errors
/// What the operating system says.
pub fn read(stream: &mut TcpStream, until: Instant) -> io::Result<u64> {
    let mut bytes = vec![0; CALL];
    let mut total = 0;
    while Instant::now() < until {
        match stream.read(&mut bytes)? {
            0 => break,
            len => total += len as u64,
        }
    }
    Ok(total)
}

/// Sends `len` bytes and waits for as many, again and again until `until`. Returns how long each took.
///
/// # Errors
/// What the operating system says.
pub fn ask(stream: &mut TcpStream, len: usize, until: Instant) -> io::Result<Vec<Duration>> {
    let mut bytes = vec![0; len];
    let mut took = Vec::new();
    loop {
        let start = Instant::now();
        if start >= until {
            return Ok(took);
        }
        stream.write_all(&bytes)?;
        stream.read_exact(&mut bytes)?;
        took.push(start.elapsed());
    }
}

/// Sends back what comes until the end.
///
/// # Errors
/// What the operating system says.
pub fn echo(stream: &mut TcpStream) -> io::Result<()> {
    let mut bytes = [0; 1024];
    loop {
        match stream.read(&mut bytes)? {
            0 => return Ok(()),
            len => stream.write_all(&bytes[..len])?,
        }
    }
}

/// Sends datagrams of `len` bytes until `until`, and returns how many.
///
/// # Errors
/// What the operating system says.
pub fn send_datagrams(
    socket: &UdpSocket,
    to: SocketAddr,
    len: usize,
    until: Instant,
) -> io::Result<u64> {
    socket.connect(to)?;
    let bytes = vec![0x5a; len];
    let mut count = 0;
    while Instant::now() < until {
        for _ in 0..64 {
            count += u64::from(socket.send(&bytes).is_ok());
        }
    }
    Ok(count)
}

/// Counts the datagrams that come to a socket until `until`.
///
/// # Errors
/// What the operating system says.
pub fn count_datagrams(socket: &UdpSocket, until: Instant) -> io::Result<u64> {
    socket.set_read_timeout(Some(Duration::from_millis(50)))?;
    let mut bytes = vec![0; 1 << 16];
    let mut count = 0;
    while Instant::now() < until {
        count += u64::from(socket.recv(&mut bytes).is_ok());
    }
    Ok(count)
}
