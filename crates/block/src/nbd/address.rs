//! Where a server listens.

use std::fmt;
use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, ToSocketAddrs};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use super::stream::Stream;

/// `unix:PATH` or `tcp:HOST:PORT`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// A Unix domain socket of that path.
    Unix(PathBuf),
    /// A host, by name or number, and a port.
    Tcp(String),
}

impl FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> Result<Address, String> {
        match text.split_once(':') {
            Some(("unix", path)) if !path.is_empty() => Ok(Address::Unix(path.into())),
            Some(("tcp", rest)) => match rest.rsplit_once(':') {
                Some((host, port)) if !host.is_empty() && port.parse::<u16>().is_ok() => {
                    Ok(Address::Tcp(rest.to_owned()))
                }
                _ => Err("after tcp: come a host and a port, as in tcp:127.0.0.1:10809".into()),
            },
            _ => Err("no address: unix:PATH or tcp:HOST:PORT".into()),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Unix(path) => write!(f, "unix:{}", path.display()),
            Address::Tcp(rest) => write!(f, "tcp:{rest}"),
        }
    }
}

impl Address {
    /// A URI by which clients on this machine can connect, from any current folder.
    pub fn uri(&self) -> String {
        match self {
            Address::Unix(path) => {
                // Without a current folder the path stays relative.
                let path = std::path::absolute(path).unwrap_or_else(|_| path.clone());
                let path = percent_encoded(path.as_os_str().as_bytes());
                format!("nbd+unix:///?socket={path}")
            }
            Address::Tcp(rest) => match rest.parse::<SocketAddr>() {
                Ok(mut address) => {
                    match address.ip() {
                        ip if !ip.is_unspecified() => {}
                        IpAddr::V4(_) => address.set_ip(Ipv4Addr::LOCALHOST.into()),
                        IpAddr::V6(_) => address.set_ip(Ipv6Addr::LOCALHOST.into()),
                    }
                    // The sign before the zone of an IPv6 address.
                    format!("nbd://{}", address.to_string().replace('%', "%25"))
                }
                Err(_) => format!("nbd://{rest}"),
            },
        }
    }
}

/// Bytes as they are written in a URI, which can stand between quotes of a shell.
fn percent_encoded(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut all, &byte| {
        match byte {
            b'/' | b'-' | b'.' | b'_' | b'~' => all.push(byte.into()),
            _ if byte.is_ascii_alphanumeric() => all.push(byte.into()),
            _ => all.push_str(&format!("%{byte:02X}")),
        }
        all
    })
}

/// A listening socket.
#[derive(Debug)]
pub enum Listener {
    /// A Unix domain socket and its file.
    Unix(UnixListener, SocketFile),
    /// A port.
    Tcp(TcpListener),
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
    /// There is something in its place, or the system refuses it.
    pub fn bind(address: &Address) -> io::Result<Listener> {
        let listener = match address {
            Address::Unix(path) => {
                remove_stale_socket(path)?;
                let unix = UnixListener::bind(path)?;
                let id = identity(path);
                let file = SocketFile {
                    path: path.clone(),
                    id,
                };
                Listener::Unix(unix, file)
            }
            Address::Tcp(rest) => {
                let found: Vec<_> = rest.to_socket_addrs()?.collect();
                Listener::Tcp(TcpListener::bind(&found[..])?)
            }
        };
        // The client may be gone when it is accepted, and then `accept` must not block.
        match &listener {
            Listener::Unix(unix, _) => unix.set_nonblocking(true)?,
            Listener::Tcp(tcp) => tcp.set_nonblocking(true)?,
        }
        Ok(listener)
    }

    /// Its address, with the port that the system chose.
    pub fn address(&self) -> Address {
        match self {
            Listener::Unix(_, file) => Address::Unix(file.path.clone()),
            Listener::Tcp(tcp) => {
                let address = tcp.local_addr().map(|address| address.to_string());
                Address::Tcp(address.unwrap_or_default())
            }
        }
    }

    /// The next client, if there is one.
    ///
    /// # Errors
    /// The system has no room for it.
    pub fn accept(&self) -> io::Result<Stream> {
        let stream = match self {
            Listener::Unix(unix, _) => {
                let (stream, _) = unix.accept()?;
                stream.set_nonblocking(false)?;
                Stream::Unix(stream)
            }
            Listener::Tcp(tcp) => {
                let (stream, _) = tcp.accept()?;
                stream.set_nonblocking(false)?;
                Stream::Tcp(stream)
            }
        };
        Ok(stream)
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Listener::Unix(unix, _) => unix.as_fd(),
            Listener::Tcp(tcp) => tcp.as_fd(),
        }
    }
}

/// Removes a socket that no process listens at.
fn remove_stale_socket(path: &Path) -> io::Result<()> {
    let refuse = |kind, what: &str| Err(io::Error::new(kind, what));
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
        Ok(found) if !found.file_type().is_socket() => {
            let what = "there is a file of that name, which is no socket; choose another";
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
    fn a_uri_does_not_depend_on_the_current_folder() {
        let here = std::env::current_dir().unwrap();
        let here = percent_encoded(here.as_os_str().as_bytes());
        for (address, uri) in [
            ("unix:/run/a.sock", "nbd+unix:///?socket=/run/a.sock"),
            (
                "unix:/tmp/a b&c=d'e%+#?.s",
                "nbd+unix:///?socket=/tmp/a%20b%26c%3Dd%27e%25%2B%23%3F.s",
            ),
            ("unix:/tmp/\u{e9}", "nbd+unix:///?socket=/tmp/%C3%A9"),
            ("tcp:127.0.0.1:10809", "nbd://127.0.0.1:10809"),
            ("tcp:0.0.0.0:9", "nbd://127.0.0.1:9"),
            ("tcp:[::]:9", "nbd://[::1]:9"),
            ("tcp:[2001:db8::1]:9", "nbd://[2001:db8::1]:9"),
            ("tcp:localhost:9", "nbd://localhost:9"),
        ] {
            let address: Address = address.parse().unwrap();
            assert_eq!(address.uri(), uri);
        }
        let relative: Address = "unix:socket".parse().unwrap();
        assert_eq!(relative.uri(), format!("nbd+unix:///?socket={here}/socket"));
    }
}
