//! The connection to an NBD server, in clear text or with TLS.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use evener_files::blocking_call;
use evener_sockets::{Address, Stream};

use super::nbd_tls::Sealed;

/// How long the server may take for an answer.
pub const TIMEOUT: Duration = Duration::from_secs(30);
/// How long it may take to be connected to, and for a step of the negotiation.
pub const BEGIN_TIMEOUT: Duration = Duration::from_secs(if cfg!(test) { 1 } else { 10 });

/// A stream, whose reads wait for the server.
#[derive(Debug)]
pub enum Waiting {
    Clear(Stream),
    Sealed(Box<Sealed>),
    /// While it changes from one to the other.
    Nothing,
}

impl Waiting {
    pub fn set_read_timeout(&self, time: Duration) -> io::Result<()> {
        match self {
            Waiting::Clear(stream) => stream.set_read_timeout(Some(time)),
            Waiting::Sealed(sealed) => sealed.sock.0.set_read_timeout(Some(time)),
            Waiting::Nothing => Ok(()),
        }
    }

    fn read_some(&mut self, room: &mut [u8]) -> io::Result<usize> {
        match self {
            Waiting::Clear(stream) => (&*stream).read(room),
            Waiting::Sealed(sealed) => sealed.read(room),
            Waiting::Nothing => Ok(0),
        }
    }

    pub fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Waiting::Clear(stream) => (&*stream).write_all(bytes),
            Waiting::Sealed(sealed) => sealed.write_all(bytes).and_then(|()| sealed.flush()),
            Waiting::Nothing => Ok(()),
        }
    }
}

impl Read for Waiting {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let read = blocking_call(|| self.read_some(room));
        if let Ok(0) = read {
            let what = "the server ended the connection";
            return Err(io::Error::new(ErrorKind::ConnectionAborted, what));
        }
        read
    }
}

/// Says how long was waited, if an error is that.
pub fn after(limit: Duration, error: io::Error) -> io::Error {
    match error.kind() {
        ErrorKind::WouldBlock | ErrorKind::TimedOut if error.get_ref().is_none() => {
            let what = format!("no answer for {} s", limit.as_secs());
            io::Error::new(ErrorKind::TimedOut, what)
        }
        _ => error,
    }
}

/// Connects to a server, which has [`BEGIN_TIMEOUT`] for each step at first.
///
/// # Errors
/// There is none.
pub fn connect(address: &Address) -> io::Result<Stream> {
    let stream = match address {
        Address::Unix(path) => Stream::Unix(UnixStream::connect(path)?),
        Address::Tcp(host) => Stream::Tcp(blocking_call(|| connect_to_any(host))?),
        Address::Vsock(..) | Address::Systemd => return Err(ErrorKind::Unsupported.into()),
    };
    stream.configure();
    stream.set_read_timeout(Some(BEGIN_TIMEOUT))?;
    stream.set_write_timeout(Some(TIMEOUT))?;
    Ok(stream)
}

/// Tries the addresses of a host one after the other.
fn connect_to_any(host: &str) -> io::Result<TcpStream> {
    let mut last = io::Error::other("the name has no address");
    for address in host.to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, BEGIN_TIMEOUT) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(last)
}
