//! Messages of RTSP/1.0 (RFC 2326, sections 4 to 7 and 10.12) on one connection: requests, responses and frames of RTP and
//! RTCP between them. Start lines are read here, headers by the crate `httparse`. The crate `rtsp-types` would read both,
//! and bring the tables of Unicode with it.

use bytes::{Buf, Bytes, BytesMut};

/// Bytes of a start line and headers at most.
pub const MAX_HEAD: usize = 16 * 1024;
/// Bytes of a body at most.
pub const MAX_BODY: usize = 128 * 1024;
/// Headers of a message at most.
pub const MAX_HEADERS: usize = 64;

const VERSION: &str = "RTSP/1.0";
/// What begins a frame of RTP or RTCP.
const DOLLAR: u8 = b'$';

/// Why bytes are not RTSP. Nothing after them can be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MessageError {
    /// A head has more than [`MAX_HEAD`] bytes, or too many headers.
    #[error("a message's head is too large")]
    HeadTooLarge,
    /// A body has more than [`MAX_BODY`] bytes.
    #[error("a message's body has {0} bytes, and {MAX_BODY} are allowed")]
    BodyTooLarge(u64),
    /// The first line is neither of a request nor of a response of RTSP/1.0.
    #[error("what came is not RTSP/1.0")]
    StartLine,
    /// A header breaks the syntax, or `Content-Length` is no number.
    #[error("a message has a malformed header")]
    Header,
}

/// What comes on a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// The peer asks for something.
    Request(Request),
    /// The peer answers.
    Response(Response),
    /// RTP or RTCP.
    Frame {
        /// Which packets these are, as set up.
        channel: u8,
        /// One packet.
        payload: Bytes,
    },
}

/// A request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// `OPTIONS`, `DESCRIBE` and so on.
    pub method: String,
    /// Of what: an address, or `*`.
    pub target: String,
    /// What else it says.
    pub headers: Headers,
    /// Can be empty.
    pub body: Bytes,
}

/// A response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    /// 100 to 999.
    pub status: u16,
    /// The status in words.
    pub reason: String,
    /// What else it says.
    pub headers: Headers,
    /// Can be empty.
    pub body: Bytes,
}

/// Headers in their order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Headers(Vec<(String, String)>);

impl Headers {
    /// The first value of a header. Names have no case.
    pub fn get<'a>(&'a self, name: &'a str) -> Option<&'a str> {
        self.all(name).next()
    }

    /// All values of a header, in their order.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let of = move |(of, _): &&(String, String)| of.eq_ignore_ascii_case(name);
        self.0.iter().filter(of).map(|(_, value)| value.as_str())
    }

    /// The number of the request, or of the one that is answered.
    pub fn cseq(&self) -> Option<u32> {
        self.get("CSeq")?.parse().ok()
    }
}

/// What came on a connection and is not yet a whole message. It holds one message and what was pushed last at most, if all
/// messages are taken after each push.
#[derive(Debug, Default)]
pub struct Decoder {
    buffer: BytesMut,
    /// So many bytes of the buffer have no end of a head among them.
    searched: usize,
}

impl Decoder {
    /// Takes what came, cut anywhere.
    pub fn push(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// Bytes that wait for the rest of their message.
    pub fn waiting(&self) -> usize {
        self.buffer.len()
    }

    /// The next whole message.
    ///
    /// # Errors
    /// What came is not RTSP/1.0, or is too large.
    pub fn next_message(&mut self) -> Result<Option<Message>, MessageError> {
        if self.searched == 0 {
            // Some servers end a body, or a message, with an empty line too many.
            let empty = self.buffer.iter().take_while(|byte| b"\r\n".contains(byte));
            let empty = empty.count();
            self.buffer.advance(empty);
        }
        if self.buffer.first() == Some(&DOLLAR) {
            return Ok(self.frame());
        }
        let Some(head) = self.head()? else {
            return Ok(None);
        };
        let (mut message, headers_at) = start_line(&self.buffer[..head])?;
        let headers = headers(&self.buffer[headers_at..head])?;
        let body = match headers.get("Content-Length") {
            Some(length) => length.parse::<u64>().map_err(|_| MessageError::Header)?,
            None => 0,
        };
        if body > MAX_BODY as u64 {
            return Err(MessageError::BodyTooLarge(body));
        }
        if self.buffer.len() < head + body as usize {
            return Ok(None);
        }
        self.buffer.advance(head);
        let body = self.buffer.split_to(body as usize).freeze();
        self.searched = 0;
        match &mut message {
            Message::Request(request) => (request.headers, request.body) = (headers, body),
            Message::Response(response) => (response.headers, response.body) = (headers, body),
            Message::Frame { .. } => {}
        }
        Ok(Some(message))
    }

    fn frame(&mut self) -> Option<Message> {
        let [_, channel, high, low] = *self.buffer.first_chunk()?;
        let length = usize::from(u16::from_be_bytes([high, low]));
        if self.buffer.len() < 4 + length {
            return None;
        }
        self.buffer.advance(4);
        let payload = self.buffer.split_to(length).freeze();
        Some(Message::Frame { channel, payload })
    }

    /// The length of the head, once all of it has come.
    fn head(&mut self) -> Result<Option<usize>, MessageError> {
        let within = &self.buffer[..self.buffer.len().min(MAX_HEAD)];
        let line = |at: &usize| within[*at] == b'\n';
        for at in (self.searched..within.len()).filter(line) {
            let next = &within[at + 1..];
            let end = match next {
                [b'\n', ..] => 1,
                [b'\r', b'\n', ..] => 2,
                [] | [b'\r'] => {
                    self.searched = at;
                    return too_large(within.len());
                }
                _ => continue,
            };
            self.searched = at;
            return Ok(Some(at + 1 + end));
        }
        self.searched = within.len();
        too_large(within.len())
    }
}

fn too_large(came: usize) -> Result<Option<usize>, MessageError> {
    match came < MAX_HEAD {
        true => Ok(None),
        false => Err(MessageError::HeadTooLarge),
    }
}

/// A message without its headers, and where these begin.
fn start_line(head: &[u8]) -> Result<(Message, usize), MessageError> {
    let end = head.iter().position(|byte| *byte == b'\n');
    let end = end.ok_or(MessageError::StartLine)?;
    let line = std::str::from_utf8(&head[..end]).map_err(|_| MessageError::StartLine)?;
    let mut parts = line.trim_end().splitn(3, ' ');
    let mut part = || parts.next().filter(|part| !part.is_empty());
    let first = part().ok_or(MessageError::StartLine)?;
    let second = part().ok_or(MessageError::StartLine)?;
    let third = part();
    let (headers, body) = Default::default();
    if first == VERSION {
        let digits = second.len() == 3 && second.bytes().all(|byte| byte.is_ascii_digit());
        let status = second
            .parse()
            .ok()
            .filter(|status| digits && *status >= 100);
        let response = Response {
            status: status.ok_or(MessageError::StartLine)?,
            reason: third.unwrap_or_default().to_string(),
            headers,
            body,
        };
        return Ok((Message::Response(response), end + 1));
    }
    let is_method = first
        .bytes()
        .all(|byte| byte.is_ascii_uppercase() || byte == b'_');
    if !is_method || third != Some(VERSION) {
        return Err(MessageError::StartLine);
    }
    let request = Request {
        method: first.to_string(),
        target: second.to_string(),
        headers,
        body,
    };
    Ok((Message::Request(request), end + 1))
}

fn headers(bytes: &[u8]) -> Result<Headers, MessageError> {
    let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
    match httparse::parse_headers(bytes, &mut headers) {
        Ok(httparse::Status::Complete((_, headers))) => {
            let pair = |header: &httparse::Header| {
                let value = String::from_utf8_lossy(header.value).trim().to_string();
                (header.name.to_string(), value)
            };
            Ok(Headers(headers.iter().map(pair).collect()))
        }
        Err(httparse::Error::TooManyHeaders) => Err(MessageError::HeadTooLarge),
        Ok(httparse::Status::Partial) | Err(_) => Err(MessageError::Header),
    }
}

/// Writes a request. Line ends in values are left out.
pub fn write_request(out: &mut BytesMut, method: &str, target: &str, headers: &[(&str, &str)]) {
    write(out, &format!("{method} {target} {VERSION}"), headers);
}

/// Writes a response without a body. Line ends in values are left out.
pub fn write_response(out: &mut BytesMut, status: u16, reason: &str, headers: &[(&str, &str)]) {
    write(out, &format!("{VERSION} {status} {reason}"), headers);
}

fn write(out: &mut BytesMut, start: &str, headers: &[(&str, &str)]) {
    write_line(out, start);
    for (name, value) in headers {
        write_line(out, &format!("{name}: {value}"));
    }
    out.extend_from_slice(b"\r\n");
}

/// A line end inside would begin a header, or a request, by the choice of who has named the value.
fn write_line(out: &mut BytesMut, line: &str) {
    for part in line.split(['\r', '\n']) {
        out.extend_from_slice(part.as_bytes());
    }
    out.extend_from_slice(b"\r\n");
}

/// Writes a packet between messages. One of more than 65,535 bytes is left out: no frame can hold it.
pub fn write_frame(out: &mut BytesMut, channel: u8, payload: &[u8]) {
    if let Ok(length) = u16::try_from(payload.len()) {
        let [high, low] = length.to_be_bytes();
        out.extend_from_slice(&[DOLLAR, channel, high, low]);
        out.extend_from_slice(payload);
    }
}

#[cfg(test)]
mod tests;
