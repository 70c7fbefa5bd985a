//! Requests of HTTP/1.0 and 1.1 (RFC 9112), as far as they ask for something.

use evener_sockets::{Asked, Hosts};

use crate::engine::client::HEAD;
pub use crate::engine::http::response::Refused;

/// Headers of a request at most.
const HEADERS: usize = 100;
/// Bytes of what is asked for at most (RFC 9112, section 3 asks for 8000 or more).
const TARGET: usize = 8000;
/// Methods of RFC 9110 and RFC 5789 that are none of this server.
const OTHERS: [&str; 7] = [
    "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT",
];

/// A request that was understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// GET, and not HEAD.
    pub wants_body: bool,
    /// The path with what was percent-encoded decoded.
    pub path: String,
    /// The path as it came.
    pub encoded_path: String,
    /// What follows `?` as it came.
    query: String,
    /// HTTP/1.1, with chunks.
    pub is_11: bool,
    /// Another request may follow on the connection.
    pub goes_on: bool,
    /// It is a browser that shows a page.
    pub wants_html: bool,
    /// Bytes of its head.
    pub len: usize,
}

impl Request {
    /// Reads the first request of what came. `None` if its head is not whole.
    ///
    /// # Errors
    /// It is none, or none that can be answered; it is for none of `hosts`, or a page of another site asks.
    pub fn parse(head: &[u8], hosts: &Hosts) -> Result<Option<Request>, Refused> {
        let mut headers = [httparse::EMPTY_HEADER; HEADERS];
        let mut request = httparse::Request::new(&mut headers);
        let len = match request.parse(head) {
            Ok(httparse::Status::Complete(len)) => len,
            Ok(httparse::Status::Partial) if head.len() < HEAD => {
                return match head.contains(&b'\n') {
                    false if head.len() > TARGET + 32 => Err(Refused::long_target(TARGET)),
                    _ => Ok(None),
                };
            }
            Ok(httparse::Status::Partial) if !head.contains(&b'\n') => {
                return Err(Refused::long_target(TARGET));
            }
            Ok(httparse::Status::Partial) | Err(httparse::Error::TooManyHeaders) => {
                return Err(Refused::large_head(HEAD, HEADERS));
            }
            Err(httparse::Error::Version) => {
                return Err(Refused::version());
            }
            Err(error) => return Err(Refused::bad(format!("no request of HTTP: {error}"))),
        };
        let wants_body = match request.method.unwrap_or_default() {
            "GET" => true,
            "HEAD" => false,
            method if OTHERS.contains(&method) => return Err(Refused::method(method)),
            method => return Err(Refused::unknown_method(method)),
        };
        let header = |name: &str| {
            let mut headers = request.headers.iter();
            let found = headers.find(|header| header.name.eq_ignore_ascii_case(name));
            found.map(|header| header.value.trim_ascii())
        };
        let is_11 = request.version == Some(1);
        if header("Transfer-Encoding").is_some()
            || header("Content-Length").is_some_and(|length| length != b"0")
        {
            // What follows is not read as a request.
            return Err(Refused::bad("a request with a body; leave it out"));
        }
        if is_11 && header("Host").is_none() {
            // RFC 9112, section 3.2.
            return Err(Refused::bad("a request of HTTP/1.1 without Host; add it"));
        }
        let target = request.path.unwrap_or_default();
        if target.len() > TARGET {
            return Err(Refused::long_target(TARGET));
        }
        let mut asked = Asked::default();
        for header in &*request.headers {
            asked.header(header.name.as_bytes(), header.value.trim_ascii());
        }
        hosts.check(asked.of_target(target.as_bytes()))?;
        let target = origin_form(target);
        let (encoded_path, query) = target.split_once('?').unwrap_or((target, ""));
        let path = decode(encoded_path).ok_or_else(|| {
            Refused::bad("the path is not percent-encoded text; % is written as %25")
        })?;
        let connection = header("Connection").unwrap_or_default();
        let mut options = connection.split(|&byte| byte == b',');
        let closes = options.any(|option| option.trim_ascii().eq_ignore_ascii_case(b"close"));
        let accepts = header("Accept").unwrap_or_default();
        Ok(Some(Request {
            wants_body,
            path,
            encoded_path: encoded_path.to_owned(),
            query: query.to_owned(),
            is_11,
            goes_on: is_11 && !closes,
            wants_html: accepts
                .split(|&byte| byte == b',')
                .any(|kind| kind.trim_ascii().starts_with(b"text/html")),
            len,
        }))
    }

    /// The first query parameter of that name, decoded.
    pub fn parameter(&self, name: &str) -> Option<String> {
        let value = |pair: &str| {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            (decode(key)? == name).then(|| decode(value)).flatten()
        };
        self.query.split('&').find_map(value)
    }

    /// The query parameters of other names, as they came: those that are for an origin.
    pub fn query_without(&self, names: &[&str]) -> String {
        let is_other = |pair: &&str| {
            let key = pair.split('=').next().unwrap_or_default();
            !pair.is_empty() && decode(key).is_none_or(|key| !names.contains(&key.as_str()))
        };
        let others: Vec<&str> = self.query.split('&').filter(is_other).collect();
        others.join("&")
    }
}

/// What is asked for without scheme and host, which a proxy's client sends (RFC 9112, section 3.2.2).
fn origin_form(target: &str) -> &str {
    match target.split_once("://") {
        Some((scheme, rest)) if scheme.eq_ignore_ascii_case("http") => {
            rest.find(['/', '?']).map_or("/", |at| &rest[at..])
        }
        _ => target,
    }
}

/// Text without percent-encoding (RFC 3986, section 2.1). `None` if it is malformed, no UTF-8 or has control characters.
fn decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        bytes.push(match byte {
            b'%' => {
                let (digits, after) = rest.split_at_checked(2)?;
                rest = after;
                let digit = |at: usize| (digits[at] as char).to_digit(16);
                (digit(0)? << 4 | digit(1)?) as u8
            }
            byte => byte,
        });
    }
    let text = String::from_utf8(bytes).ok()?;
    (!text.contains(char::is_control)).then_some(text)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parse(text: &str) -> Result<Option<Request>, u16> {
        let hosts = Hosts::new(&["gateway".parse().unwrap(), "a".parse().unwrap()], []);
        Request::parse(text.as_bytes(), &hosts).map_err(|refused| refused.status())
    }

    fn request(line: &str) -> Request {
        let head = format!("{line} HTTP/1.1\r\nHost: gateway\r\n\r\n");
        let request = parse(&head).unwrap().unwrap();
        assert_eq!(request.len, head.len());
        request
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_request_or_refused(
            bytes in prop::collection::vec(any::<u8>(), 0..200),
            target in "[/?%&=:0-9a-fA-FhtpHTP]{1,40}",
        ) {
            let hosts = Hosts::default();
            let _ = Request::parse(&bytes, &hosts);
            let head = format!("GET {target} HTTP/1.0\r\n\r\n");
            if let Ok(request) = Request::parse(head.as_bytes(), &hosts) {
                let request = request.unwrap();
                prop_assert_eq!(request.len, head.len());
                prop_assert!(request.path.len() <= request.encoded_path.len());
                request.parameter("format");
                prop_assert!(request.query_without(&[]).len() <= target.len());
            }
        }
    }

    #[test]
    fn paths_and_parameters_are_decoded() {
        let asked = request("GET /rtsp/camera.example/a%20b/%25?x=1&format=mp4&name=%C3%A4&x=2");
        assert_eq!(asked.path, "/rtsp/camera.example/a b/%");
        assert_eq!(asked.encoded_path, "/rtsp/camera.example/a%20b/%25");
        assert_eq!(asked.parameter("format").as_deref(), Some("mp4"));
        assert_eq!(asked.parameter("name").as_deref(), Some("ä"));
        assert_eq!(asked.parameter("x").as_deref(), Some("1"));
        assert_eq!(asked.parameter("y"), None);
        assert_eq!(asked.query_without(&["format"]), "x=1&name=%C3%A4&x=2");
        assert_eq!(request("GET /status").query_without(&[]), "");
    }

    #[test]
    fn the_form_of_proxies_is_the_same() {
        assert_eq!(
            request("GET http://gateway:8080/status?a=b").path,
            "/status"
        );
        assert_eq!(request("GET HTTP://gateway").path, "/");
        assert_eq!(
            request("GET http://gateway?a=b").parameter("a").as_deref(),
            Some("b")
        );
    }

    #[test]
    fn connections_go_on_unless_they_are_closed() {
        let goes_on = |head: &str| parse(head).unwrap().unwrap().goes_on;
        assert!(goes_on("GET / HTTP/1.1\r\nHost: a\r\n\r\n"));
        assert!(goes_on(
            "GET / HTTP/1.1\r\nHost: a\r\nConnection: keep-alive\r\n\r\n"
        ));
        assert!(!goes_on(
            "GET / HTTP/1.1\r\nHost: a\r\nConnection: TE, Close\r\n\r\n"
        ));
        assert!(!goes_on("GET / HTTP/1.0\r\n\r\n"));
    }

    #[test]
    fn what_cannot_be_answered_has_its_status() {
        let host = "Host: a\r\n";
        let (long, many) = ("a".repeat(TARGET), "A: b\r\n".repeat(HEADERS + 1));
        let large = format!("A: {}", "b".repeat(HEAD));
        for (head, status) in [
            (format!("POST / HTTP/1.1\r\n{host}\r\n"), 405),
            (format!("OPTIONS / HTTP/1.1\r\n{host}\r\n"), 405),
            (format!("BREW / HTTP/1.1\r\n{host}\r\n"), 501),
            (format!("GET / HTTP/2.0\r\n{host}\r\n"), 505),
            ("GET / HTTP/1.1\r\n\r\n".into(), 400),
            (format!("GET /%zz HTTP/1.1\r\n{host}\r\n"), 400),
            (format!("GET /%00 HTTP/1.1\r\n{host}\r\n"), 400),
            (format!("GET /%ff HTTP/1.1\r\n{host}\r\n"), 400),
            (
                format!("GET / HTTP/1.1\r\n{host}Content-Length: 1\r\n\r\n"),
                400,
            ),
            (
                format!("GET / HTTP/1.1\r\n{host}Transfer-Encoding: chunked\r\n\r\n"),
                400,
            ),
            ("\u{16}\u{3}\u{1}\r\n\r\n".into(), 400),
            (format!("GET /{long} HTTP/1.1\r\n{host}\r\n"), 414),
            ("GET / HTTP/1.1\r\nHost: b\r\n\r\n".into(), 421),
            ("GET http://b/ HTTP/1.1\r\nHost: a\r\n\r\n".into(), 421),
            ("GET / HTTP/1.0\r\nHost: b.a:80\r\n\r\n".into(), 421),
            ("GET / HTTP/1.1\r\nHost: a b\r\n\r\n".into(), 400),
            (
                format!("GET / HTTP/1.1\r\n{host}Origin: http://b\r\n\r\n"),
                403,
            ),
            (format!("GET /{long}{long}{long}"), 414),
            (format!("GET / HTTP/1.1\r\n{many}\r\n"), 431),
            (format!("GET / HTTP/1.1\r\n{large}"), 431),
        ] {
            assert_eq!(parse(&head), Err(status), "{}", head.escape_debug());
        }
        assert_eq!(parse("GET / HTTP/1.1\r\nHost: a\r\n"), Ok(None));
        assert_eq!(parse(""), Ok(None));
    }
}
