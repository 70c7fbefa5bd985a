//! Images on servers, read at any place as files are.
//!
//! | file | what it is for |
//! | --- | --- |
//! | `content_range.rs` | which bytes of a file a web server gives |
//! | `chunks.rs` | pieces of an image that were fetched, so that small reads do not ask the server each |
//! | `nbd.rs` | a client of the NBD protocol |
//! | `nbd_parts.rs` | which bytes of a request came |
//! | `nbd_sizes.rs` | how long its requests may be |
//! | `nbd_stream.rs` | the connection to a server of it |
//! | `nbd_tls.rs` | TLS towards a server of it |
//! | `nbd_uri.rs` | which server, and which export of it |
//! | `http.rs` | a file of a web server, by ranges |

mod chunks;
mod content_range;
mod http;
mod nbd;
mod nbd_parts;
mod nbd_sizes;
mod nbd_stream;
mod nbd_tls;
mod nbd_uri;

use std::fmt;
use std::io::Read;
use std::path::Path;

use evener_files::one_line;

use crate::error::Error;

/// An image on a server. Any thread reads it.
pub trait Remote: Send + Sync + fmt::Debug {
    /// Bytes of it.
    fn size(&self) -> u64;

    /// Fills `room` from byte `at` on. All of it lies before the end.
    ///
    /// # Errors
    /// The server does not give it.
    fn read(&self, at: u64, room: &mut [u8]) -> Result<(), Error>;

    /// The first byte from `at` on that the server does not say to be zero; the size if there is none.
    fn data_from(&self, at: u64) -> u64 {
        at
    }
}

/// The schemes of NBD servers.
const NBD: [&str; 4] = ["nbd", "nbd+unix", "nbds", "nbds+unix"];
/// Those of web servers.
const HTTP: [&str; 2] = ["http", "https"];

/// What a URL leads to.
pub enum Found {
    /// An image that is read at any place. Its bytes are a disk (NBD), or a file of any format.
    Image {
        /// The server's side of it.
        remote: Box<dyn Remote>,
        /// It is a disk, and not a file of some format.
        is_disk: bool,
    },
    /// A file that can only be read in order.
    Stream(Box<dyn Read + Send>),
}

/// What a text that names an input leads to, and what messages call it. `None` if it is no URL.
///
/// # Errors
/// The server cannot be reached, or has no such thing.
pub fn find(text: &str) -> Option<Result<(String, Found), Error>> {
    if let Some(uri) = of_qemu(text)
        && !Path::new(text).exists()
    {
        let what = format!("is as QEMU names a server; write it as {uri}");
        return Some(Err(failed(text, what)));
    }
    let (scheme, rest) = text.split_once("://")?;
    Some(match scheme {
        _ if NBD.contains(&scheme) => nbd::open(text),
        _ if HTTP.contains(&scheme) => http::open(text),
        _ if is_scheme(scheme) && !rest.is_empty() => {
            let what = format!(
                "{scheme}:// is not read; nbd://, nbds://, nbd+unix://, nbds+unix://, http:// and https:// are"
            );
            Err(failed(text, what))
        }
        _ => return None,
    })
}

fn is_scheme(text: &str) -> bool {
    let is_part = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "+-.".contains(c);
    text.starts_with(|c: char| c.is_ascii_lowercase()) && text.chars().all(is_part)
}

/// The URI of what QEMU also writes as `nbd:unix:PATH` or `nbd:HOST:PORT`, with `:exportname=NAME` behind it.
fn of_qemu(text: &str) -> Option<String> {
    let rest = text
        .strip_prefix("nbd:")
        .filter(|rest| !rest.starts_with("//"))?;
    let (address, export) = rest.split_once(":exportname=").unwrap_or((rest, ""));
    let address = match address.starts_with("unix:") {
        true => address.parse(),
        false => format!("tcp:{address}").parse(),
    };
    crate::nbd::uri(&address.ok()?, export, None)
}

/// Why nothing is written to the server that a text names. `None` if it is no URL that could be read.
pub fn no_output(text: &str) -> Option<&'static str> {
    let (scheme, _) = text.split_once("://").unwrap_or_default();
    if NBD.contains(&scheme) || of_qemu(text).is_some() {
        return Some(
            "an output is a file or a pipe, and no server; through a pipe: evener image unpack IMAGE - | nbdcopy - URL",
        );
    }
    let is_web = HTTP.contains(&scheme);
    is_web.then_some("an output is a file or a pipe, and no server; write a file and upload that")
}

fn failed(name: &str, what: impl Into<String>) -> Error {
    Error::Remote {
        name: one_line(name),
        what: one_line(&what.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_secret_is_in_an_error() {
        for text in [
            "ftp://user:hidden@host/a?token=hidden",
            "http://user:hidden@127.0.0.1:1/a?sig=hidden",
            "http://user:hidden@[::1/a?sig=hidden",
            "nbd://user:hidden@host",
            "nbds://host/a?token=hidden",
        ] {
            let error = find(text).unwrap().err().unwrap().to_string();
            assert!(!error.contains("hidden"), "{error}");
        }
    }

    #[test]
    fn what_qemu_writes_is_told_as_a_uri() {
        for (text, uri) in [
            ("nbd:unix:/run/s", Some("nbd+unix:///?socket=/run/s")),
            (
                "nbd:unix:/run/s:exportname=a b",
                Some("nbd+unix:///a%20b?socket=/run/s"),
            ),
            ("nbd:host:10809", Some("nbd://host:10809")),
            ("nbd:host:9:exportname=x", Some("nbd://host:9/x")),
            ("nbd:disk", None),
            ("nbd://host:9", None),
            ("disk", None),
        ] {
            assert_eq!(of_qemu(text).as_deref(), uri, "{text}");
        }
    }
}
