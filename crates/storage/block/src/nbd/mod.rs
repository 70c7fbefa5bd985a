//! A server of the NBD protocol: fixed newstyle, structured replies, `base:allocation`. Images are read only, unless
//! they have an overlay.
//!
//! | file | what it is for |
//! | --- | --- |
//! | `server.rs` | accepting clients |
//! | `uri.rs` | how clients name an address |
//! | `clients.rs` | the connected clients |
//! | `export.rs` | what is offered, by name |
//! | `handshake.rs` | the negotiation |
//! | `connection.rs` | the threads of a client, of which one reads |
//! | `input.rs`, `request.rs`, `payload.rs`, `reply.rs` | what is received and sent |
//! | `transmission.rs` | what each command does |
//! | `channel.rs`, `tls.rs` | the connection, in clear text or with TLS; certificates |
//! | `proto.rs` | the numbers of the protocol |

mod channel;
mod clients;
mod connection;
mod export;
mod handshake;
pub(crate) mod input;
mod payload;
pub(crate) mod proto;
mod reply;
mod request;
mod server;
mod tls;
mod transmission;
mod uri;

pub use evener_sockets::http::Collectors;
pub use evener_sockets::{Address, HostName, Listener};
pub use export::{MAX_NAME, NamedExport};
pub use server::{End, OnStatus, serve};
pub use tls::{Tls, TlsError};
pub use uri::uri;
