//! What is served: paths, and what clients of each get.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use bytes::{Buf, Bytes};
use evener_files::without_secrets;
use tracing::info;

use crate::engine::http::request::{Refused, Request};
use crate::engine::source::input::Datagrams;
use crate::engine::source::output::Format;
use crate::engine::source::pooled::Pooled;
use crate::engine::source::pools::NoOrigin;
use crate::engine::source::rtsp::Rtsp;
use crate::engine::source::{Input, Source, Turn};
use crate::engine::{ANSWERS, Engine, SILENT, Shared};
use crate::rtsp::Url;

/// How long a response waits for its first picture.
const BEGINNING: Duration = Duration::from_secs(60);
/// How long a transport stream waits for a key picture; then anything begins.
const KEY: Duration = Duration::from_secs(3);
/// The longest recording: a year.
const MOST_SECONDS: f64 = 366.0 * 86_400.0;

/// What a path is of.
enum Resource {
    /// How the gateway is doing.
    Status,
    /// A stream.
    Stream(Wanted),
}

/// A stream that is asked for.
struct Wanted {
    /// What its source is called.
    name: String,
    /// The name of its source. Clients that ask for the same name share a source.
    key: String,
    format: Format,
    origin: Origin,
}

/// Where a stream comes from.
enum Origin {
    /// Datagrams that come to an address.
    Datagrams(SocketAddr),
    /// A server of RTSP, and where to begin a recording of its own.
    Rtsp(Url, Option<Duration>),
    /// The origins of the pool of a name, and the path there.
    Pool(String, String),
}

/// A response that begins when its source does.
#[derive(Clone, Copy, Debug)]
pub struct Asked {
    /// The number of the source.
    pub source: u32,
    pub format: Format,
    /// HTTP/1.1, with chunks.
    pub is_11: bool,
    /// Since when it waits.
    pub since: Instant,
    /// Since when it waits for nothing but packets.
    pub ready: Option<Instant>,
}

/// What a request asks for. Parameters of the query are the origin's, but for `format`, and for `start` where there is no
/// pool; where there is no origin they are ignored.
fn resource(request: &Request, shared: &Shared, peer: SocketAddr) -> Result<Resource, Refused> {
    let (access, pools) = (&shared.access, &shared.pools);
    let path = request.path.as_str();
    if matches!(path, "/status" | "/status/events") {
        return Ok(Resource::Status);
    }
    if let Some(rest) = at_origin(request, "/pool/", &["format"]) {
        let (pool, path) = rest.split_once('/').unwrap_or((&rest, ""));
        if !pools.has(pool) {
            return Err(NoOrigin::Unknown(shown(pool)).into());
        }
        return Ok(Resource::Stream(Wanted {
            name: format!("pool {}", shown(&rest)),
            key: format!("pool {rest}"),
            format: format(request)?,
            origin: Origin::Pool(pool.to_owned(), path.to_owned()),
        }));
    }
    if let Some(rest) = at_origin(request, "/rtsp/", &["format", "start"]) {
        if rest.starts_with("rtsp://") || rest.starts_with("rtsp:/") {
            return Err(Refused::bad(
                "leave out rtsp://, as in /rtsp/HOST:PORT/PATH",
            ));
        }
        let url = Url::parse(&format!("rtsp://{rest}"))
            .map_err(|error| Refused::bad(format!("/rtsp/{}: {error}", shown(&rest))))?;
        access.ask(url.host())?;
        let start = start(request)?;
        return Ok(Resource::Stream(Wanted {
            name: url.to_string(),
            // A place in a recording is for one client.
            key: match start {
                Some(_) => format!("rtsp {rest} for {peer}"),
                None => format!("rtsp {rest}"),
            },
            format: format(request)?,
            origin: Origin::Rtsp(url, start),
        }));
    }
    if let Some(address) = path.strip_prefix("/rtp/").or(path.strip_prefix("/udp/")) {
        let address = datagrams(address)?;
        let format = format(request)?;
        if format != Format::Ts {
            return Err(Refused::only_transport());
        }
        access.open(address.ip())?;
        let name = format!("udp {address}");
        return Ok(Resource::Stream(Wanted {
            key: name.clone(),
            name,
            format,
            origin: Origin::Datagrams(address),
        }));
    }
    let first = request.encoded_path.split('/').nth(1).unwrap_or_default();
    Err(Refused::not_found(format!(
        "/{}: there is /pool/NAME/PATH, /rtsp/HOST:PORT/PATH, /rtp/ADDRESS:PORT, /udp/ADDRESS:PORT and /status",
        shown(first)
    )))
}

/// What a client asks for, without who asks and other secrets.
pub fn shown(place: &str) -> String {
    let scheme = "rtsp://";
    without_secrets(&format!("{scheme}{place}"))[scheme.len()..].to_owned()
}

/// The address that a stream comes to.
fn datagrams(text: &str) -> Result<SocketAddr, Refused> {
    let place = text.trim_start_matches('@');
    let parsed = match place.strip_prefix("localhost:") {
        Some(port) => format!("127.0.0.1:{port}").parse(),
        None => place.parse(),
    };
    match parsed {
        Ok(address) if SocketAddr::port(&address) > 0 => Ok(address),
        Ok(_) => Err(Refused::bad(format!(
            "{}: the port is 1 to 65535",
            shown(text)
        ))),
        Err(_) => Err(Refused::bad(format!(
            "{}: not ADDRESS:PORT, with an address of this machine or a group",
            shown(text)
        ))),
    }
}

/// What follows a prefix of the path, with the query but for parameters of these names.
fn at_origin(request: &Request, prefix: &str, own: &[&str]) -> Option<String> {
    let rest = request.encoded_path.strip_prefix(prefix)?;
    let query = request.query_without(own);
    let mark = if query.is_empty() { "" } else { "?" };
    Some(format!("{rest}{mark}{query}"))
}

fn format(request: &Request) -> Result<Format, Refused> {
    match request.parameter("format").as_deref() {
        None => Ok(Format::default()),
        Some("ts") => Ok(Format::Ts),
        Some("mp4") => Ok(Format::Mp4),
        Some(other) => {
            let text = format!("format={other}: there is format=ts and format=mp4");
            Err(Refused::bad(text))
        }
    }
}

/// Where to begin, in seconds.
fn start(request: &Request) -> Result<Option<Duration>, Refused> {
    let Some(text) = request.parameter("start") else {
        return Ok(None);
    };
    let seconds = text
        .parse()
        .ok()
        .filter(|seconds| (0.0..=MOST_SECONDS).contains(seconds));
    match seconds {
        Some(seconds) => Ok(Some(Duration::from_secs_f64(seconds))),
        None => Err(Refused::bad(format!(
            "start={text}: seconds are asked for, as in start=90.5"
        ))),
    }
}

impl Origin {
    /// Opens it.
    fn open(self, turn: &mut Turn<'_>) -> Result<Box<dyn Input>, Refused> {
        Ok(match self {
            Origin::Datagrams(address) => Box::new(Datagrams::open(address, turn)?),
            Origin::Rtsp(url, start) => Box::new(Rtsp::open(url, start, turn)?),
            Origin::Pool(pool, path) => Box::new(Pooled::open(pool, path, turn)?),
        })
    }
}

/// Whether the transport stream of a source begins, which clients wait for since `ready`.
fn transport_begins(source: &Source, ready: Instant, now: Instant) -> Result<bool, Refused> {
    let Some(output) = source.outputs.get(Format::Ts) else {
        return Ok(false);
    };
    let passed = |since: Instant| now.saturating_duration_since(since);
    match output.recent.began() {
        None if passed(ready) > SILENT => {
            let (name, seconds) = (&source.name, SILENT.as_secs());
            let why = match source.received.packets {
                0 => format!("{name}: nothing came within {seconds} s"),
                count => format!(
                    "{name}: no transport stream came within {seconds} s, but {count} datagrams of something else"
                ),
            };
            Err(Refused::late(why))
        }
        None => Ok(false),
        Some(began) => Ok(source.ends
            || output.recent.has_keys()
            || !source.may_have_keys()
            || passed(began) > KEY),
    }
}

impl Engine {
    /// Answers what a client has asked for so far.
    pub(in crate::engine) fn answer(&mut self, number: u32, now: Instant) {
        while let Some(client) = self.clients.get_mut(number as usize)
            && client.can_ask()
            && client.outgoing.len() < ANSWERS
        {
            let request = match Request::parse(&client.head, &self.shared.hosts) {
                Ok(None) => return,
                Ok(Some(request)) => request,
                Err(refused) => return self.refuse(number, &refused, true),
            };
            let resource = match resource(&request, &self.shared, client.peer) {
                Ok(resource) => resource,
                Err(refused) => return self.refuse(number, &refused, request.wants_body),
            };
            if let Resource::Stream(wanted) = &resource
                && request.wants_body
                && let Some(other) = self.elsewhere(&wanted.key)
            {
                return self.hand_over(number, &other);
            }
            let Some(client) = self.clients.get_mut(number as usize) else {
                return;
            };
            client.head.advance(request.len);
            if client.outgoing.is_empty() {
                client.active = now;
            }
            self.counts.requests += 1;
            let served = match resource {
                Resource::Status => self.serve_status(number, &request, now),
                Resource::Stream(wanted) => self.serve_stream(number, &request, wanted, now),
            };
            if let Err(refused) = served {
                self.refuse(number, &refused, request.wants_body);
            }
        }
    }

    /// Says why a request is not served. The connection ends.
    pub(in crate::engine) fn refuse(&mut self, number: u32, refused: &Refused, wants_body: bool) {
        self.counts.refused += 1;
        if let Some(client) = self.clients.get_mut(number as usize) {
            info!("{} is refused: {refused}", client.peer);
            client.refuse(self.responses.refused(refused, wants_body));
        }
    }

    /// Begins a response that is a stream, whose source is opened if it is not there.
    fn serve_stream(
        &mut self,
        number: u32,
        request: &Request,
        wanted: Wanted,
        now: Instant,
    ) -> Result<(), Refused> {
        let Wanted {
            name,
            key,
            format,
            origin,
        } = wanted;
        let is_11 = request.is_11;
        if !request.wants_body {
            // Nothing is opened to know more.
            if let Some(client) = self.clients.get_mut(number as usize) {
                let head = self.responses.stream(is_11, format.content_type());
                client.outgoing.push(head);
                client.ends = true;
            }
            return Ok(());
        }
        let opened = self.source((name, key.clone()), now, |turn| origin.open(turn));
        let source = opened.inspect_err(|_| self.shared.directory.remove(&key, self.number))?;
        if let (Some(client), Some(from)) = (
            self.clients.get_mut(number as usize),
            self.sources.get_mut(source as usize),
        ) {
            from.outputs.open(format, self.shared.config.lag);
            from.waiting.push(number);
            client.asked = Some(Asked {
                source,
                format,
                is_11,
                since: now,
                ready: None,
            });
        }
        self.begin_responses(source, now);
        Ok(())
    }

    /// Begins the responses that wait for a source, as far as it is there.
    pub(in crate::engine) fn begin_responses(&mut self, source: u32, now: Instant) {
        let Some(from) = self.sources.get_mut(source as usize) else {
            return;
        };
        let early = from.clients.is_empty();
        for number in std::mem::take(&mut from.waiting) {
            let Some(client) = self.clients.get_mut(number as usize) else {
                continue;
            };
            let of_source = |asked: &&mut Asked| asked.source == source;
            let Some(asked) = client.asked.as_mut().filter(of_source) else {
                continue;
            };
            let begins = match from.begins(asked.format) {
                Ok(true) if asked.format == Format::Ts => {
                    let ready = *asked.ready.get_or_insert(now);
                    transport_begins(from, ready, now)
                }
                Ok(false) if now.saturating_duration_since(asked.since) > BEGINNING => {
                    let text = format!("{}: no keyframe came in time", from.name);
                    Err(Refused::late(text))
                }
                begins => begins,
            };
            match begins {
                Ok(false) => {
                    from.waiting.push(number);
                    continue;
                }
                Ok(true) => {
                    let asked = *asked;
                    let Some(output) = from.outputs.get(asked.format) else {
                        continue;
                    };
                    let kind = asked.format.content_type();
                    client
                        .outgoing
                        .push(self.responses.stream(asked.is_11, kind));
                    let (place, beginning) = from.beginning(output, early);
                    client.watch(asked, &output.recent, place, beginning, now);
                    if from.clients.is_empty() {
                        from.heard = now;
                    }
                    from.clients.push(number);
                    self.counts.streams += 1;
                    self.counts.watching += 1;
                }
                Err(refused) => {
                    self.counts.refused += 1;
                    info!("{} is refused: {refused}", client.peer);
                    client.refuse(self.responses.refused(&refused, true));
                }
            }
            client.asked = None;
            self.unheard.push(number);
        }
    }

    /// A response that is there at once.
    pub(in crate::engine) fn whole(
        &mut self,
        number: u32,
        request: &Request,
        kind: &str,
        text: &str,
    ) {
        let response: Bytes = self.responses.whole(request, kind, text);
        if let Some(client) = self.clients.get_mut(number as usize) {
            client.outgoing.push(response);
            client.ends = !request.goes_on;
        }
    }
}
