//! The header of an age file: text that contains the wrapped file key, and is not secret.

use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use super::error::HeaderError;
use super::{FileKey, hkdf};

/// What every age file begins with, whatever its version.
pub(crate) const INTRO: &[u8] = b"age-encryption.org/";
const VERSION: &str = "age-encryption.org/v1";
/// The largest size of a header in bytes: room for thousands of recipients.
pub const MAX_HEADER: usize = 1 << 20;
/// Characters of a whole line of a body.
const COLUMNS: usize = 64;

/// The file key for one recipient.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stanza {
    /// The kind of recipient, and its arguments.
    pub args: Vec<String>,
    /// The wrapped file key.
    pub body: Vec<u8>,
}

/// A header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// One stanza for each recipient.
    pub stanzas: Vec<Stanza>,
    mac: [u8; 32],
    /// The text up to `---`, which the MAC is of.
    text: Vec<u8>,
}

impl Header {
    /// Creates a header with these stanzas, for a file with this key.
    pub fn new(stanzas: Vec<Stanza>, key: &FileKey) -> Header {
        let mut text = format!("{VERSION}\n").into_bytes();
        for stanza in &stanzas {
            text.extend(format!("-> {}\n", stanza.args.join(" ")).into_bytes());
            let body = STANDARD_NO_PAD.encode(&stanza.body);
            let lines = body.as_bytes().chunks_exact(COLUMNS);
            let last = lines.remainder();
            lines.for_each(|line| text.extend([line, b"\n"].concat()));
            text.extend([last, b"\n"].concat());
        }
        text.extend(b"---");
        let mac = mac(key, &text).finalize().into_bytes().into();
        Header { stanzas, mac, text }
    }

    /// The bytes of the header.
    pub fn to_bytes(&self) -> Vec<u8> {
        let end = format!(" {}\n", STANDARD_NO_PAD.encode(self.mac));
        [&self.text, end.as_bytes()].concat()
    }

    /// Reads a header. `next` returns byte after byte; nothing after the header is read.
    ///
    /// # Errors
    /// The header is invalid, or `next` fails.
    pub fn read<E: From<HeaderError>>(
        mut next: impl FnMut() -> Result<Option<u8>, E>,
    ) -> Result<Header, E> {
        let mut lines = Lines {
            text: Vec::new(),
            line: 0,
        };
        let version = lines.take(&mut next)?;
        let version = &lines.text[version];
        if version != VERSION.as_bytes() {
            return Err(match version.strip_prefix(INTRO) {
                Some(other) if !other.is_empty() && other.iter().all(u8::is_ascii_graphic) => {
                    let other = String::from_utf8_lossy(other).into_owned();
                    HeaderError::Version(other).into()
                }
                _ => HeaderError::NoAge.into(),
            });
        }
        let mut stanzas = Vec::new();
        loop {
            let line = lines.take(&mut next)?;
            let text = &lines.text[line.clone()];
            if let Some(mac) = text.strip_prefix(b"---") {
                let mac = mac.strip_prefix(b" ").and_then(decode);
                let mac = mac.and_then(|mac| mac.try_into().ok());
                let mac =
                    mac.ok_or(lines.malformed("has no authentication code of 43 characters"))?;
                if stanzas.is_empty() {
                    return Err(lines.malformed("ends a header without recipients").into());
                }
                lines.text.truncate(line.start + 3);
                let text = lines.text;
                return Ok(Header { stanzas, mac, text });
            }
            let Some(args) = text.strip_prefix(b"-> ").and_then(arguments) else {
                return Err(lines.malformed("is neither a recipient nor the end").into());
            };
            let mut body = Vec::new();
            loop {
                let line = lines.take(&mut next)?;
                let text = &lines.text[line];
                let part = decode(text).filter(|_| text.len() <= COLUMNS);
                let Some(part) = part else {
                    return Err(lines
                        .malformed("is not base64 of at most 64 characters")
                        .into());
                };
                body.extend(part);
                if text.len() < COLUMNS {
                    break;
                }
            }
            stanzas.push(Stanza { args, body });
        }
    }

    /// Verifies the header with the file key.
    ///
    /// # Errors
    /// The header was altered.
    pub fn verify(&self, key: &FileKey) -> Result<(), HeaderError> {
        let mac = mac(key, &self.text);
        mac.verify_slice(&self.mac).map_err(|_| HeaderError::Mac)
    }
}

fn mac(key: &FileKey, text: &[u8]) -> Hmac<Sha256> {
    let key = hkdf(&key.0, &[], b"header");
    let mut mac = Hmac::<Sha256>::new_from_slice(&*key).expect("HMAC takes keys of any length");
    mac.update(text);
    mac
}

/// Base64 without padding, in its canonical form only.
pub(super) fn decode(text: &[u8]) -> Option<Vec<u8>> {
    STANDARD_NO_PAD.decode(text).ok()
}

fn arguments(text: &[u8]) -> Option<Vec<String>> {
    let text = str::from_utf8(text).ok()?;
    let args = text.split(' ').map(|arg| {
        let valid = !arg.is_empty() && arg.bytes().all(|byte| byte.is_ascii_graphic());
        valid.then(|| arg.to_owned())
    });
    args.collect()
}

struct Lines {
    text: Vec<u8>,
    line: usize,
}

impl Lines {
    /// The place of the next line, without its end.
    fn take<E: From<HeaderError>>(
        &mut self,
        next: &mut impl FnMut() -> Result<Option<u8>, E>,
    ) -> Result<std::ops::Range<usize>, E> {
        self.line += 1;
        let from = self.text.len();
        loop {
            let byte = next()?;
            match byte {
                Some(byte) => self.text.push(byte),
                None => return Err(HeaderError::Cut { line: self.line }.into()),
            }
            match byte {
                Some(b'\n') => return Ok(from..self.text.len() - 1),
                _ if self.text.len() > MAX_HEADER => return Err(HeaderError::Long.into()),
                _ => {}
            }
        }
    }

    fn malformed(&self, what: &'static str) -> HeaderError {
        let line = self.line;
        HeaderError::Malformed { line, what }
    }
}
