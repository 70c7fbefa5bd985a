//! As much of HTTP as a collector of metrics needs.

use std::io::{self, Read, Write};
use std::time::{Duration, Instant};

use crate::stream::Stream;

/// Longer requests are not read to the end.
const MAX_HEAD: usize = 4096;
/// How long a client may take to send a request, or to receive the answer.
const TIMEOUT: Duration = Duration::from_secs(2);

/// Answers one request, with `text` if it is for metrics.
///
/// # Errors
/// The client is gone or too slow.
pub fn answer(stream: &Stream, text: impl FnOnce() -> String) -> io::Result<()> {
    stream.set_write_timeout(Some(TIMEOUT))?;
    let end = Instant::now() + TIMEOUT;
    let mut head = [0; MAX_HEAD];
    let mut got = 0;
    let is_end = |head: &[u8]| head.windows(4).any(|end| end == b"\r\n\r\n");
    while !is_end(&head[..got]) {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        stream.set_read_timeout(Some(left))?;
        match (&*stream).read(&mut head[got..]) {
            Ok(0) if got < MAX_HEAD => return Ok(()),
            Ok(0) => break,
            Ok(n) => got += n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    let line = head[..got].split(|&byte| byte == b'\r').next();
    let mut words = line.unwrap_or_default().split(|&byte| byte == b' ');
    let (status, body) = match (words.next(), words.next()) {
        (Some(b"GET"), Some(b"/" | b"/metrics")) => ("200 OK", text()),
        (Some(b"GET"), _) => ("404 Not Found", "see /metrics\n".to_owned()),
        _ => ("405 Method Not Allowed", "GET only\n".to_owned()),
    };
    let reply = format!(
        "HTTP/1.0 {status}\r\nContent-Type: text/plain; version=0.0.4\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
    let mut out = stream;
    out.write_all(reply.as_bytes())
}
