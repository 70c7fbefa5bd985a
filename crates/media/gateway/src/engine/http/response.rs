//! Heads of responses, and those that refuse.

use std::fmt;
use std::time::SystemTime;

use bytes::Bytes;

use evener_sockets::Foreign;

use crate::access::Denied;
use crate::engine::http::request::Request;
use crate::rtsp::Url;

const SERVER: &str = concat!("evener/", env!("CARGO_PKG_VERSION"));

/// A status and a line that says why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    status: u16,
    reason: &'static str,
    text: String,
    /// What the log says in its place, if that is more.
    detail: Option<String>,
    /// Headers beside those of each response, each with its end of line.
    headers: &'static str,
}

impl Refused {
    fn new(status: u16, reason: &'static str, text: impl Into<String>) -> Refused {
        Refused {
            status,
            reason,
            text: text.into(),
            detail: None,
            headers: "",
        }
    }

    /// A request that is malformed, or says what cannot be.
    pub fn bad(text: impl Into<String>) -> Refused {
        Refused::new(400, "Bad Request", text)
    }

    /// Nothing is served there.
    pub fn not_found(text: impl Into<String>) -> Refused {
        Refused::new(404, "Not Found", text)
    }

    /// The source is a transport stream, and something else is asked for.
    pub fn only_transport() -> Refused {
        let text = "a transport stream is given as it is, and not as format=mp4";
        Refused::new(406, "Not Acceptable", text)
    }

    /// The source has nothing that a transport stream can have.
    pub fn no_transport() -> Refused {
        let text = "what comes has no place in a transport stream: ask for ?format=mp4";
        Refused::new(406, "Not Acceptable", text)
    }

    /// A method of HTTP that nothing here has.
    pub fn method(method: &str) -> Refused {
        Refused {
            headers: "Allow: GET, HEAD\r\n",
            ..Refused::new(
                405,
                "Method Not Allowed",
                format!("{method}: only GET and HEAD"),
            )
        }
    }

    /// The rest of a request did not come.
    pub fn timeout(seconds: u64) -> Refused {
        let text = format!("the request was not whole after {seconds} seconds");
        Refused::new(408, "Request Timeout", text)
    }

    /// The first line is too long.
    pub fn long_target(most: usize) -> Refused {
        let text = format!("a path of more than {most} bytes");
        Refused::new(414, "URI Too Long", text)
    }

    /// Too many headers, or too large ones.
    pub fn large_head(most: usize, headers: usize) -> Refused {
        let text = format!("a head of more than {most} bytes or {headers} headers");
        Refused::new(431, "Request Header Fields Too Large", text)
    }

    /// A method that is not known.
    pub fn unknown_method(method: &str) -> Refused {
        Refused {
            headers: "Allow: GET, HEAD\r\n",
            ..Refused::new(
                501,
                "Not Implemented",
                format!("{method}: only GET and HEAD"),
            )
        }
    }

    /// The origin cannot be had.
    pub fn bad_gateway(text: impl Into<String>) -> Refused {
        Refused::new(502, "Bad Gateway", text)
    }

    /// There is no room now.
    pub fn busy(text: impl Into<String>) -> Refused {
        Refused {
            headers: "Retry-After: 5\r\n",
            ..Refused::new(503, "Service Unavailable", text)
        }
    }

    /// The recording has no such place.
    pub fn no_such_range(text: impl Into<String>) -> Refused {
        Refused::new(416, "Range Not Satisfiable", text)
    }

    /// The origin does not answer in time.
    pub fn late(text: impl Into<String>) -> Refused {
        Refused::new(504, "Gateway Timeout", text)
    }

    /// A version of HTTP that is neither 1.0 nor 1.1.
    pub fn version() -> Refused {
        Refused::new(
            505,
            "HTTP Version Not Supported",
            "only HTTP/1.0 and HTTP/1.1",
        )
    }

    /// The server that a client named leads to another host, which clients may not ask for.
    pub fn redirected(from: &Url, denied: &Denied) -> Refused {
        let text = "the server leads to another host, which the allow-list does not name";
        Refused {
            detail: Some(format!("{from} leads to {denied}")),
            ..Refused::new(403, "Forbidden", format!("{from}: {text}"))
        }
    }

    /// Why, for clients.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Its status of HTTP.
    pub fn status(&self) -> u16 {
        self.status
    }
}

impl From<Denied> for Refused {
    fn from(denied: Denied) -> Refused {
        Refused {
            detail: Some(denied.to_string()),
            ..Refused::new(403, "Forbidden", denied.for_clients())
        }
    }
}

impl From<Foreign> for Refused {
    fn from(foreign: Foreign) -> Refused {
        match &foreign {
            Foreign::Host(_) => Refused::new(421, "Misdirected Request", foreign.to_string()),
            Foreign::Malformed => Refused::bad(foreign.to_string()),
            Foreign::Origin(_) | Foreign::Site => {
                let text = format!("{foreign}; --cross-origin lets pages of all sites ask");
                Refused::new(403, "Forbidden", text)
            }
        }
    }
}

/// For the log.
impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.detail.as_ref().unwrap_or(&self.text);
        write!(f, "{} {}: {text}", self.status, self.reason)
    }
}

/// Makes responses.
#[derive(Clone, Copy, Debug, Default)]
pub struct Responses {
    /// Pages of other sites may read them.
    pub cross_origin: bool,
}

impl Responses {
    /// The head of a stream, which ends with the connection, in chunks or without.
    pub fn stream(self, is_11: bool, kind: &str) -> Bytes {
        let framing = match is_11 {
            true => "Transfer-Encoding: chunked\r\n",
            false => "",
        };
        let rest = format!("Content-Type: {kind}\r\n{framing}Connection: close\r\n");
        self.head(is_11, "200 OK", &rest).into()
    }

    /// A response that is there at once.
    pub fn whole(self, request: &Request, kind: &str, text: &str) -> Bytes {
        let then = if request.goes_on {
            "keep-alive"
        } else {
            "close"
        };
        let len = text.len();
        let rest =
            format!("Content-Type: {kind}\r\nContent-Length: {len}\r\nConnection: {then}\r\n");
        let mut response = self.head(request.is_11, "200 OK", &rest);
        if request.wants_body {
            response.push_str(text);
        }
        response.into()
    }

    /// A response that refuses, after which the connection ends. A request of HEAD gets no text.
    pub fn refused(self, refused: &Refused, wants_body: bool) -> Bytes {
        let Refused {
            status,
            reason,
            text,
            headers,
            detail: _,
        } = refused;
        let len = text.len() + 1;
        let rest = format!(
            "Content-Type: text/plain; charset=utf-8\r\n{headers}Content-Length: {len}\r\nConnection: close\r\n"
        );
        let mut response = self.head(true, &format!("{status} {reason}"), &rest);
        if wants_body {
            response.push_str(text);
            response.push('\n');
        }
        response.into()
    }

    fn head(self, is_11: bool, status: &str, rest: &str) -> String {
        let version = if is_11 { "1.1" } else { "1.0" };
        let date = httpdate::fmt_http_date(SystemTime::now());
        let cross = match self.cross_origin {
            true => "Access-Control-Allow-Origin: *\r\n",
            false => "",
        };
        format!(
            "HTTP/{version} {status}\r\nDate: {date}\r\nServer: {SERVER}\r\nCache-Control: no-store\r\n{cross}{rest}\r\n"
        )
    }
}
