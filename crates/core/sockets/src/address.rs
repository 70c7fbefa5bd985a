//! Where a server listens.

use std::fmt;
use std::fs;
use std::io;
use std::net::{TcpListener, ToSocketAddrs};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
#[cfg(target_os = "linux")]
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use listenfd::ListenFd;
use tracing::warn;

use crate::stream::Stream;

/// Clients that may wait to be accepted; the system may allow fewer. Others begin again after a second.
const WAITING: i32 = 4096;
/// How long to wait when the system has no room for a client.
const PAUSE: Duration = Duration::from_millis(100);

/// `unix:PATH`, `unix:@NAME`, `tcp:HOST:PORT`, `vsock:PORT`, `vsock:CID:PORT` or `systemd`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// A Unix domain socket of that path. If it begins with `@`, the rest is a name in Linux's abstract namespace, which
    /// has no file.
    Unix(PathBuf),
    /// A host, by name or number, and a port.
    Tcp(String),
    /// A port for the host and guests of a machine (`AF_VSOCK`), at this context id (CID), or at any that the system has.
    Vsock(Option<u32>, u32),
    /// The socket that whoever started the process passed to it (`LISTEN_FDS` and `LISTEN_PID`, as systemd sets them).
    Systemd,
}

/// The addresses that can be written.
const FORMS: &str =
    "not an address: write unix:PATH or tcp:HOST:PORT, unix:@NAME, vsock:PORT, or systemd";

impl Address {
    /// The name in the abstract namespace, if it is one.
    pub fn abstract_name(&self) -> Option<&[u8]> {
        match self {
            Address::Unix(path) => path.as_os_str().as_bytes().strip_prefix(b"@"),
            Address::Tcp(_) | Address::Vsock(..) | Address::Systemd => None,
        }
    }
}

impl FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> Result<Address, String> {
        match text.split_once(':') {
            None if text == "systemd" => Ok(Address::Systemd),
            Some(("unix", path)) if !path.is_empty() && path != "@" => {
                Ok(Address::Unix(path.into()))
            }
            Some(("tcp", rest)) => match rest.rsplit_once(':') {
                Some((host, port)) if !host.is_empty() && port.parse::<u16>().is_ok() => {
                    Ok(Address::Tcp(rest.to_owned()))
                }
                _ => Err("after tcp: come a host and a port, as in tcp:127.0.0.1:10809".into()),
            },
            Some(("vsock", rest)) => vsock(rest).ok_or_else(|| {
                "after vsock: comes a port, or a CID and a port, as in vsock:10809 or vsock:3:10809".into()
            }),
            _ => Err(FORMS.into()),
        }
    }
}

/// What stands behind `vsock:`.
fn vsock(text: &str) -> Option<Address> {
    let (cid, port) = match text.split_once(':') {
        Some((cid, port)) => (Some(cid.parse().ok()?), port),
        None => (None, text),
    };
    Some(Address::Vsock(cid, port.parse().ok()?))
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Unix(path) => write!(f, "unix:{}", path.display()),
            Address::Tcp(rest) => write!(f, "tcp:{rest}"),
            Address::Vsock(None, port) => write!(f, "vsock:{port}"),
            Address::Vsock(Some(cid), port) => write!(f, "vsock:{cid}:{port}"),
            Address::Systemd => f.write_str("systemd"),
        }
    }
}

/// A listening socket.
#[derive(Debug)]
pub struct Listener {
    socket: Socket,
    _file: Option<SocketFile>,
}

#[derive(Debug)]
enum Socket {
    Unix(UnixListener),
    Tcp(TcpListener),
    Vsock(socket2::Socket),
}

/// The file of a socket. It is removed when this is dropped, if it is still the same.
#[derive(Debug)]
pub struct SocketFile {
    path: PathBuf,
    id: Option<(u64, u64)>,
}

impl Listener {
    /// Listens at an address. A socket file that no process listens at is replaced; any other file stays.
    ///
    /// # Errors
    /// There is something in its place, or the system refuses it. For [`Address::Systemd`]: there is not one socket, or it
    /// is no stream.
    pub fn bind(address: &Address) -> io::Result<Listener> {
        let (socket, file) = match address {
            Address::Unix(path) => match address.abstract_name() {
                Some(name) => (Socket::Unix(bind_abstract(name)?), None),
                None => {
                    remove_stale_socket(path)?;
                    let unix = UnixListener::bind(path)?;
                    let (path, id) = (path.clone(), identity(path));
                    (Socket::Unix(unix), Some(SocketFile { path, id }))
                }
            },
            Address::Tcp(rest) => {
                let found: Vec<_> = rest.to_socket_addrs()?.collect();
                (Socket::Tcp(TcpListener::bind(&found[..])?), None)
            }
            Address::Vsock(cid, port) => (Socket::Vsock(bind_vsock(*cid, *port)?), None),
            Address::Systemd => (passed()?, None),
        };
        let listener = Listener {
            socket,
            _file: file,
        };
        // The standard library lets 128 wait.
        rustix::net::listen(&listener, WAITING)?;
        // The client may be gone when it is accepted, and then `accept` must not block.
        match &listener.socket {
            Socket::Unix(unix) => unix.set_nonblocking(true)?,
            Socket::Tcp(tcp) => tcp.set_nonblocking(true)?,
            Socket::Vsock(vsock) => vsock.set_nonblocking(true)?,
        }
        Ok(listener)
    }

    /// Its address, with the port that the system chose.
    pub fn address(&self) -> Address {
        match &self.socket {
            Socket::Unix(unix) => Address::Unix(unix.local_addr().map_or_else(
                |_| PathBuf::new(),
                |address| unix_path(&address).unwrap_or_default(),
            )),
            Socket::Tcp(tcp) => {
                let address = tcp.local_addr().map(|address| address.to_string());
                Address::Tcp(address.unwrap_or_default())
            }
            Socket::Vsock(vsock) => {
                let address = vsock.local_addr().ok();
                let (cid, port) = address
                    .and_then(|address| address.as_vsock_address())
                    .unwrap_or_default();
                Address::Vsock((cid != ANY_CID).then_some(cid), port)
            }
        }
    }

    /// The next client, if there is one.
    ///
    /// # Errors
    /// The system has no room for it.
    pub fn accept(&self) -> io::Result<Stream> {
        let stream = match &self.socket {
            Socket::Unix(unix) => {
                let (stream, _) = unix.accept()?;
                stream.set_nonblocking(false)?;
                Stream::Unix(stream)
            }
            Socket::Tcp(tcp) => {
                let (stream, _) = tcp.accept()?;
                stream.set_nonblocking(false)?;
                Stream::Tcp(stream)
            }
            Socket::Vsock(vsock) => {
                let (stream, _) = vsock.accept()?;
                stream.set_nonblocking(false)?;
                Stream::Unix(OwnedFd::from(stream).into())
            }
        };
        Ok(stream)
    }

    /// The next client, if one is there and stays. Where the system has no room for it, the log says so, and this waits a
    /// little: the client is still there, and a caller that polls would be told of it at once.
    pub fn accept_or_pause(&self) -> Option<Stream> {
        let gone = [
            io::ErrorKind::WouldBlock,
            io::ErrorKind::Interrupted,
            io::ErrorKind::ConnectionAborted,
        ];
        match self.accept() {
            Ok(stream) => Some(stream),
            Err(error) if gone.contains(&error.kind()) => None,
            Err(error) => {
                warn!("a client cannot be accepted: {error}");
                std::thread::sleep(PAUSE);
                None
            }
        }
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match &self.socket {
            Socket::Unix(unix) => unix.as_fd(),
            Socket::Tcp(tcp) => tcp.as_fd(),
            Socket::Vsock(vsock) => vsock.as_fd(),
        }
    }
}

/// The path of a Unix domain socket, or `@` and its name.
fn unix_path(address: &SocketAddr) -> Option<PathBuf> {
    #[cfg(target_os = "linux")]
    if let Some(name) = address.as_abstract_name() {
        let text = [b"@", name].concat();
        return Some(std::ffi::OsString::from_vec(text).into());
    }
    address.as_pathname().map(Path::to_owned)
}

#[cfg(target_os = "linux")]
fn bind_abstract(name: &[u8]) -> io::Result<UnixListener> {
    UnixListener::bind_addr(&SocketAddr::from_abstract_name(name)?)
}

#[cfg(not(target_os = "linux"))]
fn bind_abstract(_: &[u8]) -> io::Result<UnixListener> {
    Err(io::ErrorKind::Unsupported.into())
}

/// The context id that stands for all of this system.
const ANY_CID: u32 = u32::MAX;

#[cfg(target_os = "linux")]
fn bind_vsock(cid: Option<u32>, port: u32) -> io::Result<socket2::Socket> {
    use socket2::{Domain, SockAddr, Socket, Type};
    let socket = Socket::new(Domain::VSOCK, Type::STREAM, None)?;
    socket.bind(&SockAddr::vsock(cid.unwrap_or(ANY_CID), port))?;
    Ok(socket)
}

#[cfg(not(target_os = "linux"))]
fn bind_vsock(_: Option<u32>, _: u32) -> io::Result<socket2::Socket> {
    Err(io::ErrorKind::Unsupported.into())
}

/// The one socket that was passed to this process.
fn passed() -> io::Result<Socket> {
    let refuse = |what: String| Err(io::Error::new(io::ErrorKind::InvalidInput, what));
    let mut passed = ListenFd::from_env();
    match passed.len() {
        1 => {}
        0 => {
            return refuse(
                "no socket was passed (LISTEN_FDS and LISTEN_PID); start it by a socket unit, or name an address".into(),
            );
        }
        count => return refuse(format!("{count} sockets were passed; one is served")),
    }
    if let Ok(Some(unix)) = passed.take_unix_listener(0) {
        return Ok(Socket::Unix(unix));
    }
    match passed.take_tcp_listener(0) {
        Ok(Some(tcp)) => Ok(Socket::Tcp(tcp)),
        _ => refuse("what was passed is not a stream socket of Unix or TCP".into()),
    }
}

/// Removes a socket that no process listens at.
fn remove_stale_socket(path: &Path) -> io::Result<()> {
    let refuse = |kind, what: &str| Err(io::Error::new(kind, what));
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
        Ok(found) if !found.file_type().is_socket() => {
            let what = "there is a file of that name, which is not a socket; choose another";
            return refuse(io::ErrorKind::AlreadyExists, what);
        }
        Ok(_) => {}
    }
    match UnixStream::connect(path) {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => fs::remove_file(path),
        Err(error) => Err(error),
        Ok(_) => refuse(
            io::ErrorKind::AddrInUse,
            "a server listens there already; choose another",
        ),
    }
}

fn identity(path: &Path) -> Option<(u64, u64)> {
    let found = fs::symlink_metadata(path).ok()?;
    Some((found.dev(), found.ino()))
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        if self.id.is_some() && identity(&self.path) == self.id {
            let _ = fs::remove_file(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_and_written() {
        for text in [
            "unix:/run/a",
            "unix:@name",
            "tcp:127.0.0.1:9",
            "vsock:10809",
            "vsock:2:9",
            "systemd",
        ] {
            assert_eq!(text.parse::<Address>().unwrap().to_string(), text);
        }
        for text in [
            "",
            "unix:",
            "unix:@",
            "systemd:",
            "tcp:9",
            "vsock:",
            "vsock:a:9",
            "vsock:1:2:3",
        ] {
            assert!(text.parse::<Address>().is_err(), "{text}");
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn an_abstract_name_has_no_file_and_is_free_after_its_listener() {
        let text = format!("unix:@evener-sockets-test-{}", std::process::id());
        let address: Address = text.parse().unwrap();
        let name = address.abstract_name().unwrap();
        for _ in 0..2 {
            let listener = Listener::bind(&address).unwrap();
            assert_eq!(listener.address(), address);
            assert!(Listener::bind(&address).is_err());
            let client = SocketAddr::from_abstract_name(name).unwrap();
            let _client = UnixStream::connect_addr(&client).unwrap();
            assert!(listener.accept().is_ok());
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_port_of_vsock_is_listened_at_and_reached() {
        use socket2::{Domain, SockAddr, Socket, Type};
        let listener = match Listener::bind(&Address::Vsock(None, u32::MAX)) {
            Ok(listener) => listener,
            Err(error) => {
                evener_testing::skip(format_args!("there is no vsock: {error}"));
                return;
            }
        };
        let Address::Vsock(None, port) = listener.address() else {
            panic!("{}", listener.address());
        };
        assert!(Listener::bind(&Address::Vsock(None, port)).is_err());
        // The address of the machine itself, where the driver vsock_loopback is.
        if !std::path::Path::new("/sys/module/vsock_loopback").exists() {
            evener_testing::skip("nothing was sent: there is no driver vsock_loopback");
            return;
        }
        let client = Socket::new(Domain::VSOCK, Type::STREAM, None).unwrap();
        client.connect(&SockAddr::vsock(1, port)).unwrap();
        let stream = loop {
            if let Ok(stream) = listener.accept() {
                break stream;
            }
        };
        io::Write::write_all(&mut &client, b"hello").unwrap();
        let mut read = [0; 5];
        io::Read::read_exact(&mut &stream, &mut read).unwrap();
        assert_eq!(&read, b"hello");
    }

    #[test]
    fn without_a_passed_socket_the_reason_is_told() {
        let refused = Listener::bind(&Address::Systemd).unwrap_err();
        assert!(refused.to_string().contains("LISTEN_FDS"), "{refused}");
    }
}
