//! RTSP/1.0 (RFC 2326), as a client.

pub mod auth;
pub mod client;
mod failure;
pub mod message;
mod transport;
mod url;

pub use failure::Failure;
pub use transport::Transport;
pub use url::{Url, UrlError};
