//! Images on servers, read at any place as files are.
//!
//! | file | what it is for |
//! | --- | --- |
//! | `chunks.rs` | pieces of an image that were fetched, so that small reads do not ask the server each |
//! | `nbd.rs` | a client of the NBD protocol |
//! | `nbd_tls.rs` | TLS towards a server of it |
//! | `nbd_uri.rs` | which server, and which export of it |
//! | `http.rs` | a file of a web server, by ranges |

mod chunks;
mod http;
mod nbd;
mod nbd_tls;
mod nbd_uri;

use std::fmt;
use std::io::Read;

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
    let (scheme, rest) = text.split_once("://")?;
    Some(match scheme {
        "nbd" | "nbd+unix" | "nbds" | "nbds+unix" => nbd::open(text),
        "http" | "https" => http::open(text),
        _ if scheme.chars().all(|c| c.is_ascii_lowercase() || c == '+') && !rest.is_empty() => {
            let what = format!(
                "{scheme}:// is not read; nbd://, nbds://, nbd+unix://, nbds+unix://, http:// and https:// are"
            );
            Err(failed(text, what))
        }
        _ => return None,
    })
}

fn failed(name: &str, what: impl Into<String>) -> Error {
    Error::Remote {
        name: name.to_owned(),
        what: what.into(),
    }
}
