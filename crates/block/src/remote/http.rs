//! A file of a web server.

use std::io::{self, Read};
use std::sync::Arc;
use std::time::Duration;

use evener_files::{Change, blocking_call};
use ureq::http::{HeaderMap, Response, StatusCode};
use ureq::tls::{Certificate, RootCerts, TlsConfig, TlsProvider};
use ureq::{Agent, Body};

use super::chunks::Chunks;
use super::{Found, Remote, failed};
use crate::error::Error;

/// Bytes that are asked for at once: enough that the way to a server far away is worth it.
const CHUNK: u64 = 1 << 20;
/// How long the server may take to be connected to, and to send something.
const TIMEOUT: Duration = Duration::from_secs(30);
/// How often a piece is asked for when the connection breaks, as an idle one may have.
const TRIES: u32 = 3;

/// A file that is read by ranges.
#[derive(Debug)]
struct File {
    agent: Agent,
    url: String,
    name: String,
    version: Version,
    chunks: Chunks,
}

/// What tells that a file is still the same.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Version {
    size: u64,
    tag: Option<String>,
    modified: Option<String>,
}

impl Version {
    fn of(headers: &HeaderMap, size: u64) -> Version {
        let text = |name| Some(headers.get(name)?.to_str().ok()?.to_owned());
        Version {
            size,
            tag: text("etag"),
            modified: text("last-modified"),
        }
    }
}

/// Asks for the beginning of a file, by which it is known whether the server gives ranges.
pub fn open(url: &str) -> Result<(String, Found), Error> {
    let name = without_password(url);
    let agent = agent(url.starts_with("https:")).map_err(|what| failed(&name, what))?;
    let answer = get(&agent, url, 0..1);
    let mut answer = answer.map_err(|what| failed(&name, format!("cannot be read: {what}")))?;
    match answer.status() {
        StatusCode::OK => {
            let body = answer.into_body().into_reader();
            Ok((name, Found::Stream(Box::new(BodyReader(body)))))
        }
        StatusCode::PARTIAL_CONTENT | StatusCode::RANGE_NOT_SATISFIABLE => {
            let Some(size) = size(answer.headers()) else {
                return Err(failed(
                    &name,
                    "the server does not say how long the file is",
                ));
            };
            // A connection is used again when all of the answer was read.
            let _ = answer.body_mut().read_to_vec();
            let headers = answer.headers();
            let file = File {
                version: Version::of(headers, size),
                chunks: Chunks::new(size, CHUNK),
                agent,
                url: url.to_owned(),
                name: name.clone(),
            };
            let (remote, is_disk) = (Box::new(file), false);
            Ok((name, Found::Image { remote, is_disk }))
        }
        status => Err(failed(&name, refused(status))),
    }
}

fn refused(status: StatusCode) -> String {
    format!("the server answered {status}")
}

/// The whole length in `Content-Range: bytes FROM-TO/LENGTH`.
fn size(headers: &HeaderMap) -> Option<u64> {
    let range = headers.get("content-range")?.to_str().ok()?;
    range
        .strip_prefix("bytes ")?
        .rsplit_once('/')?
        .1
        .parse()
        .ok()
}

fn without_password(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else {
        return url.to_owned();
    };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let from = rest[..end].rfind('@').map_or(0, |at| at + 1);
    format!("{scheme}://{}", &rest[from..])
}

fn agent(with_tls: bool) -> Result<Agent, String> {
    let mut config = Agent::config_builder()
        .http_status_as_error(false)
        .user_agent(concat!("evener/", env!("CARGO_PKG_VERSION")))
        // The bytes of the file, not others that unpack to them.
        .accept_encoding("identity")
        // Looking up the name has no limit: the library would start a thread for it.
        .timeout_connect(Some(TIMEOUT))
        .timeout_recv_response(Some(TIMEOUT))
        .timeout_per_read(Some(TIMEOUT));
    if with_tls {
        let found = rustls_native_certs::load_native_certs();
        if found.certs.is_empty() {
            return Err(
                "this system has no certificates of authorities; install ca-certificates".into(),
            );
        }
        let certs: Vec<_> = found
            .certs
            .iter()
            .map(|cert| Certificate::from_der(cert).to_owned())
            .collect();
        let tls = TlsConfig::builder()
            .provider(TlsProvider::Rustls)
            .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .root_certs(RootCerts::new_with_certs(&certs))
            .build();
        config = config.tls_config(tls);
    }
    Ok(config.build().new_agent())
}

fn get(agent: &Agent, url: &str, bytes: std::ops::Range<u64>) -> Result<Response<Body>, String> {
    let range = format!("bytes={}-{}", bytes.start, bytes.end - 1);
    let request = agent.get(url).header("range", range);
    blocking_call(|| request.call()).map_err(|error| match error {
        ureq::Error::Io(error) => error.to_string(),
        ureq::Error::Timeout(_) => format!("no answer for {} s", TIMEOUT.as_secs()),
        ureq::Error::Http(_) | ureq::Error::BadUri(_) => format!("it is no URL: {error}"),
        error => error.to_string(),
    })
}

impl File {
    fn fetch(&self, at: u64, room: &mut [u8]) -> Result<(), Error> {
        let mut tries = 1;
        loop {
            match self.try_fetch(at, room) {
                Err(Failure::Connection(_)) if tries < TRIES => tries += 1,
                Err(Failure::Connection(what)) => {
                    let what = format!("cannot be read at byte {at}: {what}; try again");
                    return Err(failed(&self.name, what));
                }
                Err(Failure::Changed) => {
                    let (name, change) = (self.name.clone(), Change::Written);
                    return Err(Error::Changed { name, change });
                }
                Ok(()) => return Ok(()),
            }
        }
    }

    fn try_fetch(&self, at: u64, room: &mut [u8]) -> Result<(), Failure> {
        let bytes = at..at + room.len() as u64;
        let answer = get(&self.agent, &self.url, bytes).map_err(Failure::Connection)?;
        let (status, headers) = (answer.status(), answer.headers());
        let changed = match status {
            StatusCode::PARTIAL_CONTENT => {
                let size = size(headers).unwrap_or_default();
                Version::of(headers, size) != self.version
            }
            // It does not give ranges any more, or the file is shorter.
            StatusCode::OK | StatusCode::RANGE_NOT_SATISFIABLE | StatusCode::NOT_FOUND => true,
            _ => return Err(Failure::Connection(refused(status))),
        };
        if changed {
            return Err(Failure::Changed);
        }
        let mut body = answer.into_body().into_reader();
        // Where its end was seen the connection is used again.
        let read = blocking_call(|| body.read_exact(room).and_then(|()| body.read(&mut [0])));
        read.map(drop)
            .map_err(|error| Failure::Connection(error.to_string()))
    }
}

enum Failure {
    Connection(String),
    Changed,
}

impl Remote for File {
    fn size(&self) -> u64 {
        self.chunks.size()
    }

    fn read(&self, at: u64, room: &mut [u8]) -> Result<(), Error> {
        self.chunks.read(at, room, |at, room| self.fetch(at, room))
    }
}

/// The body of an answer, whose reader may be waited for.
struct BodyReader(ureq::BodyReader<'static>);

impl Read for BodyReader {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        blocking_call(|| self.0.read(room))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_in_no_message() {
        for (url, name) in [
            ("http://a/b@c", "http://a/b@c"),
            ("https://user:pass@a:1/b", "https://a:1/b"),
            ("https://user:p@ss@a", "https://a"),
        ] {
            assert_eq!(without_password(url), name);
        }
    }
}
