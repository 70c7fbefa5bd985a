//! A file of a web server.

use std::io::{self, Read};
use std::sync::Arc;
use std::time::Duration;

use evener_files::{Change, blocking_call, one_line};
use ureq::http::{HeaderMap, Response, StatusCode};
use ureq::tls::{Certificate, RootCerts, TlsConfig, TlsProvider};
use ureq::{Agent, Body};

use super::chunks::Chunks;
use super::content_range::ContentRange;
use super::{Found, Remote, failed};
use crate::error::Error;

/// Bytes that are asked for at once: enough that the way to a server far away is worth it.
const CHUNK: u64 = 1 << 20;
/// How long the server may take to be connected to, and to send something.
const TIMEOUT: Duration = Duration::from_secs(30);
/// How often the same byte is asked for when the connection breaks, as an idle one may have.
const TRIES: u32 = 3;
/// The most bytes that are passed over where a server gives more than was asked for.
const PASSED: u64 = 16 << 20;

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
    let name = one_line(url);
    let agent = agent(url.starts_with("https:")).map_err(|what| failed(&name, what))?;
    let answer = get(&agent, url, 0..1);
    let mut answer = answer.map_err(|what| failed(&name, format!("cannot be read: {what}")))?;
    match answer.status() {
        StatusCode::OK => {
            let body = answer.into_body().into_reader();
            Ok((name, Found::Stream(Box::new(BodyReader(body)))))
        }
        status @ (StatusCode::PARTIAL_CONTENT | StatusCode::RANGE_NOT_SATISFIABLE) => {
            let range = range(status, answer.headers()).map_err(|what| failed(&name, what))?;
            let Some(size) = range.size else {
                return Err(failed(
                    &name,
                    "the server does not say how long the file is; download it first",
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

/// Which bytes an answer has.
///
/// # Errors
/// It does not say so.
fn range(status: StatusCode, headers: &HeaderMap) -> Result<ContentRange, String> {
    let is_part = status == StatusCode::PARTIAL_CONTENT;
    let kind = headers.get("content-type").and_then(|it| it.to_str().ok());
    let is_multipart = kind.is_some_and(|kind| {
        let kind = kind.trim_start().get(..20);
        kind.is_some_and(|kind| kind.eq_ignore_ascii_case("multipart/byteranges"))
    });
    if is_part && is_multipart {
        return Err(does_not_keep(
            "it answers with several ranges where one was asked for",
        ));
    }
    let range = ContentRange::of(headers);
    range
        .filter(|range| range.bytes.is_some() == is_part)
        .ok_or_else(|| does_not_keep("it does not say which bytes of the file it gives"))
}

fn does_not_keep(what: &str) -> String {
    format!("the server does not keep to HTTP: {what}; download the file first")
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
        ureq::Error::Http(_) | ureq::Error::BadUri(_) => format!("it is not a URL: {error}"),
        error => error.to_string(),
    })
}

impl File {
    /// Fills `room` from byte `at` on. A server may give fewer bytes than it is asked for, and others around them.
    fn fetch(&self, at: u64, room: &mut [u8]) -> Result<(), Error> {
        let (mut filled, mut tries) = (0, 1);
        while filled < room.len() {
            let from = at + filled as u64;
            match self.try_fetch(from, &mut room[filled..]) {
                Ok(more) => (filled, tries) = (filled + more, 1),
                Err(Failure::Connection(_)) if tries < TRIES => tries += 1,
                Err(Failure::Connection(what)) => {
                    let what = format!("cannot be read at byte {from}: {what}; try again");
                    return Err(failed(&self.name, what));
                }
                Err(Failure::Server(what)) => return Err(failed(&self.name, what)),
                Err(Failure::Changed) => {
                    let (name, change) = (self.name.clone(), Change::Written);
                    return Err(Error::Changed { name, change });
                }
            }
        }
        Ok(())
    }

    /// Fills the beginning of `room` from byte `at` on, and returns how many bytes the server gave of it, at least one.
    fn try_fetch(&self, at: u64, room: &mut [u8]) -> Result<usize, Failure> {
        let wanted = at..at + room.len() as u64;
        let answer = get(&self.agent, &self.url, wanted.clone()).map_err(Failure::Connection)?;
        let (status, headers) = (answer.status(), answer.headers());
        match status {
            StatusCode::PARTIAL_CONTENT | StatusCode::OK => {}
            // The file is shorter, or gone.
            StatusCode::RANGE_NOT_SATISFIABLE | StatusCode::NOT_FOUND => {
                return Err(Failure::Changed);
            }
            _ => return Err(Failure::Connection(refused(status))),
        }
        let is_part = status == StatusCode::PARTIAL_CONTENT;
        let range = is_part.then(|| range(status, headers)).transpose();
        let range = range.map_err(Failure::Server)?;
        // Where the whole file follows, its length is known by another header.
        let size = range.as_ref().and_then(|range| range.size);
        if Version::of(headers, size.unwrap_or(self.version.size)) != self.version {
            return Err(Failure::Changed);
        }
        let Some(given) = range.and_then(|range| range.bytes) else {
            let what = "the server gives ranges of the file no more; download it first";
            return Err(Failure::Server(what.to_owned()));
        };
        let passed = at
            .checked_sub(given.start)
            .filter(|&passed| passed <= PASSED);
        let Some(passed) = passed.filter(|_| given.contains(&at)) else {
            let (from, to) = (given.start, given.end);
            return Err(Failure::Server(does_not_keep(&format!(
                "it gives bytes {from} to {to} where {} to {} were asked for",
                wanted.start, wanted.end
            ))));
        };
        let there = given.end.min(wanted.end) - at;
        let room = &mut room[..there as usize];
        let mut body = answer.into_body().into_reader();
        let broken = |error: io::Error| Failure::Connection(error.to_string());
        let read = blocking_call(|| {
            let before = io::copy(&mut (&mut body).take(passed), &mut io::sink())?;
            match before == passed {
                true => body.read_exact(room),
                false => Err(io::ErrorKind::UnexpectedEof.into()),
            }
        });
        read.map_err(broken)?;
        // Where its end was seen the connection is used again.
        if given.end <= wanted.end && blocking_call(|| body.read(&mut [0])).map_err(broken)? > 0 {
            let what = "it gives more bytes than it says";
            return Err(Failure::Server(does_not_keep(what)));
        }
        Ok(room.len())
    }
}

enum Failure {
    /// It may be well the next time.
    Connection(String),
    /// It stays so.
    Server(String),
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
