//! As much of HTTP as a collector of metrics needs.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use crate::address::{Address, Listener};
use crate::hosts::{Asked, Foreign, HostName, Hosts};
use crate::stream::Stream;

/// Longer requests are not read to the end.
const MAX_HEAD: usize = 4096;
/// How long a client may take to send a request, or to receive the answer.
const TIMEOUT: Duration = Duration::from_secs(2);

/// Where collectors of metrics come to.
#[derive(Debug)]
pub struct Collectors {
    listener: Listener,
    hosts: Hosts,
}

impl Collectors {
    /// Listens at an address. `names` are those of this machine that collectors may use beside what [`Hosts`] has.
    ///
    /// # Errors
    /// As [`Listener::bind`].
    pub fn bind(address: &Address, names: &[HostName]) -> io::Result<Collectors> {
        Ok(Collectors {
            listener: Listener::bind(address)?,
            hosts: Hosts::new(names, [address]),
        })
    }

    /// Its address, with the port that the system chose.
    pub fn address(&self) -> Address {
        self.listener.address()
    }

    /// As [`Listener::accept_or_pause`].
    pub fn accept_or_pause(&self) -> Option<Stream> {
        self.listener.accept_or_pause()
    }

    /// Answers one request, with `text` if it is for metrics.
    ///
    /// # Errors
    /// The client is gone or too slow.
    pub fn answer(&self, stream: &Stream, text: impl FnOnce() -> String) -> io::Result<()> {
        stream.set_write_timeout(Some(TIMEOUT))?;
        let mut head = [0; MAX_HEAD];
        let Some(got) = read(stream, &mut head)? else {
            return Ok(());
        };
        let mut lines = head[..got].split(|&byte| byte == b'\n');
        let first = lines.next().unwrap_or_default().trim_ascii_end();
        let mut words = first.split(|&byte| byte == b' ');
        let (method, target) = (words.next(), words.next().unwrap_or_default());
        let (status, body) = match self.hosts.check(asked(target, lines)) {
            Err(refused @ Foreign::Host(_)) => ("421 Misdirected Request", format!("{refused}\n")),
            Err(Foreign::Malformed) => ("400 Bad Request", format!("{}\n", Foreign::Malformed)),
            Err(refused) => ("403 Forbidden", format!("{refused}\n")),
            Ok(()) => match (method, target) {
                (Some(b"GET"), b"/" | b"/metrics") => ("200 OK", text()),
                (Some(b"GET"), _) => ("404 Not Found", "see /metrics\n".to_owned()),
                _ => ("405 Method Not Allowed", "GET only\n".to_owned()),
            },
        };
        let reply = format!(
            "HTTP/1.0 {status}\r\nContent-Type: text/plain; version=0.0.4\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        );
        let mut out = stream;
        out.write_all(reply.as_bytes())
    }
}

impl AsFd for Collectors {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.listener.as_fd()
    }
}

/// Reads a head as far as there is room. `None` if the client goes before its end.
fn read(stream: &Stream, head: &mut [u8]) -> io::Result<Option<usize>> {
    let end = Instant::now() + TIMEOUT;
    let mut got = 0;
    let is_end = |head: &[u8]| head.windows(4).any(|end| end == b"\r\n\r\n");
    while !is_end(&head[..got]) {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        stream.set_read_timeout(Some(left))?;
        let room = head.len() - got;
        let mut input = stream;
        match input.read(&mut head[got..]) {
            Ok(0) if room > 0 => return Ok(None),
            Ok(0) => break,
            Ok(n) => got += n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(Some(got))
}

/// Whom a request is for, and who asks.
fn asked<'a>(target: &'a [u8], headers: impl Iterator<Item = &'a [u8]>) -> Asked<'a> {
    let mut asked = Asked::default();
    for line in headers.take_while(|line| !line.trim_ascii().is_empty()) {
        let Some(colon) = line.iter().position(|&byte| byte == b':') else {
            continue;
        };
        asked.header(&line[..colon], line[colon + 1..].trim_ascii());
    }
    asked.of_target(target)
}

#[cfg(test)]
mod tests {
    use std::net::TcpStream;
    use std::thread;

    use super::*;

    fn told(request: &str) -> String {
        let address = "tcp:127.0.0.1:0".parse().unwrap();
        let names = ["metrics.example".parse().unwrap()];
        let collectors = Collectors::bind(&address, &names).unwrap();
        let to = collectors.address().to_string();
        let mut client = TcpStream::connect(to.trim_start_matches("tcp:")).unwrap();
        client.write_all(request.as_bytes()).unwrap();
        thread::scope(|scope| {
            scope.spawn(|| {
                let stream = std::iter::repeat_with(|| collectors.accept_or_pause());
                let stream = stream.flatten().next().unwrap();
                collectors.answer(&stream, || "a 1\n".into()).unwrap();
            });
            let mut text = String::new();
            client.read_to_string(&mut text).unwrap();
            text
        })
    }

    #[test]
    fn collectors_use_names_of_this_machine() {
        for host in ["127.0.0.1:9100", "localhost", "Metrics.example:9100"] {
            let text = told(&format!("GET /metrics HTTP/1.1\r\nHost: {host}\r\n\r\n"));
            assert!(text.starts_with("HTTP/1.0 200 OK\r\n"), "{text}");
            assert!(text.ends_with("\r\n\r\na 1\n"), "{text}");
        }
        for request in [
            "GET /metrics HTTP/1.1\r\nAccept: */*\r\nhost:evil.example:9100\r\n\r\n",
            "GET http://evil.example/metrics HTTP/1.1\r\nHost: localhost\r\n\r\n",
        ] {
            let text = told(request);
            assert!(text.starts_with("HTTP/1.0 421 "), "{text}");
            assert!(text.contains("--host evil.example lets"), "{text}");
            assert!(!text.contains("a 1"), "{text}");
        }
    }

    #[test]
    fn pages_of_other_sites_get_no_metrics() {
        let head = "GET /metrics HTTP/1.1\r\nHost: localhost";
        let text = told(&format!("{head}\r\nOrigin: https://evil.example\r\n\r\n"));
        assert!(text.starts_with("HTTP/1.0 403 "), "{text}");
        let text = told(&format!("{head}\r\nSec-Fetch-Site: cross-site\r\n\r\n"));
        assert!(text.starts_with("HTTP/1.0 403 "), "{text}");
        let text = told("GET /metrics HTTP/1.1\r\nHost: a b\r\n\r\n");
        assert!(text.starts_with("HTTP/1.0 400 "), "{text}");
    }
}
